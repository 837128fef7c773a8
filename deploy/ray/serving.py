"""The proxy as an application of Ray Serve: replicas on every machine of a cluster, as many as there are requests for.

    HEDGEROW_CONFIG=deploy/config.yaml serve run deploy.ray.serving:hedgerow

Every replica needs the same Hedgerow, `ray[serve]` and the variables of the configuration; they share the audit (PostgreSQL) and, where limits are counted
over all of them, Redis. Serve ends a replica only when its requests have ended. What a client sees is what `hedgerow serve` gives, but for
WebSockets, which need `hedgerow serve`.
"""

from __future__ import annotations

import os
from pathlib import Path

from ray import serve
from starlette.types import ASGIApp, Receive, Scope, Send

from hedgerow.proxy.app import application
from hedgerow.proxy.config import load
from hedgerow.proxy.monitoring.logs import set_up_logging

IN_FLIGHT = 48
"""Requests under way that a replica is meant to have, as in deploy/kubernetes/autoscaler.yaml: a proxy waits for its upstream."""
MOST_IN_FLIGHT = 200
"""From here on requests wait for another replica."""


class _WithState:
    """An application whose requests see what its lifespan opened, which Serve does not hand over."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._state: dict[str, object] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = self._state if scope["type"] == "lifespan" else dict(self._state)
        await self._app(scope, receive, send)


def replica() -> ASGIApp:
    """One replica's application, made where it will run."""
    path = Path(os.environ.get("HEDGEROW_CONFIG", "config.yaml"))
    settings = load(path)
    set_up_logging(settings.log)
    return _WithState(application(settings, "Ray Serve", path))


@serve.deployment(
    max_ongoing_requests=MOST_IN_FLIGHT,
    graceful_shutdown_timeout_s=45,
    ray_actor_options={"num_cpus": 1},
    autoscaling_config={
        "min_replicas": int(os.environ.get("HEDGEROW_MIN_REPLICAS", "2")),
        "max_replicas": int(os.environ.get("HEDGEROW_MAX_REPLICAS", "12")),
        "target_ongoing_requests": IN_FLIGHT,
        "downscale_delay_s": 300,
    },
)
@serve.ingress(replica)
class Proxy:
    """Requests go to the application above."""


hedgerow = Proxy.bind()
