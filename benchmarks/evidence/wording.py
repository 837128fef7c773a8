"""Wording recorded answers at their calibrated confidence as a route does, and perceived confidence before and after."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from benchmarks.data.answers import Answers, Case, Columns, Floats
from benchmarks.evidence.reader import Reader
from benchmarks.evidence.rewriting import Case as Reworded
from benchmarks.evidence.rewriting import lost_facts
from hedgerow.calibration import Beta
from hedgerow.lexicon import Lexicon, Retriever, load, offered
from hedgerow.lexicon.reading.local import read
from hedgerow.proxy.rewriting import LocalRewriter, perceived_confidence
from hedgerow.proxy.rewriting.wordings import SPEAKERS
from hedgerow.proxy.types import Rewording, RewriteRequest

K, SHORTLIST = 5, 30
"""As routes have them, and the paper."""


class Writer:
    """A route's retriever and its local way to word."""

    def __init__(self, lexicon: Lexicon | None = None, k: int = K, shortlist: int | None = SHORTLIST) -> None:
        lexicon = lexicon or load()
        self.k, self.retriever = k, Retriever(offered(lexicon, voices=SPEAKERS["auto"]), shortlist)
        self.local = LocalRewriter(self.retriever.hedges, reader=perceived_confidence)

    def write(self, cases: Sequence[Case], targets: Columns, title: str = "wording") -> list[Rewording]:
        """Every draft at its target."""
        betas = [Beta.floored(a, b) for a, b in zip(*targets, strict=True)]
        worded = []
        for case, target in track(list(zip(cases, betas, strict=True)), title, disable=not sys.stderr.isatty()):
            request = RewriteRequest(case.question, case.draft, target, self.retriever.nearest(target, self.k))
            worded.append(self.local.word(request, read(case.draft, case.question)))
        return worded


@dataclass(frozen=True, slots=True)
class Worded:
    """A set before and after: outcomes, targets, what is perceived, the rewordings, and how many drafts lost or won a fact."""

    name: str
    correct: Floats
    target: Columns
    before: Columns
    after: Columns
    done: tuple[Rewording, ...]
    facts_lost: int


def some(answers: Answers, most: int, seed: int = 0) -> tuple[Answers, Floats]:
    """At most so many cases, drawn evenly, and their places."""
    places = np.sort(np.random.default_rng(seed).permutation(len(answers))[:most])
    return Answers(answers.name, tuple(answers.cases[i] for i in places)), places


def word(answers: Answers, target: Columns, reader: Reader, writer: Writer) -> Worded:
    """Word all cases and listen."""
    done = writer.write(answers.cases, target, answers.name)
    before = reader.perceive([case.draft for case in answers.cases])
    after = reader.perceive([one.text for one in done])
    lost = sum(facts_lost(case, one) for case, one in zip(answers.cases, done, strict=True))
    return Worded(answers.name, answers.correct, target, before, after, tuple(done), lost)


def facts_lost(case: Case, done: Rewording) -> bool:
    """The rewriting part's check, which has nothing of the guard in it."""
    request = RewriteRequest(case.question, case.draft, Beta(1.0, 1.0), ())
    return lost_facts(Reworded("", request, done, done, 0.0))


def means(betas: Columns) -> Floats:
    """Means."""
    return betas[0] / (betas[0] + betas[1])


def at(betas: Columns, rows: NDArray[np.intp]) -> Columns:
    """Some rows."""
    return betas[0][rows], betas[1][rows]
