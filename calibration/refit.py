"""Tests whether a newly fitted map is better than the active one: fit on the first answers, compare on the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import FloatArray, beta_sample
from .clusters import Names, rests_on
from .errors import NotEnoughData, RangeError
from .fitted import FittedMap
from .fitting import first_part, fit_map, unseen
from .maps.base import CalibrationMap, apply_map
from .metrics.bootstrap import Groups, Interval, groups_of, taken, too_few_groups
from .metrics.table import COMPARED, METRICS, Betas, paired

DECIDING = COMPARED[0]
"""The metric that decides which map is better."""
MIN_REST = 50
"""Fewest answers for a comparison of two maps."""


@dataclass(frozen=True, slots=True)
class Refit:
    """A new map and the active one, on answers that were used for neither the fit nor the choice.

    Attributes
    ----------
    fitted : FittedMap
        Learned on the first answers.
    n : int
        Answers compared on.
    active, new : Mapping[str, float]
        Metrics of `COMPARED` under the map in use and under the new one; lower is better.
    difference : Mapping[str, Interval]
        New minus active with a 95 % interval of the paired bootstrap; below 0 = the new one is better.
    one_key : str or None
        The sender without whose outcomes the new one would not be better.
    """

    fitted: FittedMap
    n: int
    active: Mapping[str, float]
    new: Mapping[str, float]
    difference: Mapping[str, Interval]
    one_key: str | None = None

    @property
    def is_better(self) -> bool:
        """Whether the whole interval of the change in Faithfulness Divergence is below 0, also without any one sender's outcomes."""
        return self.difference[DECIDING].high < 0.0 and self.one_key is None


def refit(
    alpha: ArrayLike,
    beta: ArrayLike,
    correct: ArrayLike,
    active: CalibrationMap,
    *,
    kind: str = "platt",
    train_fraction: float = 0.5,
    resamples: int = 300,
    drawn: ArrayLike = True,
    groups: ArrayLike | None = None,
    senders: Names | None = None,
    rng: np.random.Generator,
    **options: Any,
) -> Refit:
    """Fit on the first `train_fraction` of the answers, in order, and compare with the active map on the rest.

    Parameters
    ----------
    alpha, beta, correct : array_like, shape (n,)
        Raw confidences, finite and >= 1e-6, and 0 or 1; oldest first: a map is used on answers that come after those of its fit.
    active : CalibrationMap
        The map in use; the identity where there is none.
    kind : str
        Kind of the new map, a name in `hedgerow.calibration.maps.KINDS`.
    train_fraction, resamples, rng
        In (0, 1), >= 2, and the source of the resamples.
    drawn : array_like of bool, shape (n,)
        Which answers were chosen at random; others are used for the fit and not for the comparison. All by default.
    groups : array_like, shape (n,), optional
        Answers of one group are resampled together, and not compared if any of them was used for the fit.
    senders : sequence, length n, optional
        Who sent each outcome, None for those who are trusted: a new map must be better without the outcomes of any one, if there are several.
    **options
        As for the fit.

    Raises
    ------
    NotEnoughData, RangeError, ShapeError, NegativeSlope
        As for the fit; also if fewer than 50 answers, or 20 groups, are left to compare on.

    Notes
    -----
    **Source**: the paired bootstrap of Efron & Tibshirani 1993, chapter 13: both maps are measured on the same resamples.

    Examples
    --------
    >>> from hedgerow.calibration import IdentityMap
    >>> rng = np.random.default_rng(0)
    >>> agree = rng.integers(1, 10, 400)
    >>> refit(agree, 10 - agree, rng.random(400) < (agree / 10) ** 3, IdentityMap(), rng=rng).is_better
    True
    """
    a, b, y = beta_sample(alpha, beta, correct)
    together = groups_of(groups, y.size)
    train, rest = _parts(y.size, train_fraction, drawn, together)
    fitted = fit_map(kind, a[:train], b[:train], y[:train], groups=taken(together, slice(train)), **options)
    how: dict[str, Any] = {"rng": rng, "resamples": resamples, "groups": taken(together, rest)}
    old, new, y = apply_map(active, a[rest], b[rest]), apply_map(fitted.map, a[rest], b[rest]), y[rest]
    difference = {name: paired(name, old, new, y, **how).difference for name in COMPARED}
    sent = None if senders is None else np.asarray(senders, dtype=object)[rest]
    return Refit(
        fitted=fitted,
        n=y.size,
        active={name: METRICS[name](*old, y) for name in COMPARED},
        new={name: METRICS[name](*new, y) for name in COMPARED},
        difference=difference,
        one_key=None if sent is None or difference[DECIDING].high >= 0.0 else _one_key(sent, old, new, y, how),
    )


def _one_key(sent: NDArray[np.object_], old: Betas, new: Betas, y: FloatArray, how: dict[str, Any]) -> str | None:
    """The sender on whose outcomes alone it rests that the new map is better; None for none, or if nobody else sent any."""

    def is_better(kept: NDArray[np.intp]) -> bool:
        groups = taken(how["groups"], kept)
        if kept.size < MIN_REST or too_few_groups(groups) is not None:
            return False
        before, after = ((alpha[kept], beta[kept]) for alpha, beta in (old, new))
        return paired(DECIDING, before, after, y[kept], **how | {"groups": groups}).difference.high < 0.0

    return rests_on(sent, is_better) if len(set(sent)) > 1 else None


def _parts(n: int, train_fraction: float, drawn: ArrayLike, groups: Groups) -> tuple[int, NDArray[np.intp]]:
    """The number of answers for the fit, and which of the later ones are compared."""
    if not 0.0 < train_fraction < 1.0:
        raise RangeError(f"train_fraction must be in (0, 1), got {train_fraction!r}")
    train = first_part(n, train_fraction)
    rest = np.flatnonzero(unseen(n, train, groups) & np.asarray(drawn, dtype=bool))
    if train == 0 or rest.size < MIN_REST:
        raise NotEnoughData(f"{n} answers leave {rest.size} to compare on; at least {MIN_REST} are needed")
    if (reason := too_few_groups(taken(groups, rest))) is not None:
        raise NotEnoughData(reason)
    return train, rest
