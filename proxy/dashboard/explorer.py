"""The request explorer: a filter form whose fields are in the page's address, and export of the selected requests."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, get_args
from urllib.parse import urlencode

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..api.access import store_of
from ..audit.explorer import (
    EXPORT_PAGE,
    LISTED,
    MAX_TEXT,
    SHOWN_CHARS,
    Filter,
    Judged,
    Page,
    Place,
    requests,
)
from ..audit.formats import Form, form_of, forms
from ..audit.store import AuditStore
from ..config import Mode
from ..errors import InputError
from ..monitoring import figures
from ..monitoring.moments import date_of
from ..outcomes import Status
from ..services.services import Services
from .render import SECURITY, page, rendered
from .visitor import Visitor

FIELDS = ("text", "route", "key", "model", "status", "verdict", "arm", "least", "most", "period", "since", "until")
"""The fields of the form, by their names in the address."""
CHOICES: Mapping[str, tuple[str, ...]] = {
    "status": tuple(Status),
    "verdict": get_args(Judged),
    "arm": get_args(Mode),
    "period": tuple(figures.PERIODS),
}
"""The choices of fields with a list."""


def asked(request: Request) -> dict[str, str]:
    """The fields that are filled in."""
    given = {name: request.query_params.get(name, "").strip() for name in FIELDS}
    return {name: value for name, value in given.items() if value}


def filter_of(fields: Mapping[str, str], now: float) -> Filter:
    """The filter for the fields of the form.

    Raises:
        InputError: a field cannot be read; the message names it.
    """
    for name, choices in CHOICES.items():
        if name in fields and fields[name] not in choices:
            raise InputError(f"{name} is {fields[name]!r}; choose one of {', '.join(choices)}.")
    if len(fields.get("text", "")) > MAX_TEXT:
        raise InputError(f"A search takes at most {MAX_TEXT} characters.")
    _, length = figures.PERIODS[fields.get("period", "7d")]
    dated = "since" in fields or "until" in fields
    return Filter(
        route=fields.get("route"),
        key=fields.get("key"),
        model=fields.get("model"),
        status=fields.get("status"),
        arm=fields.get("arm"),
        least=_share(fields, "least"),
        most=_share(fields, "most"),
        judged=fields.get("verdict"),  # type: ignore[arg-type]  # one of its choices
        text=fields.get("text"),
        since=_moment(fields, "since") if dated or length is None else now - length,
        until=_moment(fields, "until"),
    )


def _share(fields: Mapping[str, str], name: str) -> float | None:
    """A percentage as a share."""
    if name not in fields:
        return None
    try:
        share = float(fields[name]) / 100.0
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise InputError(f"The confidence {fields[name]!r} is not a percentage from 0 to 100.")
    return share


def _moment(fields: Mapping[str, str], name: str) -> float | None:
    """A date and time in UTC as seconds since 1970."""
    if name not in fields:
        return None
    if (at := date_of(fields[name])) is None:
        raise InputError(f"{fields[name]!r} is not a date and time such as 2026-11-22T09:30.")
    return at


async def requests_page(request: Request, services: Services, visitor: Visitor) -> Response:
    """The list, newest first; with an invalid field, a message above an empty list."""
    fields, problem, listing = asked(request), None, Page([], None)
    after = Place.read(request.query_params.get("after", ""))
    try:
        query = partial(requests, chosen=filter_of(fields, time.time()), after=after)
        listing = await store_of(request).read(query)
    except InputError as error:
        problem = str(error)

    def link(**changed: Any) -> str:
        """The address of this list with some fields changed."""
        return "?" + urlencode({name: value for name, value in (fields | changed).items() if value is not None})

    return await rendered(
        "requests.html",
        status=400 if problem else 200,
        visitor=visitor,
        here="/dashboard/requests",
        fields={name: fields.get(name, "") for name in FIELDS},
        filtered=bool(fields),
        listing=listing,
        shown_chars=SHOWN_CHARS,
        problem=problem,
        paged=after is not None,
        link=link,
        forms=forms(),
        periods=figures.PERIODS,
        choices=CHOICES,
        routes=[route.name for route in services.settings.routes],
        models=sorted({row["model"] for row in listing.rows if row["model"]}),
        keys=sorted({row["key"] for row in listing.rows if row["key"]}),
    )


async def export(request: Request, _services: Services, visitor: Visitor) -> Response:
    """All selected requests with complete texts, as a streamed file."""
    name = request.path_params["form"]
    try:
        chosen = filter_of(asked(request), time.time())
        form = await anyio.to_thread.run_sync(form_of, name, LISTED)
    except InputError as error:
        return page("missing.html", status=400, visitor=visitor, here="", what=str(error))
    headers = SECURITY | {"cache-control": "no-store", "content-disposition": f'attachment; filename="requests.{name}"'}
    return StreamingResponse(_pieces(store_of(request), chosen, form), media_type=form.content_type, headers=headers)


async def _pieces(store: AuditStore, chosen: Filter, form: Form) -> AsyncIterator[bytes]:
    """The file, a batch of rows at a time, so that neither memory nor a transaction grows with it."""
    after: Place | None = None
    while True:
        read = await store.read(partial(requests, chosen=chosen, after=after, size=EXPORT_PAGE, whole=True))
        yield await anyio.to_thread.run_sync(form.batch, read.rows)
        if (after := read.after) is None:
            yield await anyio.to_thread.run_sync(form.end)
            return
