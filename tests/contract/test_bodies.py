"""Bodies in any form: what an upstream would take reaches it as it came, and the model is found where there is one."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import httpx
import openai
import pytest

from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, raw, says

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
CHAT = "/v1/chat/completions"
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
PLAIN = json.dumps({"model": "m", "messages": ASK}).encode()
ODD = {
    "gzip": (gzip.compress(PLAIN), {"content-encoding": "gzip"}),
    "deflate": (zlib.compress(PLAIN), {"content-encoding": "deflate"}),
    "unknown encoding": (b"\x00\x01", {"content-encoding": "br"}),
    "half a surrogate pair": (b'{"model": "m", "messages": [{"role": "user", "content": "\\ud83d"}]}', {}),
    "many messages": (json.dumps({"model": "m", "messages": ASK * 2100}).encode(), {}),
    "an object": (b'{"model": "m", "messages": [{"role": "user", "content": {"text": "a"}}]}', {}),
    "n 1.0": (b'{"model": "m", "n": 1.0, "messages": [{"role": "user", "content": "a"}]}', {}),
    "not json": (b"{", {}),
    "no messages": (b'{"model": "m", "messages": null}', {}),
    "a role that is missing": (b'{"model": "m", "messages": ["a", {"content": 7}]}', {}),
}
"""Bodies that the pipeline could not work with as they are, and their headers."""


@pytest.mark.parametrize("mode", ["off", "shadow"])
@pytest.mark.parametrize("odd", sorted(ODD))
def test_off_and_shadow_pass_on_whatever_comes(serve: Any, upstream: Upstream, odd: str, mode: str) -> None:
    """The upstream judges it, and sees every byte."""
    upstream.default = raw(b'{"choices": []}')
    data, headers = ODD[odd]
    reply = httpx.post(serve(mode=mode) + CHAT, content=data, headers={"content-type": "application/json"} | headers)
    assert (reply.status_code, reply.content) == (200, b'{"choices": []}')
    assert upstream.raw_bodies[0] == data
    assert {name: upstream.headers[0].get(name) for name in headers} == headers


@pytest.mark.parametrize("odd", ["gzip", "deflate", "n 1.0"])
def test_on_reads_what_it_can(serve: Any, upstream: Upstream, odd: str) -> None:
    """Such requests are calibrated; samples go out in plain JSON."""
    upstream.default = says(*UNSURE)
    data, headers = ODD[odd]
    reply = httpx.post(serve(claims_only=False) + CHAT, content=data, headers=headers)
    assert reply.json()["hedgerow"]["samples"] == 10
    assert upstream.calls[0]["n"] == 10
    assert "content-encoding" not in upstream.headers[0]


@pytest.mark.parametrize("odd", ["unknown encoding", "half a surrogate pair", "an object"])
def test_on_passes_on_what_it_cannot_read(serve: Any, upstream: Upstream, odd: str, tmp_path: Any) -> None:
    """And says so."""
    upstream.default = raw(b'{"choices": []}')
    data, headers = ODD[odd]
    reply = httpx.post(serve() + CHAT, content=data, headers=headers)
    assert reply.content == b'{"choices": []}'
    assert reply.headers["x-hedgerow-status"] == "passed"
    assert reply.headers["x-hedgerow-reason"] == "unreadable_request"
    assert upstream.raw_bodies == [data]
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("passed", "unreadable_request")


def test_a_bomb_is_refused(serve: Any, upstream: Upstream) -> None:
    """A small body that unpacks to more than the limit is answered, not unpacked."""
    bomb = gzip.compress(b" " * 50_000_000)
    settings = {"server": {"max_body_bytes": 100_000}}
    reply = httpx.post(serve(settings=settings) + CHAT, content=bomb, headers={"content-encoding": "gzip"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "payload_too_large")
    assert upstream.raw_bodies == []


def test_a_routes_model_is_sent_on_every_path(serve: Any, upstream: Upstream) -> None:
    """JSON, plain or packed, and forms; what names no model is left as it is."""
    upstream.default = raw(b"{}")
    address = serve(mode="off", model="real")
    for path in ("/v1/embeddings", "/v1/responses", CHAT):
        httpx.post(address + path, json={"model": "alias", "input": "a", "messages": ASK})
        assert json.loads(upstream.raw_bodies[-1]) == {"model": "real", "input": "a", "messages": ASK}
    packed = gzip.compress(b'{"model": "alias", "input": "\xc3\xa9"}')
    kind = {"content-type": "application/json", "content-encoding": "gzip"}
    httpx.post(address + "/v1/embeddings", content=packed, headers=kind)
    assert json.loads(upstream.raw_bodies[-1]) == {"model": "real", "input": "é"}
    assert "content-encoding" not in upstream.headers[-1]
    httpx.post(address + "/v1/moderations", json={"input": "a"})
    assert json.loads(upstream.raw_bodies[-1]) == {"input": "a"}
    sound = b"\x00\xff" * 100_000
    form = httpx.Request("POST", "http://x", data={"model": "alias"}, files={"file": ("a.wav", sound)})
    sent = form.read()
    httpx.post(
        address + "/v1/audio/transcriptions", content=sent, headers={"content-type": form.headers["content-type"]}
    )
    assert upstream.raw_bodies[-1] == sent.replace(b"\r\n\r\nalias\r\n", b"\r\n\r\nreal\r\n")


TWO_ROUTES = [
    {"name": "gpt", "upstream": "scripted", "mode": "on", "match": {"model": "gpt-*"}},
    {"name": "whisper", "upstream": "other", "mode": "off", "match": {"model": "whisper-*"}},
]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/files", None),
        ("GET", "/v1/models/gpt-5", None),
        ("DELETE", "/v1/responses/resp_1", None),
        ("POST", "/v1/responses/resp_1/cancel", {}),
        ("POST", "/v1/moderations", {"input": "a"}),
        ("POST", "/v1/embeddings", {"model": "text-embedding-3", "input": "a"}),
    ],
)
def test_what_names_no_model_goes_to_the_only_upstream(
    serve: Any, upstream: Upstream, method: str, path: str, body: Any
) -> None:
    """One route for `gpt-*`, as in the README: everything else of the API still works."""
    upstream.default = raw(b'{"object": "list"}')
    reply = httpx.request(method, serve(match={"model": "gpt-*"}) + path, json=body)
    assert (reply.status_code, reply.content) == (200, b'{"object": "list"}')
    assert upstream.targets == [path]
    assert reply.headers["x-hedgerow-status"] == "passed"
    assert reply.headers["x-hedgerow-reason"] == "not_generating"


def test_of_several_upstreams_the_default_one_takes_it(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Without a default it is a 404, as is text by an unknown model."""
    upstream.default = raw(b'{"object": "list", "data": []}')
    both = {
        name: {"provider": "openai", "base_url": url}
        for name, url in (("scripted", upstream.url), ("other", "http://127.0.0.1:9"))
    }
    settings = {"upstreams": both, "routes": TWO_ROUTES}
    address = serve(settings=settings | {"default_upstream": "scripted"})
    assert list(client_of(address).files.list()) == []
    with pytest.raises(openai.NotFoundError, match="no route takes the model 'o3'"):
        client_of(address).chat.completions.create(model="o3", messages=ASK)
    with pytest.raises(openai.NotFoundError):
        client_of(serve(settings=settings)).files.list()


def test_a_form_names_its_model(serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any) -> None:
    """A transcription goes to the route of its model."""
    upstream.default = raw(b'{"text": "hello"}')
    both = {
        name: {"provider": "openai", "base_url": url}
        for name, url in (("scripted", "http://127.0.0.1:9/v1"), ("other", upstream.url))
    }
    client = client_of(serve(settings={"upstreams": both, "routes": TWO_ROUTES}))
    transcript = client.audio.transcriptions.create(model="whisper-1", file=("a.wav", b"RIFF" * 50_000))
    assert transcript.text == "hello"
    assert upstream.raw_bodies[0].count(b"RIFF") == 50_000
    (row,) = rows_of(tmp_path, 1)
    assert (row["route"], row["model"]) == ("whisper", "whisper-1")


def test_shadow_leaves_no_trace_on_what_it_passes(serve: Any, upstream: Upstream) -> None:
    """Neither on other paths nor on requests that are not calibrated."""
    upstream.default = says("Hello!")
    address = serve(mode="shadow")
    for path, body in (("/v1/embeddings", {"input": "a"}), (CHAT, {"messages": [{"role": "user", "content": "Hi!"}]})):
        reply = httpx.post(address + path, json=body)
        assert reply.status_code == 200
        assert not [name for name in reply.headers if name.startswith("x-hedgerow")]
