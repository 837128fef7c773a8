"""A route with a lexicon of one's own: its phrases are served, and the guard and the perceived confidence read them at their own Betas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.upstream import Upstream, says

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
RIGHT, WRONG = "The capital of Australia is Canberra.", "The capital of Australia is Sydney."
MINE = """version: 1
hedges:
  - {id: no-hedge, phrase: "", mean: 0.97, concentration: 50}
  - {id: on-the-file, phrase: on the file, mean: 0.6, concentration: 10, register: formal, frames: [{clause: "on the file, {clause}"}]}
"""


def perceived(address: str, answer: Any) -> float:
    """Mean perceived confidence of an answer, as the audit has it."""
    row = httpx.get(f"{address}/v1/audit/{answer.model_extra['hedgerow']['id']}").json()
    alpha, beta = row["perceived_alpha"], row["perceived_beta"]
    return float(alpha / (alpha + beta))


@pytest.mark.parametrize("tolerance", [0.25, 0.05])
def test_an_own_phrase_is_served_and_perceived_at_its_own_beta(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path, tolerance: float
) -> None:
    """No word of it is known to the shipped reader, which takes it for a plain assertion (.93) and, in a strict guard, refused it."""
    path = tmp_path / "mine.yaml"
    path.write_text(MINE, encoding="utf-8")
    upstream.default = says(*[RIGHT] * 6, *[WRONG] * 4)
    address = serve(lexicon=str(path), rewriting={"tolerance": tolerance})
    answer = client_of(address).chat.completions.create(model="m", messages=ASK)
    assert answer.choices[0].message.content == "On the file, the capital of Australia is Canberra."
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    assert perceived(address, answer) == pytest.approx(0.6)


def test_a_draft_in_own_words_is_read_at_their_beta(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """All ten answers say it, so the answer is sure and left plain: what readers take from the draft's own words is recorded as the lexicon says."""
    path = tmp_path / "mine.yaml"
    path.write_text(MINE, encoding="utf-8")
    upstream.default = says("On the file, the capital of Australia is Canberra.")
    address = serve(lexicon=str(path))
    answer = client_of(address).chat.completions.create(model="m", messages=ASK)
    assert perceived(address, answer) == pytest.approx(0.6)
