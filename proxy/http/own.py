"""The proxy's own endpoints: feedback, audit, models, health, metrics. FastAPI, because none of them is on the hot path."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio.to_thread
import structlog
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from proxy.audit.store import Settled
from proxy.build import Parts, open_parts
from proxy.config import Settings
from proxy.errors import BadRequest, ConfigError, Internal, NotFound, ProxyError, StoreError, Unauthorized
from proxy.http.edge import Edge, authorise
from proxy.pages import site
from proxy.values import Json

log = structlog.get_logger(__name__)


class Feedback(BaseModel):
    """A verdict on an answer."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=128, description="Audit id, or the completion's own id.")]
    correct: Annotated[
        StrictBool | StrictInt | StrictFloat,
        Field(description="true or false, or a grade from 0 (wrong) to 1 (right)."),
    ]
    source: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,32}$", description="Who says so.")] = "client"


def application(settings: Settings, address: str) -> Edge:
    """The whole ASGI application; its parts are opened and closed by its lifespan. `address` is only told."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        try:
            async with open_parts(settings) as parts:
                modes = {route.name: route.mode for route in settings.routes}
                log.info("listening", address=address, routes=modes)
                yield {"parts": parts}
        except (ConfigError, StoreError) as failure:
            edge.start_failure = failure
            raise

    app = FastAPI(title="Hedgerow", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url="/openapi.json")
    app.add_exception_handler(ProxyError, _proxy_error)
    app.add_exception_handler(StoreError, _store_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(404, _unknown_path)
    app.add_exception_handler(405, _unknown_path)
    app.post("/v1/feedback")(feedback)
    app.get("/v1/audit/{name}")(audit)
    app.post("/v1/perceive")(perceive)
    app.get("/v1/models")(models)
    app.get("/health")(health)
    app.get("/metrics")(metrics)
    app.router.routes.extend(site.routes())
    edge = Edge(app)
    return edge


def parts_of(request: Request) -> Parts:
    """The process's parts."""
    parts: Parts = request.state.parts
    return parts


PartsOf = Annotated[Parts, Depends(parts_of)]


def admitted(request: Request, parts: PartsOf) -> None:
    """Only the admin key opens the audit, where one is configured; else whoever may use the proxy.

    Raises:
        Unauthorized: the key is missing or wrong.
    """
    admin = parts.settings.server.admin_key
    if admin is None:
        authorise(request.headers, parts)
        return
    sent = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
    if not hmac.compare_digest(sent, admin.get_secret_value().encode()):
        raise Unauthorized("this needs the admin key")


async def feedback(told: Feedback, parts: PartsOf, _: Annotated[None, Depends(admitted)]) -> Json:
    """Tell whether an answer was right; its Faithfulness Divergence is settled. Telling the same again changes nothing."""
    correct = float(told.correct)
    if not 0.0 <= correct <= 1.0:
        raise BadRequest(
            f"`correct` is {told.correct}; it must be true, false or a number from 0 to 1", param="correct"
        )
    assert parts.audit is not None  # a serving process has a store  # noqa: S101
    settled = await parts.audit.label(told.id, correct, told.source)
    if settled is None:
        raise NotFound(f"there is no answer with the id {told.id!r}", code="unknown_id", param="id")
    if settled.changed:
        parts.metrics.verdicts.labels(settled.row["route"] or "").inc()
        _log_verdict(settled, told.source)
    return {
        "id": settled.id,
        "correct": settled.correct,
        "changed": settled.changed,
        "faithfulness_divergence": {"raw": settled.fd_raw, "calibrated": settled.fd},
    }


def _log_verdict(settled: Settled, source: str) -> None:
    log.info(
        "verdict",
        id=settled.id,
        route=settled.row["route"],
        status=settled.row["status"],
        correct=settled.correct,
        source=source,
        fd_raw=settled.fd_raw,
        fd=settled.fd,
    )


async def audit(name: str, parts: PartsOf, _: Annotated[None, Depends(admitted)]) -> Json:
    """One audit row with its verdicts."""
    assert parts.audit is not None  # a serving process has a store  # noqa: S101
    row = await parts.audit.get(name)
    if row is None:
        raise NotFound(f"there is no answer with the id {name!r}", code="unknown_id")
    return row


class Wording(BaseModel):
    """A text to listen to."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(description="English text.")]


async def perceive(request: Request, wording: Wording, parts: PartsOf) -> Json:
    """How confident a wording sounds to readers, as a whole and sentence by sentence; whether it is true is not asked."""
    from lexicon import LexiconError
    from lexicon import perceive as listen

    authorise(request.headers, parts)
    try:
        heard = await anyio.to_thread.run_sync(listen, wording.text)
    except LexiconError as error:
        raise BadRequest(str(error), param="text", code="unreadable_text") from error
    sentences = [
        {"text": s.text, "mean": s.beta.mean, "alpha": s.beta.alpha, "beta": s.beta.beta} for s in heard.sentences
    ]
    spans = [{"start": s.start, "end": s.end, "text": s.text, "kind": s.kind, "hedge": s.hedge} for s in heard.spans]
    beta = heard.beta
    return {"mean": beta.mean, "alpha": beta.alpha, "beta": beta.beta, "sentences": sentences, "spans": spans}


async def models(request: Request, parts: PartsOf) -> Json:
    """The models of every upstream; one that cannot be asked is left out and logged."""
    authorise(request.headers, parts)
    found: dict[str, Json] = {}
    failures: list[ProxyError] = []
    for name, upstream in parts.upstreams.items():
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


async def health() -> Json:
    """Whether the process answers."""
    return {"status": "ok"}


async def metrics(parts: PartsOf) -> Response:
    """Counters for Prometheus."""
    return Response(generate_latest(parts.metrics.registry), media_type=CONTENT_TYPE_LATEST)


async def _proxy_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ProxyError)  # registered for this class  # noqa: S101
    raw = getattr(error, "raw_body", None)
    if raw is not None:
        return Response(raw, error.status, media_type=getattr(error, "content_type", None))
    return JSONResponse(error.body(), error.status)


async def _store_error(_request: Request, error: Exception) -> Response:
    log.error("audit_unavailable", error=str(error))
    return JSONResponse(Internal("the audit store is not available", code="store_unavailable").body(), 503)


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
