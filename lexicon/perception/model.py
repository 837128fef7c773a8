"""The small model behind perception: a logistic regression on the features of a sentence, fitted on people's readings.

Its weights are data (`data/hearing/perception.json`), made by `python -m benchmarks.fits.lexicon`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log

from hedgerow.calibration import Beta
from hedgerow.lexicon.hedges.loading import DATA
from hedgerow.lexicon.perception.cues import find_cues
from hedgerow.lexicon.perception.features import features
from hedgerow.lexicon.text.words import Token


@dataclass(frozen=True, slots=True)
class Model:
    """Fitted figures.

    Attributes
    ----------
    intercept : float
        Logits.
    weights : mapping of str to float
        Logits per unit of a feature; a feature that is missing counts 0.
    spread : tuple of 3 floats
        Natural logarithm of the concentration as a quadratic of the mean: how much people agree on a phrase heard at that mean.
    """

    intercept: float
    weights: Mapping[str, float]
    spread: tuple[float, float, float]

    def mean(self, found: Mapping[str, float]) -> float:
        """Perceived confidence, in (0, 1), of a sentence with these features."""
        weights = self.weights
        return 1.0 / (1.0 + exp(-self.intercept - sum(weights.get(name, 0.0) * value for name, value in found.items())))

    def concentration(self, mean: float) -> float:
        """How much people agree on a phrase heard at this mean."""
        constant, linear, square = self.spread
        return exp(constant + linear * mean + square * mean * mean)

    def beta(self, found: Mapping[str, float]) -> Beta:
        """Mean and concentration together."""
        mean = self.mean(found)
        return Beta.from_mean(mean, self.concentration(mean))


@cache
def model() -> Model:
    """The shipped model."""
    raw = json.loads((DATA / "hearing" / "perception.json").read_text(encoding="utf-8"))
    constant, linear, square = raw["spread"]
    return Model(raw["intercept"], raw["weights"], (constant, linear, square))


def heard(tokens: Sequence[Token]) -> Beta:
    """What readers hear in words that hold at least one cue."""
    return model().beta(features(tokens, find_cues(tokens)))


def logit(mean: float) -> float:
    """Log-odds of a mean in (0, 1)."""
    return log(mean / (1.0 - mean))
