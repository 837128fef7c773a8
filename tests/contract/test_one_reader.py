"""One reader of a request: nobody behind the proxy finds another path or another model in it than it was let in by."""

from __future__ import annotations

import gzip
from itertools import product
from typing import Any

import httpx
import pytest

from tests.contract.test_failures import rows_of
from tests.support.keys import new_key
from tests.support.upstream import Upstream, raw, says
from tests.support.wire import ask

CHAT, IMAGES = "/v1/chat/completions", "/v1/images/generations"
ROUTES = [
    {"name": "cheap", "upstream": "scripted", "match": {"model": "cheap*"}},
    {"name": "dear", "upstream": "scripted", "match": {"model": "dear*"}},
]
JSON = "application/json"
FORM = "multipart/form-data; boundary=x"


def part(name: str, value: str, head: str = "") -> bytes:
    """A part of a form as libraries write it."""
    return f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n{head}\r\n{value}\r\n'.encode()


FILE = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n' + b"RIFF" * 40_000 + b"\r\n"
END = b"--x--\r\n"
TWO: dict[str, tuple[str, str, bytes]] = {
    "path and body": ("/openai/deployments/dear-1/chat/completions", JSON, b'{"model": "cheap-1"}'),
    "path and body, no text": ("/openai/deployments/dear-1/images/generations", JSON, b'{"model": "cheap-1"}'),
    "path in other letters": ("/openai/Deployments/dear-1/chat/completions", JSON, b'{"model": "cheap-1"}'),
    "an engine's path": ("/v1/engines/dear-1/completions", JSON, b'{"model": "cheap-1"}'),
    "query and body": (CHAT + "?model=dear-1", JSON, b'{"model": "cheap-1"}'),
    "query twice": ("/v1/files?model=cheap-1&model=dear-1", JSON, b"{}"),
    "query, behind a semicolon": ("/v1/files?model=cheap-1;model=dear-1", JSON, b"{}"),
    "query, in codes": ("/v1/files?model=cheap-1&%6dodel=dear-1", JSON, b"{}"),
    "query, in capitals": ("/v1/files?model=cheap-1&Deployment=dear-1", JSON, b"{}"),
    "body twice": (CHAT, JSON, b'{"model": "cheap-1", "messages": [], "model": "dear-1"}'),
    "body twice, the other way": (CHAT, JSON, b'{"model": "dear-1", "messages": [], "model": "cheap-1"}'),
    "body twice, escaped": (CHAT, JSON, b'{"model": "cheap-1", "mod\\u0065l": "dear-1"}'),
    "body twice, in capitals": (CHAT, JSON, b'{"model": "cheap-1", "Model": "dear-1"}'),
    "body twice, no text": (IMAGES, JSON, b'{"model": "dear-1", "model": "cheap-1"}'),
    "body and its session": ("/v1/realtime/client_secrets", JSON, b'{"model": "cheap-1", "session": {"model": "dear-1"}}'),
    "form twice": ("/v1/audio/transcriptions", FORM, part("model", "cheap-1") + part("model", "dear-1") + END),
    "form twice, far behind": ("/v1/audio/transcriptions", FORM, part("model", "cheap-1") + FILE + part("model", "dear-1") + END),
    "form and query": ("/v1/audio/transcriptions?model=cheap-1", FORM, FILE + part("model", "dear-1") + END),
    "form, in a file": (
        "/v1/audio/transcriptions",
        FORM,
        part("model", "cheap-1") + part("file", "a", 'X: name="model"\r\n') + part("model", "dear-1") + END,
    ),
    "fields twice": ("/v1/files", "application/x-www-form-urlencoded", b"model=cheap-1&a=b&model=dear-1"),
    "path and body of a model": ("/v1/models/dear-1", JSON, b'{"model": "cheap-1"}'),
}  # fmt: skip
"""Requests that name both, by where they do it."""


def test_two_models_are_refused(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """With one sentence that names both, and a row; the upstream gets nothing that it could take for a request."""
    upstream.default = raw(b"{}")
    address = serve(settings={"routes": ROUTES})
    for where, (target, kind, body) in TWO.items():
        reply = ask(address, "POST", target, f"content-type: {kind}", body=body)
        assert (reply.status, reply.error["param"]) == (400, "model"), (where, reply)
        assert "cheap-1" in reply.error["message"], where
        assert "dear-1" in reply.error["message"], where
    assert upstream.calls == []
    rows = {(row["status"], row["reason"], row["http_status"]) for row in rows_of(tmp_path, len(TWO))}
    assert rows == {("failed", "bad_request", 400)}


@pytest.mark.parametrize(
    ("target", "kind", "body"),
    [
        ("/openai/deployments/cheap-1/chat/completions?model=cheap-1", JSON, b'{"model": "cheap-1", "model": "cheap-1"}'),
        (CHAT, JSON, b'{"model": "cheap-1", "messages": [{"role": "model", "content": "\\"model\\": \\"dear-1\\""}]}'),
        (CHAT, JSON, b'{"model": "cheap-1", "tools": [{"parameters": {"properties": {"model": "dear-1"}}}]}'),
        ("/v1/audio/transcriptions", FORM, FILE + part("model", "cheap-1") + END),
        ("/v1/files", "application/x-www-form-urlencoded", b"model=cheap-1&models=dear-1"),
    ],
)  # fmt: skip
def test_what_names_one_model_goes_on_as_it_came(
    serve: Any, upstream: Upstream, tmp_path: Any, target: str, kind: str, body: bytes
) -> None:
    """However often, and whatever stands in texts and tools; also behind a long file, where clients for Node put it."""
    upstream.default = raw(b"{}")
    key = new_key(f"sqlite:///{tmp_path}/audit.db", "small", routes=("cheap",))
    address = serve(settings={"routes": ROUTES})
    bearer = f"authorization: Bearer {key}"
    assert ask(address, "POST", target, f"content-type: {kind}", bearer, body=body).status == 200
    assert upstream.raw_bodies == [body]
    assert upstream.targets == [target]
    (row,) = rows_of(tmp_path, 1)
    assert (row["route"], row["model"]) == ("cheap", "cheap-1")


DEAR = b'{"model": "dear-1"}'
LENIENT: dict[str, tuple[str, str, bytes]] = {
    "half a pair": (CHAT, JSON, b'{"model": "cheap-1", "user": "\\ud83d"}'),
    "NaN": (CHAT, JSON, b'{"model": "cheap-1", "x": NaN}'),
    "a comment": (CHAT, JSON, b'{"model": "cheap-1" /* , "model": "dear-1" */}'),
    "a mark": (CHAT, JSON, b"\xef\xbb\xbf" + DEAR),
    "UTF-16": (CHAT, JSON, DEAR.decode().encode("utf-16")),
    "another charset": (CHAT, "application/json; charset=utf-7", b'{"model": "cheap-1"}'),
    "an unknown coding": (CHAT, f"{JSON}\r\ncontent-encoding: br", b"..."),
    "two codings": (CHAT, f"{JSON}\r\ncontent-encoding: gzip, gzip", gzip.compress(gzip.compress(DEAR))),
    "two parts of a coding": (CHAT, f"{JSON}\r\ncontent-encoding: gzip", gzip.compress(b'{"model": "cheap-1"}') + gzip.compress(DEAR)),
    "deep": (CHAT, JSON, b'{"model": "cheap-1", "x": ' + b"[" * 600 + b"]" * 600 + b"}"),
    "text": (IMAGES, "text/plain", DEAR),
    "no type": ("/v1/embeddings", "", DEAR),
    "a type of its own": ("/v1/embeddings", "application/x-json", DEAR),
    "JSON as a form": (CHAT, "application/x-www-form-urlencoded", b'{"model": "cheap-1", "x": "&model=dear-1&"}'),
    "a form without boundary": ("/v1/audio/speech", "multipart/form-data", part("model", "dear-1") + END),
    "a form with lines of its own": ("/v1/audio/speech", FORM, (part("model", "dear-1") + END).replace(b"\r\n", b"\n")),
    "a name in codes": ("/v1/audio/speech", FORM, b"--x\r\nContent-Disposition: form-data; name*=utf-8''model\r\n\r\ndear-1\r\n" + END),
    "a folded head": ("/v1/audio/speech", FORM, b'--x\r\nContent-Disposition: form-data; name="a"\r\n ; name="model"\r\n\r\ndear-1\r\n' + END),
    "a coded part": ("/v1/audio/speech", FORM, part("model", "ZGVhci0x", "Content-Transfer-Encoding: base64\r\n") + END),
    "a part of JSON": ("/v1/realtime/calls", FORM, part("session", DEAR.decode(), "Content-Type: application/json\r\n") + END),
    "behind the end": ("/v1/audio/speech", FORM, END + part("model", "dear-1") + END),
    "far behind": ("/v1/audio/speech", FORM, part("model", "cheap-1") + FILE + b'--x\r\nContent-Disposition: form-data; name = "model"\r\n\r\ndear-1\r\n' + END),
    "another model": ("/v1/embeddings", JSON, DEAR),
    "another model, of no route": ("/v1/embeddings", JSON, b'{"model": "large-embedding"}'),
    "another spelling": (CHAT, JSON, b'{"MODEL": "dear-1"}'),
    "two types": (CHAT, f"application/x-www-form-urlencoded\r\ncontent-type: {JSON}", b'{"model": "cheap-1", "x": "&model=dear-1&"}'),
    "two codings, apart": (CHAT, f"{JSON}\r\ncontent-encoding: gzip\r\ncontent-encoding: identity", b'{"model": "cheap-1"}'),
    "a batch": ("/v1/batches", JSON, b'{"input_file_id": "file-1", "endpoint": "/v1/chat/completions"}'),
    "a file of requests": ("/v1/files", FORM, part("purpose", "batch") + part("file", '{"body": {"model": "dear-1"}}') + END),
    "a run of an assistant": ("/v1/threads/t/runs", "application/x-www-form-urlencoded", b"assistant_id=a"),
}  # fmt: skip
"""Requests in which a reader could find another model, by how."""


@pytest.mark.parametrize("mode", ["off", "on"])
def test_what_only_others_can_read_enters_no_route_of_a_limited_key(
    serve: Any, upstream: Upstream, tmp_path: Any, mode: str
) -> None:
    """One sentence, a row, and nothing upstream that could be taken for a request."""
    upstream.default = raw(b"{}")
    key = new_key(f"sqlite:///{tmp_path}/audit.db", "small", routes=("cheap",))
    address = serve(settings={"routes": [route | {"mode": mode} for route in ROUTES]})
    for how, (target, kind, body) in LENIENT.items():
        typed = [f"content-type: {kind}"] if kind else []
        reply = ask(address, "POST", target, *typed, f"authorization: Bearer {key}", body=body)
        assert reply.status in (400, 403, 404), (how, reply)
        assert reply.error["message"], how
        assert upstream.calls == [], how
    rows = rows_of(tmp_path, len(LENIENT))
    assert {(row["key"], row["status"], row["http_status"] in (400, 403, 404)) for row in rows} == {
        ("small", "failed", True)
    }


@pytest.mark.parametrize("how", ["half a pair", "text", "a form with lines of its own", "a part of JSON", "far behind"])
def test_whoever_may_use_every_route_is_the_upstreams_to_judge(serve: Any, upstream: Upstream, how: str) -> None:
    """The same bytes."""
    upstream.default = raw(b"{}")
    address = serve(settings={"routes": [{"name": "all", "upstream": "scripted"}]})
    target, kind, body = LENIENT[how]
    assert ask(address, "POST", target, f"content-type: {kind}", body=body).status == 200
    assert upstream.raw_bodies == [body]


def test_a_model_behind_a_file_is_renamed(serve: Any, upstream: Upstream) -> None:
    """Where the route sends another name."""
    upstream.default = raw(b"{}")
    address = serve(mode="off", model="real")
    ask(address, "POST", "/v1/audio/transcriptions", f"content-type: {FORM}", body=FILE + part("model", "alias") + END)
    assert upstream.raw_bodies == [FILE + part("model", "real") + END]


def test_a_form_without_a_model_streams(serve: Any, upstream: Upstream) -> None:
    """One that is larger than what is held of it, and one that names its model only then."""
    upstream.default = raw(b"{}")
    address = serve(mode="off", settings={"server": {"max_body_bytes": 100_000}})
    long = FILE + part("purpose", "batch") + END
    assert ask(address, "POST", "/v1/files", f"content-type: {FORM}", body=long).status == 200
    assert upstream.raw_bodies == [long]
    late = ask(address, "POST", "/v1/files", f"content-type: {FORM}", body=FILE + part("model", "late") + END)
    assert (late.status, late.error["param"]) == (400, "model")
    assert len(upstream.calls) == 1


SAME = {
    "/%76%31/chat/completions": "/v1/chat/completions",
    "/v1/chat%2Fcompletions": "/v1/chat/completions",
    "/v1/files/%66ile%2d1": "/v1/files/file-1",
    "/v1/files/a%20b": "/v1/files/a%20b",
    "/v1/models/meta-llama%2FLlama-3.1": "/v1/models/meta-llama/Llama-3.1",
    "/v1/files/%C3%A9": "/v1/files/%C3%A9",
    "/v1/models/ft:gpt-4o:org::id": "/v1/models/ft:gpt-4o:org::id",
    "/v1//chat/completions": "/v1//chat/completions",
}
"""Paths, and what goes upstream."""
ODD = (
    *("/../x", "/./x", "/..", "/.", "/%2e%2e/x", "/.%2E/x", "/..%2fx", "%2f..%2fx"),
    *("\\x", "/..\\x", "/..%5cx", "/..;/x", ";a=b/x", "%3b/x", "/%252e%252e/x", "%252fx", "%00", "%0d%0ax", "/%ff"),
)
"""Ends of paths that servers read in different ways."""


def test_what_is_decided_on_is_what_is_sent(serve: Any, upstream: Upstream) -> None:
    """Decoded once, here."""
    upstream.default = raw(b"{}")
    address = serve(mode="off")
    for sent in SAME:
        is_text = SAME[sent].endswith("completions")
        body = b'{"model": "m"}' if is_text else None
        assert ask(address, "POST" if is_text else "GET", sent, f"content-type: {JSON}", body=body).status == 200, sent
    assert upstream.targets == [httpx.URL(path).path for path in SAME.values()]


@pytest.mark.parametrize("upgrade", [False, True])
def test_a_path_that_others_read_otherwise_is_refused(serve: Any, upstream: Upstream, upgrade: bool) -> None:
    """For upstreams, for WebSockets and for our own pages alike."""
    lines = ["connection: upgrade", "upgrade: websocket", "sec-websocket-version: 13"] if upgrade else []
    address = serve(mode="off")
    for prefix, odd in product(("/v1/files", "/openai/deployments/m", "/dashboard", "/static", "/v1/admin"), ODD):
        reply = ask(address, "GET", prefix + odd, *lines)
        assert reply.status in (400, 404), (prefix, odd, reply)
        assert reply.error["message"], (prefix, odd)
    assert upstream.targets == []


@pytest.mark.parametrize("path", ["/v1/Chat/Completions", "/v1/chat//completions", "/v1/chat/completions/"])
def test_a_key_counts_its_tokens_on_paths_that_some_servers_take_for_others(
    serve: Any, upstream: Upstream, tmp_path: Any, path: str
) -> None:
    """They are read like the endpoint, and go on as they came."""
    upstream.default = says("Canberra.")
    key = new_key(f"sqlite:///{tmp_path}/audit.db", "small")
    reply = ask(
        serve(mode="off"), "POST", path, f"content-type: {JSON}", f"authorization: Bearer {key}", body=b'{"model": "m"}'
    )
    assert reply.status == 200
    assert upstream.targets == [path]
    assert [row["tokens_answer"] for row in rows_of(tmp_path, 1)] == [10]
