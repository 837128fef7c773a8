"""The addresses of all pages, static files, signing in, and the page to try the proxy on. The dashboard's own pages are in `pages.py`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from hedgerow.proxy.api.access import services_of
from hedgerow.proxy.dashboard import pages
from hedgerow.proxy.dashboard import visitor as visitors
from hedgerow.proxy.dashboard.guards import Fields, fields_of, posted, shown
from hedgerow.proxy.dashboard.render import SECURITY, STATIC, fragment, page
from hedgerow.proxy.dashboard.trying import Trial
from hedgerow.proxy.dashboard.visitor import Visitor
from hedgerow.proxy.gateway.access import is_admin_key
from hedgerow.proxy.pipeline.job import job_of
from hedgerow.proxy.services.services import Services

WRONG_KEY_DELAY_S = 0.5
"""Seconds that a wrong key costs whoever guesses."""
EXAMPLES = (
    "What is the largest planet in the solar system?",
    "Who wrote The Master and Margarita?",
    "In which year was the telescope invented?",
)


def routes() -> list[BaseRoute]:
    """Everything a browser may ask for."""
    overview = shown(partial(pages.overview_page, pages.PageCache()))
    return [
        Route("/", shown(try_page)),
        Route("/try", posted(try_question), methods=["POST"]),
        Route("/verdict", posted(verdict), methods=["POST"]),
        Route("/sign-in", sign_in, methods=["GET", "POST"]),
        Route("/sign-out", posted(sign_out), methods=["POST"]),
        Mount("/static", CachedFiles(directory=STATIC)),
        Route("/dashboard", overview),
        Route("/dashboard/routes/{route}", overview),
        Route("/dashboard/surprises", shown(pages.surprises_page)),
        Route("/dashboard/answers/{id}", shown(pages.answer_page)),
        Route("/dashboard/answers/{id}/verdict", posted(pages.answer_verdict), methods=["POST"]),
        Route("/dashboard/review", shown(pages.review_page)),
        Route("/dashboard/review/verdict", posted(pages.review_verdict), methods=["POST"]),
        Route("/dashboard/changes", shown(pages.changes_page)),
    ]


class CachedFiles(StaticFiles):
    """Static files that browsers keep: their addresses change with their content."""

    async def get_response(self, path: str, scope: Any) -> Response:
        """See `StaticFiles`."""
        response = await super().get_response(path, scope)
        response.headers.update(SECURITY | {"cache-control": "public, max-age=31536000, immutable"})
        return response


async def sign_in(request: Request) -> Response:
    """The form, and the answer to it. Where no key is configured there is nothing to sign in with."""
    admin_key = services_of(request).settings.server.admin_key
    wanted = request.query_params.get("next", "/dashboard")
    target = wanted if wanted.startswith("/") and not wanted.startswith(("//", "/\\")) else "/dashboard"
    if admin_key is None:
        return RedirectResponse(target, 303)
    if request.method == "GET":
        return page("sign_in.html", target=target, wrong=False, visitor=None)
    fields = await fields_of(request) or {}
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
    return Trial(services, job_of(route, "/chat/completions", body, headers))


async def verdict(request: Request, services: Services, _visitor: Visitor, fields: Fields) -> Response:
    """Whether the answer, or one claim of it, was right; its Faithfulness Divergence is settled."""
    claim = fields.get("claim")
    place = claim if isinstance(claim, int) else None
    results = await pages.judge(request, str(fields.get("id", "")), {place: float(fields.get("correct") is True)})
    if not results:
        return JSONResponse({"error": "There is no such answer." if place is None else "There is no such claim."}, 404)
    if place is not None:
        return JSONResponse({"claim": fragment("_settled_claim.html", settled=results[0])})
    return JSONResponse({"verdict": fragment("_settled.html", id=results[0].id, settled=results[0])})
