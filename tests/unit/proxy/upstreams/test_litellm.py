"""LiteLLM as an upstream: the same protocol, the provider's own errors, every dialect."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import orjson
import pytest

from hedgerow.proxy.config import LiteLLMUpstream
from hedgerow.proxy.errors import NotFound, ProxyError, UpstreamError, UpstreamRejected
from hedgerow.proxy.protocols import Call, RawCall
from hedgerow.proxy.upstreams.litellm import open_litellm
from tests.support.needs import LITELLM
from tests.support.upstream import Upstream, completion, fails, says

pytestmark = LITELLM
ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]


def test_litellm_is_an_upstream_like_any_other(upstream: Upstream) -> None:
    """Answers come as completion objects, the provider's own errors as they were."""
    settings = LiteLLMUpstream(provider="litellm", model_prefix="openai/", api_base=upstream.url, retries=0)

    async def run() -> tuple[Any, Any, Any]:
        model = await open_litellm("lite", settings)
        headers = {"authorization": "Bearer sk-client"}
        upstream.enqueue(says("Canberra.", "Sydney."))
        answer = await model.complete(Call("/chat/completions", {"model": "m", "messages": ASK, "n": 2}, headers))
        upstream.default = fails(429, {"error": {"message": "quota used up", "type": "insufficient_quota"}})
        try:
            await model.complete(Call("/chat/completions", {"model": "m", "messages": ASK}, headers))
        except ProxyError as error:
            return answer, upstream.headers[0], error
        raise AssertionError("the refusal was swallowed")

    answer, headers, error = asyncio.run(run())
    assert [choice["message"]["content"] for choice in answer["choices"]] == ["Canberra.", "Sydney."]
    assert answer["usage"]["total_tokens"] == completion("a", "b")["usage"]["total_tokens"]
    assert headers["authorization"] == "Bearer sk-client"
    assert isinstance(error, UpstreamRejected)
    assert error.status == 429
    assert b"quota used up" in error.raw_body


def test_a_call_that_waits_for_its_next_try_leaves_its_slot(upstream: Upstream) -> None:
    """One slot, and a call that is refused for the moment: another is answered before it is repeated."""
    settings = LiteLLMUpstream(
        provider="litellm", model_prefix="openai/", api_base=upstream.url, retries=1, max_sampling_calls=1
    )

    async def run() -> list[str]:
        model, order = await open_litellm("lite", settings), list[str]()
        upstream.enqueue(fails(429, {"error": {"message": "wait"}}))
        upstream.default = says("Canberra.")

        async def ask(name: str) -> None:
            headers = {"authorization": "Bearer sk-client"}
            await model.complete(Call("/chat/completions", {"model": "m", "messages": ASK}, headers))
            order.append(name)

        await asyncio.gather(ask("refused first"), ask("other"))
        return order

    assert asyncio.run(run()) == ["other", "refused first"]
    assert len(upstream.headers) == 3


def test_a_route_through_litellm(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Calibrated, and passed through as a stream."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    named = {"provider": "litellm", "model_prefix": "openai/", "api_base": upstream.url}
    client: openai.OpenAI = client_of(serve(settings={"upstreams": {"scripted": named}}, allow_override=True))
    answer = client.chat.completions.create(model="m", messages=ASK)
    assert answer.model_extra is not None
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    off = {"x-hedgerow-mode": "off"}
    chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True, extra_headers=off))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices).strip(". ") in ("Canberra", "Sydney")


def test_responses_and_messages_through_litellm(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Whole and streamed, hedged like a chat; the client's key goes to the provider, whichever header it came in."""
    import anthropic

    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    named = {"provider": "litellm", "model_prefix": "openai/", "api_base": upstream.url, "retries": 0}
    address = serve(settings={"upstreams": {"scripted": named}})
    client = client_of(address)
    answer = client.responses.create(model="m", input="What is the capital of Australia?")
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    with client.responses.stream(model="m", input="What is the capital of Australia?") as stream:
        assert stream.get_final_response().output_text
    claude = anthropic.Anthropic(base_url=address, api_key="sk-claude", max_retries=0)
    with claude, claude.messages.stream(model="m", max_tokens=64, messages=ASK) as events:
        assert events.get_final_text()
    assert upstream.headers[-1]["authorization"] == "Bearer sk-claude"
    with pytest.raises(openai.BadRequestError, match="send the whole conversation"):
        client.responses.create(model="m", input="And of Austria?", previous_response_id=answer.id)


def test_failures_through_litellm_become_ours(upstream: Upstream) -> None:
    """A path it does not serve, a server that is not there, a stream that breaks off, a whole answer passed on."""
    asked = {"model": "m", "messages": ASK}

    async def relayed(model: Any, body: Any, method: str = "POST") -> bytes:
        data = orjson.dumps(body)
        async with model.relay(
            RawCall(method, "/chat/completions", (("authorization", "Bearer sk-client"),), data)
        ) as reply:
            return b"".join([piece async for piece in reply.chunks])

    async def run() -> list[Any]:
        here = LiteLLMUpstream(provider="litellm", model_prefix="openai/", api_base=upstream.url, retries=0)
        model = await open_litellm("lite", here)
        gone = await open_litellm("gone", here.model_copy(update={"api_base": "http://127.0.0.1:9/v1"}))
        upstream.default = says("Canberra.")
        headers = {"authorization": "Bearer sk-client"}
        return [
            orjson.loads(await relayed(model, asked)),
            *await asyncio.gather(
                model.complete(Call("/embeddings", {"input": "a"})),
                gone.complete(Call("/chat/completions", asked, headers)),
                relayed(model, asked, "GET"),
                return_exceptions=True,
            ),
        ]

    answer, path, unreachable, method = asyncio.run(run())
    assert answer["choices"][0]["message"]["content"] == "Canberra."
    assert isinstance(path, NotFound)
    assert isinstance(unreachable, UpstreamError)
    assert isinstance(method, NotFound)
