"""`/v1/admin`: view and change routes and named keys at run time. All endpoints need the admin key, or the key of a person with the role."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from ..audit import keys, operators
from ..audit.keys import KeyFigures, figures_of_keys
from ..audit.operators import Setting
from ..audit.review import is_picked, review_queue
from ..audit.verdicts import PICKED, Verdict
from ..config import Mode, Route
from ..errors import BadRequest, ConfigError, NotFound
from ..gateway.access import Person
from ..services.keyring import state_of
from ..services.reload import ConfigReloader, describe
from ..services.serving import examine
from ..services.verdicts import record_verdicts
from ..types import Json, Key, Role
from .access import Administers, OperatorOf, ReloaderOf, ReviewerOf, Reviews, ServicesOf, StoreOf, Views
from .feedback import WITHOUT_NUL, AnswerId, described, unknown_answer_or_claim

T = TypeVar("T")
router = APIRouter(prefix="/v1/admin", dependencies=[Administers])
looking = APIRouter(prefix="/v1/admin", dependencies=[Views])
reviewing = APIRouter(prefix="/v1/admin/review", dependencies=[Reviews])


class Act(BaseModel):
    """Who makes a change, and the reason."""

    model_config = ConfigDict(extra="forbid")

    actor: Annotated[str, Field(min_length=1, max_length=64, pattern=WITHOUT_NUL)] = "admin"
    note: Annotated[str, Field(max_length=operators.LONGEST_NOTE, pattern=WITHOUT_NUL)] | None = None

    def signature(self, person: Person) -> dict[str, str | None]:
        """The author in the record of a change: the signed-in person, else the name that was sent."""
        return {"actor": person.name or self.actor, "note": self.note}


class SetMode(Act):
    """A route's mode; null gives it back to the configuration."""

    mode: Mode | None


class SetMap(Act):
    """A route's map: a version of the registry, "identity", or null for the configuration's."""

    map: Annotated[str, Field(min_length=1, max_length=128)] | None


class ReviewVerdict(Act):
    """A person's verdict, on an answer or on one claim of it by number."""

    correct: Annotated[float, Field(ge=0, le=1)]
    claim: Annotated[int, Field(ge=0, le=9999)] | None = None


@looking.get("/routes")
async def routes(reloader: ReloaderOf) -> Json:
    """Every route: its mode and map in effect and as configured, who set them, and the health of its map."""
    return {
        "routes": describe(
            reloader.configured,
            reloader.services.settings,
            reloader.states,
            reloader.health,
            reloader.active_maps(),
            reloader.promises,
        ),
        "problem": reloader.problem,
    }


@router.post("/routes/{name}/mode")
async def set_mode(name: str, wish: SetMode, reloader: ReloaderOf, operator: OperatorOf) -> Json:
    """Switch a route to off, shadow or on. Every process follows within two seconds; requests in flight keep their mode."""
    _route(reloader, name)
    return await _set(reloader, name, "mode", wish.mode, wish.signature(operator))


@router.post("/routes/{name}/map")
async def set_map(name: str, wish: SetMap, reloader: ReloaderOf, operator: OperatorOf) -> Json:
    """Use a stored map for a route from now on."""
    route = _route(reloader, name)
    try:
        await reloader.check_map(route, wish.map)
    except ConfigError as error:
        raise BadRequest(str(error), param="map", code="unusable_map") from error
    return await _set(reloader, name, "map", wish.map, wish.signature(operator))


@router.post("/routes/{name}/rollback")
async def roll_back(name: str, reloader: ReloaderOf, operator: OperatorOf, wish: Act | None = None) -> Json:
    """Return a route to its previous map; a second call to the one before."""
    _route(reloader, name)
    change = await with_store(reloader, operators.roll_back, name, **(wish or Act()).signature(operator))
    if change is None:
        raise BadRequest(f"route {name} has had no other map", code="nothing_to_roll_back")
    await reloader.look()
    return asdict(change)


@router.post("/routes/{name}/alarms/clear")
async def clear_alarms(name: str, reloader: ReloaderOf, operator: OperatorOf, wish: Act | None = None) -> Json:
    """Clear a route's alarms and restart its tests."""
    _route(reloader, name)
    return {"cleared": await with_store(reloader, operators.clear_alarms, name, **(wish or Act()).signature(operator))}


@looking.get("/changes")
async def changes(
    reloader: ReloaderOf, route: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Json:
    """Changes by operators, newest first."""
    changes = await with_store(reloader, operators.read_changes, route=route, limit=limit)
    return {"changes": [asdict(change) for change in changes]}


@looking.get("/alarms")
async def alarms(reloader: ReloaderOf, route: str | None = None, standing: bool = False) -> Json:
    """Alarms, newest first."""
    alarms = await with_store(reloader, operators.read_alarms, route=route, standing=standing)
    return {"alarms": [asdict(alarm) for alarm in alarms]}


@router.post("/reload")
async def reload(reloader: ReloaderOf) -> Json:
    """Read the configuration file again; `problem` is the reason if it is not in use."""
    await reloader.look(reload=True)
    return {"problem": reloader.problem}


@router.post("/check")
async def check(reloader: ReloaderOf) -> Json:
    """Check for drift now instead of at the watcher's next turn, and return the routes."""
    await examine(reloader)
    return await routes(reloader)


@reviewing.get("")
async def review(
    reloader: ReloaderOf,
    route: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
    skip: Annotated[list[str] | None, Query()] = None,
) -> Json:
    """The next answers that a person should judge, and why each was chosen."""
    order = reloader.services.settings.review.order
    items = await with_store(reloader, review_queue, route=route, limit=limit, skip=frozenset(skip or ()), order=order)
    return {"answers": [asdict(item) for item in items]}


@reviewing.post("/{id}")
async def judge(
    name: AnswerId, verdict: ReviewVerdict, store: StoreOf, services: ServicesOf, reviewer: ReviewerOf
) -> Json:
    """A person's verdict on an answer, or on one claim of it."""
    by_person = Verdict(
        name,
        verdict.correct,
        kind="human",
        source="review",
        actor=reviewer.name or verdict.actor,
        note=verdict.note,
        claim=verdict.claim,
        propensity=PICKED if is_picked(name, services.settings.review.order) else None,
    )
    (result,) = await record_verdicts(store, services.metrics, [by_person])
    if result is None:
        raise unknown_answer_or_claim(by_person)
    return described(result)


def _route(reloader: ConfigReloader, name: str) -> Route:
    for route in reloader.configured.routes:
        if route.name == name:
            return route
    raise NotFound(f"no route is called {name!r}", code="unknown_route")


async def _set(
    reloader: ConfigReloader, name: str, what: Setting, value: str | None, signature: dict[str, str | None]
) -> Json:
    """Store a change and apply it in this process at once."""
    change = await with_store(reloader, operators.set_state, name, what, value, **signature)
    await reloader.look()
    return asdict(change)


async def with_store(reloader: ConfigReloader, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """The result of a function of the audit's engine, on a worker thread."""
    return await anyio.to_thread.run_sync(partial(function, reloader.audit.engine, *arguments, **named))


# `/v1/admin/keys`: create, change, rotate and revoke named keys. A secret is shown only once, in the answer that
# created it.

keys_router = APIRouter(prefix="/v1/admin/keys", dependencies=[Administers])
keys_listing = APIRouter(prefix="/v1/admin/keys", dependencies=[Views])

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


@keys_listing.get("")
async def list_keys(reloader: ReloaderOf, days: Annotated[float, Query(gt=0, le=400)] = 7.0) -> Json:
    """Every key, its state, and its figures of the last `days` days."""
    figures = await with_store(reloader, figures_of_keys, time.time() - days * 86_400)
    known = await with_store(reloader, keys.read_keys)
    return {"keys": [described_key(key, figures.get(key.name)) for key in known], "days": days}


@keys_router.post("", status_code=201)
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


@keys_router.patch("/{name}")
async def change_key(name: str, wish: Wishes, reloader: ReloaderOf, operator: OperatorOf) -> Json:
    """Change a key's team, routes, expiry or limits."""
    check_routes(reloader, wish.routes)
    key = await with_store(reloader, keys.change, name, wish.said(), **wish.signature(operator))
    if key is None:
        raise _unknown(name)
    return await _shown(reloader, key)


@keys_router.post("/{name}/rotate")
async def rotate_key(name: str, reloader: ReloaderOf, operator: OperatorOf, wish: Rotation | None = None) -> Json:
    """Give a key a new secret; the old one works on for `overlap_s` seconds."""
    wish = wish or Rotation()
    made = await with_store(reloader, keys.rotate, name, overlap_s=wish.overlap_s, **wish.signature(operator))
    if made is None:
        raise _unknown(name)
    return await _shown(reloader, *made)


@keys_router.post("/{name}/revoke")
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


def described_key(key: Key, figures: KeyFigures | None) -> Json:
    """A key as a JSON object, with its present state and its figures."""
    return asdict(key) | {"state": state_of(key), "figures": None if figures is None else asdict(figures)}


async def _shown(reloader: ConfigReloader, key: Key, secret: str | None = None) -> Json:
    """A key after a change, which is applied in this process at once."""
    await reloader.look()
    return {"key": described_key(key, None)} | ({} if secret is None else {"secret": secret})


def _unknown(name: str) -> NotFound:
    return NotFound(f"no key is called {name!r}, or it is revoked", code="unknown_key")
