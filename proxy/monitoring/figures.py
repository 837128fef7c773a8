"""The figures of all routes or of one: what was answered, how it was worded, how sure, and how right that was.

Pure computation over what `hedgerow.proxy.audit.queries` reads; the dashboard and `hedgerow audit summary` show it. Estimates carry 95 % bootstrap intervals; where there are too few verdicts for
one, there is none. The interval of the smooth ECE keeps the estimate's own bandwidth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.calibration.metrics import Interval, bootstrap_interval, generalised_ece, smooth_ece, smooth_ece_interval
from hedgerow.proxy.audit.queries import TOKENS, LabelledAnswers, Period, Tally
from hedgerow.proxy.monitoring.diagrams import Reliability, reliability
from hedgerow.proxy.types import Json

HOUR, DAY = 3600.0, 86400.0
PERIODS: Mapping[str, tuple[str, float | None, float]] = {
    "24h": ("24 hours", DAY, HOUR),
    "7d": ("7 days", 7 * DAY, 6 * HOUR),
    "30d": ("30 days", 30 * DAY, DAY),
    "all": ("all time", None, DAY),
}
"""Name, length and bucket of each period on offer, seconds."""
MAX_BUCKETS = 60
QUALITY_BUCKETS = 10
"""Stretches of time in which calibration is estimated: each needs verdicts of its own."""
MIN_VERDICTS = 20
"""Fewest verdicts that an estimate over a stretch of time is made from."""
RESAMPLES = 80
INTERVAL_ROWS = 4000
"""Newest verdicts that an interval is computed from; the estimate uses all."""

NARROW_SPACE = "\u202f"
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Buckets:
    """Equal stretches of a period."""

    period: Period
    seconds: float
    number: int

    @property
    def starts(self) -> list[float]:
        """When each begins."""
        return [(self.period.since or 0.0) + i * self.seconds for i in range(self.number)]


def buckets_of(name: str, now: float, first: float | None) -> Buckets:
    """The stretches of a named period; "all" begins with the first row."""
    _, length, seconds = PERIODS[name]
    since = now - length if length is not None else (first if first is not None else now - DAY)
    if length is None:
        seconds = max(HOUR, (now - since) / (MAX_BUCKETS / 2))
    return Buckets(Period(since, now), seconds, max(1, ceil((now - since) / seconds - 1e-6)))


@dataclass(frozen=True, slots=True)
class Ending:
    """How requests ended, how many, and how many of them in shadow: there the client got the plain answer."""

    status: str
    reason: str | None
    requests: int
    shadow: int


@dataclass(frozen=True, slots=True)
class RouteFigures:
    """One route, or all, in figures. `fd` and `smooth_ece` are of the calibrated confidence; None where there are too few verdicts."""

    name: str | None
    requests: int
    by_bucket: tuple[int, ...]
    calibrated: int
    hedged: int
    passed: int
    troubled: int
    in_shadow: int
    tokens: Mapping[str, int]
    milliseconds: float | None
    verdicts: int
    accuracy: float | None
    confidence: float | None
    fd: Interval | None
    fd_raw: float | None
    smooth_ece: Interval | None
    smooth_ece_raw: float | None

    def share(self, number: int) -> float | None:
        """Of all its requests."""
        return number / self.requests if self.requests else None


def route_figures(
    name: str | None, counted: Sequence[Tally], labelled: LabelledAnswers, buckets: Buckets
) -> RouteFigures:
    """The figures of what was counted and labelled."""
    by_bucket = Counter[int]()
    by_status = Counter[str]()
    tokens = Counter[str]()
    for tally in counted:
        by_bucket[min(tally.bucket, buckets.number - 1)] += tally.requests
        by_status[tally.status] += tally.requests
        tokens.update(dict(zip(TOKENS, tally.tokens, strict=True)))
    requests = by_status.total()
    raw, fd, ece, ece_raw = None, None, None, None
    if len(labelled) >= MIN_VERDICTS:
        fd, raw = _interval(np.mean, labelled.fd), float(np.mean(labelled.fd_raw))
        ece, ece_raw = _smooth_interval(labelled.calibrated, labelled.correct), _smooth(labelled.raw, labelled.correct)
    return RouteFigures(
        name=name,
        requests=requests,
        by_bucket=tuple(by_bucket[i] for i in range(buckets.number)),
        calibrated=requests - by_status["passed"] - by_status["failed"] - by_status["cancelled"],
        hedged=by_status["hedged"],
        passed=by_status["passed"],
        troubled=by_status["degraded"] + by_status["failed"] + by_status["cancelled"],
        in_shadow=sum(t.requests for t in counted if t.mode == "shadow"),
        tokens=dict(tokens),
        milliseconds=sum(t.milliseconds for t in counted) / requests if requests else None,
        verdicts=len(labelled),
        accuracy=float(np.mean(labelled.correct)) if len(labelled) else None,
        confidence=float(np.mean(_means(labelled.calibrated))) if len(labelled) else None,
        fd=fd,
        fd_raw=raw,
        smooth_ece=ece,
        smooth_ece_raw=ece_raw,
    )


@dataclass(frozen=True, slots=True)
class ClaimFigures:
    """The claims of long answers with a verdict of their own, apart from the answers. Estimates are without intervals: claims of one answer
    stand or fall together, so that their number says less than that of answers. None where there are too few.
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
    """How requests ended, commonest status first and within it the commonest reason."""
    number, shadow = Counter[tuple[str, str | None]](), Counter[tuple[str, str | None]]()
    by_status = Counter[str]()
    for tally in counted:
        number[tally.status, tally.reason] += tally.requests
        shadow[tally.status, tally.reason] += tally.requests if tally.mode == "shadow" else 0
        by_status[tally.status] += tally.requests
    ordered = sorted(number, key=lambda key: (-by_status[key[0]], key[0], -number[key]))
    return [Ending(*key, number[key], shadow[key]) for key in ordered]


def volumes(counted: Sequence[Tally], buckets: Buckets) -> Json:
    """Requests and tokens by time, as columns for the charts."""
    number = buckets.number
    requests, hedged = np.zeros(number), np.zeros(number)
    tokens = np.zeros((len(TOKENS), number))
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


def quality(labelled: LabelledAnswers, period: Period) -> Json:
    """Faithfulness Divergence and smooth ECE by time, each as [low, high, calibrated, raw] by time; empty without verdicts."""
    since = period.since if period.since is not None else float(labelled.created_at.min(initial=period.until))
    since = max(since, float(labelled.created_at.min(initial=period.until)))
    edges = np.linspace(since, period.until, QUALITY_BUCKETS + 1)
    divergence: list[list[float | None]] = []
    error: list[list[float | None]] = []
    times = []
    for low, high in pairwise(edges.tolist()):
        inside = labelled.where((labelled.created_at >= low) & (labelled.created_at < high))
        times.append(float(low + high) / 2)
        if len(inside) < MIN_VERDICTS:
            divergence.append([None] * 4)
            error.append([None] * 4)
            continue
        fd, ece = _interval(np.mean, inside.fd), _smooth_interval(inside.calibrated, inside.correct)
        divergence.append([fd.low, fd.high, fd.estimate, float(np.mean(inside.fd_raw))])
        error.append([ece.low, ece.high, ece.estimate, _smooth(inside.raw, inside.correct)])
    if all(row[0] is None for row in divergence):
        return {"fd": [], "ece": []}
    return {name: [times, *map(list, zip(*rows, strict=True))] for name, rows in (("fd", divergence), ("ece", error))}


def diagrams(labelled: LabelledAnswers) -> list[Reliability]:
    """Reliability of the raw, calibrated and perceived confidence, on verdicts that are right or wrong and nothing between."""
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


def _interval(metric: Callable[..., Any], column: Floats) -> Interval:
    """The estimate from all, its spread from the newest."""
    newest = bootstrap_interval(metric, column[:INTERVAL_ROWS], rng=np.random.default_rng(0), resamples=200)
    return Interval(float(metric(column)), newest.low, newest.high) if column.size > INTERVAL_ROWS else newest


def _smooth_interval(betas: tuple[Floats, Floats], correct: Floats) -> Interval:
    """The estimate from all, its spread from the newest."""
    mean, y = _means(betas), np.round(correct)
    newest = smooth_ece_interval(
        mean[:INTERVAL_ROWS], y[:INTERVAL_ROWS], rng=np.random.default_rng(0), resamples=RESAMPLES
    )
    if mean.size <= INTERVAL_ROWS:
        return newest
    estimate = smooth_ece(mean, y)
    return Interval(estimate, min(newest.low, estimate), max(newest.high, estimate))


def percent(share: float | None, digits: int = 0) -> str:
    """A share as a percentage; what is neither none nor all is never rounded to it."""
    if share is None:
        return "–"
    shown = f"{100 * share:.{digits}f}"
    least = 10.0**-digits
    if share > 0 and float(shown) == 0:
        shown = f"<{least:.{digits}f}"
    elif share < 1 and float(shown) == 100:
        shown = f">{100 - least:.{digits}f}"
    return f"{shown}{NARROW_SPACE}%"
