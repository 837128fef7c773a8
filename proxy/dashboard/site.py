"""The routes of all pages, static files, sign-in, and the page to try the proxy. The dashboard's pages are in `pages.py`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from ..api.access import services_of
from ..errors import BadRequest, NotFound, Unauthorized
from ..gateway.access import ours_of, person_of
from ..pipeline.job import job_of
from ..services.services import Services
from ..upstreams.egress import clients_own
from . import explorer, keys, pages, switching
from . import visitor as visitors
from .described import docs_page
from .guards import Fields, fields_of, posted, shown
from .oidc import Provider, target_of
from .render import SECURITY, STATIC, asset, fragment, page
from .trying import Trial
from .visitor import Visitor, Who

WRONG_KEY_DELAY_S = 0.5
"""Seconds by which the answer to a wrong key is delayed."""
EXAMPLES = (
    "What is the capital of England?",
    "What is the capital of Germany?",
    "Who wrote The Master and Margarita?",
)
"""About 9, 6 and 1 of ten answers of the embedded model agree on these; the first two are right and the last is not (benchmarks/fits/example_questions.py measures it)."""


def routes() -> list[BaseRoute]:
    """All routes for browsers."""
    overview, provider = shown(partial(pages.overview_page, pages.PageCache())), Provider()
    return [
        Route("/", shown(try_page)),
        Route("/try", posted(try_question, "reviewer"), methods=["POST"]),
        Route("/verdict", posted(verdict, "reviewer"), methods=["POST"]),
        Route("/sign-in", sign_in, methods=["GET", "POST"]),
        Route("/sign-in/oidc", provider.go),
        Route("/sign-in/oidc/back", provider.back),
        Route("/sign-out", posted(sign_out, "viewer"), methods=["POST"]),
        Route("/docs", docs_page),
        Route("/redoc", to_docs),
        Route("/favicon.ico", icon),
        Mount("/static", CachedFiles(directory=STATIC)),
        Route("/dashboard", overview),
        Route("/dashboard/routes/{route}", overview),
        Route("/dashboard/routes/{route}/mode", posted(switching.mode_changed), methods=["POST"]),
        Route("/dashboard/requests", shown(explorer.requests_page)),
        Route("/dashboard/requests.{form}", shown(explorer.export)),
        Route("/dashboard/surprises", shown(pages.surprises_page)),
        Route("/dashboard/answers/{id}", shown(pages.answer_page)),
        Route("/dashboard/answers/{id}/verdict", posted(pages.answer_verdict, "reviewer"), methods=["POST"]),
        Route("/dashboard/review", shown(pages.review_page, "reviewer")),
        Route("/dashboard/review/verdict", posted(pages.review_verdict, "reviewer"), methods=["POST"]),
        Route("/dashboard/changes", shown(pages.changes_page)),
        Route("/dashboard/keys", shown(keys.keys_page)),
        Route("/dashboard/keys", posted(keys.keys_changed), methods=["POST"]),
    ]


class CachedFiles(StaticFiles):
    """Static files that browsers may cache permanently, because their addresses change with their content."""

    async def get_response(self, path: str, scope: Any) -> Response:
        """See `StaticFiles`."""
        response = await super().get_response(path, scope)
        response.headers.update(SECURITY | {"cache-control": "public, max-age=31536000, immutable"})
        return response


async def to_docs(_request: Request) -> Response:
    """Redirect `/redoc`, another common address of API documentation."""
    return RedirectResponse("/docs", 308)


async def icon(_request: Request) -> Response:
    """The icon, at the default address of browsers."""
    return RedirectResponse(asset("mark.svg"), 307)


async def sign_in(request: Request) -> Response:
    """The sign-in form, and the answer to it."""
    services, target = services_of(request), target_of(request.query_params.get("next"))
    if not visitors.asks_for_sign_in(services.settings, services.keys):
        return RedirectResponse(target, 303)
    oidc = services.settings.access.oidc
    form = partial(
        page,
        "sign_in.html",
        target=target,
        visitor=None,
        provider=oidc.name if oidc else None,
        lasts=services.settings.access.session_s,
    )
    if request.method != "POST":
        return form(wrong="")
    fields = await fields_of(request) or {}
    try:
        person = person_of(str(fields.get("key", "")), services.settings, services.keys)
        others = ", nor a person's key" if services.keys.has_people else ""
        wrong = "" if person is not None else f"That is not the admin key{others}."
    except Unauthorized as refusal:
        person, wrong = None, f"{refusal.message.capitalize()}."
    if person is None or not visitors.is_same_origin(request):
        await asyncio.sleep(WRONG_KEY_DELAY_S)
        return form(status=403, wrong=wrong or "This was not sent from a page of this server.")
    response = RedirectResponse(target, 303)
    who = Who() if person.name is None else Who("key", person.name, person.role)
    visitors.open_session(response, request, services, who)
    return response


async def sign_out(request: Request, _parts: Services, _visitor: Visitor, _fields: Fields) -> Response:
    """Delete the session cookie."""
    response = RedirectResponse("/sign-in", 303)
    visitors.close_session(response, request)
    return response


async def try_page(request: Request, services: Services, visitor: Visitor) -> Response:
    """The page to ask a question; viewers are redirected to the dashboard."""
    if not visitor.may("reviewer"):
        return RedirectResponse("/dashboard", 303)
    offered = [route for route in services.settings.routes if route.name in services.steps]
    wants_key = {route.name for route in offered if needs_key(services, route.upstream)}
    return page("try.html", visitor=visitor, routes=offered, wants_key=wants_key, examples=EXAMPLES, here="/")


def needs_key(services: Services, upstream: str) -> bool:
    """Whether an upstream needs the client's own key."""
    asked = [services.settings.upstreams[name] for name in services.settings.members(upstream)]
    return any(each.provider != "embedded" and getattr(each, "api_key", None) is None for each in asked)


async def try_question(_request: Request, services: Services, _visitor: Visitor, fields: Fields) -> Response:
    """Ask a route a question, whatever its mode, and stream the progress."""
    question, name = str(fields.get("question", "")).strip(), fields.get("route")
    route = next((route for route in services.settings.routes if route.name == name and name in services.steps), None)
    if not question or route is None:
        raise BadRequest("Type a question." if route else "There is no such route.")
    body = {"model": str(fields.get("model") or ""), "messages": [{"role": "user", "content": question}]}
    sent = [("authorization", f"Bearer {fields['key']}")] if fields.get("key") else []
    headers = clients_own(sent, ours_of(services.settings, services.keys))
    return Trial(services, job_of(route, "/chat/completions", body, dict(headers)))


async def verdict(request: Request, services: Services, visitor: Visitor, fields: Fields) -> Response:
    """Record whether the answer, or one of its claims, was right; returns its Faithfulness Divergence."""
    claim = fields.get("claim")
    place = claim if isinstance(claim, int) else None
    right = {place: float(fields.get("correct") is True)}
    results = await pages.judge(request, visitor, str(fields.get("id", "")), right)
    if not results:
        raise NotFound("There is no such answer." if place is None else "There is no such claim.")
    if place is not None:
        return JSONResponse({"claim": fragment("_settled_claim.html", settled=results[0])})
    return JSONResponse({"verdict": fragment("_settled.html", id=results[0].id, settled=results[0])})
