"""What leaves, and where to: two upstreams log every header that they see, at every door and in every mode."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import aiohttp
import httpx
import pytest
from aiohttp import web
from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.egress import joined
from tests.contract.test_pages import csrf_of, lines_of
from tests.support.keys import new_key
from tests.support.upstream import Upstream, completion, says, stream_chunks
from tests.support.waiting import until

ADMIN, PROVIDER, HOP = "admin-key-of-the-tests", "sk-of-the-provider", "of-this-connection"
SESSION, STATE = "a-session-of-the-pages", "a-state-of-the-sign-in"
BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}
UNSURE = ("Canberra.", "The capital is Sydney.", "Canberra.", "Melbourne.", "It is Canberra, I think.")
CHAT = "/v1/chat/completions"


@contextlib.contextmanager
def _begun(start: Callable[[], Coroutine[Any, Any, int]]) -> Iterator[str]:
    """What a coroutine starts, in the loop of a thread of its own; gives the address at the port that it returns."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{asyncio.run_coroutine_threadsafe(start(), loop).result(10)}/v1"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


class Logged:
    """An upstream and its log: a line for each request, with all its headers."""

    def __init__(self, name: str) -> None:
        self.log: list[str] = []
        self.name, self.url = name, ""

    @contextlib.contextmanager
    def serving(self) -> Iterator[Logged]:
        """Serve for a while."""

        async def start() -> int:
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", self._answer)
            runner = web.AppRunner(app)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            port: int = runner.addresses[0][1]
            return port

        with _begun(start) as self.url:
            yield self

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        """Chat with as many answers as asked for, streamed or not, a list of models, and WebSockets."""
        self.log.append(f"{request.path_qs} {sorted((name.lower(), value) for name, value in request.headers.items())}")
        if request.headers.get("upgrade"):
            socket = web.WebSocketResponse(protocols=("realtime",))
            await socket.prepare(request)
            await socket.close()
            return socket
        if request.path.endswith("/models"):
            return web.json_response({"data": [{"id": f"of-{self.name}", "object": "model"}]})
        is_json = request.content_type == "application/json" and request.can_read_body
        asked = await request.json() if is_json else {}
        if asked.get("stream"):
            events = [*(json.dumps(chunk) for chunk in stream_chunks("Canberra.")), "[DONE]"]
            text = "".join(f"data: {event}\n\n" for event in events)
            return web.Response(text=text, content_type="text/event-stream")
        return web.json_response(completion(*(UNSURE[i % 5] for i in range(asked.get("n") or 1))))


@pytest.fixture
def own() -> Iterator[Logged]:
    """The upstream of the route."""
    with Logged("own").serving() as upstream:
        yield upstream


@pytest.fixture
def other() -> Iterator[Logged]:
    """Another company's, which judges, edits, grades and is escalated to."""
    with Logged("other").serving() as upstream:
        yield upstream


def _settings(own: Logged, other: Logged, **route: Any) -> dict[str, Any]:
    """Two upstreams without keys of their own, and a route of the first that needs the second for everything else."""
    upstreams = {each.name: {"provider": "openai", "base_url": each.url, "retries": 0} for each in (own, other)}
    elsewhere = {"upstream": "other", "model": "m"}
    parts = {
        "equivalence": "llm",
        "judge": elsewhere,
        "rewriting": {"by": "editor", **elsewhere},
        "grading": {"share": 1.0, **elsewhere},
        "policy": {"low_confidence": "escalate", "escalate_to": "other"},
    }
    return {
        "upstreams": upstreams,
        "default_upstream": "own",
        "server": {"admin_key": ADMIN},
        "access": {"require_key": False},
        "routes": [{"name": "test", "upstream": "own", "allow_override": True, **parts, **route}],
    }


def _basic(secret: str) -> str:
    return "Basic " + base64.b64encode(f"somebody:{secret}".encode()).decode()


def _attempts(secret: str) -> list[dict[str, str]]:
    """Ways in which a client, or a browser, sends something of ours, each beside its own key for the provider."""
    rest = {
        "ocp-apim-subscription-key": PROVIDER,
        "cookie": f"a=1; hedgerow_session={SESSION}; b=2; hedgerow_sign_in={STATE}",
        "connection": "close, x-hop",
        "x-hop": HOP,
    }
    ours = (
        {"authorization": f"Bearer {secret}"},
        {"authorization": f"Bearer {ADMIN}"},
        {"authorization": secret},
        {"x-api-key": secret, "x-goog-api-key": ADMIN},
        {"api-key": ADMIN, "x-auth-token": f"Token {secret}"},
        {"authorization": _basic(ADMIN), "proxy-authorization": f"Bearer {ADMIN}"},
        {"authorization": _basic(secret), "x-custom": f'key="{ADMIN}"'},
        {"cookie": rest["cookie"] + f"; key={ADMIN}; other={secret}"},
    )
    return [rest | one for one in ours]


@pytest.mark.parametrize("mode", ["off", "shadow", "on", "append", "on, streamed"])
def test_nothing_of_ours_leaves_and_a_clients_key_goes_to_its_route_alone(
    serve: Any, own: Logged, other: Logged, tmp_path: Any, mode: str
) -> None:
    """Chat in a mode, in every way of sending: what the upstream of the route and what the other one logs."""
    secret = new_key(f"sqlite:///{tmp_path}/audit.db", "client")
    route = {"stream": "append"} if mode == "append" else {}
    settings = _settings(own, other, mode="on" if mode in ("append", "on, streamed") else mode, **route)
    address = serve(settings=settings)
    body = BODY | {"stream": mode in ("append", "on, streamed")}
    attempts = _attempts(secret)
    for headers in attempts:
        httpx.post(address + CHAT, json=body, headers=headers, timeout=60)
    if mode == "off":
        assert other.log == []
    else:
        until(lambda: len(other.log) >= 2 * len(attempts))
    assert len(own.log) >= len(attempts)
    for line in own.log + other.log:
        assert not [word for word in (secret, ADMIN, SESSION, STATE, HOP) if word in line], line
        assert base64.b64encode(f"somebody:{secret}".encode()).decode() not in line
    assert all(PROVIDER in line and "a=1; b=2" in line for line in own.log)
    assert not any(PROVIDER in line or "a=1" in line for line in other.log)


def test_a_list_of_models_is_asked_for_with_the_clients_key_at_the_default_upstream_alone(
    serve: Any, own: Logged, other: Logged, tmp_path: Any
) -> None:
    """All are asked; where no upstream is the default, none sees the key."""
    secret = new_key(f"sqlite:///{tmp_path}/audit.db", "client")
    settings = _settings(own, other, mode="on")
    address = serve(settings=settings)
    for headers in _attempts(secret):
        listed = httpx.get(address + "/v1/models", headers=headers).json()["data"]
        assert [model["id"] for model in listed] == ["of-own", "of-other"]
    assert all(PROVIDER in line for line in own.log)
    assert not any(PROVIDER in line or "cookie" in line for line in other.log)
    assert not [word for word in (secret, ADMIN, SESSION, STATE, HOP) if word in str(own.log + other.log)]
    own.log.clear()
    second = {"name": "second", "upstream": "other", "mode": "off", "match": {"model": "x*"}}
    undecided = settings | {"routes": [*settings["routes"], second]}
    del undecided["default_upstream"]
    httpx.get(serve(settings=undecided) + "/v1/models", headers={"x-api-key": PROVIDER})
    assert PROVIDER not in str(own.log + other.log[-1:])


def test_a_websocket_and_what_is_not_generated(serve: Any, own: Logged, other: Logged, tmp_path: Any) -> None:
    """Realtime with each attempt as header or as a browser's subprotocol, files, embeddings, and an unknown path."""
    secret = new_key(f"sqlite:///{tmp_path}/audit.db", "client")
    address = serve(settings=_settings(own, other, mode="on"))

    async def talk() -> None:
        async with aiohttp.ClientSession() as session:
            for headers in _attempts(secret):
                kept = {name: value for name, value in headers.items() if name not in ("connection", "x-hop")}
                async with session.ws_connect(address + "/v1/realtime?model=m", headers=kept) as socket:
                    await socket.receive(20)
            for key in (secret, ADMIN):
                offered = ("realtime", f"openai-insecure-api-key.{key}")
                async with session.ws_connect(address + "/v1/realtime?model=m", protocols=offered) as socket:
                    await socket.receive(20)

    asyncio.run(talk())
    assert len(own.log) == len(_attempts(secret)) + 2
    for headers in _attempts(secret):
        httpx.post(address + "/v1/files", files={"file": b"x"}, headers=headers)
        httpx.post(address + "/v1/embeddings", json={"model": "m", "input": "x"}, headers=headers)
        httpx.get(address + "/v1/anything", headers=headers)
    assert len(own.log) == 4 * len(_attempts(secret)) + 2
    assert not [word for word in (secret, ADMIN, SESSION, STATE, HOP) if word in str(own.log)]
    assert sum(PROVIDER in line for line in own.log) == len(own.log) - 2
    assert other.log == []


def test_a_question_on_the_page(serve: Any, own: Logged, other: Logged, tmp_path: Any) -> None:
    """The key that a visitor types goes to the upstream of the route, one of ours to none; the session to neither."""
    secret = new_key(f"sqlite:///{tmp_path}/audit.db", "client")
    with httpx.Client(base_url=serve(settings=_settings(own, other, mode="on")), timeout=60) as client:
        client.post("/sign-in", data={"key": ADMIN})
        assert (session := client.cookies["hedgerow_session"])
        form = {"csrf": csrf_of(client.get("/").text), "question": "What is the capital of Australia?", "route": "test"}
        for key in (ADMIN, secret, PROVIDER):
            assert "end" in lines_of(client.post("/try", json=form | {"key": key}))[-1]
    assert not [word for word in (secret, ADMIN, session) if word in str(own.log + other.log)]
    assert PROVIDER in str(own.log)
    assert len(other.log) >= 3
    assert PROVIDER not in str(other.log)


def test_members_of_the_routes_group_see_the_clients_key(serve: Any, own: Logged, other: Logged) -> None:
    """A group is the upstream of its route, as the operator has listed it: also where one of its members judges."""
    settings = _settings(own, other, mode="on", upstream="both")
    settings["upstreams"]["both"] = {"provider": "group", "members": {"own": 1}, "fallback": ["other"]}
    del settings["default_upstream"]
    httpx.post(serve(settings=settings) + CHAT, json=BODY, headers={"x-api-key": PROVIDER}, timeout=60)
    assert other.log
    assert all(PROVIDER in line for line in own.log + other.log)


OF_THE_HOST = {
    "access-control-allow-origin": "*",
    "clear-site-data": '"cookies"',
    "strict-transport-security": "max-age=1",
    "alt-svc": 'h3=":443"',
    "connection": "x-hop",
    "x-hop": HOP,
}


@pytest.mark.parametrize("mode", ["off", "on", "shadow"])
@pytest.mark.parametrize("status", [200, 400])
def test_no_upstream_speaks_for_the_pages(serve: Any, upstream: Upstream, mode: str, status: int) -> None:
    """Cookies of ours, what speaks for the host, and what is the connection's end here; other cookies reach who asked."""

    def reply(_request: Any, body: Any) -> Response:
        answer = JSONResponse(completion(*UNSURE[: body.get("n") or 1]) if status == 200 else {"error": {}}, status)
        for name, value in OF_THE_HOST.items():
            answer.headers[name] = value
        answer.headers.append("set-cookie", f"hedgerow_session={SESSION}; path=/")
        answer.headers.append("set-cookie", f"=hedgerow_session={SESSION}")
        answer.headers.append("set-cookie", "theirs=1")
        return answer

    upstream.default = reply
    got = httpx.post(serve(mode=mode, sampling={"n": 5}) + CHAT, json=BODY)
    assert got.status_code == status
    assert not set(OF_THE_HOST) - {"connection"} & set(got.headers)
    assert got.headers.get_list("set-cookie") == ([] if mode == "on" else ["theirs=1"])


@pytest.mark.parametrize("mode", ["off", "on"])
def test_no_upstream_sends_a_key_of_ours_elsewhere(serve: Any, upstream: Upstream, tmp_path: Any, mode: str) -> None:
    """Libraries repeat a redirected request with its key; where that is the client's own, it is between the two of them."""
    secret = new_key(f"sqlite:///{tmp_path}/audit.db", "client")
    address = serve(mode=mode, settings={"access": {"require_key": False}})
    for place in ("https://evil.example/v1", "//evil.example", "/\\evil.example", "/v1/elsewhere"):
        upstream.default = lambda *_, place=place: Response(status_code=307, headers={"location": place})
        for key in (secret, PROVIDER):
            got = httpx.post(address + CHAT, json=BODY, headers={"x-api-key": key})
            kept = key == PROVIDER or place == "/v1/elsewhere"
            assert (got.status_code, got.headers.get("location")) == (307, place if kept else None), (place, key)


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/json"])
def test_a_page_of_an_upstream_is_none_of_ours(serve: Any, upstream: Upstream, kind: str) -> None:
    """A browser runs none of its scripts beside our pages."""
    upstream.default = lambda *_: Response(b"<script>fetch('/dashboard')</script>", media_type=kind)
    got = httpx.get(serve(mode="off") + "/v1/files/x/content")
    assert got.headers.get("content-security-policy") == (None if kind == "application/json" else "sandbox")


def test_a_compressed_transfer_is_refused(serve: Any) -> None:
    """`transfer-encoding: gzip, chunked` is a coding of the connection, which nobody has asked for: the body is not what it seems."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: gzip, chunked\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + b"4\r\n\x1f\x8b\x08\x00\r\n0\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async def start() -> int:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        return port

    with _begun(start) as url:
        got = httpx.get(serve(mode="off", upstream_settings={"base_url": url}) + "/v1/files/x")
    assert (got.status_code, got.json()["error"]["code"]) == (502, "upstream_broken")


def test_a_key_that_is_not_ours_is_left_as_it_is(serve: Any, upstream: Upstream) -> None:
    """Without named keys and admin key every header passes, also one that looks like a key of another Hedgerow's."""
    upstream.default = says("Canberra.")
    sent = {"authorization": "Bearer hgk_of-another", "x-tenant": "t"}
    httpx.post(serve(mode="off") + CHAT, json=BODY, headers=sent)
    assert {name: upstream.headers[-1][name] for name in sent} == sent


class Counted(list[tuple[str, str]]):
    """Headers that count how often they are looked through."""

    looks = 0

    def __iter__(self) -> Iterator[tuple[str, str]]:
        self.looks += 1
        return super().__iter__()


def test_many_headers_of_which_some_repeat_are_looked_through_once_or_twice() -> None:
    """Not once for each name: any client can send thousands, before its key is known."""
    pairs = Counted((f"x-{number % 1000}", str(number)) for number in range(1500))
    headers = joined(pairs)
    assert (len(headers), headers["x-7"], headers["x-600"]) == (1000, "7, 1007", "600")
    assert pairs.looks <= 2
