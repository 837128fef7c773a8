"""The pages' addresses: who is let in, what a post must carry, static files, signing in, and the page to try the proxy on.

Starlette routes, handed to the application as a list; the dashboard's own pages stand in `dashboard.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from hedgerow.proxy.api.access import services_of
from hedgerow.proxy.dashboard import visitor as visitors
from hedgerow.proxy.dashboard.render import SECURITY, STATIC, fragment, page
from hedgerow.proxy.dashboard.trying import Trial
from hedgerow.proxy.dashboard.visitor import Refused, Visitor
from hedgerow.proxy.errors import StoreError
from hedgerow.proxy.gateway.access import is_admin_key
from hedgerow.proxy.pipeline.job import Job, new_id
from hedgerow.proxy.services.services import Services

MAX_POST_BYTES = 100_000
WRONG_KEY_DELAY_S = 0.5
"""Seconds that a wrong key costs whoever guesses."""
EXAMPLES = (
    "What is the largest planet in the solar system?",
    "Who wrote The Master and Margarita?",
    "In which year was the telescope invented?",
)

Handler = Callable[[Request, Services, Visitor], Awaitable[Response]]
Fields = Mapping[str, Any]
PostHandler = Callable[[Request, Services, Visitor, Fields], Awaitable[Response]]


def routes() -> list[BaseRoute]:
    """Everything a browser may ask for."""
    from hedgerow.proxy.dashboard import dashboard

    return [
        Route("/", shown(try_page)),
        Route("/try", posted(try_question), methods=["POST"]),
        Route("/verdict", posted(verdict), methods=["POST"]),
        Route("/sign-in", sign_in, methods=["GET", "POST"]),
        Route("/sign-out", posted(sign_out), methods=["POST"]),
        Mount("/static", Kept(directory=STATIC)),
        *dashboard.routes(),
    ]


class Kept(StaticFiles):
    """Static files that browsers keep: their addresses change with their content."""

    async def get_response(self, path: str, scope: Any) -> Response:
        """See `StaticFiles`."""
        response = await super().get_response(path, scope)
        response.headers.update(SECURITY | {"cache-control": "public, max-age=31536000, immutable"})
        return response


def shown(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A page for whoever is admitted; others are shown the way to sign in."""

    async def endpoint(request: Request) -> Response:
        services = services_of(request)
        try:
            visitor = visitors.admit(request, services.settings.server.admin_key)
        except Refused as refusal:
            if refusal.may_sign_in:
                return RedirectResponse(f"/sign-in?next={quote(_asked(request))}", 303)
            return page("refused.html", status=403, message=refusal.message, visitor=None)
        try:
            response = await handler(request, services, visitor)
        except StoreError as error:
            response = page("refused.html", status=503, message=str(error), visitor=visitor)
        visitors.remember(response, request, visitor)
        return response

    return endpoint


def posted(handler: PostHandler) -> Callable[[Request], Awaitable[Response]]:
    """A post from one of our own pages, form or JSON; its fields are handed on."""

    async def endpoint(request: Request) -> Response:
        services = services_of(request)
        fields = await _fields(request)
        if fields is None:
            return JSONResponse({"error": "this post cannot be read"}, 400)
        try:
            visitor = visitors.admit(request, services.settings.server.admin_key)
            visitors.check_post(request, visitor, str(fields.get("csrf", "")))
        except Refused as refusal:
            return JSONResponse({"error": refusal.message}, 403)
        return await handler(request, services, visitor, fields)

    return endpoint


async def _fields(request: Request) -> Fields | None:
    """What a post holds; None where it is too large or no object."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_POST_BYTES:
            return None
    try:
        if request.headers.get("content-type", "").startswith("application/json"):
            found = orjson.loads(data)
            return found if isinstance(found, dict) else None
        return dict(parse_qsl(data.decode()))
    except ValueError:
        return None


def _asked(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


async def sign_in(request: Request) -> Response:
    """The form, and the answer to it. Where no key is configured there is nothing to sign in with."""
    admin_key = services_of(request).settings.server.admin_key
    wanted = request.query_params.get("next", "/dashboard")
    target = wanted if wanted.startswith("/") and not wanted.startswith(("//", "/\\")) else "/dashboard"
    if admin_key is None:
        return RedirectResponse(target, 303)
    if request.method == "GET":
        return page("sign_in.html", target=target, wrong=False, visitor=None)
    fields = await _fields(request) or {}
    if not visitors.is_same_origin(request) or not is_admin_key(str(fields.get("key", "")), admin_key):
        await asyncio.sleep(WRONG_KEY_DELAY_S)
        return page("sign_in.html", status=403, target=target, wrong=True, visitor=None)
    response = RedirectResponse(target, 303)
    visitors.open_session(response, request, admin_key)
    return response


async def sign_out(request: Request, _parts: Services, _visitor: Visitor, _fields: Fields) -> Response:
    """Take the session's cookie away."""
    response = RedirectResponse("/sign-in", 303)
    visitors.close_session(response, request)
    return response


async def try_page(request: Request, services: Services, visitor: Visitor) -> Response:
    """The page to ask a question on."""
    offered = [route for route in services.settings.routes if route.name in services.steps]
    wants_key = {route.name for route in offered if needs_key(services, route.upstream)}
    return page("try.html", visitor=visitor, routes=offered, wants_key=wants_key, examples=EXAMPLES, here="/")


def needs_key(services: Services, upstream: str) -> bool:
    """Whether an upstream takes the client's own key."""
    settings = services.settings.upstreams[upstream]
    return settings.provider != "embedded" and settings.api_key is None


async def try_question(_request: Request, services: Services, _visitor: Visitor, fields: Fields) -> Response:
    """Put a question to a route, whatever its mode is, and tell of the work as it goes."""
    question, name = str(fields.get("question", "")).strip(), fields.get("route")
    route = next((route for route in services.settings.routes if route.name == name and name in services.steps), None)
    if not question or route is None:
        return JSONResponse({"error": "Type a question." if route else "There is no such route."}, 400)
    body = {"model": str(fields.get("model") or ""), "messages": [{"role": "user", "content": question}]}
    headers = {"authorization": f"Bearer {fields['key']}"} if fields.get("key") else {}
    return Trial(services, Job(new_id(), route, "/chat/completions", body, headers, question))


async def verdict(request: Request, services: Services, _visitor: Visitor, fields: Fields) -> Response:
    """Whether the answer was right; its Faithfulness Divergence is settled."""
    from hedgerow.proxy.dashboard.dashboard import judge

    settled = await judge(request, str(fields.get("id", "")), right=fields.get("correct") is True)
    if settled is None:
        return JSONResponse({"error": "There is no such answer."}, 404)
    return JSONResponse({"verdict": fragment("_settled.html", id=settled.id, settled=settled)})
