"""All endpoints that the proxy answers itself. To add one, write a file with a `router` in this folder and list it here.

They and FastAPI are imported on the first request to one of them, so that a proxy that only forwards and calibrates does not need them. The
probes (`health.py`) do not use FastAPI.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..config.faults import in_words
from ..config.lazy import load_object
from ..errors import BadRequest
from .faults import HANDLERS

ROUTERS: Mapping[str, Sequence[str]] = {
    "/v1/feedback": ("hedgerow.proxy.api.feedback:router",),
    "/v1/audit": ("hedgerow.proxy.api.audit:router",),
    "/v1/perceive": ("hedgerow.proxy.api.perceive:router",),
    "/v1/models": ("hedgerow.proxy.api.models:router",),
    "/v1/admin": (
        "hedgerow.proxy.api.admin:router",
        "hedgerow.proxy.api.admin:looking",
        "hedgerow.proxy.api.admin:reviewing",
        "hedgerow.proxy.api.keys:router",
        "hedgerow.proxy.api.keys:listing",
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
