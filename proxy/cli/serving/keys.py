"""`hedgerow keys`: named keys of clients and people. Running processes follow within two seconds."""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from ...audit import keys
from ...audit.formats import date_of, seconds_of
from ...audit.keys import figures_of_keys
from ...config import Settings
from ...services.keyring import state_of
from ...types import Key, Role
from ..shared.messages import counted, say, show_text, stop
from ..shared.options import CONFIG, ConfigPath, JsonForTable, Note
from ..shared.settings import named_route
from ..shared.store import open_audit, whoami
from ..shared.times import moment

app = typer.Typer(no_args_is_help=True, help="Make, list, change, rotate and revoke named keys.")

Name = Annotated[str, typer.Argument(help="What the key is called, in logs, figures and pages.")]
Team = Annotated[str | None, typer.Option(help="Whom it belongs to.")]
Routes = Annotated[
    list[str] | None, typer.Option("--route", help="A route that it may use; again for more. Default: all.")
]
Expires = Annotated[str | None, typer.Option(help="When it ends: a date (UTC), a span such as 90d, or `never`.")]
Requests = Annotated[int | None, typer.Option("--requests-per-minute", min=0, help="0: no limit.")]
Tokens = Annotated[int | None, typer.Option("--tokens-per-minute", min=0, help="0: no limit.")]
Places = Annotated[
    int | None, typer.Option("--concurrency", min=0, help="Maximum number of requests in flight. 0: no limit.")
]


@app.command()
def new(
    name: Name,
    team: Team = None,
    role: Annotated[Role | None, typer.Option(help="Role, for a person's key, with which they sign in.")] = None,
    routes: Routes = None,
    expires: Expires = None,
    requests: Requests = None,
    tokens: Tokens = None,
    concurrency: Places = None,
    config: ConfigPath = CONFIG,
    note: Note = None,
) -> None:
    """Create a key. Its secret is printed on standard output, this once; only its hash is stored."""
    if not re.fullmatch(keys.NAME, name):
        stop(f"{name!r} cannot be a key's name: up to 64 letters, digits and any of _ . @ + -")
    with open_audit(config) as (settings, engine):
        wishes = _wishes(settings, team, routes, expires, requests, tokens, concurrency)
        made = keys.create(engine, Key(name, role=role, **wishes), actor=whoami(), note=note)
    if made is None:
        stop(f"there is, or was, a key {name!r}; names are not given twice, because the audit knows keys by them")
    _show_once(*made)


@app.command("list")
def list_keys(
    config: ConfigPath = CONFIG,
    since: Annotated[str, typer.Option(help="Count usage since: a date, or a span such as 14d.")] = "7d",
    as_json: JsonForTable = False,
) -> None:
    """Show every key: its rights, expiry and usage."""
    with open_audit(config) as (_, engine):
        known, figures = keys.read_keys(engine), figures_of_keys(engine, moment(since))
    if as_json:
        rows = [asdict(key) | {"state": state_of(key), "figures": _json(figures.get(key.name))} for key in known]
        show_text(json.dumps(rows, indent=2))
        return
    for key in known:
        used = figures.get(key.name)
        use = f"{counted(used.requests, 'request')}, {counted(used.tokens, 'token')}" if used else "not used"
        say("  ".join(part for part in (key.name, state_of(key), *_parts(key), f"since {since}: {use}") if part))
    if not known:
        say("there are no named keys")


@app.command()
def change(
    name: Name,
    team: Team = None,
    routes: Annotated[list[str] | None, typer.Option("--route", help="A route that it may use; `all` for all.")] = None,
    expires: Expires = None,
    requests: Requests = None,
    tokens: Tokens = None,
    concurrency: Places = None,
    config: ConfigPath = CONFIG,
    note: Note = None,
) -> None:
    """Change a key's rights; values that are not given stay unchanged."""
    with open_audit(config) as (settings, engine):
        wishes = _wishes(settings, team, routes, expires, requests, tokens, concurrency)
        if not wishes:
            stop("nothing to change is named; see `hedgerow keys change --help`")
        key = keys.change(engine, name, wishes, actor=whoami(), note=note)
    if key is None:
        stop(f"no key is called {name!r}")
    say("  ".join([key.name, state_of(key), *_parts(key)]))


@app.command()
def rotate(
    name: Name,
    overlap: Annotated[str, typer.Option(help="How long the old secret stays valid, such as 24h.")] = "0m",
    config: ConfigPath = CONFIG,
    note: Note = None,
) -> None:
    """Give a key a new secret, which is printed on standard output, this once."""
    if (overlap_s := seconds_of(overlap)) is None:
        stop(f"Invalid --overlap value {overlap!r}. Use a span such as 24h or 7d.")
    if overlap_s > keys.MAX_OVERLAP_S:
        stop(f"--overlap {overlap} is too long: the old secret may work on for 90 days at most")
    with open_audit(config) as (_, engine):
        made = keys.rotate(engine, name, overlap_s=overlap_s, actor=whoami(), note=note)
    if made is None:
        stop(f"no key is called {name!r}, or it is revoked")
    _show_once(*made)


@app.command()
def revoke(name: Name, config: ConfigPath = CONFIG, note: Note = None) -> None:
    """Revoke a key permanently."""
    with open_audit(config) as (_, engine):
        key = keys.revoke(engine, name, actor=whoami(), note=note)
    if key is None:
        stop(f"no key is called {name!r}")
    say(f"{key.name}: revoked")


def _wishes(
    settings: Settings,
    team: str | None,
    routes: list[str] | None,
    expires: str | None,
    requests: int | None,
    tokens: int | None,
    concurrency: int | None,
) -> dict[str, Any]:
    """Changed values by column; None removes a value."""
    wishes: dict[str, Any] = {} if team is None else {"team": team or None}
    if routes:
        wishes["routes"] = None if routes == ["all"] else tuple(named_route(settings, name).name for name in routes)
    if expires is not None:
        wishes["expires_at"] = _end(expires)
    limits = {"requests_per_minute": requests, "tokens_per_minute": tokens, "concurrency": concurrency}
    return wishes | {name: limit or None for name, limit in limits.items() if limit is not None}


def _end(text: str) -> float | None:
    """When a key expires; None for never."""
    if text == "never":
        return None
    if (span := seconds_of(text)) is not None:
        return time.time() + span
    if (at := date_of(text)) is None:
        stop(f"Invalid --expires value {text!r}. Use a date (2027-01-31), a span such as 90d, or never.")
    return at


def _parts(key: Key) -> list[str]:
    """The values of a key as text parts."""
    limits = {
        "requests a minute": key.requests_per_minute,
        "tokens a minute": key.tokens_per_minute,
        "at once": key.concurrency,
    }
    parts = [f"team {key.team}"] if key.team else []
    parts += [key.role] if key.role else []
    parts += [f"routes {', '.join(key.routes)}"] if key.routes else []
    parts += [f"{limit} {what}" for what, limit in limits.items() if limit is not None]
    if key.expires_at is not None:
        parts.append(f"until {_minute(key.expires_at)}")
    parts.append(f"…{key.hint}")
    if state_of(key) == "active" and key.previous_until is not None and key.previous_until > time.time():
        parts.append(f"the old secret works until {_minute(key.previous_until)}")
    return parts


def _minute(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _json(figures: Any) -> Any:
    return None if figures is None else asdict(figures)


def _show_once(key: Key, secret: str) -> None:
    say(f"{key.name}: this is its secret; it is kept nowhere, and cannot be shown again", err=True)
    say(secret)
