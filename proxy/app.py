"""The proxy's own endpoints: feedback, audit, perceive, models. FastAPI, because none of them is on the hot path."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio.to_thread
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from hedgerow.proxy.api import admin, health
from hedgerow.proxy.api.access import Administers, Admitted, Known, ServicesOf
from hedgerow.proxy.api.feedback import feedback
from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import BadRequest, Internal, NotFound, ProxyError, StoreError
from hedgerow.proxy.gateway.edge import Edge
from hedgerow.proxy.services.reload import modes
from hedgerow.proxy.services.serving import open_reloader
from hedgerow.proxy.types import Json

log = structlog.get_logger(__name__)

CALIBRATING = ("hedgerow.proxy.gateway.append", "hedgerow.proxy.gateway.buffered")
"""What answers calibrated requests: imported beside a route's pipeline, and not by its first request."""
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
                reloader = await stack.enter_async_context(open_reloader(settings, config, CALIBRATING))
            except Exception as failure:
                edge.start_failure = failure
                raise
            gc.collect()
            gc.freeze()  # what lives as long as the process is not looked through again with every few requests
            log.info("listening", address=address, routes=modes(reloader.services.settings))
            on_ready()
            yield {"reloader": reloader}

    app = FastAPI(title="Hedgerow", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url="/openapi.json")
    app.add_exception_handler(ProxyError, _proxy_error)
    app.add_exception_handler(StoreError, _store_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _fault)
    app.add_exception_handler(404, _unknown_path)
    app.add_exception_handler(405, _unknown_path)
    app.post("/v1/feedback")(feedback)
    app.get("/v1/audit/{name}")(audit)
    app.delete("/v1/audit/{name}")(erase)
    app.post("/v1/perceive")(perceive)
    app.get("/v1/models")(models)
    app.include_router(health.router)
    app.include_router(admin.router)
    pages = _Pages()
    app.router.routes.extend(Route(path, pages) for path in PAGES)
    edge = Edge(app)
    return edge


async def audit(name: str, services: ServicesOf, _: Admitted) -> Json:
    """One audit row with its verdicts."""
    row = await services.audit.get(name)
    if row is None:
        raise NotFound(f"there is no answer with the id {name!r}", code="unknown_id")
    return row


async def erase(name: str, services: ServicesOf, _: Administers) -> Json:
    """Drop what was said in one answer; its figures stay. Only with the admin key, which must be configured."""
    if not await services.audit.erase(name, actor="admin"):
        raise NotFound(f"there is no answer with the id {name!r}", code="unknown_id")
    log.info("erased", id=name)
    return {"id": name, "erased": True}


class Wording(BaseModel):
    """A text to listen to."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(description="English, German, French or Spanish text.")]
    language: Annotated[
        Literal["en", "de", "fr", "es"] | None, Field(description="What it is written in; unset: what it seems to be.")
    ] = None


async def perceive(wording: Wording, _: Known) -> Json:
    """How confident a wording sounds to readers, as a whole and sentence by sentence; whether it is true is not asked."""
    from hedgerow.lexicon import LexiconError
    from hedgerow.lexicon import perceive as listen
    from hedgerow.lexicon.text.language import language_of

    language = wording.language or language_of(wording.text) or "und"
    try:
        heard = await anyio.to_thread.run_sync(listen, wording.text, language)
    except LexiconError as error:
        raise BadRequest(str(error), param="text", code="unreadable_text") from error
    sentences = [
        {"text": s.text, "mean": s.beta.mean, "alpha": s.beta.alpha, "beta": s.beta.beta} for s in heard.sentences
    ]
    spans = [{"start": s.start, "end": s.end, "text": s.text, "kind": s.kind, "hedge": s.hedge} for s in heard.spans]
    beta = heard.beta
    figures = {"mean": beta.mean, "alpha": beta.alpha, "beta": beta.beta, "language": language}
    return {**figures, "sentences": sentences, "spans": spans}


async def models(request: Request, services: ServicesOf, _: Known) -> Json:
    """The models of every upstream; one that cannot be asked is left out and logged."""
    found: dict[str, Json] = {}
    failures: list[ProxyError] = []
    for name, upstream in services.upstreams.items():
        try:
            listed = await upstream.models(request.headers)
        except ProxyError as error:
            log.warning("models_unavailable", upstream=name, code=error.code)
            failures.append(error)
            continue
        found.update((str(model.get("id")), model) for model in listed)
    if failures and not found:
        raise failures[0]
    return {"object": "list", "data": list(found.values())}


async def _proxy_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ProxyError)  # registered for this class  # noqa: S101
    raw = getattr(error, "raw_body", None)
    if raw is not None:
        return Response(raw, error.status, media_type=getattr(error, "content_type", None))
    return JSONResponse(error.body(), error.status)


async def _store_error(_request: Request, error: Exception) -> Response:
    log.error("audit_unavailable", error=str(error))
    return JSONResponse(Internal("the audit store is not available", code="store_unavailable").body(), 503)


async def _fault(request: Request, error: Exception) -> Response:
    """The last resort: whatever was not foreseen is a 500 and a line with its cause."""
    log.error("request_fault", path=request.url.path, exc_info=error)
    return JSONResponse(Internal("something went wrong inside the proxy; the operator's log says what").body(), 500)


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # registered for this class  # noqa: S101
    fault = error.errors()[0]
    param = ".".join(str(part) for part in fault["loc"][1:]) or None
    refusal = BadRequest(f"{param or 'the body'}: {fault['msg']}", param=param, code="invalid_type")
    return JSONResponse(refusal.body(), refusal.status)


async def _unknown_path(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    message = f"there is no {request.method} {request.url.path} here"
    return JSONResponse(NotFound(message, code="unknown_path").body(), status)
