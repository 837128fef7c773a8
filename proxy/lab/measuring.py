"""From rows to columns: cluster the samples, measure the signal and determine the label, with the proxy's own code.

Besides the proxy's own clustering there is grouping by equal texts ("exact match" in papers), for comparable figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio
import numpy as np
from numpy.typing import NDArray

from ...calibration import Beta
from ...calibration.fitting import MeasuredBy, first_part
from ...calibration.metrics.bootstrap import Groups, groups_of
from ..clustering.clusterer import RuleClusterer
from ..clustering.rules import judge_pair
from ..errors import StepFailed
from ..grading.rules import alias_grade
from ..protocols import Clusterer, ConfidenceSignal
from ..signals.combine import COMBINED, Weights, combine, fit_weights
from ..signals.consistency import ConsistencySignal
from ..signals.semantic import SemanticSignal
from ..signals.token import TokenSignal
from ..types import Clustering
from .datasets import BadRow, Source
from .rows import Measured, Row, Sampled, read_rows

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION_BUT_STOPS = re.compile(r"[^\w\s.]")


@dataclass(frozen=True, slots=True)
class Records:
    """Columns in file order, and the rows that were left out.

    Attributes:
        alpha, beta: the raw confidences, shape (n,).
        correct: 0.0 or 1.0, shape (n,).
        questions: of each row; "" without one.
        model: the model that answered; "" if the rows do not name one model.
        bad: rows that cannot be used.
        unsettled: rows without a label.
        other_signal: measured rows of another signal than the requested one.
        stated: rows with one number as their confidence.
        most_samples: largest number of answers in a row; 0 if all rows were already measured.
        graded_by: the fields with right answers by which rows without a label were graded.
        picked: whether the review queue selected the answer by its confidence, shape (n,).
        groups: of each row the user or conversation, else the question, else the answer that it is about or a claim of, shape (n,); None if no two rows share one.
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
    stated: int = 0
    most_samples: int = 0
    graded_by: tuple[str, ...] = ()
    picked: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    measured_by: MeasuredBy | None = None
    groups: Groups = None

    def drawn(self) -> Records:
        """The records without those that the review queue selected by confidence, for unbiased metrics of a map."""
        kept = np.flatnonzero(~self.picked)
        columns = {name: getattr(self, name)[kept] for name in ("alpha", "beta", "correct", "picked")}
        groups = None if self.groups is None else groups_of(self.groups[kept], kept.size)
        return replace(self, questions=tuple(self.questions[i] for i in kept), groups=groups, **columns)


SIGNALS: dict[str, ConfidenceSignal] = {s.name: s for s in (SemanticSignal(), TokenSignal(), ConsistencySignal())}
"""Signals that can be measured on recorded answers, besides their combination."""


async def measure(
    rows: Iterable[tuple[int, Row | BadRow]],
    *,
    equivalence: Clusterer,
    signal: ConfidenceSignal,
    on_row: Callable[[], None] = lambda: None,
) -> Records:
    """Measure every row; already measured rows are used unchanged, those of another signal are left out."""
    return (await measure_several(rows, equivalence=equivalence, signals=[signal], on_row=on_row))[signal.name]


async def measure_several(
    rows: Iterable[tuple[int, Row | BadRow]],
    *,
    equivalence: Clusterer,
    signals: Sequence[ConfidenceSignal],
    on_row: Callable[[], None] = lambda: None,
) -> dict[str, Records]:
    """The columns of each signal by name, on the rows that have all signals; as `measure`."""
    gathered = _Gathered()
    for line, row in rows:
        settled = await _settle_usable(equivalence, signals, line, row)
        on_row()
        gathered.add(*settled)
    return gathered.records([signal.name for signal in signals])


@dataclass(slots=True)
class _Gathered:
    """Collects measured rows; see `Records`."""

    raw: list[list[Beta]] = field(default_factory=list)
    correct: list[bool] = field(default_factory=list)
    picked: list[bool] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    models: set[str] = field(default_factory=set)
    graded_by: set[str] = field(default_factory=set)
    bad: list[BadRow] = field(default_factory=list)
    unsettled: int = 0
    other_signal: int = 0
    stated: int = 0
    most_samples: int = 0

    def add(self, row: Row | BadRow, raw: list[Beta], correct: bool | None) -> None:
        """Add a row; without a confidence it is of another signal."""
        if isinstance(row, BadRow):
            self.bad.append(row)
        elif not raw:
            self.other_signal += 1
        elif correct is None:
            self.unsettled += 1
        else:
            self._keep(row, raw, correct)

    def _keep(self, row: Row, raw: list[Beta], correct: bool) -> None:
        self.raw.append(raw)
        self.correct.append(correct)
        self.picked.append(isinstance(row, Measured) and row.picked)
        self.questions.append(row.question)
        self.clusters.append(row.asker or row.question_hash or row.answer_id or f"row {len(self.clusters)}")
        self.models.add(row.model)
        if isinstance(row, Measured):
            self.stated += row.stated
            return
        self.most_samples = max(self.most_samples, len(row.samples))
        if row.correct is None and not row.labels and row.gold_name:
            self.graded_by.add(row.gold_name)

    def records(self, signals: Sequence[str]) -> dict[str, Records]:
        """The columns of each signal by name."""
        betas = np.array([[(b.alpha, b.beta) for b in raw] for raw in self.raw], np.float64).reshape(
            -1, len(signals), 2
        )
        correct = np.array(self.correct, dtype=np.float64)
        model = next(iter(self.models)) if len(self.models) == 1 else ""
        groups = groups_of(self.clusters, len(self.clusters))
        return {
            name: Records(
                betas[:, i, 0], betas[:, i, 1], correct, tuple(self.questions), model, tuple(self.bad), self.unsettled, self.other_signal,
                self.stated, self.most_samples, tuple(sorted(self.graded_by)), np.array(self.picked, dtype=np.bool_),
                groups=groups,
            )
            for i, name in enumerate(signals)
        }  # fmt: skip


async def _settle_usable(
    equivalence: Clusterer, signals: Sequence[ConfidenceSignal], line: int, row: Row | BadRow
) -> tuple[Row | BadRow, list[Beta], bool | None]:
    """A row with its raw confidences and label; a bad row if it cannot be measured; without confidences if it is of another signal."""
    if isinstance(row, BadRow):
        return row, [], None
    if isinstance(row, Measured) and row.signal and [row.signal] != [signal.name for signal in signals]:
        return row, [], None
    try:
        return row, *await _settle(row, equivalence, signals)
    except StepFailed as failed:
        return BadRow(line, failed.detail or failed.reason), [], None
    except ValueError as refused:
        return BadRow(line, str(refused)), [], None


async def _settle(
    row: Row, equivalence: Clusterer, signals: Sequence[ConfidenceSignal]
) -> tuple[list[Beta], bool | None]:
    """The raw confidences of a row, one a signal, and its label if known."""
    if isinstance(row, Measured):
        return [row.raw] * len(signals), row.correct
    clustering = await _cluster(row, equivalence)
    raw = [await signal.measure(row.question, row.samples, clustering) for signal in signals]
    verdict, draft = row.verdict_of(clustering.draft_index), row.samples[clustering.draft_index].text
    if row.correct is not None and row.judged and not _is_of(row, draft):
        raise ValueError(_OTHER_ANSWER)
    if verdict is not None or not row.gold:
        return raw, verdict
    return raw, alias_grade(row.question, draft, row.gold, row.wrong).correct == 1.0


_OTHER_ANSWER = (
    "its label is of 'response', which is another answer than the most frequent one, whose confidence is measured; "
    "leave the label out where there are right answers ('gold'), or skip the row"
)


def _is_of(row: Sampled, draft: str) -> bool:
    """Whether the answer that a label names is the draft, in these or other words."""
    return row.judged.strip() == draft.strip() or judge_pair(row.question, row.judged, draft).same is True


async def _cluster(row: Sampled, equivalence: Clusterer) -> Clustering:
    if row.cluster_ids is not None:
        return cluster_by_key(row.cluster_ids, "given")
    return await equivalence.cluster(row.question, [sample.text for sample in row.samples])


def fold(text: str) -> str:
    """Lower case, without articles and punctuation except full stops inside ("3.5" is not "35"), with single spaces."""
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION_BUT_STOPS.sub(" ", text.lower())).split()).strip(". ")


def cluster_by_key(keys: Sequence[Hashable], decided_by: str) -> Clustering:
    """Clusters of equal keys; largest cluster first, ties by the earliest sample."""
    members: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        members.setdefault(key, []).append(index)
    ordered = sorted(members.values(), key=lambda cluster: (-len(cluster), cluster[0]))
    decided = {decided_by: len(keys) * (len(keys) - 1) // 2}
    return Clustering(tuple(tuple(cluster) for cluster in ordered), decided, is_final=True)


class ExactClusterer:
    """Groups answers that are equal after folding."""

    async def cluster(self, question: str, answers: Sequence[str]) -> Clustering:
        """Partition the answers by their folded texts."""
        return cluster_by_key([fold(answer) for answer in answers], "exact")


CLUSTERERS: dict[str, Clusterer] = {"rules": RuleClusterer(), "exact": ExactClusterer()}


def measure_file(
    source: Source,
    signals: Sequence[str],
    clusters: str,
    on_row: Callable[[], None] = lambda: None,
) -> dict[str, Records]:
    """The columns of labelled answers for each of these signals, on the rows that have them all.

    Raises:
        OSError: a file cannot be read; or another of `UNREADABLE`.
    """
    chosen = [SIGNALS[name] for name in signals]

    async def run() -> dict[str, Records]:
        return await measure_several(read_rows(source), equivalence=CLUSTERERS[clusters], signals=chosen, on_row=on_row)

    return anyio.run(run)


def combined(measured: Mapping[str, Records], fit_on: float = 1.0) -> tuple[Records, Weights]:
    """The columns of the combined signal, with weights fitted on the first share `fit_on` of the rows.

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
