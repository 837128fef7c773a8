"""All endpoints that the proxy answers itself. To add one, write a file with a `router` in this folder and list it here.

They and FastAPI are imported on the first request to one of them, so that a proxy that only forwards and calibrates does not need them. The
probes (`health.py`) do not use FastAPI.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import orjson
import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..computing import aside
from ..config.kinds import load_object
from ..config.reading import in_words
from ..errors import BadRequest, Internal, NotFound, ProxyError, StoreError
from ..gateway.exchange import ClientGone, Exchange, Receive, Scope, Send
from ..gateway.reading import LARGE_BODY_BYTES
from ..outcomes import Reason
from ..strict_json import loads

log = structlog.get_logger(__name__)

# Errors of the proxy's own endpoints and pages: one sentence, in the form of the API's errors.

OF_THE_API = frozenset(
    [
        "assistants",
        "audio",
        "batches",
        "chat",
        "completions",
        "embeddings",
        "files",
        "fine_tuning",
        "images",
        "messages",
        "models",
        "moderations",
        "realtime",
        "rerank",
        "responses",
        "threads",
        "uploads",
        "vector_stores",
    ]
)
"""Prefixes of API paths, to recognise clients whose base URL lacks `/v1`."""


async def _proxy_error(_request: Request, error: Any) -> Response:
    raw = getattr(error, "raw_body", None)
    if raw is not None:
        return Response(raw, error.status, media_type=getattr(error, "content_type", None))
    return JSONResponse(error.body(), error.status)


async def _store_error(_request: Request, error: Any) -> Response:
    log.error("audit_unavailable", error=str(error))
    return JSONResponse(Internal("the audit store is not available", code="store_unavailable").body(), 503)


async def _fault(request: Request, error: Exception) -> Response:
    """Unexpected errors become a 500 and a log line with their cause."""
    log.error("request_fault", path=request.url.path, exc_info=error)
    return JSONResponse(Internal("something went wrong inside the proxy; the operator's log says what").body(), 500)


async def _unknown_path(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    path = request.url.path
    message = f"there is no {request.method} {path} here"
    if path.split("/")[1] in OF_THE_API:
        message += f"; the API lies under /v1: set the client's base URL to {request.base_url}v1"
    return JSONResponse(NotFound(message, code="unknown_path").body(), status)


async def _refused(_request: Request, error: Any) -> Response:
    """A refusal of the libraries that the endpoints are made with, in our form."""
    return JSONResponse(BadRequest(str(error.detail)).body(), error.status_code, error.headers)


async def _left(_request: Request, _error: Exception) -> Response:
    """The client has left while it sent the body: nobody is there to answer, and nothing is wrong."""
    return Response(status_code=400)


HANDLERS: Mapping[Any, Any] = {
    ProxyError: _proxy_error,
    StoreError: _store_error,
    HTTPException: _refused,
    ClientDisconnect: _left,
    Exception: _fault,
    404: _unknown_path,
    405: _unknown_path,
}
"""Handlers by exception type or status."""


ROUTERS: Mapping[str, Sequence[str]] = {
    "/v1/feedback": ("hedgerow.proxy.api.feedback:router",),
    "/v1/audit": ("hedgerow.proxy.api.feedback:audit_router",),
    "/v1/perceive": ("hedgerow.proxy.api.models:perceive_router",),
    "/v1/models": ("hedgerow.proxy.api.models:router",),
    "/v1/admin": (
        "hedgerow.proxy.api.admin:router",
        "hedgerow.proxy.api.admin:looking",
        "hedgerow.proxy.api.admin:reviewing",
        "hedgerow.proxy.api.admin:keys_router",
        "hedgerow.proxy.api.admin:keys_listing",
    ),
}
UPSTREAMS_BELOW = frozenset({"/v1/models"})
"""Endpoints with subpaths that an upstream answers; the subpaths of all others are the proxy's."""


def own_paths() -> Callable[[str], object]:
    """A predicate: whether the proxy answers a path itself; other paths go to an upstream.

    Ours is what lies outside `/v1/` and Azure's `/openai/`, each endpoint with everything below it, and near misses of these (another case, doubled slashes): a
    key for our own endpoints never reaches a model provider.
    """
    ours = "|".join(
        re.escape(path.removeprefix("/v1/")) + ("/*$" if path in UPSTREAMS_BELOW else "(?:/|$)") for path in ROUTERS
    )
    return re.compile(rf"(?-i:(?!/v1/|/openai/))|/v1/+(?:{ours})", re.IGNORECASE).match


def endpoints(probes: Sequence[Route]) -> Any:
    """The endpoints as one application; their description (`/openapi.json`) names the probes too, which are answered elsewhere."""
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError

    app = FastAPI(
        title="Hedgerow",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
        exception_handlers={**HANDLERS, RequestValidationError: _invalid},
    )
    for path, targets in ROUTERS.items():
        for target in targets:
            router = load_object(target)
            if not router.prefix.startswith(path):
                raise ValueError(f"{target} answers below {router.prefix!r}, not below {path!r}")
            app.include_router(router)
    for probe in probes:
        app.add_api_route(probe.path, probe.endpoint)
    return app


async def _invalid(_request: Request, error: Any) -> Response:
    fault = error.errors()[0]
    param = ".".join(str(part) for part in fault["loc"][1:]) or None
    refusal = BadRequest(f"{param or 'the body'}: {in_words(fault)}", param=param, code="invalid_type")
    return JSONResponse(refusal.body(), refusal.status)


# The bodies of requests to our own endpoints: within the limit, and JSON that can be written again.


class StrictBodies:
    """An application whose requests are read before it sees them: FastAPI would read without limit, and JSON that nobody can write again."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            BadRequest: the body is too large, or not JSON although it says so.
        """
        exchange, limit = Exchange(scope, receive, send), scope["state"]["services"].settings.server.max_body_bytes
        try:
            data = await exchange.body(limit)
        except ClientGone:
            return
        if data and "json" in exchange.headers.get("content-type", "").lower():
            await aside(len(data), LARGE_BODY_BYTES, _check, data)
        came = [{"type": "http.request", "body": data, "more_body": False}]

        async def again() -> MutableMapping[str, Any]:
            return came.pop() if came else await receive()

        await self._app(scope, again, send)


def _check(data: bytes) -> None:
    try:
        loads(data)
    except orjson.JSONDecodeError as error:
        message = f"the body is not valid JSON: {error.msg} at character {error.pos}"
        raise BadRequest(message, code=Reason.INVALID_JSON) from error
