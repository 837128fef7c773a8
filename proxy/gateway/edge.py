"""The edge: every `/v1/*` request enters here, is decided upon, and leaves with one answer and one audit row.

Raw ASGI, because a route that is off must cost next to nothing; FastAPI serves the proxy's own few endpoints (`api/`).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, cast

import anyio.to_thread
import orjson
import structlog

from hedgerow.proxy.audit.entry import Entry
from hedgerow.proxy.config import Mode, Route
from hedgerow.proxy.errors import (
    BadRequest,
    Internal,
    NotFound,
    ProxyError,
    StoreUnavailable,
)
from hedgerow.proxy.gateway import pass_through as forward
from hedgerow.proxy.gateway.access import client_key_hash
from hedgerow.proxy.gateway.exchange import ClientGone, Exchange, Receive, Scope, Send
from hedgerow.proxy.pipeline.eligibility import GENERATING, checked_body, last_message, question_of, request_reason
from hedgerow.proxy.pipeline.job import Job, new_id
from hedgerow.proxy.pipeline.question_filter import asks_for_claim
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json

log = structlog.get_logger(__name__)

LARGE_BODY_BYTES = 100_000
"""From this size on a body is decoded on a worker thread: decoding must not hold up other requests."""


class Edge:
    """The outermost ASGI application; `own` answers the paths that `is_own` takes, upstreams all others.

    Attributes:
        start_failure: why the services could not be opened, if they could not.
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
        with services.in_use:
            if self._is_own(scope["path"]):
                scope["state"]["services"] = services
                await self._own(scope, receive, send)
            else:
                await _upstreams(Exchange(scope, receive, send), services)


async def _upstreams(exchange: Exchange, services: Services) -> None:
    """Answer a request that is not the proxy's own; whatever goes wrong is an answer, a row and a line too."""
    started = time.perf_counter()
    services.metrics.under_way += 1
    try:
        if services.tracing is None:
            await _answer(exchange, services)
        else:
            with services.tracing.request(exchange.method, exchange.path, exchange.headers):
                await _answer(exchange, services)
    except ClientGone:
        _tell_failure(exchange, services, "cancelled", "client_gone", started)
    except ProxyError as error:
        _tell_failure(exchange, services, "failed", error.code, started, error.status)
        await exchange.send_error(error)
    except Exception:  # the last resort: whatever was not foreseen is a 500 and a line with its cause
        log.exception("request_fault", path=exchange.path)
        fault = Internal("something went wrong inside the proxy; the operator's log says what")
        _tell_failure(exchange, services, "failed", fault.code, started, fault.status)
        if exchange.status is None:
            await exchange.send_error(fault)
    finally:
        services.metrics.under_way -= 1


async def _answer(exchange: Exchange, services: Services) -> None:
    """Authorise, read, decide, answer."""
    key_hash = client_key_hash(exchange.headers, services.settings)
    body: Json | None = None
    if not (exchange.method == "POST" and exchange.path in GENERATING):
        model, data = await _peek(exchange, services)
        route = _route(services, exchange.headers, model, key_hash)
        _check_store(services, route, "off")
        job = Job(new_id(), route, exchange.path, {"model": model}, exchange.headers, "")
        return await forward.forward(exchange, services, job, data, mode="off", reason="not_generating")

    data = await exchange.body(services.settings.server.max_body_bytes)
    limit = services.settings.server.max_messages
    if len(data) < LARGE_BODY_BYTES:
        body = checked_body(exchange.path, data, limit)
    else:
        body = await anyio.to_thread.run_sync(checked_body, exchange.path, data, limit)
    route = _route(services, exchange.headers, body.get("model"), key_hash)
    mode = _mode(route, exchange.headers)
    _check_store(services, route, mode)
    question, last_answer = question_of(exchange.path, body), last_message(body, "assistant")
    job = Job(new_id(), route, exchange.path, body, exchange.headers, question, last_answer)
    if mode == "off":
        return await forward.forward(exchange, services, job, data, mode=mode, reason="mode_off")
    if (reason := request_reason(exchange.path, body)) is not None:
        return await forward.forward(exchange, services, job, data, mode=mode, reason=reason)
    if route.claims_only and not asks_for_claim(question):
        return await forward.forward(exchange, services, job, data, mode=mode, reason="not_a_claim")
    if mode == "shadow":
        return await forward.shadow(exchange, services, job, data)
    from hedgerow.proxy.gateway import append  # loaded with the route's pipeline, see assembly.py
    from hedgerow.proxy.gateway import buffered as calibrated

    if route.stream == "append" and body.get("stream") and exchange.path == "/chat/completions":
        return await append.answer(exchange, services, job)
    return await calibrated.answer(exchange, services, job)


async def _peek(exchange: Exchange, services: Services) -> tuple[str | None, bytes | AsyncIterator[bytes]]:
    """The model a request names, if it is JSON, and its body. Other bodies (audio, files) are passed on piece by piece."""
    if exchange.method in ("GET", "HEAD", "DELETE"):
        return None, b""
    if not exchange.headers.get("content-type", "").startswith("application/json"):
        return None, exchange.body_stream()
    data = await exchange.body(services.settings.server.max_body_bytes)
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None, data  # the upstream's to judge: nothing here depends on it
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else None, data


def _route(services: Services, headers: Mapping[str, str], model: str | None, key_hash: str | None) -> Route:
    """The first route that takes the request.

    Raises:
        NotFound: none does.
    """
    for route in services.settings.routes:
        if route.takes(model, headers, key_hash):
            return route
    raise NotFound(f"no route takes the model {model!r}" if model else "no route takes this request", code="no_route")


def _check_store(services: Services, route: Route, mode: Mode) -> None:
    """Turn a request away at once where its row could not be written.

    Raises:
        StoreUnavailable: the audit store is down, and the route wants no answer without a row.
    """
    if services.audit.down and route.on_failure == "error" and (route.audit or mode != "off"):
        raise StoreUnavailable("the audit store is down, and this route answers nothing that it cannot write down")


def _mode(route: Route, headers: Mapping[str, str]) -> Mode:
    """The route's mode, or the client's wish where the route allows one.

    Raises:
        BadRequest: the wish is no mode.
    """
    wish = headers.get("x-hedgerow-mode")
    if wish is None or not route.allow_override:
        return route.mode
    if wish in ("off", "shadow", "on"):
        return cast(Mode, wish)
    raise BadRequest(f"the header x-hedgerow-mode is {wish!r}; allowed are off, shadow and on", code="invalid_mode")


def _tell_failure(
    exchange: Exchange, services: Services, status: str, reason: str, started: float, http_status: int | None = None
) -> None:
    """Row, counter and line of a request that no route answered, or whose route's own answer failed before its row was written."""
    if exchange.told:
        return
    row: Json = {
        "id": new_id(),
        "created_at": time.time(),
        "path": f"/v1{exchange.path}"[:256],
        "status": status,
        "reason": reason,
        "http_status": http_status,
        "duration_ms": (time.perf_counter() - started) * 1e3,
    }
    services.audit.enqueue(Entry(row))
    services.metrics.requests.labels("", "", status, reason).inc()
    log.info("request", id=row["id"], route=None, status=status, reason=reason, http_status=http_status)
