"""The shipped judge: its real weights under the real onnxruntime, and what happens where either is missing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from hedgerow.proxy.clustering import local
from hedgerow.proxy.clustering.local import ENTAILED, LocalJudge, missing
from hedgerow.proxy.errors import StepFailed
from tests.support.hostile import HOSTILE

CONTRADICTED = 2
installed = pytest.mark.skipif(missing() is not None, reason=missing() or "")
BORN = "Marie Curie was born in Warsaw on 7 November 1867. She moved to Paris in 1891."
SPOKEN = [
    (BORN, "Marie Curie was born in 1867.", ENTAILED),
    (BORN, "Marie Curie was born in Warsaw.", ENTAILED),
    (BORN, "Marie Curie was born in 1872.", CONTRADICTED),
    (BORN, "Marie Curie was not born in Warsaw.", CONTRADICTED),
    ("The bridge was opened in 1932.", "The bridge was opened in 1932.", ENTAILED),
]


@installed
def test_what_follows_is_told_from_what_is_contradicted() -> None:
    """Numbers, names and negations of a claim against a text."""
    found = LocalJudge().probabilities([(premise, claim) for premise, claim, _ in SPOKEN])
    assert found.argmax(axis=1).tolist() == [label for *_, label in SPOKEN]
    assert found.sum(axis=1) == pytest.approx(np.ones(len(SPOKEN)), abs=1e-5)


@installed
def test_a_pair_gets_the_same_figures_in_every_company() -> None:
    """An answer's confidence may not depend on what else is asked."""
    pairs = [(premise, claim) for premise, claim, _ in SPOKEN]
    together = LocalJudge().probabilities(pairs * 3)
    alone = np.concatenate([LocalJudge().probabilities([pair]) for pair in pairs])
    assert np.array_equal(together, np.concatenate([alone] * 3))


@installed
def test_what_is_not_begun_in_time_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was begun stands, in the order in which it was asked."""
    LocalJudge().probabilities([("a", "b")])
    ticks = count()
    monkeypatch.setattr(local.time, "monotonic", lambda: float(next(ticks)))
    first, second = LocalJudge(threads=1).probabilities([SPOKEN[0][:2], SPOKEN[1][:2]], budget_s=1.5)
    assert first.argmax() == ENTAILED
    assert np.isnan(second).all()


@installed
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_read_or_cut(make: Callable[[int], str]) -> None:
    """Any text gives three probabilities."""
    text = make(20_000)
    found = LocalJudge().probabilities([(text, "It was."), ("It was.", text), (text, text)])
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_missing_weights_are_named(tmp_path: Path) -> None:
    """With the file and what to do; the step fails with a reason."""
    pytest.importorskip("onnxruntime")
    assert "model.onnx is missing" in (missing(tmp_path) or "")
    with pytest.raises(StepFailed, match=r"model\.onnx is missing") as caught:
        LocalJudge(tmp_path).probabilities([("a", "b")])
    assert caught.value.reason == "no_model"


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    assert missing() == "onnxruntime is not installed: pip install 'hedgerow[judge]'"
