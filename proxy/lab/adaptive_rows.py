"""Training data of adaptive maps: answers that were drawn in full, with their groups by meaning, labels and token probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from ...calibration.regimes.drawings import Drawings
from ...calibration.regimes.plain import plain_features
from ..clustering.embeddings import Encoder
from ..errors import InputError
from ..grading.rules import alias_grade
from ..types import Clustering, Sample
from .datasets import BadRow
from .measuring import CLUSTERERS
from .regime_data import encode
from .rows import Row, Sampled

MOST_ANSWERS = 20
"""Answers to a question that are used for fitting."""
ENOUGH = 0.9
"""Share of the questions that must have the number of answers used for fitting; questions with fewer are left out."""


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """One question with its answers.

    Attributes:
        cluster: number of each answer's group.
        right: whether each is right; None if unknown.
    """

    question: str
    samples: tuple[Sample, ...]
    cluster: tuple[int, ...]
    right: tuple[bool | None, ...]


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """Usable rows in file order, rows that cannot be used (`bad`), and the number of rows without a label (`unsettled`)."""

    rows: tuple[DrawnRow, ...]
    bad: tuple[BadRow, ...]
    unsettled: int
    model: str


async def read_drawn(
    rows: Iterable[tuple[int, Row | BadRow]], clusters: str, on_row: Callable[[], None] = lambda: None
) -> DrawnRows:
    """Group and grade the answers of every row that has a question and its samples."""
    kept: list[DrawnRow] = []
    bad: list[BadRow] = []
    unsettled, models = 0, set()
    for line, row in rows:
        on_row()
        if isinstance(row, BadRow):
            bad.append(row)
        elif not isinstance(row, Sampled) or not row.question.strip() or not any(s.text for s in row.samples):
            bad.append(BadRow(line, "expected 'question' and 'samples' with the texts of the answers"))
        else:
            clustering = await CLUSTERERS[clusters].cluster(row.question, [sample.text for sample in row.samples])
            right = _graded(row, clustering)
            if all(label is None for label in right):
                unsettled += 1
                continue
            numbers = [0] * len(row.samples)
            for number, members in enumerate(clustering.clusters):
                for member in members:
                    numbers[member] = number
            kept.append(DrawnRow(row.question.strip(), row.samples, tuple(numbers), right))
            models.add(row.model)
    return DrawnRows(tuple(kept), tuple(bad), unsettled, models.pop() if len(models) == 1 else "")


def _graded(row: Sampled, clustering: Clustering) -> tuple[bool | None, ...]:
    """Which answers are right: by their own labels, by the right answers, or by the draft's label for its group.

    If the draft is right, answers with another meaning are wrong; if it is wrong, they are unknown.
    """
    if row.labels:
        return row.labels
    if row.gold:
        wordings = {s.text for s in row.samples}
        known = {text: alias_grade(row.question, text, row.gold, row.wrong).correct == 1.0 for text in wordings}
        return tuple(known[sample.text] for sample in row.samples)
    draft = set(clustering.largest)
    elsewhere = False if row.correct else None
    return tuple(row.correct if i in draft else elsewhere for i in range(len(row.samples)))


def drawings_of(
    rows: Sequence[DrawnRow], encoder: Encoder, on_texts: Callable[[int], None] = lambda _: None
) -> tuple[Drawings, int]:
    """The rows as columns, each different question embedded once; and how many rows have too few answers and are left out.

    Raises:
        InputError: there are no rows, or the encoder's packages are missing.
    """
    if not rows:
        raise InputError("no row has a question, its answers and a label: an adaptive map is learned from these")
    counts = np.array([len(row.samples) for row in rows])
    budget = min(MOST_ANSWERS, int(np.quantile(counts, 1.0 - ENOUGH, method="lower")))
    kept = [row for row in rows if len(row.samples) >= budget]
    distinct = {text: number for number, text in enumerate(dict.fromkeys(row.question for row in kept))}
    prompt = np.array([distinct[row.question] for row in kept], dtype=np.int64)
    drawn = Drawings(
        x=encode(list(distinct), encoder, on_texts)[prompt],
        cluster=np.array([row.cluster[:budget] for row in kept], dtype=np.int64),
        right=np.array([row.right[:budget] for row in kept], dtype=np.float64),
        plain=np.array([[plain_features(row.question, s.text) for s in row.samples[:budget]] for row in kept]),
        tokens=np.array([[token_probabilities(s) for s in row.samples[:budget]] for row in kept]),
        prompt=prompt,
    )
    return drawn, len(rows) - len(kept)


def token_probabilities(sample: Sample) -> tuple[float, float]:
    """Probability of an answer's wording, and mean probability of its tokens; NaN where the upstream gave none."""
    if sample.logprob_mean is None or sample.logprob_sum is None:
        return float("nan"), float("nan")
    return exp(min(0.0, sample.logprob_sum)), exp(min(0.0, sample.logprob_mean))
