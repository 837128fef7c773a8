"""Marker internal confidence (MIC): the confidence behind a model's own markers, and its stability across datasets.

All metrics follow Liu & Cohan, "Can LLMs Use Linguistic Uncertainty Markers to Reliably Reflect Intrinsic Confidence?",
equation 1 and appendix B.9. The MICs of a model form a matrix: one row per dataset, one column per marker, NaN where a
marker is too rare. Choices that the paper's formulas leave open are in the notes of each function.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray, numbers, probabilities, sample
from ..errors import RangeError, ShapeError

# Correlations, and their average.

FISHER_LIMIT = 0.9999
"""Correlations are clipped to this magnitude before Fisher's transformation, which is infinite at 1."""


def fisher_mean(correlations: ArrayLike) -> float:
    """Mean of correlations: tanh of the mean of their Fisher transforms, arctanh r.

    Parameters
    ----------
    correlations : array_like, shape (n,)
        In [-1, 1], n >= 1.

    Notes
    -----
    **Source**: Fisher 1915; Liu & Cohan, footnotes 7 and 19, whose published code cuts to `FISHER_LIMIT` as well. **Deviates**: none.

    Examples
    --------
    >>> round(fisher_mean([0.9, 0.1]), 4)
    0.6563
    """
    array = np.atleast_1d(numbers("correlations", correlations))
    if not array.size or not (np.abs(array) <= 1.0).all():
        raise RangeError("correlations must be one or more numbers in [-1, 1]")
    return float(np.tanh(np.arctanh(np.clip(array, -FISHER_LIMIT, FISHER_LIMIT)).mean()))


def pearson(x: ArrayLike, y: ArrayLike) -> float | None:
    """Pearson's correlation of two columns of shape (n,), in [-1, 1].

    None for fewer than two pairs, or if one column is constant.

    Examples
    --------
    >>> round(pearson([1, 2, 3], [1, 2, 4]), 4)
    0.982
    """
    a, b = sample(x=numbers("x", x), y=numbers("y", y))
    if a.size < 2 or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return None
    a, b = _standard(a), _standard(b)
    return float(np.clip(a @ b, -1.0, 1.0))


def _standard(values: FloatArray) -> FloatArray:
    """Centred and of length 1; scaled first, so that squares of tiny differences do not underflow."""
    centred = values - values.mean()
    centred = centred / np.abs(centred).max()
    return np.asarray(centred / np.linalg.norm(centred))


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Spearman's correlation: Pearson's of the ranks, ties at their mean rank; None where `pearson` is None.

    Examples
    --------
    >>> round(spearman([0.1, 0.5, 0.9], [0.2, 0.3, 0.4]), 9)
    1.0
    """
    return pearson(ranks(x), ranks(y))


def ranks(values: ArrayLike) -> FloatArray:
    """Ranks from 1; ties get their mean rank.

    Examples
    --------
    >>> ranks([0.3, 0.1, 0.3]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, counts = np.unique(numbers("values", values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[place])


IntArray = NDArray[np.int64]
DECIMALS = 12
"""MICs are rounded to this many decimals, so that equal means are tied whatever the order of summation."""
By = Literal["marker", "sentence", "response"]


@dataclass(frozen=True, slots=True)
class Part:
    """The sentences of one dataset and one split, each with its single marker.

    Attributes
    ----------
    marker : ndarray of int, shape (n,)
        Index of the marker of each sentence, from 0.
    confidence : ndarray of float, shape (n,)
        The model's intrinsic confidence in each sentence, in [0, 1].
    response : ndarray of int, shape (n,)
        Index of the response of each sentence.
    """

    marker: IntArray
    confidence: FloatArray
    response: IntArray

    @classmethod
    def of(cls, marker: ArrayLike, confidence: ArrayLike, response: ArrayLike) -> Part:
        """From columns, which are checked.

        Raises
        ------
        RangeError, ShapeError
            If a confidence is out of range, a marker is negative, or the columns are not equally long.
        """
        columns = [np.atleast_1d(np.asarray(ids, dtype=np.int64)) for ids in (marker, response)]
        confidences = np.atleast_1d(probabilities("confidence", confidence))
        if not columns[0].shape == columns[1].shape == confidences.shape:
            raise ShapeError("marker, confidence and response must be equally long")
        if columns[0].size and columns[0].min() < 0:
            raise RangeError("markers are counted from 0")
        return cls(columns[0], confidences, columns[1])

    def without(self, marker: int) -> Part:
        """The part without the sentences with this marker."""
        kept = self.marker != marker
        return Part(self.marker[kept], self.confidence[kept], self.response[kept])


@dataclass(frozen=True, slots=True)
class Mics:
    """The MICs of one dataset.

    Attributes
    ----------
    mean : ndarray, shape (markers,)
        In [0, 1]; NaN where the marker occurs in fewer sentences than the threshold.
    deviation : ndarray, shape (markers,)
        Standard deviation of the confidences behind each mean; NaN for fewer than two.
    count : ndarray of int, shape (markers,)
        Sentences that bear the marker, S of equation 1, also where they are too few.
    """

    mean: FloatArray
    deviation: FloatArray
    count: IntArray


@dataclass(frozen=True, slots=True)
class Averaged:
    """A metric that is the mean of several values.

    Attributes
    ----------
    value : float or None
        None where there is nothing to average.
    deviation : float or None
        Pooled standard deviation of what was averaged inside the figures; None where there is none.
    over : int
        Figures averaged: datasets, pairs of datasets, or markers.
    """

    value: float | None
    deviation: float | None
    over: int


def mic(part: Part, markers: int, *, threshold: int = 1) -> Mics:
    """Marker internal confidence: the mean confidence of the sentences in which each marker appears.

    MIC(E, M, D) = 1/S * sum over responses i and their sentences l of 1[E in s_il] conf_M(s_il), S = number of sentences with E.

    Parameters
    ----------
    part : Part
        Sentences of a dataset's training split.
    markers : int
        How many markers there are in all.
    threshold : int
        T: sentences that a marker needs for its mean to count.

    Notes
    -----
    **Source**: equation 1; the threshold, section 4. **Deviates**: none. The deviation is of the sample (n - 1); means are rounded to `DECIMALS`.

    Examples
    --------
    >>> mic(Part.of([0, 0, 1], [0.5, 0.7, 0.9], [0, 1, 1]), 2).mean.round(3).tolist()
    [0.6, 0.9]
    """
    if threshold < 1:
        raise RangeError(f"threshold must be >= 1, got {threshold!r}")
    count = np.bincount(part.marker, minlength=markers).astype(np.int64)
    mean = _ratio(np.bincount(part.marker, part.confidence, markers), count)
    squares = np.bincount(part.marker, (part.confidence - mean[part.marker]) ** 2, markers)
    kept = count >= threshold
    deviation = np.sqrt(_ratio(squares, count - 1))
    return Mics(np.where(kept, mean.round(DECIMALS), np.nan), np.where(kept, deviation, np.nan), count)


def absolute_errors(mics: ArrayLike, part: Part, *, by: By = "marker") -> FloatArray:
    """Distances of a model's confidences from the MICs of their markers: one value per marker, sentence or response.

    marker: for each E, the mean over its sentences of |MIC(E, M, D) - conf_M(s)|; sentence: each |MIC(E_s, M, D) - conf_M(s)|;
    response: for each, the mean over its sentences.

    Parameters
    ----------
    mics : array_like, shape (markers,)
        Of the training split; NaN where a marker has none.
    part : Part
        The test split, of the same dataset or another.
    by : {"marker", "sentence", "response"}

    Returns
    -------
    ndarray of float64
        In [0, 1]. Empty where no marker of the test split has a MIC.

    Notes
    -----
    **Source**: appendix B.9, MAE, MAE^S and MAE^R, whose mean this is. **Deviates**: sentences whose marker has no MIC, and responses
    without another, are left out of sums and counts, since they have no error.
    """
    errors = np.abs(numbers("mics", mics)[part.marker] - part.confidence)
    known = ~np.isnan(errors)
    if by == "sentence":
        return np.asarray(errors[known])
    groups = np.unique((part.marker if by == "marker" else part.response)[known], return_inverse=True)[1]
    return np.bincount(groups, errors[known]) / np.bincount(groups) if groups.size else np.empty(0)


def id_mae(mics: Sequence[Mics], tests: Sequence[Part | None], *, by: By = "marker") -> Averaged:
    """ID-MAE (by marker), ID-MAE_S (by sentence), ID-MAE_R (by response): do MICs hold for further questions of their dataset?

    ID-MAE(M) = 1/N_d * sum over datasets D of MAE(M, D).

    Parameters
    ----------
    mics : sequence of Mics
        One a dataset, of its training split.
    tests : sequence of Part or None
        Its test split; None for a dataset with a single split, which does not count.
    by : {"marker", "sentence", "response"}

    Returns
    -------
    Averaged
        In [0, 1]; lower = better. `over` counts datasets. Datasets in whose test split no marker has a MIC do not count.

    Notes
    -----
    **Source**: appendix B.9 with footnote 17; deviations pooled as in table 13: see `pooled_deviation`. **Deviates**: none.
    """
    return _mean_error([(of.mean, test) for of, test in zip(mics, tests, strict=True) if test is not None], by)


def cd_mae(mics: Sequence[Mics], tests: Sequence[Part | None], *, by: By = "marker") -> Averaged:
    """CD-MAE (by marker), CD-MAE_S (by sentence), CD-MAE_R (by response): do MICs of one dataset hold on another?

    CD-MAE(M) = mean over pairs of datasets D != D' of MAE(M, D, D'), MICs from the training split of D, sentences from the test split of D'.

    Parameters
    ----------
    mics, tests, by
        As for `id_mae`.

    Returns
    -------
    Averaged
        In [0, 1]; lower = better. `over` counts ordered pairs of datasets.

    Notes
    -----
    **Source**: appendix B.9. **Deviates**: MAE(M, D, D') is not MAE(M, D', D), and the formula divides by the number of unordered pairs
    while the metric is said to end at 1: the two directions of a pair are averaged, which is the mean over ordered pairs.
    """
    both = [(of.mean, test) for of, test in zip(mics, tests, strict=True) if test is not None]
    return _mean_error([(one[0], other[1]) for one, other in permutations(both, 2)], by)


def _mean_error(pairs: Sequence[tuple[FloatArray, Part]], by: By) -> Averaged:
    errors = [each for mean, test in pairs if (each := absolute_errors(mean, test, by=by)).size]
    if not errors:
        return Averaged(None, None, 0)
    return Averaged(float(np.mean([each.mean() for each in errors])), pooled_deviation(errors), len(errors))


def pooled_deviation(groups: Sequence[FloatArray]) -> float | None:
    """Standard deviation within groups: sqrt(sum of (n_g - 1) s_g^2 / sum of (n_g - 1)); None where no group has two values.

    Notes
    -----
    **Source**: table 13 (the figures behind the plus-minus), footnote 10. **Deviates**: the paper does not say what is pooled; here it is what each
    dataset's (each pair's) mean is taken over.

    Examples
    --------
    >>> pooled_deviation([np.array([0.0, 1.0]), np.array([0.5])])
    0.7071067811865476
    """
    freedom = sum(group.size - 1 for group in groups)
    squares = sum(float(np.sum((group - group.mean()) ** 2)) for group in groups if group.size)
    return float(np.sqrt(squares / freedom)) if freedom > 0 else None


def coefficient_of_variation(values: ArrayLike) -> float | None:
    """Standard deviation over mean, >= 0; None for fewer than two values, or for a mean of 0.

    Notes
    -----
    **Source**: CV of appendix B.9. **Deviates**: none; the deviation is of the sample (n - 1), as in the authors' published code.

    Examples
    --------
    >>> round(coefficient_of_variation([0.4, 0.6]), 4)
    0.2828
    """
    array = numbers("values", values)
    if array.size < 2 or array.mean() == 0.0:
        return None
    return float(array.std(ddof=1) / array.mean())


def shared(mics: ArrayLike) -> IntArray:
    """Mask of the markers that have a MIC in every dataset.

    Parameters
    ----------
    mics : array_like, shape (datasets, markers)
        NaN where a marker has none.
    """
    return np.flatnonzero(~np.isnan(numbers("mics", mics)).any(axis=0))


def m_avg_cv(mics: ArrayLike) -> Averaged:
    """M-AvgCV: does a marker mean the same confidence whatever the dataset?

    M-AvgCV(M) = mean over shared markers E of CV(E, M), the coefficient of variation of E's MICs over the datasets.

    Parameters
    ----------
    mics : array_like, shape (datasets, markers)

    Returns
    -------
    Averaged
        >= 0; lower = better. `over` counts shared markers; None for one dataset.

    Notes
    -----
    **Source**: appendix B.9; shared = in every dataset, footnote 18. **Deviates**: a marker whose MICs are all 0 does not count.
    """
    matrix = _matrix(mics)
    return _mean_of([coefficient_of_variation(matrix[:, marker]) for marker in shared(matrix)])


def d_avg_cv(mics: ArrayLike) -> Averaged:
    """D-AvgCV: do the markers of a model differ in confidence within a dataset?

    D-AvgCV(M) = mean over datasets D of CV(D, M), the coefficient of variation of the MICs in D.

    Parameters
    ----------
    mics : array_like, shape (datasets, markers)

    Returns
    -------
    Averaged
        >= 0; low = all markers mean much the same. `over` counts datasets.

    Notes
    -----
    **Source**: appendix B.9 with the threshold of section 4: MICs of markers that are too rare in D are NaN and do not count. **Deviates**: a
    dataset with one marker does not count: one value has no spread.
    """
    return _mean_of([coefficient_of_variation(row[~np.isnan(row)]) for row in _matrix(mics)])


def _mean_of(values: Sequence[float | None]) -> Averaged:
    kept = [value for value in values if value is not None]
    return Averaged(float(np.mean(kept)) if kept else None, None, len(kept))


def rank_agreement(mics: ArrayLike) -> FloatArray:
    """Spearman's correlation of the MICs of two datasets over the markers that both have, for every pair of datasets.

    Parameters
    ----------
    mics : array_like, shape (datasets, markers)

    Returns
    -------
    ndarray, shape (datasets, datasets)
        Symmetric, in [-1, 1], 1 on the diagonal; NaN where fewer than two markers are shared or one side does not vary.
    """
    matrix = _matrix(mics)
    agreement = np.eye(len(matrix))
    for a, b in combinations(range(len(matrix)), 2):
        both = ~np.isnan(matrix[a]) & ~np.isnan(matrix[b])
        rho = spearman(matrix[a, both], matrix[b, both]) if both.any() else None
        agreement[a, b] = agreement[b, a] = np.nan if rho is None else rho
    return agreement


def mrc(mics: ArrayLike) -> Averaged:
    """MRC, marker rank correlation: do markers have the same order in every dataset?

    MRC(M) = Fisher mean over pairs of datasets of Spearman's correlation of their MICs, over the markers that the two share.

    Parameters
    ----------
    mics : array_like, shape (datasets, markers)

    Returns
    -------
    Averaged
        In [-1, 1]; higher = better. `over` counts pairs of datasets. The deviation is None.

    Notes
    -----
    **Source**: appendix B.9 with footnote 19. **Deviates**: pairs of datasets without a correlation (see `rank_agreement`) do not count.
    """
    agreement = rank_agreement(mics)
    above = agreement[np.triu_indices(len(agreement), 1)]
    kept = above[~np.isnan(above)]
    return Averaged(fisher_mean(kept) if kept.size else None, None, kept.size)


def correlation_across(
    mics: ArrayLike, figures: ArrayLike, *, correlation: Callable[[ArrayLike, ArrayLike], float | None] = pearson
) -> Averaged:
    """MAC and MCC: do MICs correlate with the accuracy (MAC) or the cMFG (MCC) of the datasets?

    MAC(M) = Fisher mean over shared markers E of r_E, the correlation over datasets of E's MICs with the datasets' accuracies.

    Parameters
    ----------
    mics : array_like, shape (datasets, markers)
    figures : array_like, shape (datasets,)
        NaN where a dataset has none: it does not count.
    correlation : callable
        `pearson`; `spearman` for MAC_Spear and MCC_Spear.

    Returns
    -------
    Averaged
        In [-1, 1]. `over` counts markers that are shared by all datasets with a figure and have a correlation.

    Notes
    -----
    **Source**: appendix B.9 with footnote 19. **Deviates**: markers without a correlation (fewer than two datasets, MICs or
    figures that do not vary) do not count.
    """
    matrix, column = _matrix(mics), numbers("figures", figures)
    if column.shape != matrix.shape[:1]:
        raise ShapeError(f"figures must be one a dataset, got {column.size} for {len(matrix)}")
    known = ~np.isnan(column)
    matrix, column = matrix[known], column[known]
    correlations = [correlation(matrix[:, marker], column) for marker in shared(matrix)] if len(matrix) else []
    kept = [r for r in correlations if r is not None]
    return Averaged(fisher_mean(kept) if kept else None, None, len(kept))


def _matrix(mics: ArrayLike) -> FloatArray:
    matrix = numbers("mics", mics)
    if matrix.ndim != 2:
        raise ShapeError(f"mics must be a matrix, datasets by markers, got shape {matrix.shape}")
    return matrix


def _ratio(above: NDArray[Any], below: IntArray) -> FloatArray:
    """`above` / `below`; NaN if there is nothing below."""
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0), dtype=np.float64)


# All metrics of marker internal confidence by the paper's names, from the measured sentences of one model.

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
