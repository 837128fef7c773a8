"""The ASGI application of a process: our own endpoints and pages behind FastAPI, everything else through the gateway's edge."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio.to_thread
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from hedgerow.proxy.api.routers import ROUTERS, own_paths
from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import BadRequest, Internal, NotFound, ProxyError, StoreError
from hedgerow.proxy.gateway.edge import CALIBRATING, Edge
from hedgerow.proxy.services.reload import modes
from hedgerow.proxy.services.services import judge_state
from hedgerow.proxy.services.serving import open_reloader

log = structlog.get_logger(__name__)

PAGES = (
    "/",
    "/try",
    "/verdict",
    "/sign-in",
    "/sign-out",
    "/static/{path:path}",
    "/dashboard",
    "/dashboard/{path:path}",
)
"""What browsers ask for; a test holds it against the pages themselves."""


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
"""How paths of the API begin, for clients whose base URL lacks its `/v1`."""


class _Pages:
    """The pages, imported when the first is asked for: templates and figures would cost every start."""

    def __init__(self) -> None:
        self._router: Router | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one page."""
        if self._router is None:
            site = await anyio.to_thread.run_sync(import_module, "hedgerow.proxy.dashboard.site")
            self._router = Router(site.routes())
        await self._router(scope, receive, send)


def application(
    settings: Settings, address: str, config: Path | None = None, on_ready: Callable[[], None] = lambda: None
) -> Edge:
    """The ASGI application; its services are opened and closed by its lifespan, which calls `on_ready` between the two.

    `address` is only logged. Where `config` is given the file is followed: a change is taken over while the proxy runs.
    """

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        async with AsyncExitStack() as stack:
            try:
                reloader = await stack.enter_async_context(open_reloader(settings, config, tuple(CALIBRATING.values())))
            except Exception as failure:
                edge.start_failure = failure
                raise
            gc.collect()
            gc.freeze()  # what lives as long as the process is not looked through again with every few requests
            running = reloader.services.settings
            log.info("listening", address=address, routes=modes(running), judge=judge_state(running))
            on_ready()
            yield {"reloader": reloader}

    app = FastAPI(
        title="Hedgerow",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
    )
    app.add_exception_handler(ProxyError, _proxy_error)
    app.add_exception_handler(StoreError, _store_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _fault)
    app.add_exception_handler(404, _unknown_path)
    app.add_exception_handler(405, _unknown_path)
    for router in ROUTERS:
        app.include_router(router)
    pages = _Pages()
    app.router.routes.extend(Route(path, pages) for path in PAGES)
    edge = Edge(app, own_paths())
    return edge


async def _proxy_error(_request: Request, error: Any) -> Response:
    raw = getattr(error, "raw_body", None)
    if raw is not None:
        return Response(raw, error.status, media_type=getattr(error, "content_type", None))
    return JSONResponse(error.body(), error.status)


async def _store_error(_request: Request, error: Any) -> Response:
    log.error("audit_unavailable", error=str(error))
    return JSONResponse(Internal("the audit store is not available", code="store_unavailable").body(), 503)


async def _fault(request: Request, error: Exception) -> Response:
    """The last resort: whatever was not foreseen is a 500 and a line with its cause."""
    log.error("request_fault", path=request.url.path, exc_info=error)
    return JSONResponse(Internal("something went wrong inside the proxy; the operator's log says what").body(), 500)


async def _invalid(_request: Request, error: Any) -> Response:
    fault = error.errors()[0]
    param = ".".join(str(part) for part in fault["loc"][1:]) or None
    refusal = BadRequest(f"{param or 'the body'}: {fault['msg']}", param=param, code="invalid_type")
    return JSONResponse(refusal.body(), refusal.status)


async def _unknown_path(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    path = request.url.path
    message = f"there is no {request.method} {path} here"
    if path.split("/")[1] in OF_THE_API:
        message += f"; the API lies under /v1: set the client's base URL to {request.base_url}v1"
    return JSONResponse(NotFound(message, code="unknown_path").body(), status)
