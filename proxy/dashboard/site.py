"""The routes of all pages, static files, sign-in, and the page to try the proxy. The dashboard's pages are in `pages.py`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from ..api.access import services_of
from ..api.health import ROUTES
from ..api.routers import endpoints
from ..errors import BadRequest, NotFound, ProxyError, Unauthorized, UpstreamRejected
from ..gateway.access import ours_of, person_of
from ..gateway.exchange import ClientGone, Exchange, Receive, Scope, Send
from ..gateway.finish import finish
from ..outcomes import Reason, Status
from ..pipeline.job import Job, job_of
from ..pipeline.result import Result, Run
from ..pipeline.run import calibrate
from ..protocols import Call, RawCall, Relay, Upstream
from ..services.services import Services
from ..types import Json
from ..upstreams.answers import sample_of
from ..upstreams.egress import clients_own
from ..upstreams.group import one_answer
from . import pages, requests
from . import visitor as visitors
from .render import SECURITY, STATIC, asset, fragment, page, rendered
from .requests import RequestView, of_result
from .visitor import Fields, Provider, Visitor, Who, fields_of, posted, shown, target_of

# The page `/docs`: how to use the proxy, with an example for this server's address and its own endpoints.


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint of the proxy's own."""

    method: str
    path: str
    what: str
    """What it does, in one sentence."""


async def docs_page(request: Request) -> Response:
    """As public as `/openapi.json`, because users of the proxy may not be able to sign in to its pages."""
    address = str(request.base_url).rstrip("/")
    return await rendered("docs.html", visitor=None, here="", address=address, endpoints=_endpoints())


@cache
def _endpoints() -> tuple[Endpoint, ...]:
    """The endpoints in `/openapi.json`, one line each; those for operators come last."""
    paths = endpoints(ROUTES).openapi()["paths"]
    listed = [
        Endpoint(method.upper(), path, _first_sentence(described.get("description", "")))
        for path, methods in paths.items()
        for method, described in methods.items()
    ]
    return tuple(sorted(listed, key=lambda each: each.path.startswith("/v1/admin")))


def _first_sentence(text: str) -> str:
    r"""The text up to its first full stop or semicolon.

    >>> _first_sentence("Whether the process answers; more\nof it. And so on.")
    'Whether the process answers.'
    """
    flat = " ".join(text.split())
    ends = [place for mark in (". ", "; ", ": ") if (place := flat.find(mark)) > 0]
    return flat[: min(ends)] + "." if ends else flat


# Try a route in the browser: the normal pipeline, shown step by step as JSON lines.
#
# Two hooks make this possible and cost other requests nothing: `Run` calls back when a step ends, and the embedded
# model passes on text while it is being written.

PAUSE_S = 0.04
"""Seconds between two lines; changes in between are shown together."""
SECTIONS = ("claims", "samples", "confidence", "hedges", "wording", "times")
"""Sections of the page, each with its template; a section is sent again when it changes."""
NO_STORE = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]


@dataclass(slots=True)
class StreamingUpstream:
    """An upstream whose answers are shown as they come: the embedded model's while they are written, all others' once they are whole.

    Attributes:
        texts: the answers so far, in the order of the calls.
    """

    upstream: Upstream
    changed: Callable[[], None]
    texts: list[str] = field(default_factory=list)

    @property
    def honours_n(self) -> bool:
        """See `Upstream`."""
        return self.upstream.honours_n

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        first, loop = len(self.texts), asyncio.get_running_loop()
        self.texts.extend([""] * (call.body.get("n") or 1))

        def written(index: int, piece: str) -> None:
            self.texts[first + index] += piece
            loop.call_soon_threadsafe(self.changed)

        answer = await self.upstream.complete(replace(call, on_text=written))
        for index, choice in enumerate(answer["choices"][: len(self.texts) - first]):
            self.texts[first + index] = sample_of(choice).text
        self.changed()
        return answer

    def relay(self, call: RawCall) -> AbstractAsyncContextManager[Relay]:
        """See `Upstream`."""
        return self.upstream.relay(call)

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        return await self.upstream.models(headers, query)

    async def aclose(self) -> None:
        """Nothing to close: the upstream belongs to the process."""


class Trial(Response):
    """The response to a question on the page: one JSON line for each visible change.

    A line holds the new HTML of some sections; the last one also `end` (audit id and status) or `error` (an error object).
    """

    def __init__(self, services: Services, job: Job) -> None:
        super().__init__()
        self._services, self._job = services, job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the pipeline and stream it; if the visitor leaves, the work is cancelled."""
        exchange, changed = Exchange(scope, receive, send), asyncio.Event()
        run = Run(self._job, watch=changed.set)
        try:
            await exchange.unless_gone(self._answer(exchange, run, changed))
        except ClientGone:
            if not exchange.recorded:
                run.end(Status.CANCELLED, Reason.CLIENT_GONE)
                await finish(self._services, exchange, run.result, http_status=exchange.status)

    async def _answer(self, exchange: Exchange, run: Run, changed: asyncio.Event) -> None:
        pipeline = self._services.steps[self._job.route.name]
        upstream = StreamingUpstream(one_answer(pipeline.upstream), changed.set)
        await exchange.start(200, NO_STORE)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(_caught(calibrate(run, replace(pipeline, upstream=upstream))))
            work.add_done_callback(lambda _: changed.set())
            shown: dict[str, str] = {}
            async for _ in _whenever(changed, work):
                await self._show(exchange, of_result(run.result, upstream.texts, ended=False), shown)
        failure: ProxyError | None = work.result()
        http_status = failure.status if failure else 200
        refusal = await finish(self._services, exchange, run.result, http_status=http_status)
        failure = failure or refusal
        await self._show(exchange, of_result(run.result, upstream.texts, ended=True), shown)
        await exchange.write(_line(_said(failure) if failure else _end(run.result)), more=False)

    async def _show(self, exchange: Exchange, story: RequestView, shown: dict[str, str]) -> None:
        """Send the sections that have changed."""
        drawn = await anyio.to_thread.run_sync(_sections, story)
        new = {name: html for name, html in drawn.items() if shown.get(name) != html}
        shown |= new
        if new:
            await exchange.write(_line(new))


async def _caught(work: Awaitable[None]) -> ProxyError | None:
    """Return the failure, because a task group would wrap an exception."""
    try:
        await work
    except ProxyError as error:
        return error
    return None


async def _whenever(changed: asyncio.Event, work: asyncio.Task[Any]) -> AsyncIterator[None]:
    """Yield after every change, at most once in `PAUSE_S`, until the work is done."""
    yield
    while not work.done():
        await changed.wait()
        changed.clear()
        yield
        await asyncio.wait({work}, timeout=PAUSE_S)


def _said(failure: ProxyError) -> Json:
    sentence = failure.sentence if isinstance(failure, UpstreamRejected) else failure.message
    return {"error": failure.body()["error"] | {"message": sentence}}


def _sections(story: RequestView) -> dict[str, str]:
    return {name: fragment(f"_{name}.html", story=story, judging="script") for name in SECTIONS}


def _end(result: Result) -> Json:
    """The end of the work, with the divergence of either verdict."""
    confidence = result.confidence
    outlook = (confidence.if_right, confidence.if_wrong) if confidence else None
    html = fragment("_verdict.html", id=result.job.id, outlook=outlook)
    return {"verdict": html, "end": {"id": result.job.id, "status": result.status}}


def _line(content: Json) -> bytes:
    return orjson.dumps(content) + b"\n"


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
        Route("/dashboard/routes/{route}/mode", posted(pages.mode_changed), methods=["POST"]),
        Route("/dashboard/requests", shown(requests.requests_page)),
        Route("/dashboard/requests.{form}", shown(requests.export)),
        Route("/dashboard/surprises", shown(pages.surprises_page)),
        Route("/dashboard/answers/{id}", shown(pages.answer_page)),
        Route("/dashboard/answers/{id}/verdict", posted(pages.answer_verdict, "reviewer"), methods=["POST"]),
        Route("/dashboard/review", shown(pages.review_page, "reviewer")),
        Route("/dashboard/review/verdict", posted(pages.review_verdict, "reviewer"), methods=["POST"]),
        Route("/dashboard/changes", shown(pages.changes_page)),
        Route("/dashboard/keys", shown(pages.keys_page)),
        Route("/dashboard/keys", posted(pages.keys_changed), methods=["POST"]),
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
