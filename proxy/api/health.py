"""Probes and metrics: is the process alive, should it get requests, and what did it count."""

from __future__ import annotations

import anyio
import anyio.to_thread
from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from hedgerow.proxy.api.access import ReloaderOf, ServicesOf
from hedgerow.proxy.audit.engine import is_reachable
from hedgerow.proxy.services.reload import ConfigReloader
from hedgerow.proxy.services.services import judge_state
from hedgerow.proxy.types import Json

STORE_TIMEOUT_S = 2.0
"""Longest that the store may take to answer a readiness check."""

router = APIRouter()


@router.get("/health")
async def health(reloader: ReloaderOf) -> Json:
    """Whether the process answers, and what is not as it should be: `problem` says why the newest configuration is not in use,
    `maps` which routes are uncalibrated because their map is missing or damaged, `promises` which have no certificate for what they promise, `background` which work beside the requests failed since
    the start; `degraded` is there while a map is unusable or a failure recent; `judge` says who reads the claims of long answers.
    """
    background = reloader.services.background
    report: Json = {"status": "ok"}
    if reloader.problem:
        report["problem"] = reloader.problem
    if reloader.map_problems:
        report["maps"] = reloader.map_problems
    if missing := _not_in_force(reloader):
        report["promises"] = missing
    if background.degraded or reloader.map_problems:
        report["degraded"] = True
    if background.failures:
        report["background"] = background.report()
    judge = await anyio.to_thread.run_sync(judge_state, reloader.services.settings)
    if judge is not None:
        report["judge"] = judge
    return report


@router.get("/health/ready")
async def ready(reloader: ReloaderOf, services: ServicesOf) -> Response:
    """Whether requests should come here: 503 only where every route would refuse them.

    A store that is down is reported, but takes nobody out of service as long as a route answers without it: replicas share the store, and
    would all go at once.
    """
    reachable = await _store_answers(reloader)
    serving = reachable or any(route.on_failure == "pass" for route in services.settings.routes)
    report = {"status": "ready" if serving else "not_ready", "store": "ok" if reachable else "down"}
    if missing := _not_in_force(reloader):
        report["promises"] = "not in force: " + ", ".join(sorted(missing))
    return JSONResponse(report, 200 if serving else 503)


def _not_in_force(reloader: ConfigReloader) -> dict[str, str | None]:
    """By route that promises something and has no valid certificate, why."""
    return {name: found.reason for name, found in reloader.standing().items() if found.certificate is None}


async def _store_answers(reloader: ConfigReloader) -> bool:
    with anyio.move_on_after(STORE_TIMEOUT_S):
        return await anyio.to_thread.run_sync(is_reachable, reloader.audit.engine, abandon_on_cancel=True)
    return False


@router.get("/metrics")
async def metrics(services: ServicesOf) -> Response:
    """Counters for Prometheus; docs/metrics.md lists them."""
    return Response(generate_latest(services.metrics.registry), media_type=CONTENT_TYPE_LATEST)
