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
from numpy.typing import NDArray

from ...calibration import ActiveMap, FittedMap
from ...calibration.clusters import rests_on, together
from ...calibration.drift import EXACT, InputTest, SequentialTest, input_test, plausible, sequential_test
from ...calibration.metrics import smooth_ece_interval
from ..audit.labelled import Columns, Labelled, has_other_keys, read_labelled, read_raw_means
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
        n_counted: those of them that the tests of outcomes count, one of each cluster; `counted_by` says what clusters are known by.
        one_key: the key without whose client's verdicts a test of outcomes would find nothing; no alarm is raised on its word.
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
    n_counted: int = 0
    counted_by: tuple[str, ...] = ()
    one_key: str | None = None
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

    @property
    def counting(self) -> str:
        """What the tests of outcomes count, and what only one key says; "" without verdicts."""
        by = f", one of each {', '.join(self.counted_by)}" if self.counted_by else ""
        alone = f"; by key {self.one_key!r} alone the map is wrong, no alarm rests on one key" if self.one_key else ""
        return f"{self.n_counted:,} of {self.n_verdicts:,} verdicts count{by}{alone}" if self.n_verdicts else ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self) | {"counting": self.counting}


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
    counted = labelled.independent()
    tests = _outcomes(drift, fitted, counted)
    outcomes = tests.get(OUTCOMES)
    one_key = _one_key(engine, drift, route, fitted, counted, tests)
    seen, now = inputs.get(map_id), time.time()
    if seen is None or (seen.since, seen.size) != (since, drift.window) or seen.until > now:  # a clock was ahead
        seen = Inputs(since, drift.window)
    asked_at, raw = read_raw_means(engine, route=route.name, map_id=map_id, since=seen.end)
    test = _test_inputs(drift, fitted, raw, seen.windows)
    standing = {alarm.kind for alarm in past if alarm.cleared_at is None}
    standing |= _raise(engine, drift, route, map_id, {k: t for k, t in tests.items() if k not in one_key}, test)
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
        n_counted=counted.correct.size,
        counted_by=labelled.counted_by,
        one_key=next(iter(one_key.values()), None),
        evidence=float(outcomes.log_e[-1]) if outcomes is not None else None,
        threshold=outcomes.threshold if outcomes is not None else None,
        input_shift=test.distances[-1].w1 if test is not None and test.distances else seen.shift,
        alarms=tuple(sorted(standing)),
        checked_at=now,
        **_estimates(labelled),
    )
    return health, seen.and_settled(asked_at, test, now - SETTLED_S)


def _outcomes(drift: Drift, fitted: FittedMap, counted: Labelled) -> dict[str, SequentialTest]:
    """The tests of outcomes by kind of alarm; half of each alpha allows for the uncertainty of the fit. Empty without verdicts.

    Also tested is each regime of a map that depends on questions, because drift in one kind of questions is hidden by the verdicts on all others.
    The regimes share a quarter of alpha; the fit saw of each only its share.
    """
    known, tests = fitted.provenance.information, {}
    parts = {OUTCOMES: (np.ones(counted.correct.size, dtype=np.bool_), drift.alpha / 2.0)}
    for number in range(1, regimes_of(fitted) + 1):
        # a share of all regimes, also those without verdicts: a level must not depend on the data
        parts[f"{OUTCOMES} of regime {number}"] = counted.regime == number, drift.alpha / 8.0 / regimes_of(fitted)
    for kind, (here, alpha) in parts.items():
        if here.any():
            nulls = plausible([float(value * here.mean()) for value in known], alpha=alpha) if known else EXACT
            tests[kind] = sequential_test(counted.mean[here], counted.correct[here], alpha=alpha, nulls=nulls)
    return tests


def _one_key(
    engine: Engine,
    drift: Drift,
    route: Route,
    fitted: FittedMap,
    counted: Labelled,
    tests: Mapping[str, SequentialTest],
) -> dict[str, str]:
    """By kind, each alarm that would rest on the verdicts of one key's client alone, and that key; where a route has only one key, it may."""
    found = {}
    for kind in (kind for kind, test in tests.items() if test.alarm_at is not None):

        def stands(kept: NDArray[np.intp], kind: str = kind) -> bool:
            test = _outcomes(drift, fitted, counted.rows(kept)).get(kind)
            return test is not None and test.alarm_at is not None

        key = rests_on(counted.sender, stands)
        if key is not None and has_other_keys(engine, route=route.name, key=key):
            log.warning("drift_by_one_key", route=route.name, kind=kind, key=key)
            found[kind] = key
    return found


def regimes_of(fitted: FittedMap) -> int:
    """Number of regimes of a map; 0 for maps of the confidence alone."""
    return len(getattr(fitted.map, "regimes", ()))


def _test_inputs(drift: Drift, fitted: FittedMap, raw: Columns, tested: int) -> InputTest | None:
    """The test of the raw confidences after the tested windows; None for a map stored without the confidences of its fit."""
    reference = fitted.provenance.raw_histogram
    return input_test(reference, raw, window=drift.window, alpha=drift.alpha, tested=tested) if reference else None


def _raise(
    engine: Engine,
    drift: Drift,
    route: Route,
    map_id: str,
    tests: Mapping[str, SequentialTest],
    inputs: InputTest | None,
) -> set[str]:
    """Raise the alarms of the tests; returns their kinds."""
    alarms = {k: (float(t.log_e.max()), t.threshold) for k, t in tests.items() if t.alarm_at is not None}
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
        names = [
            asker or question for asker, question in zip(labelled.asker[last], labelled.question[last], strict=True)
        ]
        how: dict[str, Any] = {"rng": np.random.default_rng(labelled.correct.size), "resamples": _RESAMPLES}
        error = smooth_ece_interval(mean[binary], correct[binary], groups=together(names)[binary], **how)
        estimates |= {"smooth_ece": error.estimate, "smooth_ece_low": error.low, "smooth_ece_high": error.high}
    return estimates
