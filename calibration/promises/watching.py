"""Tests whether a promise "at most this share is wrong" is kept, on verdicts as they arrive; valid at all times.

`watch` follows one promise, `watch_groups` the same promise in each group of answers, with levels that sum to the total
level.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, probabilities, same_shape
from ..errors import RangeError, ShapeError

State = Literal["held", "open", "broken"]
Group = TypeVar("Group", bound=Hashable)

TILTS: tuple[float, ...] = (0.3, 0.7, 1.2, 1.8, 2.5)
"""The alternatives of the alarm: shares wrong, as differences of log-odds from the promised level."""
PATIENCE = 100.0
"""Number of labels after which half of the stake is placed.

Larger = slower at first, but faster for a late change.
"""
BOUND_TILTS: tuple[float, ...] = (0.06, 0.18, 0.54, 1.62, 4.86)
"""The alternatives of a bound, as differences of log-odds from the tested value.

.06 is for a hundred thousand labels, 4.86 for two dozen without a fault.
"""
CONFIDENCE = 0.95
"""Confidence of the bounds that are shown."""
_BISECTIONS = 30


@dataclass(frozen=True, slots=True)
class Watch:
    """The state of a promise according to verdicts.

    Attributes
    ----------
    level : float
        The promise: at most this share is wrong, in (0, 1).
    labels : int
        Verdicts that count.
    share : float or None
        Share of wrong answers, corrected for how they were drawn, in [0, 1]; None without labels.
    low, high : float
        Bounds of that share, each valid at `CONFIDENCE` however often one looks; (0, 1) without labels.
    evidence : float
        Natural logarithm of the e-process now; higher = more evidence that the promise is broken.
    threshold : float
        ln(1 / alpha): the alarm is raised where the evidence reaches it.
    alarm_at : int or None
        Index of the first label at which it did.
    """

    level: float
    labels: int
    share: float | None
    low: float
    high: float
    evidence: float
    threshold: float
    alarm_at: int | None

    @property
    def state(self) -> State:
        """`broken`: the alarm was raised; `held`: the upper bound is at most the level; `open`: neither is shown yet."""
        if self.alarm_at is not None:
            return "broken"
        return "held" if self.high <= self.level else "open"


def watch(
    wrong: ArrayLike,
    *,
    level: float,
    drawn: ArrayLike = 1.0,
    least: float | None = None,
    alpha: float = 0.01,
    confidence: float = CONFIDENCE,
) -> Watch:
    """Test "at most `level` of these answers are wrong", one-sided, valid at all times; and bound the share.

    Parameters
    ----------
    wrong : array_like, shape (n,)
        How wrong each labelled answer was, in [0, 1], 1 = wrong, in the order in which the verdicts came; may be empty.
    level : float
        In (0, 1).
    drawn : array_like, shape (n,)
        Probability, in (0, 1], with which each answer was drawn to be labelled. It may depend on all that was known before the verdict,
        never on the outcome.
    least : float, optional
        A probability below which none was drawn, fixed beforehand; the smallest of `drawn` by default.
    alpha : float
        Probability, in (0, 1), of ever raising an alarm while each answer is wrong with at most probability `level`.
    confidence : float
        Of each bound, in (0, 1).

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range, a probability lies below `least`, or the shapes do not fit together.

    Notes
    -----
    **Source**: betting e-processes and confidence sequences for bounded means (Waudby-Smith & Ramdas 2024); a nonnegative
    supermartingale that begins at 1 reaches 1 / alpha with probability at most alpha (Ville 1939). Labels drawn with unequal
    probabilities are weighted by the inverse of these (Horvitz & Thompson 1952), as in off-policy confidence sequences (Waudby-Smith, Wu,
    Ramdas, Karampatziakis & Mineiro 2024). Bounds are of the share since the first label, not of the last weeks; the alarm looks at these.

    Examples
    --------
    >>> kept = watch([0.0] * 98 + [1.0] * 2, level=0.05)
    >>> kept.state, kept.labels, round(kept.share, 3), round(kept.high, 3)
    ('open', 100, 0.02, 0.091)
    >>> watch(([0.0] * 24 + [1.0]) * 40, level=0.1).state
    'held'
    >>> watch([0.0, 1.0, 0.0, 1.0] * 20, level=0.05).state
    'broken'
    """
    x, p = _columns(wrong, drawn)
    for name, value in (("level", level), ("alpha", alpha), ("confidence", confidence)):
        if not 0.0 < value < 1.0:
            raise RangeError(f"{name} must be in (0, 1), got {value!r}")
    weight = _weights(p, least)
    evidence = _evidence(x, weight, level)
    threshold = float(-np.log(alpha))
    reached = np.flatnonzero(evidence >= threshold)
    return Watch(
        level=level,
        labels=x.size,
        share=float(np.average(x, weights=weight)) if x.size else None,
        low=1.0 - _upper(1.0 - x, weight, confidence),
        high=_upper(x, weight, confidence),
        evidence=float(evidence[-1]) if x.size else 0.0,
        threshold=threshold,
        alarm_at=int(reached[0]) if reached.size else None,
    )


def watch_groups(
    groups: Sequence[Group],
    wrong: ArrayLike,
    *,
    level: float,
    drawn: ArrayLike = 1.0,
    least: float | None = None,
    alpha: float = 0.01,
) -> dict[Group, Watch]:
    """Watch the same promise in each group of answers, even if it holds for all of them together.

    Parameters
    ----------
    groups : sequence, length n
        The group of each label.
    wrong, level, drawn, least
        As for `watch`.
    alpha : float
        Probability, in (0, 1), that any group ever raises a false alarm.

    Returns
    -------
    dict
        By group, in the order of their first labels.

    Notes
    -----
    The k-th group to appear is tested at level alpha / k(k + 1); the levels sum to alpha however many groups there will be (Bonferroni), and a
    group's level never changes. Bounds are corrected in the same way.

    Examples
    --------
    >>> groups = watch_groups(["en"] * 300 + ["de"] * 30, [0.0] * 300 + [0.0, 1.0] * 15, level=0.05)
    >>> {name: each.state for name, each in groups.items()}
    {'en': 'held', 'de': 'broken'}
    """
    x, p = _columns(wrong, drawn)
    if len(groups) != x.size:
        raise ShapeError(f"{x.size} labels need {x.size} groups, got {len(groups)}")
    floor = _least(p, least)
    rows: dict[Group, list[int]] = {}
    for index, group in enumerate(groups):
        rows.setdefault(group, []).append(index)
    watches = {}
    for k, (group, mine) in enumerate(rows.items(), start=1):
        part = 1.0 / (k * (k + 1))
        bounds = 1.0 - (1.0 - CONFIDENCE) * part
        watches[group] = watch(x[mine], level=level, drawn=p[mine], least=floor, alpha=alpha * part, confidence=bounds)
    return watches


def _columns(wrong: ArrayLike, drawn: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, p = same_shape(wrong=np.atleast_1d(probabilities("wrong", wrong)), drawn=probabilities("drawn", drawn))
    if x.ndim != 1:
        raise ShapeError(f"wrong must be one-dimensional, got shape {x.shape}")
    return x, p


def _least(p: FloatArray, least: float | None) -> float:
    """The smallest probability of being drawn."""
    floor = float(p.min(initial=1.0)) if least is None else least
    if not 0.0 < floor <= 1.0:
        raise RangeError(f"least must be in (0, 1], got {floor!r}" if least is not None else "drawn must be > 0")
    if p.size and p.min() < floor:
        raise RangeError(f"drawn must be >= least ({floor!r}), got {float(p.min())!r}")
    return floor


def _weights(p: FloatArray, least: float | None) -> FloatArray:
    """Inverse probabilities, scaled so that the largest possible weight is 1."""
    weights: FloatArray = _least(p, least) / p
    return weights


def _evidence(x: FloatArray, weight: FloatArray, level: float) -> FloatArray:
    """The natural logarithm of the e-process after each label.

    A tilt s bets that the share is q with logit q = logit(level) + s. Its capital is multiplied by 1 + b v (x - level), where x is the
    loss, v = `least` / `drawn` the weight, and b = (e^s - 1) / (1 - level + level e^s): with v = 1 the likelihood ratio of q against
    the level. An answer that was not drawn multiplies by 1, so the expectation of the whole is that of 1 + c (x - level) over all
    answers, at most 1 while the promise holds. The stake is spread over starting times as in
    `hedgerow.calibration.drift.sequential_test`: a promise that held for long is not defended by the bets that it has won.
    """
    tilt = np.exp(np.array(TILTS))
    stake = (tilt - 1.0) / (1.0 - level + level * tilt)
    won = np.cumsum(np.log1p((weight * (x - level))[:, None] * stake), axis=0)
    rows = np.arange(x.size, dtype=np.float64)
    placed = np.log(PATIENCE / (PATIENCE + rows) - PATIENCE / (PATIENCE + rows + 1.0)) - np.log(len(TILTS))
    before = np.concatenate([np.zeros_like(won[:1]), won[:-1]])
    capital = won + np.logaddexp.accumulate(placed[:, None] - before, axis=0) if x.size else won
    idle = np.log(PATIENCE / (PATIENCE + rows + 1.0))
    evidence: FloatArray = np.logaddexp(idle, np.logaddexp.reduce(capital, axis=1)) if x.size else idle
    return evidence


def _upper(x: FloatArray, weight: FloatArray, confidence: float) -> float:
    """The largest share that the bets against it, all placed at the first label, have not ruled out.

    With equal probabilities this bounds a share that moves too (the bets are fixed in log-odds, and ln(1 - m + m e^-s) is concave in
    m); with unequal ones a steady share.
    """
    if x.size == 0:
        return 1.0
    distinct, counts = np.unique(x + 1j * weight, return_counts=True)
    wall = -np.log1p(-confidence)
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        if _against(middle, distinct.real, distinct.imag, counts.astype(np.float64)) < wall:
            low = middle
        else:
            high = middle
    return high


def _against(share: float, x: FloatArray, weight: FloatArray, counts: FloatArray) -> float:
    """Logarithm of the capital of bets that the share is smaller than this; increasing in the share."""
    tilt = np.exp(-np.array(BOUND_TILTS))
    stake = (1.0 - tilt) / (1.0 - share + share * tilt)
    won = counts @ np.log1p((weight * (share - x))[:, None] * stake)
    return float(np.logaddexp.reduce(won) - np.log(len(BOUND_TILTS)))
