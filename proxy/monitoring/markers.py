"""Do hedges keep their meaning? Marker internal confidence by route, of the model's own and of served hedges, in this period and the previous one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf, nextafter, sqrt

import numpy as np

from ...calibration.metrics import Interval, wilson_interval
from ...lexicon import load
from ...lexicon.perception.markers import SEVERAL, standard
from ...lexicon.perception.people import people_read
from ..audit.counts import Sums, marker_sums
from ..audit.engine import Connection
from ..audit.hours import MARKER, SERVED_MARKER
from ..audit.queries import LabelledAnswers, Period
from ..audit.spoken import OWN_WORDS, SERVED

MIN_ANSWERS = 20
"""Fewest answers in a period for reporting a marker's confidence."""
SHOWN = 20
"""Number of markers in the table for each wording, most frequent first."""
STEPS = 6
"""Steps of a curve in each of the two periods."""
MIN_STEP = 5
"""Fewest answers in a step for reporting its confidence."""
WORDINGS = {MARKER: OWN_WORDS, SERVED_MARKER: SERVED}
"""By the kind of their sums, whose words markers are."""
_Z = 1.96


@dataclass(frozen=True, slots=True)
class Step:
    """A point of a curve: interval (seconds since 1970), number of answers, and their mean raw confidence; None if they are too few."""

    since: float
    until: float
    answers: int
    mic: Interval | None


@dataclass(frozen=True, slots=True)
class MarkerDrift:
    """One marker on one route.

    Attributes:
        words: `own words` for markers of drafts, `served` for those of served answers.
        answers, before: number of answers with it, in this period and in the previous one.
        mic: their mean raw confidence in the period, with its 95 % interval.
        earlier: the same for the previous period; None with too few answers.
        change: `mic` minus `earlier`, with a 95 % interval (Welch, normal approximation).
        people: the confidence that people read in the marker; None if unknown.
        graded, right: verdicts on the answers of the period (`queries.labelled`), and how often they are right, with Wilson's interval; None without a
            verdict.
        curve: both periods in steps, oldest first, the later half being the period; empty where there is none before.
    """

    words: str
    route: str
    marker: str
    answers: int
    before: int
    mic: Interval
    earlier: Interval | None
    change: Interval | None
    people: float | None = None
    graded: int = 0
    right: Interval | None = None
    curve: tuple[Step, ...] = ()

    @property
    def drifts(self) -> bool:
        """Whether the interval of the change excludes 0."""
        return self.change is not None and not self.change.low <= 0.0 <= self.change.high


_Key = tuple[str, str, str]
"""Wording, route, marker."""


def drift_of_markers(
    connection: Connection, period: Period, labelled: LabelledAnswers, route: str | None = None
) -> list[MarkerDrift]:
    """The most frequent markers of a period, compared with the previous period of the same length (the period "all" has none).

    Args:
        connection: a connection with one snapshot.
        period: the time of the answers.
        labelled: answers of the period with a verdict.
        route: restricts the figures to one route.
    """
    graded = _graded(labelled)
    if period.since is None:
        return drift(in_steps(marker_sums(connection, period, period.until + 1.0, route), 1), (), graded)
    length = period.until - period.since
    edges = [period.since + length * (at / STEPS - 1.0) for at in range(2 * STEPS + 1)]
    halves = Period(edges[0], nextafter(period.since, -inf)), period
    steps = [in_steps(marker_sums(connection, half, length / STEPS, route), STEPS) for half in halves]
    return drift([*steps[0], *steps[1]], edges, graded)


def in_steps(sums: Mapping[tuple[str, int, str, str], Sums], number: int) -> list[dict[_Key, Sums]]:
    """Sums by wording, route and standardised marker, in `steps` steps; answers with several markers are left out."""
    steps = [defaultdict[_Key, Sums](Sums) for _ in range(number)]
    for (kind, bucket, route, marker), of in sums.items():
        name = _name_of(marker)
        if name != SEVERAL:
            steps[min(bucket, number - 1)][WORDINGS[kind], route, name] += of
    return [dict(step) for step in steps]


def _graded(labelled: LabelledAnswers) -> dict[_Key, tuple[int, float]]:
    """By wording, route and standardised marker: verdicts, and their sum."""
    pooled: dict[_Key, tuple[int, float]] = {}
    for words, markers in ((OWN_WORDS, labelled.marker), (SERVED, labelled.served_marker)):
        for route, marker, correct in zip(labelled.route, markers, labelled.correct, strict=True):
            if route is not None and marker is not None:
                key = (words, route, _name_of(marker))
                number, right = pooled.get(key, (0, 0.0))
                pooled[key] = (number + 1, right + float(correct))
    return pooled


@cache
def _name_of(marker: str) -> str:
    """The standardised name: of a packaged hedge by its id; other names, and ids of the user's own lexicon, unchanged."""
    entry = load().get(marker)
    return marker if entry is None or not entry.phrase else standard(entry.phrase)


def drift(
    steps: Sequence[Mapping[_Key, Sums]], edges: Sequence[float], graded: Mapping[_Key, tuple[int, float]]
) -> list[MarkerDrift]:
    """Markers with enough answers, by wording, most frequent first.

    Args:
        steps: oldest first, the later half being the period; a single one has nothing before it.
        edges: the moments around them.
        graded: verdicts of the period, and their sum.
    """
    half = len(steps) // 2
    before, now = _together(steps[:half]), _together(steps[half:])
    rows = []
    for words in WORDINGS.values():
        keys = [key for key, of in now.items() if key[0] == words and of.answers >= MIN_ANSWERS]
        keys.sort(key=lambda key: (-now[key].answers, key))
        for key in keys[:SHOWN]:
            curve = tuple(_step(edges[at], edges[at + 1], of.get(key)) for at, of in enumerate(steps) if half)
            rows.append(_compared(key, now[key], before.get(key, Sums()), graded.get(key, (0, 0.0)), curve))
    return rows


def _together(steps: Iterable[Mapping[_Key, Sums]]) -> dict[_Key, Sums]:
    pooled = defaultdict[_Key, Sums](Sums)
    for step in steps:
        for key, of in step.items():
            pooled[key] += of
    return dict(pooled)


def _compared(key: _Key, now: Sums, before: Sums, graded: tuple[int, float], curve: tuple[Step, ...]) -> MarkerDrift:
    mean, variance = _mean(now)
    earlier = change = None
    if before.answers >= MIN_ANSWERS:
        was, spread = _mean(before)
        earlier, change = _within(was, spread), _around(mean - was, variance + spread)
    words, route, marker = key
    return MarkerDrift(
        words, route, marker, now.answers, before.answers, _within(mean, variance), earlier, change,
        people_read(marker).mean, graded[0], _right(*graded), curve,
    )  # fmt: skip


def _right(graded: int, right: float) -> Interval | None:
    if not graded:
        return None
    share = right / graded
    low, high = wilson_interval(np.array([share]), np.array([float(graded)]))
    return Interval(share, float(low[0]), float(high[0]))


def _step(since: float, until: float, sums: Sums | None) -> Step:
    if sums is None or sums.answers < MIN_STEP:
        return Step(since, until, 0 if sums is None else sums.answers, None)
    return Step(since, until, sums.answers, _within(*_mean(sums)))


def _mean(sums: Sums) -> tuple[float, float]:
    """The mean, and the variance of that mean."""
    mean = sums.total / sums.answers
    spread = max(sums.squares - sums.answers * mean * mean, 0.0) / (sums.answers - 1)
    return mean, spread / sums.answers


def _within(value: float, variance: float) -> Interval:
    """Around a mean confidence, in [0, 1]."""
    around = _around(value, variance)
    return Interval(value, max(around.low, 0.0), min(around.high, 1.0))


def _around(value: float, variance: float) -> Interval:
    half = _Z * sqrt(variance)
    return Interval(value, value - half, value + half)
