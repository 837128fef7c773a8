"""The page of named keys: their figures, and creating, rotating and revoking them. A secret is shown once, in the answer to the form."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import anyio.to_thread
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from ..api import keys as api
from ..api.access import reloader_of
from ..audit import keys
from ..audit.key_figures import figures_of_keys
from ..config.faults import in_words
from ..errors import ProxyError
from ..monitoring import figures
from ..services.keyring import state_of
from ..services.services import Services
from ..spending.budgets import BudgetToday
from ..types import Json, Key
from .pages import budgets_today, period_of
from .render import rendered
from .visitor import Visitor

DAY = 86_400.0


async def keys_page(request: Request, services: Services, visitor: Visitor, **outcome: Any) -> Response:
    """All keys with their figures of a period; `outcome` is the result of a form."""
    period, reloader = period_of(request), reloader_of(request)
    _, length = figures.PERIODS[period]
    await reloader.audit.flush()

    def read() -> list[tuple[Key, str, Any]]:
        used = figures_of_keys(reloader.audit.engine, 0.0 if length is None else time.time() - length)
        return [(key, state_of(key), used.get(key.name)) for key in keys.read_keys(reloader.audit.engine)]

    rows = await anyio.to_thread.run_sync(read)
    named = [key.name for key, state, _ in rows if state == "active" and not key.role]
    spent = await budgets_today(services, list(services.steps), named)
    shown = {"secret": "", "shown": "", "problem": "", "fields": defaultdict(str)} | outcome
    return await rendered(
        "keys.html",
        visitor=visitor,
        here="/dashboard/keys",
        rows=rows,
        budgets=None if spent is None else _by_key(spent),
        routes=[route.name for route in services.settings.routes],
        period=period,
        periods=figures.PERIODS,
        overlap=_overlaps,
        **shown,
    )


def _by_key(spent: Sequence[BudgetToday]) -> Mapping[str, list[BudgetToday]]:
    """A key's own budgets; of the many for single routes only those with spending."""
    held: defaultdict[str, list[BudgetToday]] = defaultdict(list)
    for budget in spent:
        if budget.key is not None and (budget.route is None or budget.used):
            held[budget.key].append(budget)
    return held


def _overlaps(key: Key) -> bool:
    """Whether a secret from before the last rotation still works."""
    return key.previous_until is not None and key.previous_until > time.time()


async def keys_changed(request: Request, services: Services, visitor: Visitor, fields: Mapping[str, Any]) -> Response:
    """Create, rotate or revoke a key by a form, and show the page with the result."""
    reloader, name, do = reloader_of(request), str(fields.get("name", "")), fields.get("do")
    result: Json = {}
    try:
        if do == "new":
            result = await api.new_key(_wish(fields), reloader, visitor.person)
        elif do == "rotate":
            wish = api.Rotation.model_validate({"overlap_s": fields.get("overlap_s", 0)})
            result = await api.rotate_key(name, reloader, visitor.person, wish)
        elif do == "revoke":
            result = await api.revoke_key(name, reloader, visitor.person)
    except ProxyError as refusal:
        return await keys_page(request, services, visitor, problem=_sentence(refusal.message), fields=_kept(fields))
    except ValidationError as refusal:
        fault = refusal.errors()[0]
        place = fault["loc"][0] if fault["loc"] else "form"
        return await keys_page(request, services, visitor, problem=f"{place}: {in_words(fault)}.", fields=_kept(fields))
    return await keys_page(request, services, visitor, secret=result.get("secret", ""), shown=name)


def _wish(fields: Mapping[str, Any]) -> api.NewKey:
    """The key described by a form.

    Raises:
        ValidationError: a field cannot be read.
    """
    columns = ("name", "team", "role", "requests_per_minute", "tokens_per_minute", "concurrency")
    wish: Json = {column: fields[column] for column in columns if fields.get(column)}
    if fields.get("route"):
        wish["routes"] = (fields["route"],)
    if days := str(fields.get("days", "")):
        wish["expires_at"] = time.time() + DAY * float(days) if days.isdecimal() else days
    return api.NewKey.model_validate(wish)


def _kept(fields: Mapping[str, Any]) -> Mapping[str, str]:
    """The values of the form, to fill it in again."""
    return defaultdict(str, {name: str(value) for name, value in fields.items()})


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:] + "."
