"""The table of all metrics by name, used by reports, stored maps, conditions and refits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..divergence import faithfulness_divergence, kl_update
from .binned import (
    ece_equal_mass,
    ece_equal_width,
    equal_mass_residual,
    equal_width_residual,
    generalised_ece,
)
from .bootstrap import Interval, bootstrap_intervals
from .scoring import Loss, aurc, auroc, expected_brier, expected_nll, loss_change
from .smooth import Residual, SmoothResidual, norm_change, smooth_ece

ROUNDING = 1e-9
"""A difference up to this counts as zero."""
Columns = Callable[[FloatArray, FloatArray, FloatArray], float]


def _on_means(metric: Callable[[ArrayLike, ArrayLike], float]) -> Columns:
    return lambda alpha, beta, correct: metric(alpha / (alpha + beta), correct)


def _mean_of(metric: Loss) -> Columns:
    return lambda alpha, beta, correct: float(np.mean(metric(alpha, beta, correct)))


_LOSSES: Mapping[str, Loss] = {
    "faithfulness_divergence": faithfulness_divergence,
    "expected_brier": expected_brier,
    "expected_nll": expected_nll,
    "kl_update": kl_update,
}
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
"""The metrics by name, called with (alpha, beta, correct).

Lower is better, except for auroc. Point metrics use the means.
"""

HEADLINE = ("generalised_ece", "faithfulness_divergence", "smooth_ece")
"""The metrics of a short report."""

COMPARED = ("faithfulness_divergence", "generalised_ece", "expected_brier", "expected_nll")
"""The metrics for comparing two maps; the first decides which is better."""


_NORMS: Mapping[str, Callable[[FloatArray, FloatArray], Residual]] = {
    "smooth_ece": SmoothResidual,
    "ece_equal_width": equal_width_residual,
    "ece_equal_mass": equal_mass_residual,
}
HIGHER_IS_BETTER = frozenset({"auroc"})
"""The metrics for which higher is better; for all others lower is."""
Betas = tuple[FloatArray, FloatArray]
"""Columns (alpha, beta)."""


@dataclass(frozen=True, slots=True)
class Paired:
    """A metric of two confidences on the same answers, and their difference, each with a 95 % interval."""

    before: Interval
    after: Interval
    difference: Interval

    @property
    def beyond_noise(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        return self.difference.low > 0.0 or self.difference.high < 0.0


def paired(
    name: str,
    before: Betas,
    after: Betas,
    correct: FloatArray,
    *,
    rng: np.random.Generator,
    resamples: int,
    on_resample: Callable[[], None] | None = None,
    groups: ArrayLike | None = None,
) -> Paired:
    """A metric of `METRICS` under two confidences of the same answers, with their difference.

    Parameters
    ----------
    name : str
        A name in `METRICS`.
    before, after : tuple[ndarray, ndarray], shape (n,) each
        (alpha, beta) of every answer, in the same order.
    correct : ndarray, shape (n,)
        0 or 1.
    rng : numpy.random.Generator
        Source of the resamples.
    resamples : int
        >= 2.
    on_resample : callable, optional
        Called after each resample (a progress bar, say).
    groups : array_like, shape (n,), optional
        Answers of one group, such as the claims of one text, are not independent and are resampled together.

    Raises
    ------
    NotEnoughData
        If the metric is undefined on the data or on more than half of the resamples.

    Notes
    -----
    **Source**: the paired bootstrap of Efron & Tibshirani 1993, chapter 13: answers are resampled, and both confidences
    are measured on the same resample, so that errors common to both cancel. **Deviates**: the calibration errors of
    points have the intervals of `norm_change`, because percentiles of theirs are biased upwards; means of a loss have
    those of `loss_change`, which allow for unobserved outcomes.

    Examples
    --------
    >>> raw, calibrated = (np.full(100, 9.0), np.full(100, 1.0)), (np.full(100, 6.0), np.full(100, 4.0))
    >>> right = np.array([1.0] * 60 + [0.0] * 40)
    >>> change = paired("expected_brier", raw, calibrated, right, rng=np.random.default_rng(0), resamples=100)
    >>> change.difference.estimate < 0.0, change.beyond_noise
    (True, True)
    """
    how: dict[str, Any] = {"rng": rng, "resamples": resamples, "on_resample": on_resample, "groups": groups}
    if name in _NORMS:
        old, new = (_NORMS[name](alpha / (alpha + beta), correct) for alpha, beta in (before, after))
        return Paired(*norm_change(old, new, **how))
    if name in _LOSSES:
        return Paired(*loss_change(_LOSSES[name], before, after, correct, **how))
    metric = METRICS[name]

    def figures(a: FloatArray, b: FloatArray, new_a: FloatArray, new_b: FloatArray, y: FloatArray) -> list[float]:
        figure, changed = metric(a, b, y), metric(new_a, new_b, y)
        return [figure, changed, changed - figure]

    return Paired(*bootstrap_intervals(figures, *before, *after, correct, **how))
