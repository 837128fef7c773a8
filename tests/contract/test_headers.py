"""Headers on both sides: keys come in whichever header a client uses, and what an upstream says of its call reaches the client."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from tests.support.upstream import Upstream, completion, fails, says

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
BODY = {"model": "m", "messages": ASK}
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
CHAT = "/v1/chat/completions"
OF_THE_CALL = {
    "x-request-id": "req_7",
    "x-ratelimit-remaining-requests": "59",
    "openai-processing-ms": "412",
    "retry-after-ms": "200",
    "x-should-retry": "false",
}


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("header", ["x-api-key", "api-key", "authorization"])
def test_keys_in_any_clients_header_get_in_and_stay_here(
    serve: Any, upstream: Upstream, header: str, mode: str
) -> None:
    """Anthropic's and Azure's clients have headers of their own; our key replaces the client's in the same one."""
    upstream.default = says(*UNSURE)
    keys = [hashlib.sha256(b"sk-listed").hexdigest()]
    address = serve(settings={"keys": keys}, upstream_settings={"api_key": "sk-upstream"}, mode=mode)
    bearer = "Bearer " if header == "authorization" else ""
    reply = httpx.post(address + CHAT, json=BODY, headers={header: bearer + "sk-listed"})
    assert reply.status_code == 200
    assert upstream.headers[-1][header] == bearer + "sk-upstream"
    assert "sk-listed" not in str(upstream.headers)
    refused = httpx.post(address + CHAT, json=BODY, headers={header: bearer + "sk-other"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")


@pytest.mark.parametrize("mode", ["off", "on"])
def test_no_key_of_the_clients_goes_beside_ours(serve: Any, upstream: Upstream, mode: str) -> None:
    """One key goes upstream, in the configured header."""
    upstream.default = says(*UNSURE)
    sent = {"x-api-key": "sk-a", "api-key": "sk-b", "authorization": "Bearer sk-c"}
    httpx.post(
        serve(upstream_settings={"api_key": "sk-ours", "key_header": "api-key"}, mode=mode) + CHAT,
        json=BODY,
        headers=sent,
    )
    assert {name: upstream.headers[-1].get(name) for name in sent} == dict.fromkeys(sent) | {"api-key": "sk-ours"}


@pytest.mark.parametrize("honours_n", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_what_the_upstream_says_of_its_call_reaches_the_client(
    serve: Any, upstream: Upstream, stream: bool, honours_n: bool
) -> None:
    """Request id and rate limits, also where the answer was reworded; what describes its body does not."""

    def reply(_request: Any, body: Any) -> Any:
        headers = OF_THE_CALL | {"etag": '"1"', "x-hedgerow-status": "forged"}
        return JSONResponse(completion(*(UNSURE * 2)[: body.get("n") or 1]), headers=headers)

    upstream.default = reply
    got = httpx.post(serve(upstream_settings={"honours_n": honours_n}) + CHAT, json=BODY | {"stream": stream})
    assert {name: got.headers.get(name) for name in OF_THE_CALL} == OF_THE_CALL
    assert "etag" not in got.headers
    assert got.headers.get_list("x-hedgerow-status") != ["forged"]
    assert got.headers.get_list("content-type") == [
        "text/event-stream; charset=utf-8" if stream else "application/json"
    ]


def test_what_the_upstream_says_of_its_refusal_reaches_the_client(serve: Any, upstream: Upstream) -> None:
    """A client that backs off reads `retry-after-ms` and `x-should-retry`, each once."""
    error = {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}
    upstream.default = fails(429, error, OF_THE_CALL | {"retry-after": "1"})
    got = httpx.post(serve() + CHAT, json=BODY)
    assert (got.status_code, got.json()) == (429, error)
    assert {name: got.headers.get(name) for name in OF_THE_CALL} == OF_THE_CALL
    assert got.headers.get_list("retry-after") == ["1"]
    assert got.headers.get_list("content-length") == [str(len(got.content))]
