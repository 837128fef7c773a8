"""The dashboard's pages: overview and one route, worst surprises, one request, the review queue, changes and alarms.

Every page is computed in a worker thread from one read of the audit. A slow page is cached for a time proportional to its cost; the pages of a
small audit are always current.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args
from urllib.parse import quote

import anyio.to_thread
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ... import lexicon
from ...calibration import ActiveMap, FittedMap
from ...calibration.registry import UNCALIBRATED
from ..api import admin as api
from ..api.access import reloader_of, services_of, store_of
from ..audit import counts, keys, operators, queries
from ..audit.engine import Connection
from ..audit.keys import figures_of_keys
from ..audit.operators import MAX_LISTED, Alarm, Change
from ..audit.queries import Period
from ..audit.review import CANDIDATES, Order, ReviewItem, is_picked, review_queue
from ..audit.spoken import spoken
from ..audit.store import AuditStore
from ..audit.verdicts import MAX_VERDICTS, PICKED, Verdict, VerdictResult
from ..config import Mode, Route, Settings
from ..config.reading import in_words
from ..errors import ProxyError, StoreError
from ..monitoring import faithful, figures, wordings
from ..monitoring.diagrams import Points, map_curve
from ..monitoring.drift import RouteHealth
from ..monitoring.figures import ArmComparison, Hindsight, comparison, hindsight, today_of
from ..monitoring.promises import RoutePromises
from ..monitoring.regimes import RegimeFigures, active_of, regime_figures
from ..services.keyring import state_of
from ..services.reload import ConfigReloader, describe
from ..services.services import Services
from ..services.verdicts import record_verdicts
from ..spending.budgets import BudgetToday
from ..types import Json, Key
from .render import alarm_words, page, rendered
from .requests import RequestView, of_row
from .visitor import Fields, Visitor

# A route's map on the dashboard: its origin, parameters, age and health.


@dataclass(frozen=True, slots=True)
class MapCard:
    """A route's active map. `fitted` is None for the identity: the route is uncalibrated."""

    version: str | None
    fitted: FittedMap | None
    age_s: float | None
    curve: Points
    concerns: tuple[str, ...]

    @property
    def parameters(self) -> Mapping[str, float]:
        """The numbers of a parametric map."""
        described = self.fitted.map.to_dict() if self.fitted else {}
        return {name: value for name, value in described.items() if isinstance(value, float)}


def card(maps: Mapping[str, ActiveMap], route: Route, alarms: Sequence[Alarm], health: RouteHealth | None) -> MapCard:
    """The route's active map and its problems: the drift watcher's report, or, before it has examined this map, uncleared alarms and warnings of
    the registry. With several maps by model, the one in the watcher's report.
    """
    of_maps = (alarm for alarm in alarms if not alarm.kind.startswith("promise"))
    concerns = tuple(alarm_words(alarm) for alarm in of_maps if alarm.route == route.name)
    reported = (active for active in maps.values() if health is not None and active.version == health.map_id)
    active = next(reported, next(iter(maps.values()), UNCALIBRATED))
    if active.fitted is None:
        return MapCard(None, None, None, [], (*concerns, *active.warnings))
    looked_at = health is not None and health.map_id == active.version
    concerns = health.reasons if health is not None and looked_at else (*concerns, *active.warnings)
    age = time.time() - active.fitted.provenance.fitted_at.timestamp()
    return MapCard(active.version, active.fitted, age, map_curve(active.map)[::4], concerns)


KEPT_FOR = 20.0
"""A figure is cached for this multiple of its computing time, so that none takes more than a twentieth of a core."""
SURPRISES_SHOWN = 25
CHANGES_SHOWN = 10
MAX_KEPT = 64
RIGHT = {"right": 1.0, "wrong": 0.0}
"""Values of the buttons and fields of a verdict."""
_NUMBER = re.compile(r"[0-9]{1,4}")
"""The number of a claim."""
MAX_SKIPPED = 50
"""Number of skipped answers after which the first of them is shown again."""


@dataclass(slots=True)
class PageCache:
    """A cache of figures that took long to compute."""

    held: dict[tuple[str, ...], tuple[float, Any]] = field(default_factory=dict)

    async def get(self, key: tuple[str, ...], compute: Callable[[], Awaitable[Any]]) -> Any:
        """The value under the key, or a new one from `compute`."""
        until, value = self.held.get(key, (0.0, None))
        if time.monotonic() < until:
            return value
        start = time.monotonic()
        value = await compute()
        took = time.monotonic() - start
        if len(self.held) >= MAX_KEPT:
            self.held.clear()
        self.held[key] = (start + KEPT_FOR * took if took > 1.0 else 0.0, value)
        return value


@dataclass(frozen=True, slots=True)
class RouteLine:
    """A route with its figures and its map. `settings` is None if it is no longer configured."""

    name: str
    settings: Route | None
    mode: str | None
    figures: figures.RouteFigures
    card: MapCard | None

    @property
    def colour(self) -> str:
        """Yellow if the map needs attention, grey without a map."""
        if self.card is None or self.mode == "off":
            return "grey"
        return "yellow" if self.card.concerns else "green" if self.card.version else "grey"


@dataclass(frozen=True, slots=True)
class Overview:
    """The content of the overview, or of the page of one route."""

    computed_at: float
    rows: int
    total: figures.RouteFigures
    routes: tuple[RouteLine, ...]
    endings: list[figures.Ending]
    charts: Json
    histogram: tuple[list[int], list[int]]
    diagrams: list[Any]
    claims: figures.ClaimFigures
    claim_diagrams: list[Any]
    faithful: dict[str, faithful.Voice]
    wordings: list[wordings.WordingFigures]
    surprises: list[Json]
    alarms: list[Alarm]
    complete: bool
    money: figures.Money
    bucket: str
    begun: float | None
    hindsight: Hindsight | None
    arms: tuple[ArmComparison, ...]
    changes: list[Change]
    regimes: tuple[RegimeFigures, ...] = ()
    promises: tuple[RoutePromises, ...] = ()
    switch: Json | None = None
    budgets: Sequence[BudgetToday] | None = ()


async def overview_page(cache: PageCache, request: Request, services: Services, visitor: Visitor) -> Response:
    """The overview of all routes, or the page of one."""
    name, period = request.path_params.get("route"), period_of(request)
    reloader: ConfigReloader = request.state.reloader
    maps, health = reloader.active_maps(), reloader.health
    compute = partial(store_of(request).read, partial(overview, services.settings, maps, health, name, period))
    view: Overview = await cache.get((name or "", period), compute)
    mine = tuple(promised for promised in reloader.promises.values() if name in (None, promised.route))
    counted = [route for route in services.steps if name in (None, route)]
    spent = await budgets_today(services, counted, [""])
    view = replace(view, promises=mine, switch=_switch(reloader, name), budgets=spent)
    if name is not None and not view.rows and all(line.name != name for line in view.routes):
        return page("missing.html", status=404, visitor=visitor, here="", what=f"No route is called {name}.")
    return await rendered(
        "overview.html",
        visitor=visitor,
        here="/dashboard",
        route=name,
        period=period,
        periods=figures.PERIODS,
        f=view,
        problem=reloader.problem,
    )


async def budgets_today(services: Services, routes: Sequence[str], keys: Sequence[str]) -> Sequence[BudgetToday] | None:
    """The state of the budgets for these routes and keys; None if it cannot be read now."""
    try:
        return await services.budgets.standing(services.settings.budgets, routes, keys)
    except StoreError:
        return None


def period_of(request: Request) -> str:
    """The requested period."""
    asked = request.query_params.get("period", "7d")
    return asked if asked in figures.PERIODS else "7d"


def overview(
    settings: Settings,
    maps: Mapping[str, Mapping[str, ActiveMap]],
    health: Mapping[str, RouteHealth],
    route: str | None,
    period: str,
    connection: Connection,
) -> Overview:
    """Read and compute everything for the overview (`route` None) or for one route."""
    now = time.time()
    buckets = figures.buckets_of(period, now, queries.first_moment(connection))
    counted = counts.tallies(connection, buckets.period, buckets.seconds, route)
    labelled = queries.labelled(connection, buckets.period, route)
    claims = queries.labelled_claims(connection, buckets.period, route)
    said = spoken(connection, buckets.period, route)
    alarms = operators.list_alarms(connection, standing=True, limit=MAX_LISTED)
    total = figures.route_figures(route, counted, labelled, buckets)
    lines = tuple(_route_lines(settings, maps, health, route, counted, labelled, buckets, alarms))
    return Overview(
        computed_at=now,
        rows=total.requests,
        total=total,
        routes=lines,
        endings=figures.endings(counted),
        charts=figures.volumes(counted, buckets)
        | figures.quality(labelled)
        | faithful.over_time(said)
        | {"cost": figures.over_time(counted, buckets)},
        histogram=counts.histogram(connection, buckets.period, route),
        diagrams=figures.diagrams(labelled),
        claims=figures.claim_figures(claims),
        claim_diagrams=figures.diagrams(claims),
        faithful=faithful.voices(said),
        wordings=wordings.by_wording(labelled),
        surprises=queries.surprises(connection, buckets.period, route, limit=3),
        alarms=[alarm for alarm in alarms if route in (None, alarm.route)],
        complete=labelled.complete,
        money=figures.money(counted, buckets),
        changes=operators.list_changes(connection, route=route, limit=CHANGES_SHOWN) if route is not None else [],
        bucket=buckets.name,
        begun=buckets.begun,
        hindsight=hindsight(labelled, maps, settings.routes),
        arms=_arms(connection, settings, route),
        regimes=_regimes(connection, maps.get(route, {}), lines, buckets.period, alarms) if route else (),
    )


def _regimes(
    connection: Connection,
    maps: Mapping[str, ActiveMap],
    lines: Sequence[RouteLine],
    period: Period,
    alarms: Sequence[Alarm],
) -> tuple[RegimeFigures, ...]:
    """The regimes of the map on the route's page."""
    for line in lines:
        active = active_of(maps, line.card.version) if line.card else None
        if active is not None:
            kinds = {a.kind for a in alarms if (a.route, a.map_id) == (line.name, active.version)}
            return regime_figures(connection, line.name, active, period, frozenset(kinds))
    return ()


def _arms(connection: Connection, settings: Settings, only: str | None) -> tuple[ArmComparison, ...]:
    """The routes that are split now; a route's own page also shows a split that has ended."""
    shown = (route for route in settings.routes if (route.split and only is None) or route.name == only)
    return tuple(arms for route in shown if (arms := comparison(connection, route)) is not None)


def _route_lines(
    settings: Settings,
    maps: Mapping[str, Mapping[str, ActiveMap]],
    health: Mapping[str, RouteHealth],
    only: str | None,
    counted: Sequence[counts.Tally],
    labelled: queries.LabelledAnswers,
    buckets: figures.Buckets,
    alarms: Sequence[Alarm],
) -> list[RouteLine]:
    configured = {route.name: route for route in settings.routes}
    names = [*configured, *sorted({t.route for t in counted if t.route} - set(configured))]
    lines = []
    for name in names:
        if only not in (None, name):
            continue
        route = configured.get(name)
        mine = [tally for tally in counted if tally.route == name]
        of_route = figures.route_figures(name, mine, labelled.where(labelled.route == name), buckets)
        drawn = card(maps.get(name, {}), route, alarms, health.get(name)) if route else None
        lines.append(RouteLine(name, route, route.mode if route else None, of_route, drawn))
    return lines


def _switch(reloader: ConfigReloader, name: str | None) -> Json | None:
    """The mode of a configured route: in effect, in the file, and who set it."""
    described = describe(reloader.configured, reloader.services.settings, reloader.states, {}, {})
    return next((route for route in described if route["name"] == name), None)


async def surprises_page(request: Request, services: Services, visitor: Visitor) -> Response:
    """The answers with the most surprising outcomes."""
    period, route = period_of(request), request.query_params.get("route") or None

    def query(connection: Connection) -> list[Json]:
        asked = figures.buckets_of(period, time.time(), None).period
        whole = asked if period != "all" else Period(None, time.time())
        return queries.surprises(connection, whole, route, SURPRISES_SHOWN)

    rows = await store_of(request).read(query)
    names = [settings.name for settings in services.settings.routes]
    return await rendered(
        "surprises.html",
        visitor=visitor,
        here="/dashboard/surprises",
        rows=rows,
        route=route,
        names=names,
        period=period,
        periods=figures.PERIODS,
    )


async def answer_page(request: Request, services: Services, visitor: Visitor) -> Response:
    """One request, step by step."""
    row = await store_of(request).get(request.path_params["id"])
    if row is None:
        return page("missing.html", status=404, visitor=visitor, here="", what="No answer has this id.")
    reloader: ConfigReloader = request.state.reloader
    today = await anyio.to_thread.run_sync(today_of, row, reloader.active_maps(), services.settings.routes)
    story = await anyio.to_thread.run_sync(_story, services.settings, row)
    return await rendered("answer.html", visitor=visitor, here="", row=row, story=story, today=today)


def _story(settings: Settings, row: Json) -> RequestView:
    """The work on an answer, step by step, with the phrases of its route's lexicon."""
    return of_row(row, lexicon_of(settings, row["route"]))


async def answer_verdict(request: Request, services: Services, visitor: Visitor, fields: Mapping[str, Any]) -> Response:
    """A person's verdict on the page's answer, or on one of its claims."""
    name, claim = request.path_params["id"], str(fields.get("claim", ""))
    if fields.get("verdict") in RIGHT and (claim == "" or _NUMBER.fullmatch(claim)):
        await judge(request, visitor, name, {int(claim) if claim else None: RIGHT[fields["verdict"]]})
    return RedirectResponse(f"/dashboard/answers/{quote(name, safe='')}", 303)


async def judge(
    request: Request, visitor: Visitor, name: str, right: Mapping[int | None, float], propensity: float | None = None
) -> list[VerdictResult]:
    """Record a person's verdicts on an answer (key None) and on its claims by number; those on unknown answers or claims are ignored."""
    by_person = Verdict(name, 0.0, kind="human", source="page", actor=visitor.person.name, propensity=propensity)
    verdicts = [replace(by_person, correct=correct, claim=claim) for claim, correct in right.items()]
    results = await record_verdicts(store_of(request), services_of(request).metrics, verdicts[:MAX_VERDICTS])
    return [result for result in results if result is not None]


def lexicon_of(settings: Settings, name: str | None) -> Any:
    """The lexicon of a route; None if the route does not exist or its lexicon cannot be read."""
    route = next((route for route in settings.routes if route.name == name), None)
    try:
        return lexicon.load(route.lexicon) if route else None
    except lexicon.LexiconError:
        return None


async def review_page(request: Request, services: Services, visitor: Visitor) -> Response:
    """The next answer to review; skipped ones come last."""
    skipped = [name for name in request.query_params.get("skipped", "").split(",") if name][-MAX_SKIPPED:]
    waiting = await _waiting(store_of(request), services.settings.review.order)
    order = sorted(waiting, key=lambda item: skipped.index(item.id) + 1 if item.id in skipped else 0)
    row = await store_of(request).get(order[0].id) if order else None
    story = await anyio.to_thread.run_sync(_story, services.settings, row) if row else None
    return await rendered(
        "review.html",
        visitor=visitor,
        here="/dashboard/review",
        waiting=len(waiting),
        row=row,
        story=story,
        item=order[0] if order else None,
        skipped=",".join(skipped),
        most=CANDIDATES,
    )


async def _waiting(store: AuditStore, order: Order) -> list[ReviewItem]:
    await store.flush()
    return await anyio.to_thread.run_sync(partial(review_queue, store.engine, limit=CANDIDATES, order=order))


async def review_verdict(request: Request, services: Services, visitor: Visitor, fields: Mapping[str, Any]) -> Response:
    """Record a verdict on an answer, its claims or both, or a skip; then show the next answer. "Claims only" without a verdict is a skip."""
    name, verdict = str(fields.get("id", "")), fields.get("verdict")
    skipped = [id for id in str(fields.get("skipped", "")).split(",") if id.startswith("hr_")]
    marks: dict[int | None, float] = {
        int(key[6:]): RIGHT[mark]
        for key, mark in fields.items()
        if key[:6] == "claim-" and _NUMBER.fullmatch(key[6:]) and mark in RIGHT
    }
    if verdict in RIGHT:
        marks[None] = RIGHT[verdict]
    if marks and verdict != "skip":
        picked = is_picked(name, services.settings.review.order)
        await judge(request, visitor, name, marks, PICKED if picked else None)
    elif name.startswith("hr_"):
        skipped = [*(id for id in skipped if id != name), name][-MAX_SKIPPED:]
    query = f"?skipped={','.join(skipped)}" if skipped else ""
    return RedirectResponse(f"/dashboard/review{query}", 303)


async def changes_page(request: Request, services: Services, visitor: Visitor) -> Response:
    """Changes by operators, and the alarms."""
    done, alarms = await store_of(request).read(
        lambda c: (operators.list_changes(c), operators.list_alarms(c, limit=MAX_LISTED))
    )
    return await rendered("changes.html", visitor=visitor, here="/dashboard/changes", changes=done, alarms=alarms)


# The page of named keys: their figures, and creating, rotating and revoking them. A secret is shown once, in the answer
# to the form.

DAY = 86_400.0


async def keys_page(request: Request, services: Services, visitor: Visitor, **outcome: Any) -> Response:
    """All keys with their figures of a period; `outcome` is the result of a form."""
    period, reloader = period_of(request), reloader_of(request)
    _, length = figures.PERIODS[period]
    await reloader.audit.flush()

    def read() -> list[tuple[Key, str, Any]]:
        used = figures_of_keys(reloader.audit.engine, 0.0 if length is None else time.time() - length)
        return [(key, state_of(key), used.get(key.name)) for key in keys.read_keys(reloader.audit.engine)]

    rows = await anyio.to_thread.run_sync(read)
    named = [key.name for key, state, _ in rows if state == "active" and not key.role]
    spent = await budgets_today(services, list(services.steps), named)
    shown = {"secret": "", "shown": "", "problem": "", "fields": defaultdict(str)} | outcome
    return await rendered(
        "keys.html",
        visitor=visitor,
        here="/dashboard/keys",
        rows=rows,
        budgets=None if spent is None else _by_key(spent),
        routes=[route.name for route in services.settings.routes],
        period=period,
        periods=figures.PERIODS,
        overlap=_overlaps,
        **shown,
    )


def _by_key(spent: Sequence[BudgetToday]) -> Mapping[str, list[BudgetToday]]:
    """A key's own budgets; of the many for single routes only those with spending."""
    held: defaultdict[str, list[BudgetToday]] = defaultdict(list)
    for budget in spent:
        if budget.key is not None and (budget.route is None or budget.used):
            held[budget.key].append(budget)
    return held


def _overlaps(key: Key) -> bool:
    """Whether a secret from before the last rotation still works."""
    return key.previous_until is not None and key.previous_until > time.time()


async def keys_changed(request: Request, services: Services, visitor: Visitor, fields: Mapping[str, Any]) -> Response:
    """Create, rotate or revoke a key by a form, and show the page with the result."""
    reloader, name, do = reloader_of(request), str(fields.get("name", "")), fields.get("do")
    result: Json = {}
    try:
        if do == "new":
            result = await api.new_key(_wish(fields), reloader, visitor.person)
        elif do == "rotate":
            wish = api.Rotation.model_validate({"overlap_s": fields.get("overlap_s", 0)})
            result = await api.rotate_key(name, reloader, visitor.person, wish)
        elif do == "revoke":
            result = await api.revoke_key(name, reloader, visitor.person)
    except ProxyError as refusal:
        return await keys_page(request, services, visitor, problem=_sentence(refusal.message), fields=_kept(fields))
    except ValidationError as refusal:
        fault = refusal.errors()[0]
        place = fault["loc"][0] if fault["loc"] else "form"
        return await keys_page(request, services, visitor, problem=f"{place}: {in_words(fault)}.", fields=_kept(fields))
    return await keys_page(request, services, visitor, secret=result.get("secret", ""), shown=name)


def _wish(fields: Mapping[str, Any]) -> api.NewKey:
    """The key described by a form.

    Raises:
        ValidationError: a field cannot be read.
    """
    columns = ("name", "team", "role", "requests_per_minute", "tokens_per_minute", "concurrency")
    wish: Json = {column: fields[column] for column in columns if fields.get(column)}
    if fields.get("route"):
        wish["routes"] = (fields["route"],)
    if days := str(fields.get("days", "")):
        wish["expires_at"] = time.time() + DAY * float(days) if days.isdecimal() else days
    return api.NewKey.model_validate(wish)


def _kept(fields: Mapping[str, Any]) -> Mapping[str, str]:
    """The values of the form, to fill it in again."""
    return defaultdict(str, {name: str(value) for name, value in fields.items()})


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:] + "."


# Switch a route's mode from its page, for operators, with name and reason for the record.

CONFIGURED = "configured"
"""Form value that returns a route's mode to the configuration."""


async def mode_changed(request: Request, _services: Services, visitor: Visitor, fields: Fields) -> Response:
    """Set the mode of the page's route; this process follows at once, the others within two seconds."""
    reloader: ConfigReloader = request.state.reloader
    name, mode, note = request.path_params["route"], str(fields.get("mode", "")), str(fields.get("note", "")).strip()
    problem = None
    if all(route.name != name for route in reloader.configured.routes):
        problem = f"The configuration has no route called {name}."
    elif mode not in (*get_args(Mode), CONFIGURED):
        problem = "Choose one of the modes."
    elif not 0 < len(note) <= operators.LONGEST_NOTE:
        problem = f"Say why, in at most {operators.LONGEST_NOTE:,} characters: it goes into the record."
    if problem is not None:
        return page("missing.html", status=400, visitor=visitor, here="", what=problem)
    actor = visitor.person.name or str(fields.get("actor", "")).strip()[:64] or "admin"
    wish = None if mode == CONFIGURED else mode
    switch = partial(operators.set_state, reloader.audit.engine, name, "mode", wish, actor=actor, note=note)
    try:
        await anyio.to_thread.run_sync(switch)
    except StoreError as error:
        return page("refused.html", status=503, message=str(error), visitor=visitor)
    await reloader.look()
    return RedirectResponse(f"/dashboard/routes/{quote(name, safe='')}#mode", 303)
