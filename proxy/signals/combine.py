"""Combines several signals into one: a logistic regression on their logits, fitted on labelled answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, log

import numpy as np

from ...calibration import Beta, FittedMap
from ...calibration.logistic import fit_logistic
from ..errors import StepFailed
from ..outcomes import Reason
from ..protocols import ConfidenceSignal
from ..types import Clustering, Sample
from ..upstreams.asking import RouteContext, SignalFactory
from .semantic import SemanticSignal
from .token import TokenSignal

COMBINED = ("semantic", "token")
"""The signals that `signal: combined` combines."""
EDGE = 0.01
"""Means are clipped to [0.01, 0.99]: twenty samples that agree mean "more than 19 in 20", not "certain"."""
RIDGE = 0.1
"""Precision of the normal prior with mean 0 on each weight; the bias has no prior."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of sigmoid(bias + sum over signals of weight * logit(mean)); one weight per signal name."""

    bias: float
    weights: Mapping[str, float]


def logit_of(beta: Beta) -> float:
    """Logit of a signal's mean, clipped as `EDGE` says."""
    mean = min(max(beta.mean, EDGE), 1.0 - EDGE)
    return log(mean / (1.0 - mean))


def combine(betas: Mapping[str, Beta], weights: Weights) -> Beta:
    """Beta with the combined mean and the smallest concentration among the signals.

    Raises:
        KeyError: a weight names a signal that was not measured.
    """
    logit = weights.bias + sum(weight * logit_of(betas[name]) for name, weight in weights.weights.items())
    mean = 1.0 / (1.0 + exp(-logit)) if logit >= 0 else exp(logit) / (1.0 + exp(logit))
    return Beta.from_mean(mean, min(betas[name].concentration for name in weights.weights))


def fit_weights(rows: Sequence[Mapping[str, Beta]], labels: Sequence[bool]) -> Weights:
    """Fit the weights by maximum likelihood with a weak ridge penalty on all but the bias.

    One row per labelled answer: a mapping of signal names to Betas.

    Raises:
        ValueError: rows and labels differ in number, the labels are all the same, or the fit does not converge.
    """
    if len(rows) != len(labels) or len(set(labels)) < 2:
        raise ValueError(f"needs as many labels as rows, of both kinds; got {len(rows)} rows and {len(labels)} labels")
    names = sorted(rows[0])
    columns = [np.ones(len(rows)), *(np.array([logit_of(row[name]) for row in rows]) for name in names)]
    precision = np.array([0.0, *(RIDGE for _ in names)])
    fit = fit_logistic(
        columns, np.array(labels, dtype=np.float64), prior_mean=np.zeros(len(columns)), prior_precision=precision
    )
    if not fit.converged:
        raise ValueError(f"the weights of {', '.join(names)} cannot be fitted on these {len(rows)} answers")
    bias, *weights = fit.coefficients.tolist()
    return Weights(bias, dict(zip(names, weights, strict=True)))


def weights_of(fitted: FittedMap | None) -> Weights:
    """The weights stored with a map of the combined signal.

    Raises:
        StepFailed: `no_weights` if no map is active, or the active one has no weights, or not one finite number for each
            signal.
    """
    if fitted is None or not fitted.weights:
        raise StepFailed(
            "confidence",
            Reason.NO_WEIGHTS,
            "no map of the combined signal is active; make one with `hedgerow fit --signal combined`",
        )
    weights = dict(fitted.weights)
    bias = weights.pop("bias", 0.0)
    if set(weights) != set(COMBINED) or not all(map(isfinite, (bias, *weights.values()))):
        raise StepFailed("confidence", Reason.NO_WEIGHTS, f"needs one finite weight for each of {', '.join(COMBINED)}")
    return Weights(bias, weights)


class CombinedSignal:
    """Measures several signals and combines them with fitted weights."""

    name = "combined"

    def __init__(self, signals: Sequence[ConfidenceSignal], weights: Weights) -> None:
        if missing := set(weights.weights) - {signal.name for signal in signals}:
            raise ValueError(f"weights name signals that are not measured: {', '.join(sorted(missing))}")
        self._signals = signals
        self._weights = weights

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Measure each signal in turn, then combine."""
        betas = {signal.name: await signal.measure(question, samples, clustering) for signal in self._signals}
        return combine(betas, self._weights)


def build(context: RouteContext) -> SignalFactory:
    """A function that makes the combined signal with the weights of the map active for the request's model."""
    signals: list[ConfidenceSignal] = [SemanticSignal(), TokenSignal()]
    return lambda asker, _spent: CombinedSignal(
        signals, weights_of(context.active_map(asker.answering_model, "combined").fitted)
    )
