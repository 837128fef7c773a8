"""Access to pages: visitors with the right role, and posts that come from the proxy's own pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ..api.access import services_of
from ..errors import BadRequest, Forbidden, StoreError
from ..services.services import Services
from ..strict_json import loads
from ..types import Role
from . import visitor as visitors
from .render import page
from .visitor import Refused, Visitor

MAX_POST_BYTES = 100_000

Handler = Callable[[Request, Services, Visitor], Awaitable[Response]]
Fields = Mapping[str, Any]
PostHandler = Callable[[Request, Services, Visitor, Fields], Awaitable[Response]]


def shown(handler: Handler, needed: Role = "viewer") -> Callable[[Request], Awaitable[Response]]:
    """A page for visitors with a sufficient role; visitors who are not signed in are redirected to the sign-in page."""

    async def endpoint(request: Request) -> Response:
        services = services_of(request)
        try:
            visitor = visitors.admit(request, services, needed)
        except Refused as refusal:
            if refusal.may_sign_in:
                return RedirectResponse(f"/sign-in?next={quote(_address(request))}", 303)
            return page("refused.html", status=403, message=refusal.message, visitor=refusal.visitor)
        try:
            response = await handler(request, services, visitor)
        except StoreError as error:
            response = page("refused.html", status=503, message=str(error), visitor=visitor)
        visitors.remember(response, request, visitor)
        return response

    return endpoint


def posted(handler: PostHandler, needed: Role = "operator") -> Callable[[Request], Awaitable[Response]]:
    """A post from one of the proxy's own pages, form or JSON, by a visitor with a sufficient role; the handler receives its fields."""

    async def endpoint(request: Request) -> Response:
        services = services_of(request)
        fields = await fields_of(request)
        if fields is None:
            raise BadRequest("The request body is too large, holds a NUL, or is neither a form nor a JSON object.")
        try:
            visitor = visitors.admit(request, services, needed)
            visitors.check_post(request, visitor, str(fields.get("csrf", "")))
        except Refused as refusal:
            raise Forbidden(refusal.message, code=refusal.code) from refusal
        return await handler(request, services, visitor, fields)

    return endpoint


async def fields_of(request: Request) -> Fields | None:
    """The fields of a post; None where it is too large, not an object, or holds a NUL, which PostgreSQL takes in no text."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_POST_BYTES:
            return None
    try:
        if request.headers.get("content-type", "").startswith("application/json"):
            fields = loads(data)
        else:
            fields = dict(parse_qsl(data.decode()))
    except ValueError:
        return None
    if not isinstance(fields, dict) or any("\0" in value for value in fields.values() if isinstance(value, str)):
        return None
    return fields


def _address(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
