"""The edge: every `/v1/*` request enters here, gets its route, and leaves with one answer and one audit row.

Raw ASGI, because a route that is off must cost almost nothing. FastAPI serves only the proxy's own endpoints (`api/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any, cast

import anyio
import structlog

from ..config import Mode, Route
from ..errors import BadRequest, Forbidden, Internal, NotFound, ProxyError, StoreUnavailable
from ..outcomes import Reason, Status
from ..pipeline.job import Job, check, new_id
from ..pipeline.result import Run
from ..services.services import Services
from ..spending.budgets import guessed
from ..upstreams.dialects.table import DIALECTS
from ..upstreams.egress import apart, joined
from . import tunnel
from .access import Caller, caller_of, is_known, ours_of
from .cors import allowed_origin, answer_preflight, is_preflight, readable_by
from .entrance import encoded, foreign_page, path_of
from .exchange import ClientGone, Exchange, Receive, Scope, Send
from .finish import finish, refused
from .forms import Form, not_read
from .pass_through import count_relayed, forward
from .reading import Received, received
from .sockets import WEBSOCKET
from .splitting import arm_of

log = structlog.get_logger(__name__)

NO_ROUTE = Route.model_construct(name="", upstream="", mode="off")
"""Placeholder for the route of a request that matches none, or that was refused before routing."""
WISH = "x-hedgerow-mode"
CALIBRATING = "hedgerow.proxy.gateway.calibrating"
"""The module that answers calibrated requests. It is loaded with a route's pipeline, because it imports the mathematics."""


class Edge:
    """The outermost ASGI application. `own` answers the paths for which `is_own` is true, upstreams answer all others.

    Attributes:
        start_failure: the reason why the services could not be opened; None if they were.
    """

    def __init__(self, own: Any, is_own: Callable[[str], object]) -> None:
        self._own, self._is_own = own, is_own
        self.start_failure: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Dispatch one connection."""
        if scope["type"] != "http":
            await self._own(scope, receive, send)
            return
        services: Services = scope["state"]["reloader"].services
        origins = services.settings.server.allowed_origins
        if origins and (origin := allowed_origin(scope, origins)) is not None:
            if is_preflight(scope):
                await answer_preflight(scope, send, origin)
                return
            send = readable_by(origin, send)
        place = "address"
        try:
            is_own = self._is_own(_plain_path(scope))
            place = "own"
            if is_own and WEBSOCKET in scope.get("extensions", ()):
                raise NotFound(f"there is no WebSocket at {scope['path']}", code=Reason.UNKNOWN_PATH)
            if is_own and scope["path"].startswith("/v1/"):
                _check_page(Exchange(scope, receive, send), services)
        except ProxyError as error:
            refused(services, place, error.status, error.code)
            await Exchange(scope, receive, send).send_error(error)
            return
        with services.in_use:
            if is_own:
                scope["state"]["services"] = services
                await self._own(scope, receive, _counting(services, send))
            else:
                await _serve(Exchange(scope, receive, send), services)


def _counting(services: Services, send: Send) -> Send:
    """A `send` that counts the refusals of our own endpoints and pages."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start" and 400 <= message["status"] < 500:
            refused(services, "own", message["status"])
        await send(message)

    return sending


def _plain_path(scope: Scope) -> str:
    """The path of a request; from here on everything that reads or sends it reads and sends this one.

    Raises:
        BadRequest: it can be read in more than one way.
    """
    raw: bytes = scope.get("raw_path") or encoded(scope["path"]).encode()
    scope["path"] = path = path_of(raw)
    if b"%" in raw:
        scope["raw_path"] = encoded(path).encode()
    return path


async def _serve(exchange: Exchange, services: Services) -> None:
    """Answer a request for an upstream, in a span if requests are traced."""
    services.metrics.under_way += 1
    try:
        if services.tracing is None:
            await _settle(exchange, services)
        else:
            with services.tracing.request(exchange.method, exchange.path, exchange.headers):
                await _settle(exchange, services)
    finally:
        services.metrics.under_way -= 1


async def _settle(exchange: Exchange, services: Services) -> None:
    """Answer a request. All failures and cancellations are handled here: they also get an answer, an audit row and a log line."""
    exchange.withhold(ours_of(services.settings, services.keys))
    run = Run(
        Job(
            new_id(),
            NO_ROUTE,
            exchange.path,
            {},
            joined(exchange.header_pairs),
            perf_counter(),
            mode=None,
            target=exchange.target,
        )
    )
    failure: ProxyError | None = None
    try:
        await _answer(exchange, services, run)
    except ClientGone:
        run.end(Status.CANCELLED, Reason.CLIENT_GONE)
    except ProxyError as error:
        failure = error
        run.fail(error)
    except Exception:  # unexpected errors become a 500 and a log line with their cause
        log.exception("request_fault", path=exchange.path)
        failure = Internal("something went wrong inside the proxy; the operator's log says what")
        run.end(Status.FAILED, failure.code)
    else:
        return
    if not exchange.recorded:
        if failure is None or not failure.is_free:
            await _count_broken_off(exchange, run)
        http_status = exchange.status or (failure.status if failure else None)
        await finish(services, exchange, run.result, http_status=http_status)
    if failure is not None:
        await exchange.send_error(failure)


async def _count_broken_off(exchange: Exchange, run: Run) -> None:
    """Count a request that ended before its answer: what was relayed of that, or at least what was reserved."""
    if exchange.copy is not None:
        await count_relayed(exchange, run, cut=True)
    else:
        run.lose()


async def _answer(exchange: Exchange, services: Services, run: Run) -> None:
    """Authorise, and answer within the limits of the key."""
    _check_page(exchange, services)
    caller = _admitted(exchange, services, run)
    if run.job.key is None:
        await _decide(exchange, services, run, caller)
        return
    visit = await services.limits.enter(run.job.key, run.job.id)
    exchange.own_headers += visit.headers
    exchange.before_end = visit.leave
    try:
        await _decide(exchange, services, run, caller)
    finally:
        await visit.leave()


def _check_page(exchange: Exchange, services: Services) -> None:
    """Refuse a request for the API that any web page could have sent.

    Raises:
        Forbidden: it could be such a page's, and carries no key that is known here.
    """
    settings = services.settings
    upgrades, origins = exchange.socket is not None, settings.server.allowed_origins
    why = foreign_page(exchange.method, exchange.headers, exchange.server, origins, upgrades=upgrades)
    if why is not None and not is_known(exchange.headers, settings, services.keys):
        raise Forbidden(why, code=Reason.CROSS_SITE)


async def _decide(exchange: Exchange, services: Services, run: Run, caller: Caller) -> None:
    """Read the request, find its route and answer."""
    server, headers = services.settings.server, run.job.headers
    generates = exchange.method == "POST" and exchange.path in DIALECTS
    came = await received(exchange, server.max_body_bytes, is_json=generates)
    is_limited = caller.is_limited(services.settings.routes)
    if is_limited and came.unread is not None:
        raise Forbidden(not_read(came.unread), code=Reason.ROUTE_NOT_ALLOWED)
    if isinstance(came.data, Form):
        came.data.hold_to(came.model, must_be_read=is_limited)
    route = route_of(services, headers, came, caller, generates=generates)
    run.take(run.job._replace(deployment=came.model))
    mode = _mode(route, headers)
    if generates and route.split is not None and not _wishes(route, headers):
        mode = arm_of(route, route.split, run.job, came.body)
        run.take(run.job._replace(arm=mode))
    calibrates = generates and mode != "off"
    fault = _fault(exchange.path, came, server.max_messages) if calibrates else None
    converted = calibrates and services.settings.converts(route.upstream, exchange.path.removeprefix("/"))
    job = run.job.routed(route, mode if calibrates and fault is None else "off", came.body, converted=converted)
    run.take(job if fault is None else job._replace(mode=mode))
    _check_store(services, run.job)
    if (generates or exchange.socket is not None) and job.key is not None:
        size, draws = len(cast(bytes, came.data)), route.sampling.n if calibrates else 1
        exchange.own_headers += await services.limits.set_aside(job.key, job.id, size, draws)
    if exchange.socket is not None:
        admit = partial(_admit_again, exchange, came, headers)
        work = tunnel.forward(exchange, services, run, exchange.socket, admit, marked=mode == "on")
        return await exchange.unless_gone(work)
    if not calibrates:
        why = Reason.MODE_OFF if generates else Reason.NOT_GENERATING
        work = forward(exchange, services, run, came.data, why, marked=mode == "on")
        # While a body is still being read, the reader notices that the client leaves.
        return await (exchange.unless_gone(work) if isinstance(came.data, bytes) else work)

    data = cast(bytes, came.data)
    calibrating = import_module(CALIBRATING)  # loaded beside the route's pipeline: see app.py
    reason = calibrating.why_passed(run.job, fault)
    if reason is None and services.settings.budgets:
        reason = await _over_budget(services, run, len(data))
    if reason is not None:
        return await exchange.unless_gone(forward(exchange, services, run, data, reason, marked=mode == "on"))
    return await exchange.unless_gone(calibrating.answer(exchange, services, run, data))


def _admitted(exchange: Exchange, services: Services, run: Run) -> Caller:
    """The sender of the request, which is recorded under the name of its key.

    Raises:
        Unauthorized: keys are required and no known one was sent, or the key is no longer valid.
    """
    caller = caller_of(exchange.headers, services.settings, services.keys)
    if caller.secret is not None:
        key = caller.secret.key
        exchange.header_pairs = apart(exchange.header_pairs, key.name)
        run.take(run.job._replace(key=key, headers=joined(exchange.header_pairs)))
        caller.check()
    return caller


def _admit_again(exchange: Exchange, came: Received, headers: Mapping[str, str]) -> None:
    """Decide again on a request that lasts, by the configuration and the keys as they are now.

    Raises:
        ProxyError: it would not be admitted any more.
    """
    services = exchange.reloader.services
    caller = caller_of(exchange.headers, services.settings, services.keys)
    caller.check()
    route_of(services, headers, came, caller, generates=False)


def _fault(path: str, came: Received, max_messages: int) -> BadRequest | None:
    """The reason why a text request cannot be calibrated; None if it can."""
    try:
        if came.fault is None:
            check(path, came.body, max_messages)
    except BadRequest as error:
        return error
    return came.fault


async def _over_budget(services: Services, run: Run, size: int) -> str | None:
    """The reason why a budget forbids calibrating a request of `size` bytes; None if it may be calibrated, with fewer answers over a soft budget."""
    job, sampling = run.job, run.job.route.sampling
    limits = (job.body.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"))
    longest = next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)
    calls = 1 if services.upstreams[job.route.upstream].honours_n else sampling.n
    prices = services.steps[job.route.name].prices
    guess, least = guessed(prices, job.model, size, sampling.n, longest, calls)
    key = job.key.name if job.key is not None else ""
    with anyio.CancelScope(shield=True):  # the reservation must be known here to be released later
        allowed = await services.budgets.ask(services.settings.budgets, job.route.name, key, job.id, guess, least)
    if allowed.samples is not None:
        run.take(job.drawing_fewer(allowed.samples))
    return allowed.reason


def route_of(
    services: Services, headers: Mapping[str, str], came: Received, caller: Caller, *, generates: bool
) -> Route:
    """The first route that matches the request and is open to its key. Requests that generate no text (files, for example, which name no model)
    go to the default upstream if no route matches.

    Raises:
        BadRequest: none does, and the request cannot be read.
        Forbidden: those that do are closed to its key.
        NotFound: none does.
    """
    settings, model, closed = services.settings, came.model, False
    for route in settings.routes:
        if route.takes(model, headers, caller.key_hash):
            if caller.may_use(route.name):
                return route
            closed = True
    if came.fault is not None and generates:
        raise came.fault
    names_another = caller.is_limited(settings.routes) and model is not None
    if not generates and not names_another and (default := settings.default) is not None:
        for route in settings.routes:
            if route.upstream == default and route.admits(headers, caller.key_hash):
                if caller.may_use(route.name):
                    return route
                closed = True
    if closed:
        raise Forbidden("this key may not use the routes that take the request", code=Reason.ROUTE_NOT_ALLOWED)
    what = f"the model {model!r}" if model else "this request"
    raise NotFound(
        f"no route takes {what}; a route whose `match` takes it, or without `match`, is needed", code="no_route"
    )


def _check_store(services: Services, job: Job) -> None:
    """Refuse a request at once if its audit row could not be written.

    Raises:
        StoreUnavailable: the audit store is down, and the route allows no answer without a row.
    """
    if services.audit.down and job.route.on_failure == "error" and (job.route.audit or job.mode != "off"):
        raise StoreUnavailable("the audit store is down, and this route answers nothing that it cannot write down")


def _wishes(route: Route, headers: Mapping[str, str]) -> bool:
    """Whether the client chooses the mode of this request."""
    return route.allow_override and WISH in headers


def _mode(route: Route, headers: Mapping[str, str]) -> Mode:
    """The route's mode, or the client's choice if the route allows one.

    Raises:
        BadRequest: the client's choice is not a mode.
    """
    if not _wishes(route, headers):
        return route.mode
    wish = headers[WISH]
    if wish in ("off", "shadow", "on"):
        return cast(Mode, wish)
    raise BadRequest(f"the header {WISH} is {wish!r}; allowed are off, shadow and on", code="invalid_mode")
