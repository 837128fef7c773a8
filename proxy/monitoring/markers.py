"""Do a model's own hedges keep their meaning? Marker internal confidence by route, in this period and in the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt

from hedgerow.calibration.metrics import Interval
from hedgerow.lexicon.perception.markers import SEVERAL
from hedgerow.proxy.audit.counts import MarkerSums, marker_sums
from hedgerow.proxy.audit.engine import Connection
from hedgerow.proxy.audit.queries import Period

MIN_ANSWERS = 20
"""Fewest answers that a marker's confidence is reported from, in each period."""
SHOWN = 20
"""Markers in the table, the most frequent ones."""
STEPS = 6
"""Steps of a curve in each of the two periods."""
MIN_STEP = 5
"""Fewest answers that a step's confidence is reported from."""
_WITHIN = 1.96


@dataclass(frozen=True, slots=True)
class Step:
    """A point of a curve: from `since` to `until` (seconds since 1970), so many answers, their mean raw confidence; None where they are too few."""

    since: float
    until: float
    answers: int
    mic: Interval | None


@dataclass(frozen=True, slots=True)
class MarkerDrift:
    """One marker on one route.

    Attributes:
        answers, before: answers whose draft bore it, in the period and in the one before.
        mic: their mean raw confidence in the period, with its 95 % interval.
        earlier: the same of the period before; None where it has too few of them.
        change: `mic` less `earlier`, with the 95 % interval of the difference (Welch's, by the normal distribution).
        curve: both periods in steps, oldest first, the later half being the period; empty where it was not asked for.
    """

    route: str
    marker: str
    answers: int
    before: int
    mic: Interval
    earlier: Interval | None
    change: Interval | None
    curve: tuple[Step, ...] = ()

    @property
    def drifts(self) -> bool:
        """Whether the interval of the change leaves out 0."""
        return self.change is not None and not self.change.low <= 0.0 <= self.change.high


def drift_of_markers(connection: Connection, period: Period, route: str | None = None) -> list[MarkerDrift]:
    """The most frequent markers of a period, beside the stretch of the same length before it (all time has none)."""
    now = marker_sums(connection, period, route)
    if period.since is None:
        return compared(now, ())
    length = period.until - period.since
    return compared(now, marker_sums(connection, Period(period.since - length, period.since), route))


def with_curves(connection: Connection, period: Period, rows: Sequence[MarkerDrift]) -> list[MarkerDrift]:
    """The same markers with their confidence over time; all time has no curve."""
    if period.since is None:
        return list(rows)
    step = (period.until - period.since) / STEPS
    edges = [period.until - step * left for left in range(2 * STEPS, -1, -1)]
    sums = [
        {(of.route, of.marker): of for of in marker_sums(connection, Period(since, until))}
        for since, until in pairwise(edges)
    ]
    return [
        replace(
            row,
            curve=tuple(
                _step(*at, of.get((row.route, row.marker))) for at, of in zip(pairwise(edges), sums, strict=True)
            ),
        )
        for row in rows
    ]


def _step(since: float, until: float, sums: MarkerSums | None) -> Step:
    if sums is None or sums.answers < MIN_STEP:
        return Step(since, until, 0 if sums is None else sums.answers, None)
    return Step(since, until, sums.answers, _around(*_mean(sums)))


def compared(now: Sequence[MarkerSums], before: Sequence[MarkerSums]) -> list[MarkerDrift]:
    """Markers with answers enough now, most frequent first; drafts with several are left out."""
    earlier = {(sums.route, sums.marker): sums for sums in before}
    frequent = sorted(
        (sums for sums in now if sums.answers >= MIN_ANSWERS and sums.marker != SEVERAL), key=lambda sums: -sums.answers
    )
    return [_compared(sums, earlier.get((sums.route, sums.marker))) for sums in frequent[:SHOWN]]


def _compared(now: MarkerSums, before: MarkerSums | None) -> MarkerDrift:
    mean, variance = _mean(now)
    known = 0 if before is None else before.answers
    mic = _around(mean, variance)
    if before is None or known < MIN_ANSWERS:
        return MarkerDrift(now.route, now.marker, now.answers, known, mic, None, None)
    was, spread = _mean(before)
    change = _around(mean - was, variance + spread)
    return MarkerDrift(now.route, now.marker, now.answers, known, mic, _around(was, spread), change)


def _mean(sums: MarkerSums) -> tuple[float, float]:
    """The mean, and the variance of that mean."""
    mean = sums.total / sums.answers
    spread = max(sums.squares - sums.answers * mean * mean, 0.0) / (sums.answers - 1)
    return mean, spread / sums.answers


def _around(value: float, variance: float) -> Interval:
    half = _WITHIN * sqrt(variance)
    return Interval(value, value - half, value + half)
