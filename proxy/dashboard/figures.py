"""What the pages draw, as numbers: densities of Betas on a common scale. Templates turn them into SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from hedgerow.calibration import Beta

CELLS = 120
"""Cells of [0, 1] in which a density is drawn."""
TALLEST = 2.5
"""A curve this many times as high as the lowest peak runs out of the frame: else a spike would flatten all others."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A density to be drawn: heights of its cells as shares of the frame, and what is written beside it."""

    name: str
    beta: Beta
    heights: tuple[float, ...]
    low: float
    high: float
    """The central 90 % of the probability."""


def density(beta: Beta, cells: int = CELLS) -> tuple[float, ...]:
    """Mean density in each of so many equal cells of [0, 1]."""
    cumulated = special.betainc(beta.alpha, beta.beta, np.linspace(0.0, 1.0, cells + 1))
    return tuple((np.diff(cumulated) * cells).tolist())


def central(beta: Beta, share: float = 0.9) -> tuple[float, float]:
    """The interval that leaves out equal probabilities on both sides."""
    tail = (1.0 - share) / 2.0
    low, high = special.betaincinv(beta.alpha, beta.beta, [tail, 1.0 - tail])
    return float(low), float(high)


def curves(named: Sequence[tuple[str, Beta | None]], cells: int = CELLS) -> tuple[Curve, ...]:
    """The densities of those that are there, on one scale."""
    drawn = [(name, beta, density(beta, cells)) for name, beta in named if beta is not None]
    if not drawn:
        return ()
    peaks = [max(heights) for _, _, heights in drawn]
    top = 1.08 * min(max(peaks), TALLEST * min(peaks))
    return tuple(
        Curve(name, beta, tuple(height / top for height in heights), *central(beta)) for name, beta, heights in drawn
    )
