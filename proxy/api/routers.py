"""All endpoints that the proxy answers itself. A new one is a file beside this with a `router`, and a line here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fastapi import APIRouter

from hedgerow.proxy.api import admin, audit, feedback, health, models, perceive

ROUTERS: Sequence[APIRouter] = (
    feedback.router,
    audit.router,
    perceive.router,
    models.router,
    health.router,
    admin.router,
)
UPSTREAMS_BELOW = frozenset({models.router.prefix})
"""Endpoints below whose path an upstream answers; below every other one all paths are ours."""


def own_paths(routers: Sequence[APIRouter] = ROUTERS) -> Callable[[str], object]:
    """A predicate: whether the proxy answers a path itself; every other path goes to an upstream.

    Ours is what lies outside `/v1/` and Azure's `/openai/`, each endpoint with everything below it, and near misses of these (another case, doubled slashes): a
    key for our own endpoints never reaches a model provider. So do paths with `.` or `..` segments not, which mean another path there.
    """
    paths = {"/".join(route.path.split("/")[:3]) for router in routers for route in router.routes}  # type: ignore[attr-defined]
    prefixes = sorted(path.removeprefix("/v1/") for path in paths if path.startswith("/v1/"))
    ours = "|".join(re.escape(name) + ("/*$" if f"/v1/{name}" in UPSTREAMS_BELOW else "(?:/|$)") for name in prefixes)
    return re.compile(rf"(?!/v1/|/openai/)|/v1/+(?:{ours})|.*/\.\.?(?:/|$)", re.IGNORECASE | re.DOTALL).match
