"""The reliability diagram, for notebooks. Needs the extra `science`."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import ArrayLike

from .calibration.metrics import reliability_equal_width, smooth_ece

GREY = "#8a8a8a"
COLOURS = ("#2f6b4a", "#b5653a", "#41618f", "#8a5a83", "#a08a2c")
"""Colours of the sources in one diagram, in order."""


def reliability_diagram(
    p: ArrayLike, y: ArrayLike, ax: Any = None, *, bins: int = 10, name: str | None = None, color: str | None = None
) -> Any:
    """Share of right answers by stated confidence, with 95 % intervals; on the diagonal confidence and outcomes agree.

    Parameters
    ----------
    p : array_like, shape (n,)
        Confidences in [0, 1].
    y : array_like, shape (n,)
        0 or 1, 1 = right.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default. Several calls on one compare several sources: give each a `name`.
    bins : int
        Bins of equal width.
    name : str, optional
        For the legend.
    color : str, optional
        Any colour of matplotlib; by default the next of five.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    hedgerow.calibration.errors.RangeError, ShapeError
        If a value is out of range or the shapes do not fit together. ValueErrors.

    Notes
    -----
    Dots grow with the number of answers in their bin; bars are Wilson's intervals. The legend has the ECE of these bins and the smooth ECE,
    each by its name, for they differ.
    """
    table = reliability_equal_width(p, y, bins=bins)
    if ax is None:
        _, ax = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
    if not ax.lines:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)), label="perfectly calibrated")
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="stated confidence", ylabel="share of right answers", aspect="equal")
    color = color or COLOURS[(len(ax.lines) - 1) % len(COLOURS)]
    filled = table.weight > 0
    x, share, weight = table.confidence[filled], table.accuracy[filled], table.weight[filled]
    low, high = table.accuracy_low[filled], table.accuracy_high[filled]
    label = f"{name + ': ' if name else ''}ECE {table.error:.3f} ({bins} equal bins), smooth ECE {smooth_ece(p, y):.3f}"
    ax.vlines(x, low, high, color=color, alpha=0.45, linewidth=1.5)
    ax.plot(x, share, color=color, linewidth=1, alpha=0.6)
    ax.scatter(x, share, s=15 + 160 * weight / np.max(weight), color=color, alpha=0.9, zorder=3, label=label)
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.12), frameon=False, fontsize="small")
    return ax
