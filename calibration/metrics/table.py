"""Every metric by its name, which says its estimator: reports, stored maps, conditions and refits take their metrics from here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.divergence import faithfulness_divergence, kl_update
from hedgerow.calibration.metrics.binned import ece_equal_mass, ece_equal_width, generalised_ece
from hedgerow.calibration.metrics.bootstrap import Interval, bootstrap_interval
from hedgerow.calibration.metrics.expected import expected_brier, expected_nll
from hedgerow.calibration.metrics.ranking import aurc, auroc
from hedgerow.calibration.metrics.smooth import smooth_ece, smooth_ece_interval

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

HEADLINE = ("generalised_ece", "faithfulness_divergence", "smooth_ece")
"""The metrics that a short report shows."""

COMPARED = ("faithfulness_divergence", "generalised_ece", "expected_brier", "expected_nll")
"""The metrics that two maps are compared by; the first decides which is better."""


def metric_interval(
    name: str,
    alpha: FloatArray,
    beta: FloatArray,
    correct: FloatArray,
    *,
    rng: np.random.Generator,
    resamples: int,
    on_resample: Callable[[], None] | None = None,
) -> Interval:
    """A metric of `METRICS` with its 95 % interval: percentiles of resamples, but for the smooth ECE, whose interval is its own.

    Raises
    ------
    NotEnoughData
        If the metric is undefined on the data or on more than half of the resamples.
    """
    if name == "smooth_ece":
        mean = alpha / (alpha + beta)
        return smooth_ece_interval(mean, correct, rng=rng, resamples=resamples, on_resample=on_resample)
    return bootstrap_interval(
        METRICS[name], alpha, beta, correct, rng=rng, resamples=resamples, on_resample=on_resample
    )
