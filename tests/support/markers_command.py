"""`hedgerow markers` from its arguments to its output: what the tests of the command share."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from hedgerow.proxy.cli import app

RUNNER = CliRunner()
ANSWERS = [
    {"question": "What is the capital of Honduras?", "answer": "It is probably Tegucigalpa.", "samples": ["Tegucigalpa", "Managua", "Tegucigalpa."], "dataset": "capitals"},
    {"question": "Who wrote The Caretaker?", "answer": "I'm not sure, but it was Tom Stoppard.", "samples": ["Harold Pinter"], "dataset": "plays"},
    {"question": "Who wrote The Caretaker?", "answer": "I do not know.", "samples": ["Harold Pinter"], "dataset": "plays"},
]  # fmt: skip
"""One that the further answers partly bear out, one that they contradict, and a refusal."""


def write(path: Path, rows: Iterable[object]) -> Path:
    """A JSONL file; a row that is a string is written as it stands."""
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def sentence(text: object, confidence: object, **more: object) -> dict[str, object]:
    """A line with a measured sentence."""
    return {"text": text, "confidence": confidence, "model": "m", "dataset": "d", **more}


def run(*arguments: object) -> Result:
    """The command with these arguments."""
    return RUNNER.invoke(app, ["markers", *map(str, arguments)])


def figures(*arguments: object) -> Any:
    """What the command prints with --json, where it succeeds."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
