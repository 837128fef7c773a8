"""`hedgerow confidence` and `hedgerow claims`, run as commands."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.support.tables import cases

OTHERS = ["Ada Lovelace was born in London in 1815.", "Born in London in 1815, she was Byron's daughter."]


def run(command: str, *rows: Any) -> Any:
    lines = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    return CliRunner().invoke(app, [command, "--json"], input=lines)


def test_confidence_of_recorded_answers() -> None:
    """Three of four agree: Beta(3, 1), and the groups say which."""
    done = run(
        "confidence", {"question": "Capital of Australia?", "samples": ["Canberra", "Canberra.", "Sydney", "canberra"]}
    )
    printed = json.loads(done.stdout)
    assert printed == {"draft": "Canberra", "mean": 0.75, "alpha": 3.0, "beta": 1.0, "groups": [[0, 1, 3], [2]]}


def test_claims_that_are_found_and_claims_that_are_given() -> None:
    """What claims nothing is left out; a claim that the others bear out stands above one that they do not."""
    answer = "Sure, here is a short biography:\n\nAda Lovelace was born in London in 1815. She moved to Berlin in 1833."
    row = {"question": "Who was Ada Lovelace?", "answer": answer, "samples": OTHERS}
    claims = json.loads(run("claims", row).stdout)["claims"]
    assert [claim["text"] for claim in claims] == [
        "Ada Lovelace was born in London in 1815.",
        "She moved to Berlin in 1833.",
    ]
    born, moved = claims
    assert born["mean"] > moved["mean"] + 0.1
    assert born["alpha"] + born["beta"] == pytest.approx(3 * len(OTHERS))
    given = json.loads(run("claims", row | {"claims": ["She moved to Berlin in 1833."]}).stdout)["claims"]
    assert given == [moved]


def test_empty_samples_bear_nothing_out() -> None:
    """Claims are held against the others, an answer without text is never a sure one, and where all are empty nothing is measured."""
    row = {"answer": "Ada Lovelace was born in London in 1815. She moved to Berlin.", "samples": [*OTHERS, " "]}
    first, *_ = json.loads(run("claims", row).stdout)["claims"]
    assert first["alpha"] + first["beta"] == pytest.approx(3 * len(OTHERS))
    assert json.loads(run("confidence", {"samples": ["", "", " "]}).stdout)["mean"] < 0.001
    done = run("claims", row | {"samples": ["", " "]})
    assert (done.exit_code, done.stdout) == (2, "")
    assert "line 1: samples: all are empty." in done.stderr


def test_one_sample_is_measured_with_a_word_of_warning() -> None:
    done = run("confidence", {"samples": ["Canberra"]}, {"samples": ["Canberra", "Canberra"]})
    assert [json.loads(line)["groups"] for line in done.stdout.splitlines()] == [[[0]], [[0, 1]]]
    assert "line 1: one sample agrees with itself" in done.stderr
    assert "line 2" not in done.stderr


@cases("answer", ["I don't know.", "ماري كوري فيزيائية ولدت في وارسو عام 1867."])
def test_an_answer_in_which_no_claim_is_found_says_so(answer: str) -> None:
    done = run("claims", {"answer": answer, "samples": OTHERS})
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"claims": []})
    assert "line 1: no claim found." in done.stderr


@cases(
    ("row", "message"),
    [
        ("{", "line 1 is not valid JSON"),
        ({"question": "?"}, "samples: this key is needed. Each line is an object with 'samples'."),
        ({"samples": []}, "samples: needs at least 1, has 0"),
    ],
)
def test_a_line_that_cannot_be_measured_is_named(row: Any, message: str) -> None:
    done = run("confidence", row)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_file_may_begin_with_a_byte_order_mark_but_not_be_empty(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_bytes(codecs.BOM_UTF8 + b'{"samples": ["Canberra"]}\r\n')
    assert CliRunner().invoke(app, ["confidence", "--data", str(file)]).exit_code == 0
    file.write_bytes(b"\n")
    empty = CliRunner().invoke(app, ["confidence", "--data", str(file)])
    assert (empty.exit_code, empty.stderr.count("\n")) == (2, 1)
    assert empty.stderr.startswith(f"hedgerow: {file}: contains no row; expected a JSON object a line")


def test_a_reader_that_has_seen_enough_is_no_fault(tmp_path: Path) -> None:
    """Before `head` the command ends in silence; it said that a pipe was broken."""
    file = tmp_path / "answers.jsonl"
    file.write_text('{"samples": ["Canberra", "Sydney"]}\n')
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "confidence", "--data", str(file)]
    done = subprocess.run(command, stdout=writing_end, stderr=subprocess.PIPE, timeout=90)
    os.close(writing_end)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    """Of a command without a guard of its own; it was a traceback."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "hedgerow.proxy.cli", "lexicon", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=90)
    assert (done.returncode, done.stderr) == (1, "hedgerow: output: No space left on device\n")


def test_the_lines_may_come_from_a_file(tmp_path: Path) -> None:
    """As with every other command that measures recorded answers; a file that is not there is named."""
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"samples": ["Canberra", "Sydney"]}) + "\n")
    done = CliRunner().invoke(app, ["confidence", "--data", str(file)])
    assert json.loads(done.stdout)["groups"] == [[0], [1]]
    absent = CliRunner().invoke(app, ["claims", "--data", str(tmp_path / "absent.jsonl")])
    assert absent.exit_code == 2
    assert "absent.jsonl: cannot be read: No such file or directory" in absent.stderr


def test_output_of_a_machine_whose_encoding_is_another() -> None:
    """A file or pipe is UTF-8, which the commands read again; a terminal shows "?" for what it cannot. It was a traceback."""
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "rewrite", "Zürich – 北京", "--confidence", "0.5"]
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    piped = subprocess.run(command, env=environment, capture_output=True, timeout=90)
    assert "Zürich – 北京" in piped.stdout.decode(), piped.stderr
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=environment, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # the last writer has closed the terminal
            while read := os.read(ours, 4096):
                shown += read
    os.close(ours)
    assert (process.returncode, "Zürich ? ??".encode("latin-1") in shown) == (0, True), shown
