"""`hedgerow faithfulness --draw` and `hedgerow markers` from the command line, with the real embedded model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.needs import EMBEDDED

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.embedded, EMBEDDED]
QUESTIONS = [{"question": "What is the capital of France?", "gold": ["Paris"]}]


def _hedgerow(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HEDGEROW_AUDIT__URL": "sqlite:///audit.db", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "hedgerow.proxy.cli", *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_answers_are_drawn_measured_and_their_markers_read(tmp_path: Path) -> None:
    """Under the plain prompt and the one with demonstrations, which it answers without going on with questions of its own."""
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    route = {"name": "small", "upstream": "embedded", "model": "smollm2-135m-instruct", "mode": "on"}
    route |= {"sampling": {"n": 2, "min_n": 2, "temperature": 0.7}}
    upstreams = {"embedded": {"provider": "embedded"}}
    (tmp_path / "config.yaml").write_text(json.dumps({"upstreams": upstreams, "routes": [route]}))
    prompts = ("--prompt", "vanilla", "--prompt", "uncertainty+")
    drawing = ("faithfulness", "--draw", "questions.jsonl", "--data", "answers.jsonl", *prompts, "--yes", "--json")
    drawn = _hedgerow(tmp_path, *drawing)
    assert drawn.returncode == 0, drawn.stderr
    assert "2 answers to draw, each with further ones: 4 calls for 6 texts" in drawn.stderr
    rows = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert {row["prompt"]: len(row["samples"]) for row in rows} == {"vanilla": 2, "uncertainty+": 2}
    assert all("Question:" not in row["answer"] for row in rows)
    plain = next(row for row in rows if row["prompt"] == "vanilla")
    assert "Paris" in plain["answer"]
    assert plain["correct"] is True
    found = json.loads(drawn.stdout)
    assert found["n"] + found["punts"] == 2
    assert found["samples"] == [2, 2]
    markers = _hedgerow(tmp_path, "markers", "--data", "answers.jsonl", "--thresholds", "1", "--json")
    assert markers.returncode == 0, markers.stderr
    assert json.loads(markers.stdout)["models"][0]["model"] == "smollm2-135m-instruct"
