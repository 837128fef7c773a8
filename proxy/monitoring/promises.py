"""Promises: whether a route's certificate still holds, with an alarm if it does not.

Everything is computed from the audit, so that it survives a restart and all processes get the same result; one of them raises the alarm.
Retention keeps what the tests need of the rows that it deletes (`hedgerow.proxy.audit.retention`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from ...calibration.clusters import rests_on
from ...calibration.promises.certificate import Certificate, Promise
from ...calibration.promises.watching import Watch, watch, watch_groups
from ..audit.labelled import has_other_keys
from ..audit.operators import Engine, raise_alarm, read_alarms, set_state
from ..audit.promised import PromisedAnswers, read_not_given, read_promised
from ..config import Promises, Route, Settings
from ..types import Standing

log = structlog.get_logger(__name__)

PROMISE, GROUP = "promise", "promise group"
"""Prefixes of the kinds of alarms: a promise is broken; a promise is broken in a group of answers."""
WATCHER = "promise watcher"
"""The actor in the record of the watcher's own actions."""
_STATES = {"held": "held", "open": "not shown to hold yet", "broken": "broken"}
_MOST = 1e9
"""Larger evidence is stored as this value."""
ID_LENGTH = 128
"""Number of characters of a certificate's id in an alarm."""


@dataclass(frozen=True, slots=True)
class GroupHealth:
    """A group of answers in which a promise is broken: the column `by`, the group's `name`, and its figures."""

    by: str
    name: str
    labels: int
    share: float
    low: float


@dataclass(frozen=True, slots=True)
class PromiseHealth:
    """The state of a promise.

    Attributes:
        promise: in its canonical form.
        sentence: the same as a sentence.
        limit: the promised upper limit of the share.
        state: "held" (shown, with 95 %), "open" (neither shown to hold nor to be broken), "broken".
        labels: number of verdicts that count; for a promise about unanswered questions, all answers.
        share: share of them that is wrong, weighted by how they were drawn; None without labels.
        low, high: bounds of the share, each at 95 %, valid at every look.
        evidence: natural logarithm of the e-process against the promise; an alarm is raised at `threshold`.
        groups: groups in which it is broken.
        one_key: the key without whose client's verdicts the promise would not be shown broken; that raises no alarm.
    """

    promise: str
    sentence: str
    limit: float
    state: str
    labels: int
    share: float | None
    low: float
    high: float
    evidence: float
    threshold: float
    groups: tuple[GroupHealth, ...] = ()
    one_key: str | None = None

    @property
    def line(self) -> str:
        """The promise and its state in one plain sentence.

        >>> PromiseHealth("plain_wrong <= 5 %", "plain answers wrong at most 5 %", 0.05, "held", 412, 0.02, 0, 0.041, 0, 5).line
        "Promise 'plain answers wrong at most 5 %': held, 412 labels, at most 4.1 %"
        """
        bound = (
            f"at least {self.low:.1%}"
            if self.state == "broken" and self.low > self.limit
            else f"at most {self.high:.1%}"
        )
        labels = f"{self.labels:,} label{'' if self.labels == 1 else 's'}"
        known = f"{labels}, {bound}" if self.labels else "no labels yet"
        known += f"; by key {self.one_key!r} alone it is broken" if self.one_key else ""
        return f"Promise '{self.sentence}': {_STATES[self.state]}, {known}".replace("%", " %").replace("  %", " %")


@dataclass(frozen=True, slots=True)
class RoutePromises:
    """A route's promises and their state.

    Attributes:
        certificate: in force or withdrawn; None without one.
        reason: a code of `Uncovered` if none is in force.
        served_by: how answers are served without one (`promises.without`).
        since: when the certificate was issued, or its alarms were last cleared; seconds since 1970.
        volunteered: number of verdicts that do not count, because their answers were not drawn at random.
        repeated: number of those that do not, because their user, conversation or question has one; `counted_by` says what was known.
    """

    route: str
    certificate: str | None
    reason: str | None
    served_by: str
    since: float | None = None
    volunteered: int = 0
    repeated: int = 0
    counted_by: tuple[str, ...] = ()
    promises: tuple[PromiseHealth, ...] = ()
    alarms: tuple[str, ...] = ()
    checked_at: float = 0.0

    @property
    def broken(self) -> bool:
        """Whether any promise is broken."""
        return any(promise.state == "broken" for promise in self.promises)

    def to_dict(self) -> dict[str, Any]:
        """The state as a JSON object."""
        lines = [asdict(promise) | {"line": promise.line} for promise in self.promises]
        return asdict(self) | {"promises": lines}


def examine(engine: Engine, settings: Settings, standing: Mapping[str, Standing]) -> dict[str, RoutePromises]:
    """Examine the promises of all routes, and raise new alarms.

    Args:
        standing: by route, the certificate in use, or the reason why there is none.

    Raises:
        StoreError: the store cannot be read.
    """
    routes = {route.name: route for route in settings.routes}
    return {name: _of_route(engine, routes[name], now) for name, now in standing.items()}


def _of_route(engine: Engine, route: Route, standing: Standing) -> RoutePromises:
    without, certificate = (route.promises or Promises()).without, standing.certificate or standing.withdrawn
    if certificate is None:
        return RoutePromises(route.name, None, standing.reason, without, checked_at=time.time())
    checked = _alarmed(engine, route, health(route, certificate, evidence(engine, route, certificate)))
    return checked if standing.certificate is not None else replace(checked, reason=standing.reason, served_by=without)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The data on whether the promises of a certificate hold.

    Attributes:
        judged: answers with a verdict that counts.
        not_given: for every answer, 1 if it was not given.
        least: lower bound of the probability with which answers were drawn.
        alpha: level of each promise's test.
        since: earlier data do not count; seconds since 1970.
        standing: kinds of alarms that are not cleared.
        is_shared: whether the route has other keys than the one that sent all of the verdicts, if one did.
    """

    judged: PromisedAnswers
    not_given: NDArray[np.float64]
    least: float
    alpha: float
    since: float
    standing: frozenset[str]
    is_shared: bool = True


def evidence(engine: Engine, route: Route, certificate: Certificate) -> Evidence:
    """Read the data on a certificate's promises since its last alarm was cleared.

    Raises:
        StoreError: the store cannot be read.
    """
    how, name = route.promises or Promises(), certificate.id[:ID_LENGTH]
    alarms = [
        each for each in read_alarms(engine, route=route.name) if each.map_id == name and each.kind.startswith(PROMISE)
    ]
    since = max((each.cleared_at for each in alarms if each.cleared_at is not None), default=0.0)
    least = min(how.share, route.grading.share or 1.0)
    asked: dict[str, Any] = {"route": route.name, "certificate": certificate.id, "since": since}
    judged = read_promised(engine, share=how.share, least=least, kinds=how.kinds, **asked)
    only = judged.sender[0] if len(set(judged.sender)) == 1 else None
    return Evidence(
        judged=judged,
        not_given=read_not_given(engine, **asked),
        least=least,
        alpha=how.alpha / max(len(certificate.promises), 1),
        since=max(since, certificate.issued_at.timestamp()),
        standing=frozenset(each.kind for each in alarms if each.cleared_at is None),
        is_shared=only is None or has_other_keys(engine, route=route.name, key=only),
    )


def health(route: Route, certificate: Certificate, known: Evidence) -> RoutePromises:
    """The state of a certificate's promises on a route. Raises no alarm."""
    watched = [_watched(promise, known, route.promises or Promises()) for promise in certificate.promises]
    return RoutePromises(
        route=route.name,
        certificate=certificate.id,
        reason=None,
        served_by="certificate",
        since=known.since,
        volunteered=known.judged.volunteered,
        repeated=int((~known.judged.first).sum()),
        counted_by=known.judged.counted_by,
        promises=tuple(
            replace(each, state="broken")
            if f"{PROMISE} {number}" in known.standing
            else each  # also if rows were purged
            for number, each in enumerate(watched, start=1)
        ),
        alarms=tuple(sorted(known.standing)),
        checked_at=time.time(),
    )


def rows_of(promise: Promise, judged: PromisedAnswers) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Indices of the judged answers that count for a promise, and how wrong each judged answer is."""
    covered = np.array([promise.wish.text in each for each in judged.covered], dtype=bool)
    if promise.wish.subject == "plain_and_wrong":  # a share of all questions, answered or not
        return np.flatnonzero(judged.first), judged.wrong * covered
    return np.flatnonzero(covered & judged.first), judged.wrong


def _watched(promise: Promise, known: Evidence, how: Promises) -> PromiseHealth:
    limit, judged, alpha, least = promise.wish.limit or 0.0, known.judged, known.alpha, known.least
    if promise.wish.subject == "abstain":
        return _health(
            promise, watch(known.not_given, level=limit, alpha=alpha) if limit else _never(known.not_given), ()
        )
    rows, wrong = rows_of(promise, judged)

    def test(of: NDArray[np.int64]) -> Watch:
        return watch(wrong[of], level=limit, drawn=judged.drawn[of], least=least, alpha=alpha)

    def broken(by: str, of: NDArray[np.int64]) -> dict[str, Watch]:
        names, part = [judged.groups[row][by] for row in of], alpha / len(how.groups)
        each = watch_groups(names, wrong[of], level=limit, drawn=judged.drawn[of], least=least, alpha=part)
        return {name: found for name, found in each.items() if found.state == "broken"}

    watched, one_key = test(rows), None
    if watched.state == "broken":
        one_key = _one_key(known, rows, lambda kept: test(kept).state == "broken")
    groups = []
    for by in how.groups:
        of = rows_of(promise, replace(judged, first=np.ones_like(judged.first)))[0] if by == "user" else rows
        these = np.array([row for row in of if by in judged.groups[row]], dtype=np.int64)
        if len({judged.groups[row][by] for row in these}) < 2:
            continue
        for name, found in broken(by, these).items():
            if _one_key(known, these, lambda kept, by=by, name=name: name in broken(by, kept)) is None:  # type: ignore[misc]
                groups.append(GroupHealth(by, name, found.labels, found.share or 0.0, found.low))
    return _health(promise, watched if one_key is None else replace(watched, alarm_at=None), tuple(groups), one_key)


def _one_key(known: Evidence, rows: NDArray[np.int64], stands: Callable[[NDArray[np.int64]], bool]) -> str | None:
    """The key on whose client's verdicts alone a finding rests; where a route has only one key, it may."""
    return rests_on(known.judged.sender[rows], lambda kept: stands(rows[kept])) if known.is_shared else None


def _never(not_given: NDArray[np.float64]) -> Watch:
    """A promise that everything is answered: one answer that was not given breaks it."""
    first = np.flatnonzero(not_given)
    at = int(first[0]) if first.size else None
    share = float(not_given.mean()) if not_given.size else None
    return Watch(0.0, not_given.size, share, share or 0.0, share or 0.0, _MOST if first.size else 0.0, 0.0, at)


def _health(
    promise: Promise, watched: Watch, groups: tuple[GroupHealth, ...], one_key: str | None = None
) -> PromiseHealth:
    return PromiseHealth(
        promise=promise.wish.text,
        sentence=promise.wish.sentence,
        limit=watched.level,
        state=watched.state,
        labels=watched.labels,
        share=watched.share,
        low=watched.low,
        high=watched.high,
        evidence=watched.evidence,
        threshold=watched.threshold,
        groups=groups,
        one_key=one_key,
    )


def _alarmed(engine: Engine, route: Route, examined: RoutePromises) -> RoutePromises:
    """Raise the alarms of the tests, and apply the route's reaction to alarms."""
    standing = set(examined.alarms)
    name = (examined.certificate or "")[:ID_LENGTH]
    for number, promise in enumerate(examined.promises, start=1):
        broken = {f"{PROMISE} {number}": promise.state == "broken", f"{GROUP} {number}": bool(promise.groups)}
        for kind in (kind for kind, is_so in broken.items() if is_so):
            standing.add(kind)
            figures = {"statistic": min(promise.evidence, _MOST), "threshold": promise.threshold}
            if not raise_alarm(engine, route=route.name, map_id=name, kind=kind, **figures):
                continue
            event = "promise_broken" if kind == f"{PROMISE} {number}" else "promise_hides_groups"
            groups = [f"{each.by}={each.name}" for each in promise.groups if each.by != "user"]
            about = {"route": route.name, "certificate": examined.certificate, "promise": promise.promise}
            log.warning(event, **about, labels=promise.labels, share=promise.share, groups=groups, **figures)
            if event == "promise_broken" and route.rewords and (route.promises or Promises()).on_broken == "shadow":
                note = f"{promise.promise} of {examined.certificate} proved broken"
                set_state(engine, route.name, "mode", "shadow", actor=WATCHER, note=note)
    return replace(examined, alarms=tuple(sorted(standing)))
