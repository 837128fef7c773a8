"""Streams put together again: whatever the cuts, the completion is the one that was cut; long streams take time in proportion."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.errors import UpstreamError
from hedgerow.proxy.upstreams.assembling import Assembly
from hedgerow.proxy.upstreams.dialects.chat_stream import ServedChat
from hedgerow.proxy.upstreams.dialects.served import whole

HEAD = {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "service_tier": "default"}


def _choice(delta: Any, index: int = 0, reason: str | None = None) -> dict[str, Any]:
    return HEAD | {"choices": [{"index": index, "delta": delta, "finish_reason": reason}]}


@given(
    texts=st.lists(st.text(max_size=12), min_size=1, max_size=3),
    arguments=st.lists(st.text(max_size=6), max_size=3),
    data=st.data(),
)
def test_what_was_cut_is_whole_again(texts: list[str], arguments: list[str], data: Any) -> None:
    """Several choices, interleaved, each with text, thoughts and tool calls, cut anywhere; bytes too."""
    chunks: list[Any] = [_choice({"role": "assistant"}, i) for i in range(len(texts))]
    pieces = [("content", i, piece) for i, text in enumerate(texts) for piece in text]
    pieces += [("reasoning", i, piece) for i, text in enumerate(texts) for piece in text]
    chunks += [_choice({name: piece}, i) for name, i, piece in pieces]
    for number, argument in enumerate(arguments):
        first = {"index": number, "id": f"call_{number}", "type": "function", "function": {"name": "f"}}
        rest = [{"index": number, "function": {"arguments": piece}} for piece in ("", *argument)]
        chunks += [_choice({"tool_calls": [part]}) for part in (first, *rest)]
    chunks += [_choice({}, i, "stop") for i in range(len(texts))]
    stream = b"".join(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))

    async def sent() -> Any:
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            yield stream[start:end]

    answer = asyncio.run(whole(sent(), ServedChat()))
    assert (answer["id"], answer["object"], answer["service_tier"]) == ("c-1", "chat.completion", "default")
    said = [choice["message"] for choice in answer["choices"]]
    assert [message.get("content") or "" for message in said] == texts
    assert [message.get("reasoning", "") for message in said] == texts
    calls = said[0].get("tool_calls", [])
    assert [call["function"]["arguments"] for call in calls] == arguments
    assert [call["id"] for call in calls] == [f"call_{number}" for number in range(len(arguments))]


@given(chunk=st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_chunks_of_any_form_raise_nothing_else(chunk: Any) -> None:
    """What is not a chunk is left out, or the answer is said to be broken."""
    assembly = Assembly()
    for part in ({"choices": chunk}, {"choices": [chunk]}, {"choices": [{"index": chunk, "delta": chunk}]}):
        assembly.add(part)
    assembly.done = True
    with contextlib.suppress(UpstreamError):
        assert assembly.completion()["choices"]


def test_an_answer_that_never_ended_is_none() -> None:
    """Neither a finish reason nor `[DONE]`."""
    assembly = Assembly()
    assembly.add(_choice({"content": "Can"}))
    with pytest.raises(UpstreamError, match="broke off"):
        assembly.completion()


def test_an_error_that_is_null_is_not_an_error() -> None:
    """Some servers put the field into every chunk."""

    async def sent() -> Any:
        yield b"data: " + orjson.dumps(_choice({"content": "Canberra."}, reason="stop") | {"error": None}) + b"\n\n"

    assert asyncio.run(whole(sent(), ServedChat()))["choices"][0]["message"]["content"] == "Canberra."
