"""Calibrating recorded answers by maps that did not see them, and intervals over questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.data.answers import Columns, Floats
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.calibration.fitting import fit_map
from hedgerow.calibration.maps import DEFAULT, KINDS
from hedgerow.calibration.maps.base import Learned, apply_map, map_class
from hedgerow.calibration.metrics.table import METRICS

FOLDS, FITTED_ON = 10, 3
"""Each tenth of a set is calibrated by a map fitted on three others: 30 %, as in the paper, and every answer is measured once."""
RESAMPLES = 200
Learner = Callable[[Floats, Floats], Learned]
LEARNERS: dict[str, Learner] = {
    kind: map_class(kind).learn for kind in ("identity", *(k for k in KINDS if k != "identity"))
}
"""What the fits learn, without the provenance that each of them writes."""


def held_out(raw: Columns, correct: Floats, kind: str = DEFAULT, seed: int = 0) -> Columns:
    """Calibrated alphas and betas, each by a map of this kind that did not see the answer."""
    return held_out_by(LEARNERS[kind], raw, correct, seed)


def held_out_by(learn: Learner, raw: Columns, correct: Floats, seed: int = 0) -> Columns:
    """The same by any way of learning a map from means and outcomes."""
    fold = np.random.default_rng(seed).permutation(correct.size) % FOLDS
    alpha, beta = raw[0].copy(), raw[1].copy()
    for held in range(FOLDS):
        seen = np.isin(fold, [(held + step) % FOLDS for step in range(1, FITTED_ON + 1)])
        learned = learn((raw[0] / (raw[0] + raw[1]))[seen], correct[seen]).map
        here = fold == held
        alpha[here], beta[here] = apply_map(learned, raw[0][here], raw[1][here])
    return alpha, beta


def transferred(source: Columns, outcomes: Floats, target: Columns) -> Columns:
    """The target's answers calibrated by a map fitted on all of another set's."""
    return apply_map(fit_map(DEFAULT, *source, outcomes, folds=0).map, *target)


def metric(name: str, betas: Columns, correct: Floats) -> float:
    """A metric of `hedgerow.calibration.metrics.table.METRICS`."""
    return float(METRICS[name](*betas, correct))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % bootstrap interval and the number of answers behind it."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return format(self)

    def __format__(self, spec: str) -> str:
        spec = spec or ".3f"
        return f"{self.value:{spec}} ({self.low:{spec}} to {self.high:{spec}})"


def bootstrap(
    sizes: Sequence[int], statistic: Callable[[list[np.ndarray]], float], resamples: int | None = None, seed: int = 0
) -> Estimate:
    """A statistic of several sets: `statistic` gets one array of row indices a set; questions are drawn within sets.

    Resamples on which it is not defined (one class only, one confidence only) are left out; `RESAMPLES` unless said.
    """
    rng = np.random.default_rng(seed)
    value = statistic([np.arange(size) for size in sizes])
    drawn = []
    for _ in range(resamples or RESAMPLES):
        try:
            drawn.append(statistic([rng.integers(0, size, size) for size in sizes]))
        except NotEnoughData:
            continue
    defined = [figure for figure in drawn if not np.isnan(figure)]
    low, high = np.quantile(defined, [0.025, 0.975]) if defined else (np.nan, np.nan)
    return Estimate(value, float(low), float(high), sum(sizes))
