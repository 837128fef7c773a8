"""Numbers for the charts of pages, reports and terminals: densities of Betas, reliability diagrams, curves in the unit square (y upwards)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from ...calibration import Beta, CalibrationMap
from ...calibration.arrays import FloatArray
from ...calibration.evaluation import Evaluation
from ...calibration.metrics import faithfulness_divergence, generalised_reliability, risk_coverage

Points = list[tuple[float, float]]

CELLS = 120
"""Cells of [0, 1] in which a density is drawn."""
MOST_POINTS = 400
"""Approximate number of points of a curve."""
TALLEST = 2.5
"""A curve is cut at this many times the lowest peak; else one spike would flatten all others."""
_BARS = " ▁▂▃▄▅▆▇█"
_STRIPS = 50
"""Strips in which the density of the confidences is drawn."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A density to draw: heights of its cells as shares of the frame, and its labels."""

    name: str
    beta: Beta
    heights: tuple[float, ...]
    low: float
    high: float
    """The central 90 % of the probability."""


def density(beta: Beta, cells: int = CELLS) -> tuple[float, ...]:
    """Mean density in each of `cells` equal cells of [0, 1]."""
    cumulated = special.betainc(beta.alpha, beta.beta, np.linspace(0.0, 1.0, cells + 1))
    return tuple((np.diff(cumulated) * cells).tolist())


def central(beta: Beta) -> tuple[float, float]:
    """The central 90 % interval."""
    low, high = special.betaincinv(beta.alpha, beta.beta, [0.05, 0.95])
    return float(low), float(high)


def curves(named: Sequence[tuple[str, Beta | None]], cells: int = CELLS) -> tuple[Curve, ...]:
    """The densities of the given Betas, without None, on one scale."""
    drawn = [(name, beta, density(beta, cells)) for name, beta in named if beta is not None]
    if not drawn:
        return ()
    peaks = [max(heights) for _, _, heights in drawn]
    top = 1.08 * min(max(peaks), TALLEST * min(peaks))
    return tuple(
        Curve(name, beta, tuple(height / top for height in heights), *central(beta)) for name, beta, heights in drawn
    )


def density_bars(beta: Beta, width: int) -> str:
    """The density in equal cells as a line of bars for a terminal."""
    heights = np.array(density(beta, width))
    return "".join(_BARS[i] for i in np.ceil(heights / heights.max() * (len(_BARS) - 1) - 1e-9).astype(int))


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of a reliability diagram: mean confidence, accuracy with its interval, and its share of all answers."""

    confidence: float
    accuracy: float
    low: float
    high: float
    share: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """A reliability diagram. `density` has the share of confidence in each strip, relative to the fullest."""

    title: str
    error: float
    bins: list[Bin]
    density: list[float]


def reliability(title: str, alpha: FloatArray, beta: FloatArray, correct: FloatArray) -> Reliability:
    """The diagram of a set of Betas: bins of the generalised ECE, density of the mixture of all Betas."""
    table = generalised_reliability(alpha, beta, correct)
    columns = (table.confidence, table.accuracy, table.accuracy_low, table.accuracy_high, table.weight / correct.size)
    # The accuracy of a bin with less than half an answer in total has no meaning.
    bins = [Bin(*map(float, row)) for row, w in zip(zip(*columns, strict=True), table.weight, strict=True) if w >= 0.5]
    strips = generalised_reliability(alpha, beta, correct, bins=_STRIPS).weight
    return Reliability(title, table.error, bins, (strips / strips.max()).tolist())


@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of answers by Faithfulness Divergence, before and after, relative to the fullest; edges in nats."""

    labels: list[str]
    before: list[float]
    after: list[float]
    top: float


def divergences(evaluation: Evaluation) -> Histogram:
    """Histogram of the Faithfulness Divergences with edges at powers of two, because they span decades."""
    edges = np.array([0.0, *(2.0 ** np.arange(-4, 5)), np.inf])
    labels = ["0", "1/16", "1/8", "1/4", "1/2", "1", "2", "4", "8", "16"]
    shares = [
        np.histogram(faithfulness_divergence(alpha, beta, evaluation.correct), edges)[0] / evaluation.correct.size
        for alpha, beta in (evaluation.raw, evaluation.calibrated)
    ]
    top = float(max(share.max() for share in shares))
    return Histogram(labels, (shares[0] / top).tolist(), (shares[1] / top).tolist(), top)


def risk_curve(betas: tuple[FloatArray, FloatArray], correct: FloatArray) -> Points:
    """Risk against coverage, most confident answers first."""
    curve = risk_coverage(betas[0] / (betas[0] + betas[1]), correct)
    return _thin(list(zip(curve.coverage.tolist(), curve.risk.tolist(), strict=True)))


def map_curve(calibration_map: CalibrationMap) -> Points:
    """Calibrated against raw mean, with more points at the ends, where maps bend."""
    raw = (1.0 - np.cos(np.linspace(0.0, np.pi, 201))) / 2.0
    return list(zip(raw.tolist(), calibration_map.means(raw).tolist(), strict=True))


def observed(evaluation: Evaluation, *, most: int = 20) -> Points:
    """Accuracy against raw mean of measured answers, in at most `groups` groups of equal size."""
    mean = evaluation.raw[0] / (evaluation.raw[0] + evaluation.raw[1])
    order = np.argsort(mean, kind="stable")
    groups = np.array_split(order, min(most, max(1, mean.size // 20)))
    return [(float(mean[group].mean()), float(evaluation.correct[group].mean())) for group in groups]


def _thin(points: Points) -> Points:
    step = -(-len(points) // MOST_POINTS)
    return points if step == 1 else [*points[::step], points[-1]]
