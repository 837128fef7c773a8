"""`hedgerow config`: checking a configuration, hashing keys."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from ...audit.engine import is_reachable, open_existing, sqlite_file
from ...config import Settings, load_known
from ...config.kinds import load_object
from ...config.redis import redis_state
from ...errors import ConfigError, ProxyError, StoreError, UpstreamRejected
from ...services.services import check_services, named_upstreams, open_upstream
from ..shared.messages import counted, say, stop
from ..shared.options import CONFIG, ConfigPath

PROVIDER_STATE = "hedgerow.proxy.dashboard.visitor:provider_state"

app = typer.Typer(no_args_is_help=True, help="Check the configuration; hash client keys.")


@app.command()
def check(
    config: ConfigPath = CONFIG,
    online: Annotated[
        bool,
        typer.Option(help="Also ask the audit store, Redis, the identity provider and every upstream, a line each."),
    ] = False,
) -> None:
    """Check a configuration file, and that everything it names exists. Nothing is opened or called without --online.

    Surprising settings are reported on standard error. Exits with status 2 if the file cannot be used, with 1 if a map is missing, an upstream
    is the proxy itself or, with --online, something does not answer.
    """
    settings, unset = _known(config)
    try:
        problems = check_services(settings)
    except ConfigError as error:
        stop(str(error))
    if settings.asks_itself is not None:
        problems.append(settings.asks_itself)
    if online:
        problems += asyncio.run(_ask_all(settings))
    if problems:
        stop("\n".join(problems), code=1)
    if unset:
        named = ", ".join(f"{name} ({key})" for key, name in unset.items())
        say(f"{config}: not set here, and needed by `hedgerow serve`: {named}", err=True)
    if settings.unrouted is not None:
        say(f"{config}: {settings.unrouted}", err=True)
    routes = ", ".join(f"{route.name} ({route.mode})" for route in settings.routes)
    say(f"{config}: fine; routes: {routes}")


def _known(config: Path) -> tuple[Settings, Mapping[str, str]]:
    try:
        return load_known(config)
    except ConfigError as error:
        stop(str(error))


async def _ask_all(settings: Settings) -> list[str]:
    """Print the answers of store and upstreams; returns those that do not answer."""
    problems = []
    async for name, answer, is_fine in _answers(settings):
        if is_fine:
            say(f"{name}: {answer}")
        else:
            problems.append(f"{name}: {answer}")
    return problems


async def _answers(settings: Settings) -> AsyncIterator[tuple[str, str, bool]]:
    """Name, answer, and whether that is good, for the stores, the identity provider and each upstream that a route may call."""
    async for store in stores(settings):
        yield store
    if settings.access.oidc is not None:
        yield "identity provider", *await load_object(PROVIDER_STATE)(settings.access.oidc)
    for name in named_upstreams(settings):
        try:
            upstream = await open_upstream(name, settings.upstreams)
        except ConfigError as error:
            yield f"upstream {name}", str(error), False
            continue
        try:
            yield f"upstream {name}", f"lists {counted(len(await upstream.models({})), 'model')}", True
        except UpstreamRejected as error:
            wants_key = error.status in (401, 403) and getattr(settings.upstreams[name], "api_key", None) is None
            answer = f"answers with status {error.status}" + ("; it wants the client's key" if wants_key else "")
            yield f"upstream {name}", answer, wants_key
        except ProxyError as error:
            yield f"upstream {name}", error.message + (f" ({error.cause})" if error.cause else ""), False
        finally:
            await upstream.aclose()


async def stores(settings: Settings) -> AsyncIterator[tuple[str, str, bool]]:
    """Name, answer, and whether that is good, for the audit store and each Redis."""
    yield "audit store", *store_state(settings)
    counting, caches = settings.access.counting, [route.sampling.cache for route in settings.routes]
    named = {("sampling.cache", cache.url) for cache in caches if cache is not None and cache.store == "redis"}
    named |= {("access.counting", counting.url)} if counting.store == "redis" else set()
    for section, url in sorted((section, url) for section, url in named if url is not None):
        yield f"Redis of {section}", *await redis_state(section, url)


def store_state(settings: Settings) -> tuple[str, bool]:
    """The audit store's answer, and whether that is good."""
    try:
        file = sqlite_file(settings.audit)
    except ConfigError as error:
        return str(error), False
    if file is not None and not file.exists():
        folder = "" if file.absolute().parent.is_dir() else " with its folder"
        return f"{file} does not exist yet; `hedgerow serve` creates it{folder}", True
    try:
        engine = open_existing(settings.audit)
    except StoreError as error:
        return str(error), False
    try:
        return ("answers", True) if is_reachable(engine) else ("does not answer", False)
    finally:
        engine.dispose()


@app.command("hash-key")
def hash_key() -> None:
    """Read a client key from standard input and print its hash for `keys:`; the key itself is not stored."""
    key = typer.get_text_stream("stdin").readline().strip()
    if not key:
        stop("no key on standard input")
    say(hashlib.sha256(key.encode()).hexdigest())
