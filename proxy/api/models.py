"""`GET /v1/models`: the models of every upstream. Below it (`/v1/models/{id}`) an upstream answers."""

from __future__ import annotations

import structlog
from fastapi import APIRouter, Request

from ..errors import ProxyError
from ..gateway import access
from ..types import Json
from .access import Known, ServicesOf

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/v1/models", dependencies=[Known])


@router.get("")
async def models(request: Request, services: ServicesOf) -> Json:
    """The models of every upstream; an upstream that does not answer is left out and logged."""
    headers = access.without_named_key(request.headers, services.settings, services.keys)
    models: dict[str, Json] = {}
    failures: list[ProxyError] = []
    for name, upstream in services.upstreams.items():
        try:
            listed = await upstream.models(headers)
        except ProxyError as error:
            log.warning("models_unavailable", upstream=name, code=error.code)
            failures.append(error)
            continue
        models.update((str(model.get("id")), model) for model in listed)
    if failures and not models:
        raise failures[0]
    return {"object": "list", "data": list(models.values())}
