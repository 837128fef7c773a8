"""`GET /v1/models`: the models of every upstream. Below it (`/v1/models/{id}`) an upstream answers."""

from __future__ import annotations

import structlog
from fastapi import APIRouter, Request

from ..errors import ProxyError
from ..gateway.access import ours_of
from ..types import Json
from ..upstreams.egress import clients_own, harmless
from .access import Known, ServicesOf

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/v1/models", dependencies=[Known])


@router.get("")
async def models(request: Request, services: ServicesOf) -> Json:
    """The models of every upstream; an upstream that does not answer is left out and logged. The default upstream alone sees the client's key."""
    headers = dict(clients_own(request.headers.items(), ours_of(services.settings, services.keys)))
    default = services.settings.default
    trusted = services.settings.members(default) if default is not None else ()
    query = request.url.query
    models: dict[str, Json] = {}
    failures: list[ProxyError] = []
    for name, upstream in services.upstreams.items():
        try:
            is_trusted = name in trusted  # a query may hold a key too
            listed = await (upstream.models(headers, query) if is_trusted else upstream.models(harmless(headers)))
        except ProxyError as error:
            log.warning("models_unavailable", upstream=name, code=error.code, cause=error.cause)
            failures.append(error)
            continue
        models.update((str(model.get("id")), model) for model in listed)
    if failures and not models:
        raise failures[0]
    ends = {"first_id": next(iter(models)), "last_id": next(reversed(models))} if models else {}
    return {"object": "list", "data": list(models.values())} | ends | {"has_more": False}
