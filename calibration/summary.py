"""Every metric of a set of answers at once: what a report prints and what a fitted map remembers of its cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.calibration.arrays import FloatArray, beta_sample
from hedgerow.calibration.divergence import faithfulness_divergence, kl_update
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.calibration.metrics.binned import ece_equal_mass, ece_equal_width, generalised_ece
from hedgerow.calibration.metrics.expected import expected_brier, expected_nll
from hedgerow.calibration.metrics.ranking import aurc, auroc
from hedgerow.calibration.metrics.smooth import smooth_ece

Columns = Callable[[FloatArray, FloatArray, FloatArray], float]


def _on_means(metric: Callable[[ArrayLike, ArrayLike], float]) -> Columns:
    return lambda alpha, beta, correct: metric(alpha / (alpha + beta), correct)


def _mean_of(metric: Callable[[ArrayLike, ArrayLike, ArrayLike], FloatArray]) -> Columns:
    return lambda alpha, beta, correct: float(np.mean(metric(alpha, beta, correct)))


METRICS: Mapping[str, Columns] = {
    "generalised_ece": generalised_ece,
    "faithfulness_divergence": _mean_of(faithfulness_divergence),
    "smooth_ece": _on_means(smooth_ece),
    "ece_equal_width": _on_means(ece_equal_width),
    "ece_equal_mass": _on_means(ece_equal_mass),
    "expected_brier": _mean_of(expected_brier),
    "expected_nll": _mean_of(expected_nll),
    "kl_update": _mean_of(kl_update),
    "auroc": _on_means(auroc),
    "aurc": _on_means(aurc),
}
"""Metric of the columns (alpha, beta, correct) by name. Lower is better, but for auroc. Point metrics are of the means."""


def summarise(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> dict[str, float]:
    """Every metric of `METRICS` that the data allow (no AUROC of one class, no ten bins of nine records).

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Examples
    --------
    >>> summary = summarise([9.0, 9.0], [1.0, 1.0], [1, 0])
    >>> round(summary["generalised_ece"], 6), "ece_equal_mass" in summary
    (0.400195, False)
    """
    a, b, y = beta_sample(alpha, beta, correct)
    found = {}
    for name, metric in METRICS.items():
        try:
            found[name] = float(metric(a, b, y))
        except NotEnoughData:  # left out, as the docstring says
            continue
    return found
