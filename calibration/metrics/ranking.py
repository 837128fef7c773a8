"""How well a confidence separates right from wrong answers: AUROC, and the risk of giving only the most confident ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, confidence_sample
from ..errors import NotEnoughData


def auroc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Probability that a right answer is more confident than a wrong one, ties counting half.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        In [0, 1]; for distributions, their means (RALC E.1).
    correct : array_like, shape (n,)
        0 or 1; both must occur.

    Returns
    -------
    float
        In [0, 1]; higher = better, 0.5 = chance.

    Raises
    ------
    NotEnoughData
        If all answers are right or all are wrong.
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Hanley & McNeil 1982; the Mann-Whitney statistic. **Deviates**: none.

    Examples
    --------
    >>> auroc([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
    0.875
    """
    p, y = confidence_sample(confidence, correct)
    right = int(y.sum())
    wrong = p.size - right
    if right == 0 or wrong == 0:
        raise NotEnoughData(f"auroc needs right and wrong answers, got {right} right and {wrong} wrong")
    _, place, counts = np.unique(p, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2.0
    return float((rank[place] @ y - right * (right + 1) / 2.0) / (right * wrong))


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """Risk if only the most confident answers are given; arrays of one shape, coverage ascending.

    Attributes
    ----------
    coverage : ndarray
        Share of questions answered, in (0, 1]; one entry for each distinct confidence.
    risk : ndarray
        Share of wrong answers among those given.
    threshold : ndarray
        Lowest confidence that is still answered.
    """

    coverage: FloatArray
    risk: FloatArray
    threshold: FloatArray


def risk_coverage(confidence: ArrayLike, correct: ArrayLike) -> RiskCoverage:
    """Selective risk by coverage, one point per threshold.

    Parameters and errors as for `aurc`.

    Notes
    -----
    **Source**: El-Yaniv & Wiener 2010; Geifman & El-Yaniv 2017. **Deviates**: answers of one confidence are given together
    or not at all, since no threshold separates them.

    Examples
    --------
    >>> curve = risk_coverage([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
    >>> curve.coverage.tolist(), curve.risk.round(3).tolist(), curve.threshold.tolist()
    ([0.25, 0.75, 1.0], [0.0, 0.333, 0.5], [0.9, 0.8, 0.1])
    """
    p, y = confidence_sample(confidence, correct)
    values, place, counts = np.unique(-p, return_inverse=True, return_counts=True)
    answered = np.cumsum(counts)
    wrong = np.cumsum(np.bincount(place, 1.0 - y))
    return RiskCoverage(coverage=answered / p.size, risk=wrong / answered, threshold=-values)


def aurc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Area under the risk-coverage curve: the mean risk over all coverages 1/n, 2/n, ..., 1.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        In [0, 1]; only its order matters.
    correct : array_like, shape (n,)
        0 or 1.

    Returns
    -------
    float
        In [0, 1]; lower = better.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Geifman, Uziel & El-Yaniv 2019. **Deviates**: among answers of one confidence the order is that of chance, so the
    expected number of wrong ones grows evenly; the value does not depend on the order of the records.

    Examples
    --------
    >>> round(aurc([0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0]), 6)
    0.208333
    """
    p, y = confidence_sample(confidence, correct)
    _, place, counts = np.unique(-p, return_inverse=True, return_counts=True)
    wrong = np.bincount(place, 1.0 - y)
    each = np.repeat(wrong / counts, counts)
    return float(np.mean(np.cumsum(each) / np.arange(1, p.size + 1)))
