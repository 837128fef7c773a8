"""`/v1/admin/keys`: create, change, rotate and revoke named keys. A secret is shown only once, in the answer that created it."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from ..audit import keys
from ..audit.key_figures import KeyFigures, figures_of_keys
from ..errors import BadRequest, NotFound
from ..services.keyring import state_of
from ..services.reload import ConfigReloader
from ..types import Json, Key, Role
from .access import Administers, OperatorOf, ReloaderOf, Views
from .admin import Act, with_store

router = APIRouter(prefix="/v1/admin/keys", dependencies=[Administers])
listing = APIRouter(prefix="/v1/admin/keys", dependencies=[Views])

Limit = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Wishes(Act):
    """An operator's changes to a key; omitted fields stay unchanged, null removes a value."""

    team: Annotated[str, Field(min_length=1, max_length=64, pattern=keys.PRINTABLE)] | None = None
    routes: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    expires_at: Annotated[float, Field(gt=0, lt=1e11, description="Seconds since 1970.")] | None = None
    requests_per_minute: Limit | None = None
    tokens_per_minute: Limit | None = None
    concurrency: Limit | None = None

    def said(self) -> dict[str, Any]:
        """The given values by column."""
        return self.model_dump(include=self.model_fields_set & set(keys.CHANGEABLE))


class NewKey(Wishes):
    """A key to create. With a `role` it belongs to a person, who signs in with it and cannot call models."""

    name: Annotated[str, Field(pattern=keys.NAME)]
    role: Role | None = None


class Rotation(Act):
    """A new secret for a key."""

    overlap_s: Annotated[float, Field(ge=0, le=keys.MAX_OVERLAP_S, description="How long the old secret works on.")] = (
        0.0
    )


@listing.get("")
async def list_keys(reloader: ReloaderOf, days: Annotated[float, Query(gt=0, le=400)] = 7.0) -> Json:
    """Every key, its state, and its figures of the last `days` days."""
    figures = await with_store(reloader, figures_of_keys, time.time() - days * 86_400)
    known = await with_store(reloader, keys.read_keys)
    return {"keys": [described(key, figures.get(key.name)) for key in known], "days": days}


@router.post("", status_code=201)
async def new_key(wish: NewKey, reloader: ReloaderOf, operator: OperatorOf) -> Json:
    """Create a key. `secret` is what its owner sends; it cannot be shown again."""
    check_routes(reloader, wish.routes)
    key = Key(wish.name, role=wish.role, **wish.said())
    made = await with_store(reloader, keys.create, key, **wish.signature(operator))
    if made is None:
        message = (
            f"there is, or was, a key {wish.name!r}; names are not given twice, because the audit knows keys by them"
        )
        raise BadRequest(message, param="name", code="name_taken")
    return await _shown(reloader, *made)


@router.patch("/{name}")
async def change_key(name: str, wish: Wishes, reloader: ReloaderOf, operator: OperatorOf) -> Json:
    """Change a key's team, routes, expiry or limits."""
    check_routes(reloader, wish.routes)
    key = await with_store(reloader, keys.change, name, wish.said(), **wish.signature(operator))
    if key is None:
        raise _unknown(name)
    return await _shown(reloader, key)


@router.post("/{name}/rotate")
async def rotate_key(name: str, reloader: ReloaderOf, operator: OperatorOf, wish: Rotation | None = None) -> Json:
    """Give a key a new secret; the old one works on for `overlap_s` seconds."""
    wish = wish or Rotation()
    made = await with_store(reloader, keys.rotate, name, overlap_s=wish.overlap_s, **wish.signature(operator))
    if made is None:
        raise _unknown(name)
    return await _shown(reloader, *made)


@router.post("/{name}/revoke")
async def revoke_key(name: str, reloader: ReloaderOf, operator: OperatorOf, wish: Act | None = None) -> Json:
    """Revoke a key permanently; every process follows within two seconds."""
    key = await with_store(reloader, keys.revoke, name, **(wish or Act()).signature(operator))
    if key is None:
        raise _unknown(name)
    return await _shown(reloader, key)


def check_routes(reloader: ConfigReloader, routes: Collection[str] | None) -> None:
    """Raise `BadRequest` for a route that is not configured."""
    known = [route.name for route in reloader.configured.routes]
    if unknown := next((name for name in routes or () if name not in known), None):
        raise BadRequest(
            f"no route is called {unknown!r}; the routes are {', '.join(known)}", param="routes", code="unknown_route"
        )


def described(key: Key, figures: KeyFigures | None) -> Json:
    """A key as a JSON object, with its present state and its figures."""
    return asdict(key) | {"state": state_of(key), "figures": None if figures is None else asdict(figures)}


async def _shown(reloader: ConfigReloader, key: Key, secret: str | None = None) -> Json:
    """A key after a change, which is applied in this process at once."""
    await reloader.look()
    return {"key": described(key, None)} | ({} if secret is None else {"secret": secret})


def _unknown(name: str) -> NotFound:
    return NotFound(f"no key is called {name!r}, or it is revoked", code="unknown_key")
