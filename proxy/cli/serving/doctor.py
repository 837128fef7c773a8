"""`hedgerow doctor`: test everything, and the time and cost of an answer, with one real question to every upstream of a route."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from ....calibration.registry import UNCALIBRATED
from ...config import Route, Settings
from ...errors import ConfigError, ProxyError, UpstreamRejected
from ...monitoring.figures import dollars
from ...protocols import Call
from ...rewriting.editor_check import Checking, check
from ...services.active_map import open_maps
from ...services.factories import editor_of, only_models
from ...services.services import check_services, open_upstream
from ...spending.prices import Prices, open_prices
from ...types import Json, Usage
from ...upstreams.answers import usage_of
from ...upstreams.asking import RouteContext
from ...upstreams.connections import authority, proxy_of
from ...upstreams.readiness import Readiness
from ..shared.options import CONFIG, ConfigPath
from ..shared.settings import configuration
from ..shared.showing import styled, terminal
from .config import stores

QUESTION = "Who painted the Mona Lisa?"
"""A question that even the small embedded model answers correctly (benchmarks/fits/example_questions.py)."""
ASKED = 2
"""Number of answers requested: enough to see whether `n` is supported."""
State = Literal["works", "fact", "note", "fails"]
Finding = tuple[State, str, str]
"""(state, subject, message)."""
_MARKS = {"works": ("✓", "green"), "fact": ("·", "dim"), "note": ("!", "yellow"), "fails": ("✗", "red")}


def doctor(
    config: ConfigPath = CONFIG,
    key_variable: Annotated[
        str | None, typer.Option(help="Environment variable with a client's key, for upstreams that need one.")
    ] = None,
    model: Annotated[str, typer.Option(help="Model to ask for, if a route does not fix one.")] = "",
) -> None:
    """Test everything once: configuration, store, maps, and one real question to the upstream of each route. Exits with status 1 if something fails."""
    settings = configuration(config)
    console = terminal()
    key = os.environ.get(key_variable, "") if key_variable else ""
    headers = {"authorization": f"Bearer {key}"} if key else {}

    async def examine() -> bool:
        fails = False
        async for state, name, said in _findings(settings, headers, model):
            mark, style = _MARKS[state]
            console.print(styled((f"{mark} ", style), (f"{name}: ", "bold"), said), soft_wrap=True)
            fails |= state == "fails"
        return fails

    raise typer.Exit(1 if asyncio.run(examine()) else 0)


async def _findings(settings: Settings, headers: Mapping[str, str], model: str) -> AsyncIterator[Finding]:
    yield "works", "configuration", "routes " + ", ".join(f"{route.name} ({route.mode})" for route in settings.routes)
    can_read_maps = True
    async for name, said, is_fine in stores(settings):
        yield "works" if is_fine else "fails", name, said
        can_read_maps &= is_fine or name != "audit store"
    try:
        for problem in check_services(settings):
            yield "fails", "maps", problem
    except ConfigError as error:
        yield "fails", "configuration", str(error)
        return
    addresses = {name: getattr(each, "base_url", "") for name, each in settings.upstreams.items()}
    if proxied := [name for name, address in addresses.items() if proxy_of(urlsplit(address))]:
        yield "note", "network", f"reached through the proxy of HTTPS_PROXY: {', '.join(proxied)}"
    for route in settings.routes:
        if route.calibrates and can_read_maps:
            yield _map_of(settings, route)
        answers = False
        async for finding in _of_route(settings, route, headers, model):
            answers = finding[0] != "fails"
            yield finding
        if answers and route.calibrates and route.rewriting.by in ("auto", "editor"):
            yield await _editor_of(settings, route, headers, model)


def _map_of(settings: Settings, route: Route) -> Finding:
    """The map that calibrates the route's answers."""
    with open_maps(settings) as maps:
        versions = sorted({active.version for active in maps.of_route(route).values() if active.version})
    if not versions:
        said = "no map yet: its confidence is not calibrated until `hedgerow fit` has learned one"
        return "note", f"route {route.name}", said
    return "works", f"route {route.name}", f"calibrated by {', '.join(versions)}"


async def _of_route(settings: Settings, route: Route, headers: Mapping[str, str], model: str) -> AsyncIterator[Finding]:
    name = f"route {route.name}, upstream {route.upstream}"
    try:
        upstream = await open_upstream(route.upstream, settings.upstreams)
    except ConfigError as error:
        yield "fails", name, str(error)
        return
    body: Json = {"messages": [{"role": "user", "content": QUESTION}], "n": ASKED, "logprobs": True, "max_tokens": 32}
    asked_for = route.model or model
    body |= {"model": asked_for} if asked_for else {}
    try:
        started = time.perf_counter()
        try:
            answer = await upstream.complete(Call("/chat/completions", body, headers, patient=False))
        except UpstreamRejected as refused:
            if refused.status in (401, 403, 404):
                raise
            yield (
                "note",
                name,
                f"refuses `n` and `logprobs` (status {refused.status}); answers are drawn in calls of one",
            )
            answer = await upstream.complete(Call("/chat/completions", _plain(body), headers, patient=False))
        yield "works", name, f"answers in {time.perf_counter() - started:.1f} s: {_first_text(answer)!r}"
        for finding in _abilities(name, route, answer, open_prices(settings.prices)):
            yield finding
    except ProxyError as error:
        has_key = bool(headers or getattr(settings.upstreams[route.upstream], "api_key", None))
        yield (
            "fails",
            name,
            _advice(error, asked_for, has_key=has_key) + _place(error, settings, route.upstream),
        )
    finally:
        await upstream.aclose()


async def _editor_of(settings: Settings, route: Route, headers: Mapping[str, str], model: str) -> Finding:
    """Whether the route's editor marks a small answer as asked."""
    name = route.rewriting.upstream or route.upstream
    subject = f"route {route.name}, editor"
    if route.rewriting.by == "auto" and name in only_models(settings):
        return "fact", subject, "none: answers are worded locally, because an embedded model is not asked"
    upstream = None
    try:
        upstream = await open_upstream(name, settings.upstreams)
        context = RouteContext(
            route, {name: upstream}, lambda _m, _s: UNCALIBRATED, editors=Readiness(), only_models=only_models(settings)
        )
        editor = editor_of(context)
        asked = route.rewriting.model or route.model or model
        problem = None if editor is None else await check(editor, Checking(asked, headers))
    except ConfigError as error:
        return "fails", subject, str(error)
    finally:
        if upstream is not None:
            await upstream.aclose()
    if problem is None:
        return "works", subject, f"{asked or name} marks answers as asked"
    said = f"{asked or name} cannot word answers ({problem}): answers are worded locally"
    return "fails" if route.rewriting.by == "editor" else "note", subject, said


def _plain(body: Json) -> Json:
    return {key: value for key, value in body.items() if key not in ("n", "logprobs")}


def _abilities(name: str, route: Route, answer: Json, prices: Prices) -> list[Finding]:
    """What an answer shows about the upstream, and the time and cost of a calibrated answer of the route."""
    choices = answer["choices"]
    takes_n = len(choices) == ASKED
    ways = "one call" if takes_n else f"{route.sampling.n} calls of one"
    findings: list[Finding] = [
        (
            "works" if takes_n else "note",
            name,
            f"`n`: {'taken' if takes_n else 'not taken'}; {route.sampling.n} answers in {ways}",
        )
    ]
    if route.signal in ("token", "combined"):
        has = bool(choices[0].get("logprobs"))
        said = "given" if has else f"not given, and the signal {route.signal} needs them"
        findings.append(("works" if has else "fails", name, f"log-probabilities: {said}"))
    if (usage := answer.get("usage")) and route.mode != "off":
        prompt, written = usage.get("prompt_tokens") or 0, (usage.get("completion_tokens") or 0) / len(choices)
        drawn = Usage(prompt * (1 if takes_n else route.sampling.n), round(written * route.sampling.n))
        plain = Usage(prompt, round(written))
        price = prices.of(usage_of(answer).model, route.model or "")
        worth = (
            f"{dollars(price.of(drawn))} against {dollars(price.of(plain))} by the prices of {price.source}"
            if price is not None
            else "what that costs is not known, the model has no price (docs/costs.md)"
        )
        said = f"this question takes about {drawn.total} tokens calibrated, {plain.total} plain: {worth}"
        findings.append(("fact" if price is not None else "note", name, said))
    return findings


def _first_text(answer: Json) -> str:
    message: Any = answer["choices"][0].get("message") or {}
    return " ".join(str(message.get("content") or "").split())[:60]


def _place(error: ProxyError, settings: Settings, upstream: str) -> str:
    """Host and port of an upstream that cannot be reached, without other parts of its address, and what the network says."""
    base_url = getattr(settings.upstreams[upstream], "base_url", None)
    if error.cause is None or not base_url:
        return ""
    return f" at {authority(urlsplit(base_url))} (upstreams.{upstream}.base_url): {error.cause}"


def _advice(error: ProxyError, model: str, *, has_key: bool) -> str:
    """The error, in the upstream's own words if it gives any, and what to try."""
    if not isinstance(error, UpstreamRejected):
        return error.message
    said = error.sentence
    if error.status in (401, 403):
        hint = (
            "the key is refused" if has_key else "it wants a key: set api_key, or name a client's with --key-variable"
        )
        return f"{said}; {hint}"
    return said if model else f"{said}; name a model with --model"
