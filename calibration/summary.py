"""Every metric of a set of answers at once: what a report prints and what a fitted map remembers of its cross-validation."""

from __future__ import annotations

from numpy.typing import ArrayLike

from hedgerow.calibration.arrays import beta_sample
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.calibration.metrics.table import METRICS


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
    figures = {}
    for name, metric in METRICS.items():
        try:
            figures[name] = float(metric(a, b, y))
        except NotEnoughData:  # left out, as the docstring says
            continue
    return figures
