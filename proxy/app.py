"""The ASGI application of a process: probes, our own endpoints and pages, and everything else through the gateway's edge."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import structlog
from starlette.applications import Starlette
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from .api.health import ROUTES
from .api.routers import HANDLERS, StrictBodies, endpoints, own_paths
from .config import Settings
from .config.kinds import load_object
from .errors import BadRequest
from .gateway.edge import CALIBRATING, Edge
from .services.reload import modes
from .services.serving import open_reloader
from .supervision import Supervisor

log = structlog.get_logger(__name__)

PAGES = (
    "/",
    "/try",
    "/verdict",
    "/sign-in",
    "/sign-in/{path:path}",
    "/sign-out",
    "/docs",
    "/redoc",
    "/favicon.ico",
    "/static/{path:path}",
    "/dashboard",
    "/dashboard/{path:path}",
)
"""What browsers ask for; a test holds it against the pages themselves."""


class _Late:
    """An application that is made when the first request comes for it: what it imports would cost every start."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._app: ASGIApp | None = None
        self._lock = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            BadRequest: its address holds a NUL. Nothing is called so, and PostgreSQL refuses to look for it.
        """
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            raise BadRequest("the address holds a NUL character (%00)", code="nul_in_address")
        app = self._app or await self._made()
        await app(scope, receive, send)

    async def _made(self) -> ASGIApp:
        async with self._lock:
            if self._app is None:
                self._app = await anyio.to_thread.run_sync(self._make)
            return self._app


def _pages() -> ASGIApp:
    return Router(load_object("hedgerow.proxy.dashboard.site:routes")())


def application(
    settings: Settings,
    address: str,
    config: Path | None = None,
    on_ready: Callable[[], None] = lambda: None,
    supervisor: Supervisor | None = None,
) -> Edge:
    """The ASGI application; its services are opened and closed by its lifespan, which calls `on_ready` between the two.

    `address` is only logged. Where `config` is given the file is followed: a change is taken over while the proxy runs.
    """

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[dict[str, Any]]:
        async with AsyncExitStack() as stack:
            gc.disable()  # so much is made that stays
            try:
                reloader = await stack.enter_async_context(
                    open_reloader(settings, supervisor or Supervisor(), config, (CALIBRATING,))
                )
            except Exception as failure:
                edge.start_failure = failure
                raise
            finally:
                gc.enable()
            gc.collect()
            gc.freeze()  # what lives as long as the process is not looked through again with every few requests
            running = reloader.services.settings
            log.info("listening", address=address, routes=modes(running))
            on_ready()
            yield {"reloader": reloader}

    pages, api = _Late(_pages), _Late(lambda: StrictBodies(endpoints(ROUTES)))
    app = Starlette(
        routes=[*ROUTES, *(Route(path, pages) for path in PAGES), Mount("/", api)],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    edge = Edge(app, own_paths())
    return edge
