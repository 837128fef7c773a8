"""Requests whose answers cannot be compared are recognised, and questions of fact are not taken for them."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.pipeline.eligibility import asks_for_claim, comparable
from tests.support.tables import cases

REQUESTS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "requests.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_requests_that_no_weight_was_fitted_on_are_told_apart() -> None:
    """In eleven languages. A needless measurement costs less than a missing hedge, so few that ask are stopped, and only half of the others."""
    apart = [row for row in REQUESTS if row["by"] == "apart"]
    passed = {asks: [asks_for_claim(row["request"]) for row in apart if row["asks"] == asks] for asks in ("yes", "no")}
    assert len(apart) > 250
    assert sum(passed["yes"]) >= 0.92 * len(passed["yes"])
    assert sum(passed["no"]) <= 0.5 * len(passed["no"])


@given(st.text(max_size=300))
def test_any_prompt_is_judged(prompt: str) -> None:
    """Nothing raises, and what is asked after a greeting is asked all the same."""
    asks_for_claim(prompt)
    assert asks_for_claim(f"Hello! {'x' * len(prompt)} What is the capital of Peru?")


@cases(
    ("answers", "largest", "expected"),
    [
        (["How can I help you?"] * 3, 3, False),
        (["Which city do you mean?", "Lima.", "Lima."], 2, True),
        (["\U0001f600", "\U0001f600", "\U0001f600"], 3, False),
        ([f"{i} " + "word " * 70 for i in range(4)], 1, False),
        ([f"{i} " + "word " * 70 for i in range(4)], 2, True),
        (["one", "two", "three"], 1, True),
    ],
)
def test_answers_tell_as_well(answers: list[str], largest: int, expected: bool) -> None:
    """Questions back, signs alone and long texts that all differ cannot be compared; short answers that differ can."""
    assert comparable(answers, largest) is expected
