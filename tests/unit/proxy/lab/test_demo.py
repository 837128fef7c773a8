"""The demonstration: recorded answers through the real pipeline, scored against the truth, without a model and from any folder."""

from __future__ import annotations

import asyncio
import errno
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

from hedgerow.proxy.lab.demo import Round, load_demo, play, scores

ROOT = Path(__file__).parents[4]
COMMAND = [sys.executable, "-m", "hedgerow.proxy.cli", "demo"]


@pytest.fixture(scope="module")
def rounds() -> list[Round]:
    """All of them, played once."""

    async def played() -> list[Round]:
        return [one async for one in play(load_demo())]

    return asyncio.run(played())


def test_hedgerow_sounds_as_sure_as_it_is_right(rounds: list[Round]) -> None:
    """Within a tenth, where the model's own voice is further off; and its believers are surprised by less than half as much."""
    plain, worded = scores(rounds)
    right = mean(one.right for one in rounds)
    assert 0.3 < right < 0.95, "an accuracy at which both voices could be believed shows nothing"
    assert abs(worded.sure - right) < 0.1 < abs(plain.sure - right)
    assert worded.surprise < plain.surprise / 2


def test_every_answer_went_through_the_whole_pipeline(rounds: list[Round]) -> None:
    """Ten answers, grouped, calibrated by the packaged map, most of them hedged; a hedged one sounds less sure than it did."""
    assert len(rounds) == 20
    for one in rounds:
        assert len(one.result.drawn.texts) == 10
        assert one.result.confidence is not None
        assert one.result.confidence.map_id == "demo"
    hedged = [one for one in rounds if one.result.status == "hedged"]
    assert len(hedged) >= 8
    assert all(one.worded.mean < one.plain.mean for one in hedged)


def test_the_questions_of_the_map_are_others() -> None:
    """What is shown was not learned from: 500 recorded questions, less those."""
    demo = load_demo()
    assert demo.fitted.provenance.n == 500 - len(demo.questions)
    assert "MIT" in demo.source
    assert "Apache-2.0" in demo.source


def test_it_plays_into_a_file_without_waiting(tmp_path: Path) -> None:
    """Everything is said once, in an empty folder: the truth of each question, and both voices at the end."""
    done = subprocess.run(
        COMMAND, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True, env=_environment()
    )
    assert done.stdout.count("✓ right") + done.stdout.count("✗ wrong") == 20
    assert re.search(r"LLaMA-13B +93% +\d\d%", done.stdout)
    assert "\x1b" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_it_plays_in_a_terminal(tmp_path: Path) -> None:
    """Step by step: the question stands there before its answers, and the truth comes last."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "--pace", "0.02"], cwd=tmp_path, stdout=theirs, env=_environment() | {"TERM": "xterm"}
    ) as run:
        os.close(theirs)
        shown = _everything(ours)
    assert run.returncode == 0
    first = shown.index("pub name")
    assert first < shown.index("4 × The Red Lion") < shown.index("it seems") < shown.index("✓ right")
    assert shown.count("pub name") > 1  # drawn again with every step
    assert "sounds equally sure of everything" in re.sub(r"\s+", " ", shown)


def _environment() -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}


def _everything(terminal: int) -> str:
    """What is shown until the other end closes, which Linux reports as an error (EIO)."""
    shown = b""
    while True:
        try:
            read = os.read(terminal, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            read = b""
        if not read:
            os.close(terminal)
            return shown.decode()
        shown += read
