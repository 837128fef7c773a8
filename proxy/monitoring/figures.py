"""The figures of all routes or of one: requests, outcomes, confidence, and accuracy.

Pure computation over the results of `hedgerow.proxy.audit.queries`, for the dashboard and `hedgerow audit summary`. Estimates have 95 %
bootstrap intervals and are missing with too few verdicts. The interval of the smooth ECE uses the estimate's own bandwidth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ...calibration.clusters import first_of_each, together
from ...calibration.errors import NotEnoughData
from ...calibration.metrics import Interval, generalised_ece, smooth_ece, smooth_ece_interval
from ...calibration.metrics.bootstrap import studentised_interval
from ..audit.counts import Tally
from ..audit.hours import PURPOSES
from ..audit.labelled import counted_by
from ..audit.queries import LabelledAnswers, Period
from ..types import Json
from .diagrams import Reliability, reliability

HOUR, DAY = 3600.0, 86400.0
PERIODS: Mapping[str, tuple[str, float | None]] = {
    "24h": ("24 hours", DAY),
    "7d": ("7 days", 7 * DAY),
    "30d": ("30 days", 30 * DAY),
    "all": ("all time", None),
}
"""Name and length in seconds of each period that can be chosen."""
STEPS: Mapping[float, str] = {
    60.0: "minute", 300.0: "five minutes", 900.0: "quarter of an hour", HOUR: "hour", 3 * HOUR: "three hours", 6 * HOUR: "six hours",
    DAY: "day", 7 * DAY: "week", 28 * DAY: "four weeks",
}  # fmt: skip
"""Names of buckets by length in seconds."""
FEWEST_BUCKETS, MOST_BUCKETS = 10, 30
QUALITY_STRETCHES = 10
"""Largest number of time intervals in which calibration is estimated: each needs its own verdicts."""
MIN_VERDICTS = 20
"""Fewest verdicts for an estimate in a time interval."""
MIN_FOR_INTERVAL = 100
"""Fewest independent verdicts for an interval of the Faithfulness Divergence: with fewer it covers too seldom (docs/evidence/levels.md)."""
RESAMPLES = 80
INTERVAL_ROWS = 4000
"""Number of newest verdicts from which an interval is computed; the estimate uses all."""

MINUS = "\N{MINUS SIGN}"
NARROW_SPACE = "\u202f"
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Buckets:
    """Equal time intervals of a period, the last of which ends with it.

    Attributes:
        begun: time of the first row, if the buckets start there instead of at the start of the period.
    """

    period: Period
    seconds: float
    number: int
    begun: float | None = None

    @property
    def name(self) -> str:
        """The name of a bucket's length."""
        return STEPS.get(self.seconds, f"{self.seconds / DAY:.0f} days")

    @property
    def starts(self) -> list[float]:
        """The start of each bucket."""
        return [(self.period.since or 0.0) + i * self.seconds for i in range(self.number)]


def buckets_of(name: str, now: float, first: float | None) -> Buckets:
    """The buckets of a named period, at most `MOST_BUCKETS`. They start with the first row if that is later than the start of the period, so that
    a first hour is drawn by the minute and not as one spike at the end of a week.
    """
    length = PERIODS[name][1]
    begun = first if first is not None and (length is None or first > now - length) else None
    span = max(now - begun, 0.0) if begun is not None else length or DAY
    seconds = next((step for step in STEPS if span <= step * MOST_BUCKETS), ceil(span / MOST_BUCKETS / DAY) * DAY)
    number = max(FEWEST_BUCKETS, ceil(span / seconds))
    return Buckets(Period(now - number * seconds, now), seconds, number, begun)


def stretches(moments: Floats, least: int) -> list[tuple[float, float]]:
    """Time intervals with about equal numbers of `moments`, at least `least` each; none if there are not enough for two.

    >>> stretches(np.array([1.0, 2.0, 9.0, 10.0]), 2)
    [(1.0, 5.5), (5.5, 10.0)]
    """
    number = min(QUALITY_STRETCHES, moments.size // least)
    if number < 2:
        return []
    edges = np.unique(np.quantile(moments, np.linspace(0.0, 1.0, number + 1)))
    return list(pairwise(edges.tolist()))


def inside(moments: Floats, stretch: tuple[float, float]) -> NDArray[np.bool_]:
    """Which moments are in an interval; its end belongs to the next one, except for the last moment of all."""
    low, high = stretch
    ends = moments <= high if high >= moments.max(initial=low) else moments < high
    return np.asarray((moments >= low) & ends)


@dataclass(frozen=True, slots=True)
class Ending:
    """An outcome, its number of requests, and how many of them were in shadow, where the client got the plain answer."""

    status: str
    reason: str | None
    requests: int
    shadow: int


@dataclass(frozen=True, slots=True)
class RouteFigures:
    """The figures of one route or all. `plain` answers were measured and served unchanged. `fd` and `smooth_ece` are of the calibrated confidence, None with too few verdicts,
    `fd_interval` also with fewer than `MIN_FOR_INTERVAL` of them `independent`: one of each user or conversation and question, as far as `counted_by` is known.
    """

    name: str | None
    requests: int
    by_bucket: tuple[int, ...]
    calibrated: int
    hedged: int
    plain: int
    passed: int
    troubled: int
    in_shadow: int
    tokens: Mapping[str, int]
    milliseconds: float | None
    verdicts: int
    independent: int
    counted_by: tuple[str, ...]
    accuracy: float | None
    confidence: float | None
    fd: float | None
    fd_interval: Interval | None
    fd_raw: float | None
    smooth_ece: Interval | None
    smooth_ece_raw: float | None

    def share(self, number: int) -> float | None:
        """Share of all its requests."""
        return number / self.requests if self.requests else None


def route_figures(
    name: str | None, counted: Sequence[Tally], labelled: LabelledAnswers, buckets: Buckets
) -> RouteFigures:
    """The figures from counted and labelled requests."""
    by_bucket = Counter[int]()
    by_status = Counter[str]()
    tokens = Counter[str]()
    for tally in counted:
        by_bucket[min(tally.bucket, buckets.number - 1)] += tally.requests
        by_status[tally.status] += tally.requests
        tokens.update(dict(zip(PURPOSES, tally.tokens, strict=True)))
    requests = by_status.total()
    raw, fd, ece, ece_raw = None, None, None, None
    if len(labelled) >= MIN_VERDICTS:
        fd, raw = float(np.mean(labelled.fd)), float(np.mean(labelled.fd_raw))
        ece, ece_raw = _smooth_interval(labelled), _smooth(labelled.raw, labelled.correct)
    return RouteFigures(
        name=name,
        requests=requests,
        by_bucket=tuple(by_bucket[i] for i in range(buckets.number)),
        calibrated=requests - by_status["passed"] - by_status["failed"] - by_status["cancelled"],
        hedged=by_status["hedged"],
        plain=by_status["plain"] + by_status["unhedged"],
        passed=by_status["passed"],
        troubled=by_status["degraded"] + by_status["failed"] + by_status["cancelled"],
        in_shadow=sum(t.requests for t in counted if t.mode == "shadow"),
        tokens=dict(tokens),
        milliseconds=sum(t.milliseconds for t in counted) / requests if requests else None,
        verdicts=len(labelled),
        independent=first_of_each(labelled.asker, labelled.question).size,
        counted_by=counted_by(labelled.asker, labelled.question),
        accuracy=float(np.mean(labelled.correct)) if len(labelled) else None,
        confidence=float(np.mean(_means(labelled.calibrated))) if len(labelled) else None,
        fd=fd,
        fd_interval=fd_interval(labelled),
        fd_raw=raw,
        smooth_ece=ece,
        smooth_ece_raw=ece_raw,
    )


@dataclass(frozen=True, slots=True)
class ClaimFigures:
    """Figures of claims with their own verdicts, separate from answers. They have no intervals, because claims of one answer are not independent.
    None with too few verdicts.
    """

    verdicts: int
    accuracy: float | None
    confidence: float | None
    fd: float | None = None
    fd_raw: float | None = None
    generalised_ece: float | None = None
    generalised_ece_raw: float | None = None


def claim_figures(labelled: LabelledAnswers) -> ClaimFigures:
    """The figures of labelled claims."""
    if not len(labelled):
        return ClaimFigures(0, None, None)
    known = ClaimFigures(len(labelled), float(np.mean(labelled.correct)), float(np.mean(_means(labelled.calibrated))))
    if len(labelled) < MIN_VERDICTS:
        return known
    outcome = np.round(labelled.correct)
    return replace(
        known,
        fd=float(np.mean(labelled.fd)),
        fd_raw=float(np.mean(labelled.fd_raw)),
        generalised_ece=float(generalised_ece(*labelled.calibrated, outcome)),
        generalised_ece_raw=float(generalised_ece(*labelled.raw, outcome)),
    )


def endings(counted: Sequence[Tally]) -> list[Ending]:
    """Outcomes of requests, most frequent status first, and within it the most frequent reason."""
    number, shadow = Counter[tuple[str, str | None]](), Counter[tuple[str, str | None]]()
    by_status = Counter[str]()
    for tally in counted:
        number[tally.status, tally.reason] += tally.requests
        shadow[tally.status, tally.reason] += tally.requests if tally.mode == "shadow" else 0
        by_status[tally.status] += tally.requests
    ordered = sorted(number, key=lambda key: (-by_status[key[0]], key[0], -number[key]))
    return [Ending(*key, number[key], shadow[key]) for key in ordered]


def volumes(counted: Sequence[Tally], buckets: Buckets) -> Json:
    """Requests and tokens over time, as columns for the charts."""
    number = buckets.number
    requests, hedged = np.zeros(number), np.zeros(number)
    tokens = np.zeros((len(PURPOSES), number))
    for tally in counted:
        at = min(tally.bucket, number - 1)
        requests[at] += tally.requests
        hedged[at] += tally.requests if tally.status == "hedged" else 0
        tokens[:, at] += tally.tokens
    spent = [tokens[0], tokens[1], tokens[2] + tokens[3]]
    return {
        "requests": _chart(buckets.starts, [requests, hedged]),
        "tokens": _chart(buckets.starts, spent),
    }


def quality(labelled: LabelledAnswers) -> Json:
    """Faithfulness Divergence and smooth ECE over time, each as [low, high, calibrated, raw], the ends null where no interval is right; empty without enough verdicts."""
    parts = stretches(labelled.created_at, MIN_VERDICTS)
    divergence: list[list[float | None]] = []
    error: list[list[float | None]] = []
    for part in parts:
        some = labelled.where(inside(labelled.created_at, part))
        if len(some) < MIN_VERDICTS:
            divergence.append([None] * 4)
            error.append([None] * 4)
            continue
        fd, ece = fd_interval(some), _smooth_interval(some)
        ends: tuple[float | None, ...] = (None, None) if fd is None else (fd.low, fd.high)
        divergence.append([*ends, float(np.mean(some.fd)), float(np.mean(some.fd_raw))])
        error.append([ece.low, ece.high, ece.estimate, _smooth(some.raw, some.correct)])
    if all(row[2] is None for row in divergence):
        return {"fd": [], "ece": []}
    times = [(low + high) / 2 for low, high in parts]
    return {name: [times, *map(list, zip(*rows, strict=True))] for name, rows in (("fd", divergence), ("ece", error))}


def diagrams(labelled: LabelledAnswers) -> list[Reliability]:
    """Reliability of the raw, calibrated and perceived confidence, on verdicts of exactly 0 or 1."""
    firm = labelled.where((labelled.correct == 0.0) | (labelled.correct == 1.0))
    shown = []
    for title, (alpha, beta) in (("Raw", firm.raw), ("Calibrated", firm.calibrated), ("Perceived", firm.perceived)):
        known = ~np.isnan(alpha)
        if known.sum() >= MIN_VERDICTS:
            shown.append(reliability(title, alpha[known], beta[known], firm.correct[known]))
    return shown


def _chart(times: Sequence[float], columns: Sequence[Floats]) -> list[list[float]]:
    return [list(times), *(column.tolist() for column in columns)]


def _means(betas: tuple[Floats, Floats]) -> Floats:
    return np.asarray(betas[0] / (betas[0] + betas[1]))


def _smooth(betas: tuple[Floats, Floats], correct: Floats) -> float:
    return smooth_ece(_means(betas), np.round(correct))


def fd_interval(labelled: LabelledAnswers) -> Interval | None:
    """The mean Faithfulness Divergence with the interval of the newest verdicts, the wider of those over askers and over questions, moved to the
    mean of all; None where it would not be right.
    """
    newest = np.maximum(labelled.fd[:INTERVAL_ROWS], 0.0)  # rounding
    ways = [together(names[:INTERVAL_ROWS]) for names in (labelled.asker, labelled.question)]
    if min(way.max(initial=-1) + 1 for way in ways) < MIN_FOR_INTERVAL:
        return None
    try:
        each = [studentised_interval(newest, groups=way, rng=np.random.default_rng(0)) for way in ways]
    except NotEnoughData:
        return None
    held = max(each, key=lambda interval: interval.high - interval.low)
    part = float(np.mean(labelled.fd)) / held.estimate
    return Interval(held.estimate * part, held.low * part, held.high * part)


def _smooth_interval(labelled: LabelledAnswers) -> Interval:
    """The estimate from all verdicts, with the interval of the newest ones, extended to contain the estimate."""
    mean, y = _means(labelled.calibrated), np.round(labelled.correct)
    groups = together([asker or question for asker, question in zip(labelled.asker, labelled.question, strict=True)])
    part = slice(INTERVAL_ROWS)
    newest = smooth_ece_interval(
        mean[part], y[part], rng=np.random.default_rng(0), resamples=RESAMPLES, groups=groups[part]
    )
    if mean.size <= INTERVAL_ROWS:
        return newest
    estimate = smooth_ece(mean, y)
    return Interval(estimate, min(newest.low, estimate), max(newest.high, estimate))


def percent(share: float | None, digits: int = 0) -> str:
    """A share as a percentage; other values are never rounded to 0 % or 100 %."""
    if share is None:
        return "–"
    shown = f"{100 * share:.{digits}f}"
    least = 10.0**-digits
    if share > 0 and float(shown) == 0:
        shown = f"<{least:.{digits}f}"
    elif share < 1 and float(shown) == 100:
        shown = f">{100 - least:.{digits}f}"
    return f"{shown}{NARROW_SPACE}%"


def signed(number: float, digits: int = 2) -> str:
    """A difference with its sign; the minus is a typographic one, as wide as the plus.

    >>> signed(0.125, 3), signed(-0.04)
    ('+0.125', '−0.04')
    """
    return f"{number:+.{digits}f}".replace("-", MINUS)
