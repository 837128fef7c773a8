"""Recorded answers and the ledger that keeps what was measured of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.lab.answers import WithSamples, keyed

ROW = {"question": "Who?", "answer": "Pinter", "samples": ["Pinter", "Beckett"]}


def test_a_key_is_the_answers_own_and_equal_answers_have_one_each() -> None:
    one, other = WithSamples.model_validate(ROW), WithSamples.model_validate(ROW | {"answer": "Beckett"})
    keys = [key for _, key, _ in keyed(enumerate([one, other, one, "not an answer"]))]
    assert keys[3] == ""
    assert len(set(keys)) == 4
    assert keys == [key for _, key, _ in keyed(enumerate([one, other, one, "not an answer"]))]


@pytest.mark.parametrize("command", ["faithfulness", "markers"])
@pytest.mark.parametrize(
    ("kept", "why"),
    [
        ({"decisiveness": [2.0], "confidence": [1.0], "sentences": [{"text": "Pinter.", "confidence": 2.0}]}, "cannot be used"),
        (ROW, "holds nothing that was measured"),
    ],
)  # fmt: skip
def test_a_kept_row_at_fault_ends_with_one_sentence(tmp_path: Path, command: str, kept: dict, why: str) -> None:
    data, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    data.write_text(json.dumps(ROW) + "\n")
    out.write_text(json.dumps({"key": "k", "measured": {"judge": "none"}} | kept) + "\n")
    done = CliRunner().invoke(app, [command, "--data", str(data), "--out", str(out)])
    assert (done.exit_code, type(done.exception)) == (2, SystemExit)
    assert f"hedgerow: {out}: a kept row" in done.stderr
    assert why in done.stderr
