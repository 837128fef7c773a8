"""Drift: whether the map of a route still fits the answers since its fit, with an alarm if it does not.

A route is green, yellow (its map has an alarm, is stale, unusable or skipped) or grey (no map). Several processes may examine one store: all
get the same result, and one of them raises the alarm.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import structlog

from ...calibration import ActiveMap, FittedMap
from ...calibration.drift import EXACT, InputTest, SequentialTest, input_test, plausible, sequential_test
from ...calibration.metrics import smooth_ece_interval
from ..audit.labelled import Columns, Labelled, read_labelled, read_raw_means
from ..audit.operators import Engine, raise_alarm, read_alarms, set_state
from ..config import Drift, Route, Settings

log = structlog.get_logger(__name__)

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
OUTCOMES, INPUTS = "outcomes", "inputs"
"""Kinds of alarms: calibrated means are wrong; raw confidences differ from those of the fit."""
WATCHER = "drift watcher"
"""The actor in the record of the watcher's own actions."""
_RESAMPLES = 40
_INTERVAL_ROWS = 2000
"""Number of newest verdicts from which the calibration error is estimated."""
SETTLED_S = 600.0
"""Seconds after which the row of a request counts as written. Rows written later, because the store was down, are not among the inputs."""


@dataclass(frozen=True, slots=True)
class RouteHealth:
    """The health of a route's map. Estimates are from the newest verdicts, None without any.

    Attributes:
        reasons: one sentence for each problem.
        map_id: None: uncalibrated.
        n_answers: answers with this map since its last alarm was cleared.
        n_verdicts: verdicts on answers with this map since its last alarm was cleared.
        smooth_ece, smooth_ece_low, smooth_ece_high: with a 95 % bootstrap interval.
        fd: mean Faithfulness Divergence, nats.
        evidence: present natural logarithm of the e-process; an alarm is raised at `threshold`.
        input_shift: 1-Wasserstein distance of the last full window of raw confidences from those of the fit.
        alarms: kinds of alarms that are not cleared.
    """

    route: str
    mode: str
    status: Literal["green", "yellow", "grey"]
    reasons: tuple[str, ...]
    map_id: str | None
    map_age_s: float | None = None
    n_answers: int = 0
    n_verdicts: int = 0
    accuracy: float | None = None
    confidence: float | None = None
    smooth_ece: float | None = None
    smooth_ece_low: float | None = None
    smooth_ece_high: float | None = None
    fd: float | None = None
    evidence: float | None = None
    threshold: float | None = None
    input_shift: float | None = None
    alarms: tuple[str, ...] = ()
    checked_at: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The tested windows of a map's raw confidences, so that each examination reads only later ones.

    Attributes:
        since: when the map's last alarm was cleared, where the windows start; seconds since 1970, 0: never.
        size: answers in a window.
        windows: number of windows.
        until: time of the request of the last answer in them; seconds since 1970.
        shift: 1-Wasserstein distance of the last window from the fit, 0..1; None without a window or without the fit's confidences.
    """

    since: float
    size: int
    windows: int = 0
    until: float = 0.0
    shift: float | None = None

    @property
    def end(self) -> float:
        """The time from which raw confidences must be read."""
        return max(self.since, float(np.nextafter(self.until, np.inf)))

    def and_settled(self, asked_at: Columns, test: InputTest | None, before: float) -> Inputs:
        """A copy with the later windows whose answers were all requested before the given time."""
        ends = asked_at[self.size - 1 :: self.size]
        n = int((ends < before).sum())
        if n == 0:
            return self
        shift = test.distances[n - 1].w1 if test is not None else None
        return replace(self, windows=self.windows + n, until=float(ends[n - 1]), shift=shift)


class Examined(NamedTuple):
    """The result of an examination: `health` by route, and by route and map the `inputs` that need not be read again."""

    health: dict[str, RouteHealth]
    inputs: dict[str, dict[str, Inputs]]


def examine(
    engine: Engine,
    settings: Settings,
    active: Mapping[str, Mapping[str, ActiveMap]],
    inputs: Mapping[str, Mapping[str, Inputs]] = NOTHING,
) -> Examined:
    """Examine every route that may calibrate, and raise new alarms.

    Args:
        active: each route's maps by model; the route's health is that of the worst.
        inputs: those of the previous examination; without them all raw confidences are read.

    Raises:
        StoreError: the store cannot be read.
    """
    found = Examined({}, {})
    routes = {route.name: route for route in settings.routes}
    for name, maps in active.items():
        found.health[name], found.inputs[name] = _examine_route(
            engine, settings.drift, routes[name], maps, inputs.get(name, NOTHING)
        )
    return found


def _examine_route(
    engine: Engine, drift: Drift, route: Route, maps: Mapping[str, ActiveMap], inputs: Mapping[str, Inputs]
) -> tuple[RouteHealth, dict[str, Inputs]]:
    distinct = {(active.version, active.problem): active for active in maps.values()}
    checked = [(active, *_examine(engine, drift, route, active, inputs)) for active in distinct.values()]
    used = [health for active, health, _ in checked if active.scope != "model" or health.n_answers or len(checked) == 1]
    rank = {"yellow": 2, "green": 1, "grey": 0}
    worst = max(used, key=lambda health: (rank[health.status], health.n_verdicts))
    reasons = dict.fromkeys(reason for health in used if health.status == worst.status for reason in health.reasons)
    seen = {health.map_id: now for _, health, now in checked if health.map_id is not None and now is not None}
    return replace(worst, reasons=tuple(reasons)), seen


def _examine(
    engine: Engine, drift: Drift, route: Route, active: ActiveMap, inputs: Mapping[str, Inputs]
) -> tuple[RouteHealth, Inputs | None]:
    map_id, fitted, warnings = active.version, active.fitted, active.warnings
    if map_id is None or fitted is None:
        colour: Literal["yellow", "grey"] = "yellow" if warnings else "grey"
        reasons = warnings or ("no map: the confidence is uncalibrated",)
        return RouteHealth(route.name, route.mode, colour, reasons, None, checked_at=time.time()), None
    past = [alarm for alarm in read_alarms(engine, route=route.name) if alarm.map_id == map_id]
    since = max((alarm.cleared_at for alarm in past if alarm.cleared_at is not None), default=0.0)
    labelled = read_labelled(engine, route=route.name, map_id=map_id, kinds=drift.kinds, verdicts_since=since)
    outcomes = _outcomes(drift, fitted, labelled)
    seen = inputs.get(map_id)
    if seen is None or (seen.since, seen.size) != (since, drift.window):
        seen = Inputs(since, drift.window)
    asked_at, raw = read_raw_means(engine, route=route.name, map_id=map_id, since=seen.end)
    test = _test_inputs(drift, fitted, raw, seen.windows)
    standing = {alarm.kind for alarm in past if alarm.cleared_at is None}
    standing |= _raise(engine, drift, route, map_id, outcomes, test)
    standing |= _raise_regimes(engine, route, map_id, _by_regime(drift, fitted, labelled))
    now = time.time()
    age_s = now - fitted.provenance.fitted_at.timestamp()
    against = _reasons(standing, age_s, drift, warnings)
    health = RouteHealth(
        route=route.name,
        mode=route.mode,
        status="yellow" if against else "green",
        reasons=against,
        map_id=map_id,
        map_age_s=age_s,
        n_answers=seen.windows * seen.size + raw.size,
        evidence=float(outcomes.log_e[-1]) if outcomes is not None else None,
        threshold=outcomes.threshold if outcomes is not None else None,
        input_shift=test.distances[-1].w1 if test is not None and test.distances else seen.shift,
        alarms=tuple(sorted(standing)),
        checked_at=now,
        **_estimates(labelled),
    )
    return health, seen.and_settled(asked_at, test, now - SETTLED_S)


def _outcomes(drift: Drift, fitted: FittedMap, labelled: Labelled) -> SequentialTest | None:
    """The test of outcomes; half of its alpha allows for the uncertainty of the fit. None without verdicts."""
    if labelled.correct.size == 0:
        return None
    known = fitted.provenance.information
    nulls = plausible(known, alpha=drift.alpha / 2.0) if known else EXACT
    return sequential_test(labelled.mean, labelled.correct, alpha=drift.alpha / 2.0, nulls=nulls)


def _by_regime(drift: Drift, fitted: FittedMap, labelled: Labelled) -> dict[int, SequentialTest]:
    """The test of outcomes in each regime of a map that depends on questions, because drift in one kind of questions is hidden by the verdicts
    on all others. The regimes share a quarter of alpha. Half of that allows for the uncertainty of the fit, which saw only the regime's share.
    """
    known, tests = fitted.provenance.information, {}
    numbers = [number for number in range(1, regimes_of(fitted) + 1) if (labelled.regime == number).any()]
    for number in numbers:
        here = labelled.regime == number
        # a share of all regimes, also those without verdicts: a level must not depend on the data
        alpha = drift.alpha / 8.0 / regimes_of(fitted)
        nulls = plausible([float(value * here.mean()) for value in known], alpha=alpha) if known else EXACT
        tests[number] = sequential_test(labelled.mean[here], labelled.correct[here], alpha=alpha, nulls=nulls)
    return tests


def regimes_of(fitted: FittedMap) -> int:
    """Number of regimes of a map; 0 for maps of the confidence alone."""
    return len(getattr(fitted.map, "regimes", ()))


def _raise_regimes(engine: Engine, route: Route, map_id: str, tests: Mapping[int, SequentialTest]) -> set[str]:
    """Raise an alarm for each regime in which the map is wrong; returns the kinds of alarms."""
    alarms = {f"{OUTCOMES} of regime {number}": test for number, test in tests.items() if test.alarm_at is not None}
    for kind, test in alarms.items():
        statistic = float(test.log_e.max())
        if raise_alarm(
            engine, route=route.name, map_id=map_id, kind=kind, statistic=statistic, threshold=test.threshold
        ):
            log.warning(
                "drift_alarm", route=route.name, map=map_id, kind=kind, statistic=statistic, threshold=test.threshold
            )
    return set(alarms)


def _test_inputs(drift: Drift, fitted: FittedMap, raw: Columns, tested: int) -> InputTest | None:
    """The test of the raw confidences after the tested windows; None for a map stored without the confidences of its fit."""
    reference = fitted.provenance.raw_histogram
    return input_test(reference, raw, window=drift.window, alpha=drift.alpha, tested=tested) if reference else None


def _raise(
    engine: Engine,
    drift: Drift,
    route: Route,
    map_id: str,
    outcomes: SequentialTest | None,
    inputs: InputTest | None,
) -> set[str]:
    """Raise the alarms of the tests; returns their kinds."""
    alarms: dict[str, tuple[float, float]] = {}
    if outcomes is not None and outcomes.alarm_at is not None:
        alarms[OUTCOMES] = float(outcomes.log_e.max()), outcomes.threshold
    if inputs is not None and inputs.alarm_at is not None:
        alarms[INPUTS] = inputs.distances[inputs.alarm_at].p_value, inputs.thresholds[inputs.alarm_at]
    for kind, (statistic, threshold) in alarms.items():
        if raise_alarm(engine, route=route.name, map_id=map_id, kind=kind, statistic=statistic, threshold=threshold):
            named = {"route": route.name, "map": map_id, "kind": kind}
            log.warning("drift_alarm", **named, statistic=statistic, threshold=threshold)
            if kind == OUTCOMES and drift.on_alarm == "shadow" and route.rewords:
                set_state(engine, route.name, "mode", "shadow", actor=WATCHER, note=f"map {map_id} proved wrong")
    return set(alarms)


_SENTENCES = {
    OUTCOMES: "verdicts say that this map is wrong; fit a new one",
    INPUTS: "raw confidences no longer look like those that this map was fitted on",
}


def _sentence(kind: str) -> str:
    if kind.startswith(f"{OUTCOMES} of regime"):
        return (
            f"verdicts say that this map is wrong on questions of its regime {kind.rpartition(' ')[2]}; fit a new one"
        )
    return _SENTENCES.get(kind, kind)


def _reasons(standing: set[str], age_s: float, drift: Drift, warnings: Sequence[str]) -> tuple[str, ...]:
    reasons = [_sentence(kind) for kind in sorted(standing)]
    if age_s > drift.max_age_days * 86_400:
        reasons.append(f"the map is {age_s / 86_400:.0f} days old; the limit is {drift.max_age_days:g}")
    return (*reasons, *(warning for warning in warnings if "days old" not in warning))


def _estimates(labelled: Labelled) -> dict[str, Any]:
    """Estimates from the newest verdicts, except those on answers selected by confidence, which do not represent the route."""
    last = np.flatnonzero(labelled.picked == 0.0)[-_INTERVAL_ROWS:]
    if last.size == 0:
        return {"n_verdicts": labelled.correct.size}
    mean, correct = labelled.mean[last], labelled.correct[last]
    estimates: dict[str, Any] = {
        "n_verdicts": labelled.correct.size,
        "accuracy": float(correct.mean()),
        "confidence": float(mean.mean()),
        "fd": float(labelled.fd[last].mean()),
    }
    binary = (correct == 0.0) | (correct == 1.0)  # the calibration error is defined for labels 0 and 1 only
    if binary.sum() >= 2:
        error = smooth_ece_interval(
            mean[binary], correct[binary], rng=np.random.default_rng(labelled.correct.size), resamples=_RESAMPLES
        )
        estimates |= {"smooth_ece": error.estimate, "smooth_ece_low": error.low, "smooth_ece_high": error.high}
    return estimates
