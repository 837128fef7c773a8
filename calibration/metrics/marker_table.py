"""All metrics of marker internal confidence by the paper's names, from the measured sentences of one model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import FloatArray
from .correlation import spearman
from .markers import (
    Averaged,
    Mics,
    Part,
    cd_mae,
    correlation_across,
    d_avg_cv,
    id_mae,
    m_avg_cv,
    mic,
    mrc,
)

NO_MARKER = "<no_hedge>"
"""The marker of a sentence without one."""
THRESHOLDS = (10, 20, 50, 100)
"""Number of sentences of a dataset that a marker needs, as the paper varies it; the first is for its main results."""
Split = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence of a model with its single marker.

    Attributes
    ----------
    marker : str
        Standardised; `NO_MARKER` where there is none.
    confidence : float
        The model's intrinsic confidence in the sentence, in [0, 1].
    dataset, response : str
        Its origin. Responses are distinguished within a dataset.
    split : {"train", "test"}
    """

    marker: str
    confidence: float
    dataset: str
    response: str
    split: Split = "train"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The sentences of one model, by dataset and split.

    Attributes
    ----------
    markers : tuple of str
        The names of the numbers in `train` and `test`.
    datasets : tuple of str
        In the order in which they first came.
    train : tuple of Part
        What MICs are estimated on: the training split, or all sentences of a dataset with a single split.
    test : tuple of Part or None
        None for a dataset with a single split.
    """

    markers: tuple[str, ...]
    datasets: tuple[str, ...]
    train: tuple[Part, ...]
    test: tuple[Part | None, ...]

    def without(self, marker: str) -> Corpus:
        """The corpus without the sentences with this marker; datasets and numbers stay."""
        if marker not in self.markers:
            return self
        at = self.markers.index(marker)
        test = tuple(part.without(at) if part is not None else None for part in self.test)
        return Corpus(self.markers, self.datasets, tuple(part.without(at) for part in self.train), test)

    def mics(self, threshold: int = 1) -> tuple[Mics, ...]:
        """The MICs of each dataset."""
        return tuple(mic(part, len(self.markers), threshold=threshold) for part in self.train)

    def matrix(self, threshold: int = 1) -> FloatArray:
        """MICs, shape (datasets, markers); NaN where a marker occurs in fewer sentences than the threshold."""
        rows = [of.mean for of in self.mics(threshold)]
        return np.array(rows) if rows else np.empty((0, len(self.markers)))


def corpus(sentences: Iterable[MarkedSentence]) -> Corpus:
    """Sort sentences by dataset and split.

    Raises
    ------
    RangeError
        If a confidence is not in [0, 1].
    """
    markers: dict[str, int] = {}
    responses: dict[tuple[str, str], int] = {}
    held: defaultdict[str, defaultdict[Split, list[tuple[int, float, int]]]] = defaultdict(lambda: defaultdict(list))
    for s in sentences:
        row = (
            markers.setdefault(s.marker, len(markers)),
            s.confidence,
            responses.setdefault((s.dataset, s.response), len(responses)),
        )
        held[s.dataset][s.split].append(row)
    train = tuple(
        _part(splits["train"] if len(splits) == 2 else next(iter(splits.values()))) for splits in held.values()
    )
    test = tuple(_part(splits["test"]) if len(splits) == 2 else None for splits in held.values())
    return Corpus(tuple(markers), tuple(held), train, test)


def _part(rows: list[tuple[int, float, int]]) -> Part:
    return Part.of(*zip(*rows, strict=True))


@dataclass(frozen=True, slots=True)
class Measured:
    """The input of the metrics: MICs of a model at one threshold, and other results of its datasets.

    Attributes
    ----------
    mics : tuple of Mics
    tests : tuple of Part or None
    accuracy, cmfg : ndarray, shape (datasets,)
        NaN where a dataset has none.
    """

    mics: tuple[Mics, ...]
    tests: tuple[Part | None, ...]
    accuracy: FloatArray
    cmfg: FloatArray

    @property
    def matrix(self) -> FloatArray:
        """MICs, shape (datasets, markers)."""
        return np.array([of.mean for of in self.mics])


MARKER_METRICS: Mapping[str, Callable[[Measured], Averaged]] = {
    "ID-MAE": lambda m: id_mae(m.mics, m.tests),
    "ID-MAE_S": lambda m: id_mae(m.mics, m.tests, by="sentence"),
    "ID-MAE_R": lambda m: id_mae(m.mics, m.tests, by="response"),
    "CD-MAE": lambda m: cd_mae(m.mics, m.tests),
    "CD-MAE_S": lambda m: cd_mae(m.mics, m.tests, by="sentence"),
    "CD-MAE_R": lambda m: cd_mae(m.mics, m.tests, by="response"),
    "M-AvgCV": lambda m: m_avg_cv(m.matrix),
    "D-AvgCV": lambda m: d_avg_cv(m.matrix),
    "MRC": lambda m: mrc(m.matrix),
    "MAC": lambda m: correlation_across(m.matrix, m.accuracy),
    "MAC_Spear": lambda m: correlation_across(m.matrix, m.accuracy, correlation=spearman),
    "MCC": lambda m: correlation_across(m.matrix, m.cmfg),
    "MCC_Spear": lambda m: correlation_across(m.matrix, m.cmfg, correlation=spearman),
}
"""Metrics by name.

Lower is better for the errors and M-AvgCV, higher for MRC; the others are descriptive.
"""


def measure_markers(
    of: Corpus,
    *,
    threshold: int = THRESHOLDS[0],
    accuracy: Mapping[str, float] | None = None,
    cmfg: Mapping[str, float] | None = None,
) -> dict[str, Averaged]:
    """All metrics of `MARKER_METRICS` for one model.

    Parameters
    ----------
    of : Corpus
        At least one dataset.
    threshold : int
        T, sentences of a dataset that a marker needs.
    accuracy, cmfg : mapping of str to float, optional
        By dataset; a dataset that is missing does not count in MAC or MCC.
    """
    columns = [np.array([(known or {}).get(name, np.nan) for name in of.datasets]) for known in (accuracy, cmfg)]
    measured = Measured(of.mics(threshold), of.test, columns[0], columns[1])
    return {name: metric(measured) for name, metric in MARKER_METRICS.items()}
