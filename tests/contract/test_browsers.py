"""Pages in browsers: preflights without a key, and answers that a page may read, headers included."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from tests.support.upstream import Upstream, completion, fails

PAGE = "https://chat.example.com"
CHAT = "/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}
LISTED = {"server": {"allowed_origins": [PAGE]}, "keys": [hashlib.sha256(b"sk-listed").hexdigest()]}


def _answers(_request: Any, body: Any) -> Any:
    texts = ("Canberra.", "Sydney.") * 5
    return JSONResponse(completion(*texts[: body.get("n") or 1]), headers={"access-control-allow-origin": "https://up"})


def test_a_preflight_needs_no_key(serve: Any, upstream: Upstream) -> None:
    """It is answered here, for every path, with what the page wants to send."""
    address = serve(settings=LISTED)
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,x-stainless-os"}
    for path in (CHAT, "/v1/models", "/v1/feedback", "/v1/embeddings"):
        reply = httpx.options(address + path, headers=asked | {"origin": PAGE})
        assert reply.status_code == 204
        assert reply.headers["access-control-allow-origin"] == PAGE
        assert reply.headers["access-control-allow-methods"] == "POST"
        assert reply.headers["access-control-allow-headers"] == "authorization,x-stainless-os"
    assert upstream.calls == []
    other = httpx.options(address + CHAT, headers=asked | {"origin": "https://other.example.com"})
    assert other.status_code == 401
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("mode", ["off", "on"])
def test_a_page_reads_answers_and_errors(serve: Any, upstream: Upstream, mode: str) -> None:
    """Ours, the upstream's, and those of our own endpoints; each says once who may read it."""
    upstream.default = _answers
    address = serve(settings=LISTED, mode=mode)
    sent = {"origin": PAGE, "authorization": "Bearer sk-listed"}
    upstream.enqueue(fails(429, {"error": {"message": "slow"}}))
    replies = [
        httpx.post(address + CHAT, json=BODY, headers=sent),
        httpx.post(address + CHAT, json=BODY, headers=sent),
        httpx.post(address + CHAT, json=BODY, headers={"origin": PAGE}),
        httpx.get(address + "/v1/audit/hr_unknown", headers=sent),
    ]
    assert [reply.status_code for reply in replies] == [429, 200, 401, 404]
    for reply in replies:
        assert reply.headers.get_list("access-control-allow-origin") == [PAGE]
        assert reply.headers["access-control-expose-headers"] == "*"
        assert "Origin" in reply.headers.get_list("vary")[-1]


def test_without_a_list_nothing_is_added(serve: Any, upstream: Upstream) -> None:
    """What the upstream says of pages of other origins is said of itself, not of this proxy; our own pages are never opened to others."""
    upstream.default = _answers
    reply = httpx.post(serve(mode="off") + CHAT, json=BODY, headers={"origin": PAGE})
    assert "access-control-allow-origin" not in reply.headers
    anybody = serve(settings={"server": {"allowed_origins": ["*"]}})
    assert (
        httpx.post(anybody + CHAT, json=BODY, headers={"origin": PAGE}).headers["access-control-allow-origin"] == PAGE
    )
    assert "access-control-allow-origin" not in httpx.get(anybody + "/", headers={"origin": PAGE}).headers


@pytest.mark.parametrize("kind", ["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", None])
def test_no_page_of_the_web_spends_the_key_of_a_local_proxy(serve: Any, upstream: Upstream, kind: str | None) -> None:
    """A browser sends such a request without asking leave. With a key, as JSON, from a listed or the same origin it is answered."""
    upstream.default = _answers
    address = serve(mode="off", upstream_settings={"api_key": "sk-secret"})
    sent = {"origin": PAGE} | ({"content-type": kind} if kind else {})
    body = json.dumps(BODY).encode()
    refused = httpx.post(address + CHAT, content=body, headers=sent)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "cross_site")
    assert upstream.calls == []
    same = {"origin": address}
    own = {"authorization": "Bearer sk-mine"}
    of_another_vendor = {"ocp-apim-subscription-key": "mine"}
    for headers in (sent | same, sent | own, sent | of_another_vendor, sent | {"content-type": "application/json"}):
        assert httpx.post(address + CHAT, content=body, headers=headers).status_code == 200
    by_itself = httpx.post(address + CHAT, content=body, headers=sent | {"authorization": "Basic eDp5"})
    assert by_itself.status_code == 403  # a browser sends it with whatever page asks
    listed = serve(mode="off", settings={"server": {"allowed_origins": [PAGE]}})
    assert httpx.post(listed + CHAT, content=body, headers=sent).status_code == 200
