"""The figures of all routes or of one: requests, outcomes, confidence, and accuracy.

Pure computation over the results of `hedgerow.proxy.audit.queries`, for the dashboard and `hedgerow audit summary`. Estimates have 95 %
bootstrap intervals and are missing with too few verdicts. The interval of the smooth ECE uses the estimate's own bandwidth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import ceil, floor, log10

import numpy as np
from numpy.typing import NDArray

from ...calibration import ActiveMap, Beta
from ...calibration.arms import difference
from ...calibration.arrays import FloatArray
from ...calibration.clusters import first_of_each, together
from ...calibration.errors import NotEnoughData
from ...calibration.maps.base import apply_map
from ...calibration.metrics import Interval, faithfulness_divergence, generalised_ece, smooth_ece, smooth_ece_interval
from ...calibration.metrics.bootstrap import studentised_interval
from ..audit.counts import Tally
from ..audit.engine import Connection, Engine, transaction
from ..audit.hours import PURPOSES
from ..audit.labelled import counted_by
from ..audit.queries import MOST_DOLLARS, MOST_TOKENS, ArmRows, LabelledAnswers, Period, arm_rows
from ..config import Route
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


def stretches(moments: FloatArray, least: int) -> list[tuple[float, float]]:
    """Time intervals with about equal numbers of `moments`, at least `least` each; none if there are not enough for two.

    >>> stretches(np.array([1.0, 2.0, 9.0, 10.0]), 2)
    [(1.0, 5.5), (5.5, 10.0)]
    """
    number = min(QUALITY_STRETCHES, moments.size // least)
    if number < 2:
        return []
    edges = np.unique(np.quantile(moments, np.linspace(0.0, 1.0, number + 1)))
    return list(pairwise(edges.tolist()))


def inside(moments: FloatArray, stretch: tuple[float, float]) -> NDArray[np.bool_]:
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


def _chart(times: Sequence[float], columns: Sequence[FloatArray]) -> list[list[float]]:
    return [list(times), *(column.tolist() for column in columns)]


def _means(betas: tuple[FloatArray, FloatArray]) -> FloatArray:
    return np.asarray(betas[0] / (betas[0] + betas[1]))


def _smooth(betas: tuple[FloatArray, FloatArray], correct: FloatArray) -> float:
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


# Cost of answers in a period, and the estimated cost of a shadow route in mode `on`. Pure computation over the audit's
# sums.


@dataclass(frozen=True, slots=True)
class Projection:
    """Cost in dollars a day of the requests on shadow routes: as plain answers, and if the routes were on."""

    plain: float
    on: float

    @property
    def sentence(self) -> str:
        """The projection as a sentence.

        >>> Projection(17.9, 41.17).sentence
        'In mode on it would cost 2.3 times as much as plain: $41.17 a day instead of $17.90.'
        """
        times, daily = self.on / self.plain, f"{dollars(self.on)} a day instead of {dollars(self.plain)}"
        return f"In mode on it would cost {times:.1f} times as much as plain: {daily}."


@dataclass(frozen=True, slots=True)
class Money:
    """Known cost of calibrated requests, in dollars.

    Attributes:
        answers: the answers, as plain calls would have cost.
        calibration: further samples, judges, rewriting and stronger models.
        unpriced: number of answers with a confidence but unknown cost.
        projection: None if no request in shadow has a known cost.
    """

    answers: float
    calibration: float
    unpriced: int
    projection: Projection | None = None

    @property
    def total(self) -> float:
        """The sum of both."""
        return self.answers + self.calibration

    def to_json(self) -> Json:
        """The JSON object in `hedgerow audit summary --json`."""
        would = self.projection
        return {
            "answers": self.answers,
            "calibration": self.calibration,
            "unpriced_answers": self.unpriced,
            "projection": would and {"plain_a_day": would.plain, "on_a_day": would.on, "times": would.on / would.plain},
        }


def money(counted: Sequence[Tally], buckets: Buckets) -> Money:
    """The cost of the counted requests."""
    answers, calibration = _sums(counted)
    return Money(answers, calibration, sum(tally.unpriced for tally in counted), _projected(counted, buckets))


def over_time(counted: Sequence[Tally], buckets: Buckets) -> list[list[float]]:
    """Dollars over time, as columns for the chart: answers, and calibration."""
    spent = np.zeros((2, buckets.number))
    for tally in counted:
        spent[:, min(tally.bucket, buckets.number - 1)] += tally.costs
    return [buckets.starts, *spent.tolist()] if spent.any() else []


def _projected(counted: Sequence[Tally], buckets: Buckets) -> Projection | None:
    shadow = [tally for tally in counted if tally.mode == "shadow"]
    plain, calibration = _sums(shadow)
    if not plain:
        return None
    began = buckets.starts[min(min(tally.bucket, buckets.number - 1) for tally in shadow)]
    days = max(buckets.period.until - began, HOUR) / DAY
    return Projection(plain / days, (plain + calibration) / days)


def _sums(counted: Sequence[Tally]) -> tuple[float, float]:
    return sum(tally.costs[0] for tally in counted), sum(tally.costs[1] for tally in counted)


def dollars(amount: float) -> str:
    """An amount with cents, or as many decimals as small amounts need.

    >>> dollars(1234.5), dollars(0.25), dollars(0.001234), dollars(0.0)
    ('$1,234.50', '$0.25', '$0.0012', '$0')
    """
    if amount <= 0:
        return "$0"
    decimals = 2 if amount >= 0.1 else min(9, 1 - floor(log10(amount)))
    return f"${amount:,.{decimals}f}"


# Figures of both arms of a split route and their differences, with intervals that are valid at every look.

MOST_NATS = 5.0
"""Upper limit in nats at which one answer's Faithfulness Divergence is cut: the interval needs a bound known in advance."""
NOBODY = ArmRows(0, 0, *(np.zeros(0) for _ in range(7)))


@dataclass(frozen=True, slots=True)
class ArmGap:
    """The difference between the arm `on` and the other one.

    Attributes:
        figure: "divergence" (nats), "feedback" (share of requests), "tokens" or "cost" (of an answer, in US dollars).
        on, rest: means of the two arms; None without values.
        low, high: 95 % interval of the difference, valid at every look; the whole range of the figure without values.
        n_on, n_rest: values of each arm.
    """

    figure: str
    on: float | None
    rest: float | None
    low: float
    high: float
    n_on: int
    n_rest: int

    @property
    def estimate(self) -> float | None:
        """The difference of the means."""
        return None if self.on is None or self.rest is None else self.on - self.rest

    @property
    def settled(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True, slots=True)
class ArmComparison:
    """A split route's arms.

    Attributes:
        share: present share of the arm `on`; None if the split has ended.
        rest: the other arm's mode.
        requests: by arm.
        accuracy: share of labelled answers that were right, by arm; None without any.
    """

    route: str
    share: float | None
    rest: str
    requests: Mapping[str, int]
    accuracy: Mapping[str, float | None]
    gaps: Sequence[ArmGap]

    def to_dict(self) -> Json:
        """The comparison as a JSON object."""
        return asdict(self) | {"gaps": [asdict(gap) | {"difference": gap.estimate} for gap in self.gaps]}


def compare(engine: Engine, routes: Sequence[Route]) -> dict[str, ArmComparison]:
    """Every route that is split, or was.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        comparisons = {route.name: comparison(connection, route) for route in routes}
    return {name: each for name, each in comparisons.items() if each is not None}


def comparison(connection: Connection, route: Route) -> ArmComparison | None:
    """The arms of a route; None if it was never split."""
    rows = arm_rows(connection, route.name)
    if not rows and route.split is None:
        return None
    rest = route.split.rest if route.split else next((arm for arm in rows if arm != "on"), "shadow")
    arms = [rows.get(arm, NOBODY) for arm in ("on", rest)]
    return ArmComparison(
        route=route.name,
        share=route.split.on if route.split else None,
        rest=rest,
        requests={arm: each.requests for arm, each in zip(("on", rest), arms, strict=True)},
        accuracy={arm: _mean(each.correct) for arm, each in zip(("on", rest), arms, strict=True)},
        gaps=(
            _gap("divergence", MOST_NATS, [(_divergence(each), np.ones(each.correct.size)) for each in arms]),
            _gap("feedback", 1.0, [_feedback(each) for each in arms]),
            _gap("tokens", MOST_TOKENS, [(each.tokens, each.token_counts) for each in arms]),
            _gap("cost", MOST_DOLLARS, [(each.cost, each.cost_counts) for each in arms]),
        ),
    )


def _gap(figure: str, most: float, columns: Sequence[tuple[FloatArray, FloatArray]]) -> ArmGap:
    (on, on_counts), (rest, rest_counts) = columns
    gap = difference(on / most, rest / most, first_counts=on_counts, second_counts=rest_counts)
    on_mean, rest_mean = (None if mean is None else mean * most for mean in (gap.first, gap.second))
    numbers = int(on_counts.sum()), int(rest_counts.sum())
    return ArmGap(figure, on_mean, rest_mean, gap.low * most, gap.high * most, *numbers)


def _divergence(arm: ArmRows) -> FloatArray:
    if not arm.correct.size:
        return arm.correct
    return np.clip(faithfulness_divergence(arm.alpha, arm.beta, arm.correct), 0.0, MOST_NATS)


def _feedback(arm: ArmRows) -> tuple[FloatArray, FloatArray]:
    """Feedback per request as values 1 and 0, with the number of each."""
    counts = np.array([arm.rated, arm.requests - arm.rated], dtype=np.float64)
    return np.array([1.0, 0.0])[counts > 0], counts[counts > 0]


def _mean(column: FloatArray) -> float | None:
    return float(column.mean()) if column.size else None


# Older answers with known outcome: today's maps compared with the confidence that was served.

Maps = Mapping[str, Mapping[str, ActiveMap]]
"""The active maps by route and model; "" for all other models."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of confidences against outcomes; lower is better. `divergence` in nats, the others in [0, 1]."""

    divergence: float
    brier: float
    smooth_ece: float


@dataclass(frozen=True, slots=True)
class Hindsight:
    """Labelled answers that were worded with another map than today's, or with none.

    Attributes:
        answers: number of answers.
        versions: the maps of today, by name.
        said, today: scores of the served confidence, and of today's maps on the same raw confidences.
    """

    answers: int
    versions: Sequence[str]
    said: Scores
    today: Scores


def hindsight(labelled: LabelledAnswers, maps: Maps, routes: Sequence[Route]) -> Hindsight | None:
    """The comparison over all of these routes; None with fewer than `MIN_VERDICTS` such answers."""
    chosen, alpha, beta, versions = [], [], [], set[str]()
    for route in routes:
        for model, active in _by_model(labelled, maps.get(route.name, {}), route):
            older = (labelled.route == route.name) & (labelled.model == model) & (labelled.map_id != active.version)
            older &= labelled.signal == route.signal
            if not older.any():
                continue
            a, b = apply_map(active.map, labelled.raw[0][older], labelled.raw[1][older])
            chosen.append(np.flatnonzero(older))
            alpha.append(a)
            beta.append(b)
            versions.add(str(active.version))
    if sum(map(len, chosen)) < MIN_VERDICTS:
        return None
    rows = np.concatenate(chosen)
    said = (labelled.calibrated[0][rows], labelled.calibrated[1][rows])
    today = (np.concatenate(alpha), np.concatenate(beta))
    correct = labelled.correct[rows]
    return Hindsight(rows.size, sorted(versions), _scores(*said, correct), _scores(*today, correct))


def _by_model(
    labelled: LabelledAnswers, maps: Mapping[str, ActiveMap], route: Route
) -> Sequence[tuple[str, ActiveMap]]:
    """Today's map for each model among the route's answers, if it has one."""
    models = {str(model) for model in labelled.model[labelled.route == route.name] if model is not None}
    active_maps = [(model, map_today(maps, model)) for model in sorted(models)]
    return [(model, active) for model, active in active_maps if active is not None]


def map_today(maps: Mapping[str, ActiveMap], model: str | None) -> ActiveMap | None:
    """The active map of a model; None without one."""
    active = maps.get(model or "", maps.get(""))
    return active if active is not None and active.version is not None else None


@dataclass(frozen=True, slots=True)
class Today:
    """Today's calibrated confidence of one older answer."""

    version: str
    calibrated: Beta


def today_of(row: Json, maps: Maps, routes: Sequence[Route]) -> Today | None:
    """Today's confidence for an audit row; None if it has no raw confidence, was worded with that map, or no map for its signal exists."""
    route = next((route for route in routes if route.name == row["route"]), None)
    if route is None or row["raw_alpha"] is None or row["signal"] != route.signal:
        return None
    active = map_today(maps.get(route.name, {}), row["model"])
    if active is None or active.version is None or active.version == row["map_id"]:
        return None
    alpha, beta = apply_map(active.map, [row["raw_alpha"]], [row["raw_beta"]])
    return Today(active.version, Beta(float(alpha[0]), float(beta[0])))


def _scores(alpha: FloatArray, beta: FloatArray, correct: FloatArray) -> Scores:
    mean = alpha / (alpha + beta)
    return Scores(
        divergence=float(np.mean(faithfulness_divergence(alpha, beta, correct))),
        brier=float(np.mean((mean - correct) ** 2)),
        smooth_ece=smooth_ece(mean, np.round(correct)),
    )
