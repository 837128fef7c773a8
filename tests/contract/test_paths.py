"""Paths as clients build them: doubled slashes, a base URL without its version, Azure's deployments, one model, WebSockets."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import struct
import threading
from collections.abc import Iterator
from typing import Any

import aiohttp
import httpx
import openai
import pytest
from aiohttp import web
from starlette.responses import JSONResponse, Response

from tests.contract.test_failures import rows_of
from tests.support.keys import in_one_minute, new_key
from tests.support.upstream import Upstream, raw, says

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")


def test_a_doubled_slash_does_not_leave_the_calibration(serve: Any, upstream: Upstream) -> None:
    """A base URL that ends with a slash makes one; the upstream sees what the client sent."""
    upstream.default = says(*UNSURE)
    reply = httpx.post(serve() + "/v1//chat/completions", json={"model": "m", "messages": ASK})
    assert reply.json()["hedgerow"]["status"] == "hedged"
    assert upstream.targets == ["/v1//chat/completions"]


def test_a_base_url_without_its_version_gets_a_hint(serve: Any, upstream: Upstream) -> None:
    """The sentence says what to set; other paths get no such advice."""
    address = serve()
    client = openai.OpenAI(base_url=address, api_key="sk-1", max_retries=0)
    with pytest.raises(openai.NotFoundError, match=f"set the client's base URL to {address}/v1"):
        client.chat.completions.create(model="m", messages=ASK)
    assert "base URL" not in httpx.get(address + "/nothing").text


@pytest.mark.parametrize("mode", ["off", "on"])
def test_azures_client(serve: Any, upstream: Upstream, tmp_path: Any, mode: str) -> None:
    """Its paths, its query and its key header; the deployment is the model."""
    upstream.default = says(*UNSURE)
    address = serve(mode=mode, match={"model": "gpt-*"}, upstream_settings={"api_key": "azure-key"})
    client = openai.AzureOpenAI(
        azure_endpoint=address, api_key="sk-client", api_version="2024-10-21", azure_deployment="gpt-5", max_retries=0
    )
    with client:
        answer = client.chat.completions.create(model="gpt-5", messages=ASK)
    assert ("hedgerow" in (answer.model_extra or {})) == (mode == "on")
    target = "/openai/deployments/gpt-5/chat/completions?api-version=2024-10-21"
    assert set(upstream.targets) == {target}
    assert upstream.headers[0]["api-key"] == "azure-key"
    assert "sk-client" not in str(upstream.headers)
    (row,) = rows_of(tmp_path, 1)
    assert (row["path"], row["model"]) == ("/v1/chat/completions", "gpt-5")


def test_an_azure_body_need_not_name_its_model(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """The route is found by the deployment, and nothing is added to the samples' bodies."""
    upstream.default = says(*UNSURE)
    address = serve(match={"model": "gpt-*"})
    target = "/openai/deployments/gpt-5/chat/completions?api-version=1"
    assert "hedgerow" in httpx.post(address + target, json={"messages": ASK}).json()
    assert "model" not in upstream.calls[0]
    (row,) = rows_of(tmp_path, 1)
    assert row["model"] == "gpt-5"


def test_a_model_is_asked_for_where_it_lives(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`GET /v1/models/{id}` goes by the model in its path."""
    upstream.default = raw(b'{"id": "whisper-1", "object": "model", "created": 1, "owned_by": "u"}')
    both = {
        name: {"provider": "openai", "base_url": url}
        for name, url in (("scripted", "http://127.0.0.1:9/v1"), ("other", upstream.url))
    }
    routes = [
        {"name": "a", "upstream": "scripted", "match": {"model": "gpt-*"}},
        {"name": "b", "upstream": "other", "match": {"model": "whisper-*"}},
    ]
    client = client_of(serve(settings={"upstreams": both, "routes": routes}))
    assert client.models.retrieve("whisper-1").id == "whisper-1"
    assert upstream.targets == ["/v1/models/whisper-1"]


@contextlib.contextmanager
def _realtime(seen: list[Any]) -> Iterator[str]:
    """A WebSocket server that echoes in capitals; another path refuses."""

    async def echo(request: web.Request) -> web.StreamResponse:
        seen.append((request.path_qs, {name.lower(): value for name, value in request.headers.items()}))
        if request.query.get("model") == "none":
            return web.json_response({"error": {"message": "no such model"}}, status=404)
        socket = web.WebSocketResponse(protocols=("realtime",), max_msg_size=0)
        await socket.prepare(request)
        async for message in socket:
            if message.data == "bye":
                await socket.close(code=4000)
            elif message.type is aiohttp.WSMsgType.TEXT:
                await socket.send_str(message.data.upper())
            else:
                await socket.send_bytes(message.data)
        return socket

    started, address, loop = threading.Event(), "", asyncio.new_event_loop()

    async def run() -> None:
        nonlocal address
        app = web.Application()
        app.router.add_get("/v1/realtime", echo)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        started.set()

    def serve() -> None:
        loop.run_until_complete(run())
        loop.run_forever()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def _talk(address: str, said: list[Any], **options: Any) -> list[Any]:
    """Say each, and collect what comes back, the close code last."""

    async def talk() -> list[Any]:
        received: list[Any] = []
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(address, max_msg_size=0, **options) as socket,
        ):
            for one in said:
                await (socket.send_str(one) if isinstance(one, str) else socket.send_bytes(one))
                if one != "bye":
                    received.append((await socket.receive(20)).data)
            await socket.receive(20)
            return [*received, socket.close_code]

    return asyncio.run(talk())


def test_a_websocket_is_passed_on(serve: Any, tmp_path: Any) -> None:
    """Both ways, short and long, until either side ends; with a row, and the upstream's key in place of ours."""
    seen: list[Any] = []
    key = {"keys": [hashlib.sha256(b"sk-listed").hexdigest()]}
    with _realtime(seen) as url:
        address = serve(settings=key, upstream_settings={"base_url": url, "api_key": "sk-upstream"})
        long = bytes(range(256)) * 20_000
        target = address + "/v1/realtime?model=gpt-realtime"
        bearer = {"authorization": "Bearer sk-listed", "openai-beta": "realtime=v1"}
        assert _talk(target, ["hello", long, "again", "bye"], headers=bearer) == ["HELLO", long, "AGAIN", 4000]
        in_browser = ("realtime", "openai-insecure-api-key.sk-listed")
        assert _talk(target, ["hello", "bye"], protocols=in_browser) == ["HELLO", 4000]
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            _talk(target, [], headers={"authorization": "Bearer sk-other"})
        assert refused.value.status == 401
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            _talk(address + "/v1/realtime?model=none", [], headers=bearer)
        assert refused.value.status == 404
    assert [path for path, _ in seen] == ["/v1/realtime?model=gpt-realtime"] * 2 + ["/v1/realtime?model=none"]
    assert "sk-listed" not in str(seen)
    assert {headers["authorization"] for _, headers in seen} == {"Bearer sk-upstream"}
    assert seen[0][1]["openai-beta"] == "realtime=v1"
    rows = rows_of(tmp_path, 4)
    assert sorted((row["status"], row["http_status"]) for row in rows) == [
        ("failed", 401),
        ("passed", 101),
        ("passed", 101),
        ("passed", 404),
    ]
    assert {row["model"] for row in rows if row["http_status"] == 101} == {"gpt-realtime"}


def test_a_websocket_of_a_named_key(serve: Any, tmp_path: Any) -> None:
    """It counts as a request of the key, and the upstream sees the key neither as a header nor as a browser's protocol."""
    seen: list[Any] = []
    url = f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "voice", requests_per_minute=2)
    with _realtime(seen) as upstream_url:
        address = serve(upstream_settings={"base_url": upstream_url}) + "/v1/realtime"
        in_one_minute()
        assert _talk(address, ["hello", "bye"], headers={"authorization": f"Bearer {secret}"}) == ["HELLO", 4000]
        in_browser = ("realtime", f"openai-insecure-api-key.{secret}")
        assert _talk(address, ["hello", "bye"], protocols=in_browser) == ["HELLO", 4000]
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            _talk(address, [], protocols=in_browser)
        assert refused.value.status == 429
        assert refused.value.headers is not None
        assert 1 <= int(refused.value.headers["retry-after"]) <= 60
    assert secret not in str(seen)
    assert seen[1][1]["sec-websocket-protocol"] == "realtime"
    assert {row["key"] for row in rows_of(tmp_path, 3)} == {"voice"}


def test_a_websocket_that_nobody_serves(serve: Any) -> None:
    """An upstream that is away, a path of ours: an error in place of the upgrade."""
    address = serve(upstream_settings={"base_url": "http://127.0.0.1:9/v1"})
    for path, status in (("/v1/realtime", 502), ("/dashboard", 404)):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            _talk(address + path, [])
        assert refused.value.status == status


@pytest.mark.parametrize("mode", ["off", "on"])
def test_what_generates_no_text_is_the_upstreams(serve: Any, client_of: Any, upstream: Upstream, mode: str) -> None:
    """Vectors in base64, sound both ways, pictures, files, batches, stores of vectors: what the SDK sent, and what it makes of the answer."""
    vector, sound = base64.b64encode(struct.pack("<2f", 0.5, -0.25)).decode(), bytes(range(256)) * 400
    answers = {
        "/v1/embeddings": {"data": [{"object": "embedding", "index": 0, "embedding": vector}], "model": "m"},
        "/v1/audio/transcriptions": {"text": "Canberra."},
        "/v1/images/generations": {"created": 1, "data": [{"b64_json": "aGk="}]},
        "/v1/files": {"id": "file-1", "object": "file", "bytes": 3, "filename": "a.jsonl"},
        "/v1/batches": {"id": "batch_1", "status": "validating"},
        "/v1/vector_stores/vs_1/search": {"data": [], "has_more": False, "search_query": ["q"]},
    }

    def reply(request: Any, _body: Any) -> Any:
        if request.url.path == "/v1/audio/speech":
            return Response(sound, media_type="audio/mpeg")
        return JSONResponse(answers[request.url.path])

    upstream.default = reply
    client = client_of(serve(mode=mode))
    assert client.embeddings.create(model="m", input="a").data[0].embedding == [0.5, -0.25]
    assert client.audio.transcriptions.create(model="m", file=("a.wav", sound)).text == "Canberra."
    assert sound in upstream.raw_bodies[-1]
    assert client.audio.speech.create(model="m", voice="alloy", input="a").content == sound
    assert client.images.generate(model="m", prompt="a cat").data[0].b64_json == "aGk="
    assert client.files.create(file=("a.jsonl", sound), purpose="batch").id == "file-1"
    batch = client.batches.create(input_file_id="file-1", endpoint="/v1/responses", completion_window="24h")
    assert batch.status == "validating"
    results = client.vector_stores.with_raw_response.search("vs_1", query="q")
    assert results.headers.get("x-hedgerow-reason") == (None if mode == "off" else "not_generating")
    assert len(upstream.calls) == 7
