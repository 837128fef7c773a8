"""Probes and metrics: liveness, readiness, Prometheus counters.

These do without FastAPI, so that a probe does not make a process import it.
"""

from __future__ import annotations

import asyncio

import anyio
import anyio.to_thread
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..audit.engine import is_reachable
from ..services.reload import ConfigReloader
from ..services.services import Services
from ..types import Json
from ..upstreams.circuits import WatchedUpstream

STORE_TIMEOUT_S = 2.0
"""Seconds that the store may take to answer a readiness check."""


async def health(request: Request) -> Response:
    """Whether the process answers, and what is not as it should be: `problem` says why the newest configuration is not in use,
    `maps` which routes are uncalibrated because their map is missing or damaged, `background` which work beside the requests failed since
    the start; `upstreams` whose circuit is open or half-open; `store` that rows wait for it, or are refused; `problems` what else is wrong now, `dead` which threads and loops have ended, with status 503, for only a restart helps then; `degraded` is there while any of these lasts, of failures while one is recent.
    """
    reloader, services = _reloader(request), _services(request)
    supervisor = reloader.services.supervisor
    report: Json = {"status": "ok"}
    if dead := supervisor.dead:
        report = {"status": "failed", "dead": dead}
    if reloader.problem:
        report["problem"] = reloader.problem
    if reloader.map_problems:
        report["maps"] = reloader.map_problems
    circuits = {
        each.name: each.circuit.state for each in services.upstreams.values() if isinstance(each, WatchedUpstream)
    }
    if failing := {name: state for name, state in circuits.items() if state != "closed"}:
        report["upstreams"] = failing
    if down := reloader.audit.down:
        report["store"] = "down"
    if supervisor.problems:
        report["problems"] = dict(supervisor.problems)
    if supervisor.degraded or reloader.problem or reloader.map_problems or failing or down:
        report["degraded"] = True
    if supervisor.failures:
        report["background"] = supervisor.report()
    return JSONResponse(report, 503 if dead else 200)


async def ready(request: Request) -> Response:
    """Whether requests should come here: 503 only where every route would refuse them, or a thread of the proxy has ended.

    A store or an upstream that is down is reported, but takes nobody out of service as long as a route answers without it: replicas share
    them, and would all go at once. An upstream that has answered nothing yet, or fails, is asked for its models, every few seconds at most.
    """
    reloader, services = _reloader(request), _services(request)
    reachable = not reloader.audit.down and await _store_answers(reloader)
    silent, dead = await _silent_upstreams(services), services.supervisor.dead
    serving = not dead and any(
        (reachable or route.on_failure == "pass") and not silent.issuperset(services.settings.members(route.upstream))
        for route in services.settings.routes
    )
    report: Json = {"status": "ready" if serving else "not_ready", "store": "ok" if reachable else "down"}
    if dead:
        report["dead"] = dead
    if silent:
        report["upstreams"] = dict.fromkeys(sorted(silent), "does not answer")
    return JSONResponse(report, 200 if serving else 503)


async def _silent_upstreams(services: Services) -> set[str]:
    """Upstreams that do not answer."""
    watched = [upstream for upstream in services.upstreams.values() if isinstance(upstream, WatchedUpstream)]
    answers = await asyncio.gather(*(upstream.answers() for upstream in watched))
    return {upstream.name for upstream, answered in zip(watched, answers, strict=True) if not answered}


async def _store_answers(reloader: ConfigReloader) -> bool:
    with anyio.move_on_after(STORE_TIMEOUT_S):
        return await anyio.to_thread.run_sync(is_reachable, reloader.audit.engine, abandon_on_cancel=True)
    return False


async def metrics(request: Request) -> Response:
    """Counters for Prometheus, of all workers of the port; docs/metrics.md lists them."""
    try:
        return Response(_services(request).metrics.exposition(), media_type=CONTENT_TYPE_LATEST)
    except OSError as error:  # of several workers they are files
        _services(request).supervisor.failed("metrics", error)
        return Response(f"the metrics cannot be read: {error.strerror}\n", 503, media_type="text/plain")


def _services(request: Request) -> Services:
    services: Services = request.state.services
    return services


def _reloader(request: Request) -> ConfigReloader:
    reloader: ConfigReloader = request.state.reloader
    return reloader


ROUTES = (Route("/health", health), Route("/health/ready", ready), Route("/metrics", metrics))
