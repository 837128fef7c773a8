"""From rows to columns: cluster the samples, measure the signal, settle the outcome, with the parts that the proxy runs.

Beside the proxy's own clustering stands the plainest one, equal texts, which papers call exact match and which makes figures comparable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio
import numpy as np
from numpy.typing import NDArray

from hedgerow.calibration import Beta
from hedgerow.calibration.fitting import MeasuredBy, first_part
from hedgerow.proxy.clustering.clusterer import RuleClusterer
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.grading.alias import alias_grade
from hedgerow.proxy.lab.datasets import BadRow, Measured, Row, Sampled, read_rows
from hedgerow.proxy.protocols import Clusterer, ConfidenceSignal
from hedgerow.proxy.signals.combine import COMBINED, OneOfSeveral, Weights, combine, fit_weights
from hedgerow.proxy.signals.consistency import ConsistencySignal
from hedgerow.proxy.signals.semantic import SemanticSignal
from hedgerow.proxy.signals.token import TokenSignal
from hedgerow.proxy.types import Clustering

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION_BUT_STOPS = re.compile(r"[^\w\s.]")


@dataclass(frozen=True, slots=True)
class Records:
    """Columns in file order, and what is not in them.

    Attributes:
        alpha, beta: the raw confidences, shape (n,).
        correct: 0.0 or 1.0, shape (n,).
        questions: of each row; "" where it names none.
        model: who answered; "" where the rows do not say or do not agree.
        bad: rows that cannot be used.
        unsettled: rows without an outcome yet.
        other_signal: measured rows of another signal than the one asked for.
        measured_by: for a signal that is itself learned from outcomes, the columns of all rows as learned on some of them; see `fit_map`.
    """

    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    correct: NDArray[np.float64]
    questions: tuple[str, ...]
    model: str
    bad: tuple[BadRow, ...]
    unsettled: int
    other_signal: int
    measured_by: MeasuredBy | None = None


SIGNALS: dict[str, ConfidenceSignal] = {s.name: s for s in (SemanticSignal(), TokenSignal(), ConsistencySignal())}
"""Signals that can be measured on recorded answers, beside their combination."""


async def measure(
    rows: Iterable[tuple[int, Row | BadRow]],
    *,
    equivalence: Clusterer,
    signal: ConfidenceSignal,
    on_row: Callable[[], None] = lambda: None,
) -> Records:
    """Measure every row; rows that were measured elsewhere are taken as they are, those of another signal left out."""
    settled: list[tuple[float, float, bool]] = []
    questions: list[str] = []
    models: set[str] = set()
    bad: list[BadRow] = []
    unsettled = other_signal = 0
    for line, row in rows:
        on_row()
        if isinstance(row, BadRow):
            bad.append(row)
        elif isinstance(row, Measured) and row.signal not in ("", signal.name):
            other_signal += 1
        else:
            try:
                raw, correct = await _settle(row, equivalence, signal)
            except StepFailed as failed:
                bad.append(BadRow(line, failed.detail or failed.reason))
                continue
            if correct is None:
                unsettled += 1
                continue
            settled.append((raw.alpha, raw.beta, correct))
            questions.append(row.question)
            models.add(row.model)
    columns = np.array(settled, dtype=np.float64).reshape(-1, 3)
    return Records(
        alpha=columns[:, 0],
        beta=columns[:, 1],
        correct=columns[:, 2],
        questions=tuple(questions),
        model=models.pop() if len(models) == 1 else "",
        bad=tuple(bad),
        unsettled=unsettled,
        other_signal=other_signal,
    )


async def _settle(row: Row, equivalence: Clusterer, signal: ConfidenceSignal) -> tuple[Beta, bool | None]:
    """The raw confidence of a row, and its outcome where that is known."""
    if isinstance(row, Measured):
        return row.raw, row.correct
    clustering = await _cluster(row, equivalence)
    raw = await signal.measure(row.question, row.samples, clustering)
    if row.correct is not None or not row.gold:
        return raw, row.correct
    grade = alias_grade(row.question, row.samples[clustering.draft_index].text, row.gold, row.wrong)
    return raw, grade.correct == 1.0


async def _cluster(row: Sampled, equivalence: Clusterer) -> Clustering:
    if row.cluster_ids is not None:
        return cluster_by_key(row.cluster_ids, "given")
    return await equivalence.cluster(row.question, [sample.text for sample in row.samples])


def fold(text: str) -> str:
    """Lower case, without articles and punctuation but full stops inside ("3.5" is not "35"), spaces folded."""
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION_BUT_STOPS.sub(" ", text.lower())).split()).strip(". ")


def cluster_by_key(keys: Sequence[Hashable], decided_by: str) -> Clustering:
    """Equal keys together; largest cluster first, ties by the earliest sample."""
    members: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        members.setdefault(key, []).append(index)
    ordered = sorted(members.values(), key=lambda cluster: (-len(cluster), cluster[0]))
    return Clustering(tuple(tuple(cluster) for cluster in ordered), {decided_by: len(keys) * (len(keys) - 1) // 2})


class ExactClusterer:
    """Groups answers that are equal after folding."""

    async def cluster(self, question: str, answers: Sequence[str]) -> Clustering:
        """Partition the answers by their folded texts."""
        return cluster_by_key([fold(answer) for answer in answers], "exact")


CLUSTERERS: dict[str, Clusterer] = {"rules": RuleClusterer(), "exact": ExactClusterer()}


def measure_file(
    path: Path, signal: ConfidenceSignal, clusters: str, on_row: Callable[[], None] = lambda: None
) -> Records:
    """The columns of a file of labelled answers.

    Raises:
        OSError: it cannot be read; or another of `UNREADABLE`.
    """
    return anyio.run(partial(measure, read_rows(path), equivalence=CLUSTERERS[clusters], signal=signal, on_row=on_row))


def measure_each(path: Path, clusters: str, on_row: Callable[[], None] = lambda: None) -> dict[str, Records]:
    """The columns of every signal that is combined, each on the rows that have them all.

    Raises:
        OSError: the file cannot be read; or another of `UNREADABLE`.
    """
    several = [SIGNALS[name] for name in COMBINED]
    return {name: measure_file(path, OneOfSeveral(name, several), clusters, on_row) for name in COMBINED}


def combined(measured: Mapping[str, Records], fit_on: float = 1.0) -> tuple[Records, Weights]:
    """The columns of the combined signal, its weights fitted on the first share `fit_on` of the rows.

    Raises:
        ValueError: the signals cannot be combined.
    """
    records = measured[COMBINED[0]]
    rows = [
        {name: Beta(float(of.alpha[i]), float(of.beta[i])) for name, of in measured.items()}
        for i in range(records.alpha.size)
    ]

    def weights_on(chosen: np.ndarray) -> Weights:
        return fit_weights([rows[i] for i in chosen], [bool(y) for y in records.correct[chosen]])

    def columns(weights: Weights) -> tuple[np.ndarray, np.ndarray]:
        betas = [combine(row, weights) for row in rows]
        return np.array([b.alpha for b in betas]), np.array([b.beta for b in betas])

    weights = weights_on(np.arange(first_part(len(rows), fit_on)))
    alpha, beta = columns(weights)
    return replace(
        records, alpha=alpha, beta=beta, measured_by=lambda chosen: columns(weights_on(np.flatnonzero(chosen)))
    ), weights
