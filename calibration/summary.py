"""All metrics of a set of answers, for one confidence or for two."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

from .arrays import FloatArray, beta_sample
from .errors import NotEnoughData
from .metrics.bootstrap import Groups
from .metrics.table import METRICS, Betas, Paired, paired


def summarise(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> dict[str, float]:
    """All metrics of `METRICS` that are defined on the data (no AUROC of one class, no ten bins of nine records).

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


def paired_metrics(
    before: Betas,
    after: Betas,
    correct: FloatArray,
    names: Iterable[str],
    *,
    resamples: int,
    rng: np.random.Generator,
    on_resample: Callable[[], None] | None = None,
    groups: Groups = None,
) -> dict[str, Paired]:
    """These metrics with intervals; without those that are undefined on most resamples."""
    changes = {}
    for name in names:
        try:
            changes[name] = paired(
                name, before, after, correct, rng=rng, resamples=resamples, on_resample=on_resample, groups=groups
            )
        except NotEnoughData:
            continue
    return changes
