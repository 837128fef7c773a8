"""From people's readings to a Beta: one fit per survey, pooled over surveys with a random source effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.calibration import Beta

Floats = NDArray[np.float64]

MINIMUM = 20
"""Fewest readings from which a fit is made."""


@dataclass(frozen=True, slots=True)
class SourceFit:
    """One survey's fit of one phrase.

    Attributes
    ----------
    readers : int
    logit, logit_variance : float
        Log-odds of the mean, and the variance of that estimate.
    log_concentration, log_concentration_variance : float
        Natural logarithm of the concentration, and the variance of that estimate.
    """

    readers: int
    logit: float
    logit_variance: float
    log_concentration: float
    log_concentration_variance: float


def fit_source(readings: ArrayLike) -> SourceFit:
    """Beta of one survey by moments, with the errors of its two figures by the delta method.

    Parameters
    ----------
    readings : array_like, shape (n,)
        Numeric readings of one phrase in [0, 1], n >= 20, not all equal.

    Raises
    ------
    ValueError
        If there are fewer than 20 readings, if one lies outside [0, 1], or if they do not vary as a Beta can.

    Notes
    -----
    **Deviates** from RALC D.1, which maximises the likelihood of scores clipped to (1e-6, 1 - 1e-6). People answer in round
    numbers, 0 and 100 among them, and a few turn the scale round; the likelihood lets those few decide. Over the 78
    phrases and surveys here the Beta by moments lies nearer to the readings (mean W1 .026 against .037), and retrieval ranks by W1.
    """
    v = np.asarray(readings, dtype=np.float64)
    if v.size < MINIMUM or not ((v >= 0) & (v <= 1)).all():
        raise ValueError(f"a fit needs {MINIMUM} readings in [0, 1], got {v.size} from {v.min()} to {v.max()}")
    n, mean, variance = v.size, float(v.mean()), float(v.var(ddof=1))
    spread = mean * (1 - mean)
    if not 0 < variance < spread:
        raise ValueError(f"readings with mean {mean:.3f} and variance {variance:.4f} are not spread as a Beta is")
    concentration = spread / variance - 1
    kurtosis = float(((v - mean) ** 4).mean()) / variance**2
    slope = (concentration + 1) / concentration
    return SourceFit(
        n, float(np.log(mean / (1 - mean))), variance / n / spread**2,
        float(np.log(concentration)), slope**2 * max(kurtosis - 1, 0.1) / n,
    )  # fmt: skip


def between_variance(estimates: Sequence[Floats], variances: Sequence[Floats]) -> float:
    """Variance between sources, one for all phrases: DerSimonian & Laird's estimator with the phrases' Q and degrees of freedom summed.

    Two to four surveys of a phrase say little about how much surveys differ; all phrases together say enough.

    Parameters
    ----------
    estimates, variances : sequence of ndarray, one of shape (sources,) per phrase
        Phrases with one source tell nothing and may be left in.

    Returns
    -------
    float
        >= 0.
    """
    excess, scale = 0.0, 0.0
    for y, s2 in zip(estimates, variances, strict=True):
        w = 1 / s2
        excess += float((w * (y - np.average(y, weights=w)) ** 2).sum()) - (y.size - 1)
        scale += float(w.sum() - (w**2).sum() / w.sum())
    return max(0.0, excess / scale) if scale > 0 else 0.0


def pool(estimates: Floats, variances: Floats, between: float) -> float:
    """Mean over sources, each weighted by 1 / (its own variance + the variance between sources)."""
    return float(np.average(estimates, weights=1 / (variances + between)))


def pool_phrases(fits: Sequence[Sequence[SourceFit]]) -> tuple[list[Beta], tuple[float, float]]:
    """Pooled Betas of several phrases.

    Parameters
    ----------
    fits : sequence over phrases of the fits of their sources

    Returns
    -------
    list of Beta
        One per phrase: its mean the pooled mean, its concentration the pooled spread between people within a survey.
    tuple of 2 floats
        Standard deviation between sources of the log-odds of the mean, and of the log concentration.
    """
    logits = [np.array([fit.logit for fit in phrase]) for phrase in fits]
    logit_variances = [np.array([fit.logit_variance for fit in phrase]) for phrase in fits]
    logs = [np.array([fit.log_concentration for fit in phrase]) for phrase in fits]
    log_variances = [np.array([fit.log_concentration_variance for fit in phrase]) for phrase in fits]
    tau2, kappa2 = between_variance(logits, logit_variances), between_variance(logs, log_variances)
    betas = []
    for y, s2, c, c2 in zip(logits, logit_variances, logs, log_variances, strict=True):
        mean = 1 / (1 + np.exp(-pool(y, s2, tau2)))
        betas.append(Beta.from_mean(float(mean), float(np.exp(pool(c, c2, kappa2)))))
    return betas, (float(np.sqrt(tau2)), float(np.sqrt(kappa2)))
