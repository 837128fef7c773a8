"""Errors of the proxy's own endpoints and pages: one sentence, in the form of the API's errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ..errors import BadRequest, Internal, NotFound, ProxyError, StoreError

log = structlog.get_logger(__name__)

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
