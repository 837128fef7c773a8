"""Responses and Messages in the words of chat: whatever comes is converted or refused, and a stream is what its whole answer is."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.errors import BadRequest, UpstreamError
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.dialects.conversions import CONVERSIONS, LiveAnswer, answers
from hedgerow.proxy.upstreams.dialects.messages_stream import ServedMessage
from hedgerow.proxy.upstreams.dialects.responses_stream import ServedResponse
from tests.support.tables import cases

PATHS = sorted(CONVERSIONS)
SERVED: Any = {"/responses": ServedResponse, "/messages": ServedMessage}

KINDS = st.sampled_from(
    [
        "message",
        "function_call",
        "function_call_output",
        "reasoning",
        "item_reference",
        "input_text",
        "output_text",
        "input_image",
        "input_file",
        "text",
        "image",
        "document",
        "tool_use",
        "tool_result",
        "thinking",
        "refusal",
        "function",
        "custom",
        "web_search",
        "auto",
        "any",
        "tool",
        "none",
        "json_schema",
        "json_object",
        "base64",
        "url",
        "new_kind",
    ]
)
NAMES = st.sampled_from(
    [
        "type",
        "role",
        "content",
        "text",
        "input",
        "output",
        "name",
        "arguments",
        "call_id",
        "id",
        "source",
        "data",
        "media_type",
        "image_url",
        "file_data",
        "tools",
        "tool_choice",
        "format",
        "schema",
        "effort",
        "parameters",
        "input_schema",
        "tool_use_id",
        "refusal",
        "include",
        "system",
        "instructions",
        "messages",
    ]
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 2**40), st.text(max_size=5), KINDS, st.sampled_from(["user", "assistant"])
)
ODD = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=25,
)
FIELDS = st.sampled_from(
    [
        "model",
        "input",
        "messages",
        "instructions",
        "system",
        "tools",
        "tool_choice",
        "text",
        "reasoning",
        "include",
        "metadata",
        "user",
        "service_tier",
        "output_config",
        "output_format",
        "stop_sequences",
        "max_tokens",
        "max_output_tokens",
        "stream",
        "previous_response_id",
        "conversation",
        "background",
        "prompt",
        "container",
        "mcp_servers",
        "top_logprobs",
        "n",
    ]
)


@pytest.mark.parametrize("path", PATHS)
@given(body=st.dictionaries(FIELDS, ODD, max_size=6))
def test_every_request_is_converted_or_refused(path: str, body: Json) -> None:
    """With a field and a sentence; what is converted has messages with roles, as chat wants them, and gets its answer."""
    before = orjson.dumps(body)
    chat, refusal = _converted(path, body)
    assert orjson.dumps(body) == before
    if refusal is not None:
        assert refusal.param
        assert refusal.code in ("invalid_type", "not_in_chat")
    else:
        assert chat["messages"]
        assert all(message["role"] in ("system", "user", "assistant", "tool") for message in chat["messages"])
        orjson.dumps(chat)
        (answer,) = answers(CONVERSIONS[path], body, {"choices": [{"message": {"content": "Yes."}}]})
        assert "Yes." in orjson.dumps(answer).decode()


def _converted(path: str, body: Json) -> tuple[Json, BadRequest | None]:
    try:
        return CONVERSIONS[path].words.request(body), None
    except BadRequest as refusal:
        return {}, refusal


@cases("path", PATHS)
def test_fields_that_chat_has_too_go_on_as_they_are(path: str) -> None:
    """Those of servers that we do not know as well."""
    asked = {"model": "m", "temperature": 0.5, "top_p": 0.9, "seed": 7, "guided_choice": ["a"], "n": 3}
    body = asked | {"input": "Capital?", "messages": [{"role": "user", "content": "Capital?"}]}
    chat = CONVERSIONS[path].words.request(body)
    assert chat | asked == chat
    assert chat["messages"] == [{"role": "user", "content": "Capital?"}]


PICTURE = "data:image/png;base64,AAAA"
FILE = "data:application/pdf;base64,BBBB"


def test_pictures_and_files_of_responses() -> None:
    parts = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": PICTURE, "detail": "low"},
        {"type": "input_file", "filename": "a.pdf", "file_data": FILE},
    ]
    chat = CONVERSIONS["/responses"].words.request(
        {"input": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": parts}]}
    )
    assert chat["messages"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": FILE}},
            ],
        },
    ]  # fmt: skip


def test_pictures_files_and_notes_of_messages() -> None:
    """Thoughts of the model are its own; a tool may answer with a picture."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    file = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"}}
    note = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A note."}}
    asked = {
        "messages": [
            {"role": "user", "content": [picture, file, note | {"cache_control": {"type": "ephemeral"}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [picture]}]},
        ]
    }
    seen = {"type": "image_url", "image_url": {"url": PICTURE}}
    assert CONVERSIONS["/messages"].words.request(asked)["messages"] == [
        {
            "role": "user",
            "content": [
                seen,
                {"type": "file", "file": {"filename": "document", "file_data": FILE}},
                {"type": "text", "text": "A note."},
            ],
        },
        {"role": "tool", "tool_call_id": "t", "content": [seen]},
    ]


@cases(
    ("choice", "asked"),
    [({"type": "any"}, "required"), ({"type": "none"}, "none"), ({"type": "tool", "name": "f"}, {"type": "function", "function": {"name": "f"}})],
)  # fmt: skip
def test_the_choice_of_a_tool(choice: Json, asked: Any) -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "tools": [{"name": "f", "input_schema": {}}]}
    assert CONVERSIONS["/messages"].words.request(body | {"tool_choice": choice})["tool_choice"] == asked


def chunk(delta: Json, reason: str | None = None, **more: Any) -> bytes:
    said = {"index": 0, "delta": delta, "finish_reason": reason}
    head = {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 5, "model": "m", "choices": [said]}
    return b"data: " + orjson.dumps(head | more) + b"\n\n"


def call(index: int, arguments: str, **more: Any) -> Json:
    return {
        "tool_calls": [
            {"index": index, "function": {"arguments": arguments, **more}} | ({"id": f"c{index}"} if more else {})
        ]
    }


USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}}
PIECES = st.lists(
    st.one_of(
        st.text(max_size=6).map(lambda text: {"content": text}),
        st.text(max_size=6).map(lambda text: {"reasoning_content": text}),
        st.text(max_size=6).map(lambda text: {"refusal": text}),
        st.tuples(st.integers(0, 2), st.sampled_from(['{"a": ', "1}", "{}", ""])).map(lambda pair: call(*pair, name="find")),
        st.sampled_from([{}, {"role": "assistant"}, {"content": None}, {"tool_calls": None}, {"tool_calls": [None]}]),
    ),
    max_size=8,
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@given(deltas=PIECES, reason=st.sampled_from(["stop", "length", "tool_calls", "content_filter"]), data=st.data())
def test_a_stream_says_what_its_end_says(path: str, deltas: list[Json], reason: str, data: st.DataObject) -> None:
    """Cut up at any byte, in any order of parts: what a reader of the events puts together is the answer that the last event holds."""
    stream = b"".join([*map(chunk, deltas), chunk({}, reason), chunk({}, choices=[], usage=USAGE), b"data: [DONE]\n\n"])
    places = data.draw(st.lists(st.integers(0, len(stream)), max_size=4).map(sorted))
    live = LiveAnswer(CONVERSIONS[path], {})
    sent = [live.take(stream[a:b]) for a, b in zip([0, *places], [*places, len(stream)], strict=True)]
    read = SERVED[path]()
    ending = live.end()
    for piece in (*sent, ending):
        read.take(piece)
    answer = read.completion()["choices"][0]["original"]
    names = ("content",) if path == "/responses" else ("content", "refusal")  # Anthropic's refusals are texts
    texts = "".join(delta.get(name) or "" for delta in deltas for name in names)
    assert sorted(texts) == sorted("".join(_texts(answer)))
    counts = answer["usage"]
    assert (counts["output_tokens"], counts["input_tokens"]) in (
        (4, 9),
        (4, 7),
    )  # Anthropic counts without the cached ones
    if path == "/responses":
        assert _items_of(b"".join([*sent, ending])) == answer["output"]


def _texts(answer: Json) -> list[str]:
    if "content" in answer:
        return [block["text"] for block in answer["content"] if block["type"] == "text"]
    parts = [part for item in answer["output"] if item["type"] == "message" for part in item["content"]]
    return [part["text"] for part in parts if part["type"] == "output_text"]


def _items_of(events: bytes) -> list[Json]:
    """The items as the events that end them hold them."""
    data = [json.loads(block.split("data: ", 1)[1]) for block in events.decode().split("\n\n") if "data: " in block]
    return [event["item"] for event in data if event["type"] == "response.output_item.done"]


@cases("path", PATHS)
def test_whole_and_streamed_are_one_answer(path: str) -> None:
    """But for the calls' arguments, which come as text."""
    message = {
        "role": "assistant",
        "reasoning_content": "Hm.",
        "content": "Let me look.",
        "tool_calls": [{"id": "c0", "type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}],
    }
    whole = {
        "id": "chatcmpl-7",
        "created": 5,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": USAGE,
    }
    (answer,) = answers(CONVERSIONS[path], {}, whole)
    deltas = [{"reasoning_content": "Hm."}, {"content": "Let me "}, {"content": "look."}]
    deltas += [call(0, "", name="find"), call(0, '{"a": '), call(0, "1}")]
    live, read = LiveAnswer(CONVERSIONS[path], {}), SERVED[path]()
    for piece in (*map(chunk, deltas), chunk({}, "tool_calls"), chunk({}, choices=[], usage=USAGE)):
        read.take(live.take(piece))
    read.take(live.end())
    assert read.completion()["choices"][0]["original"] == answer


@cases("path", PATHS)
def test_a_stream_without_a_reason_to_end_is_broken_off(path: str) -> None:
    live = LiveAnswer(CONVERSIONS[path], {})
    live.take(chunk({"content": "Can"}))
    with pytest.raises(UpstreamError, match="broke off"):
        live.end()


@cases("path", PATHS)
def test_a_server_that_says_little_is_read_all_the_same(path: str) -> None:
    """No id, no time, no ids of calls, no reason to end: the answer has them, the same in every event."""
    bare = {"choices": [{"delta": {"tool_calls": [{"function": {"name": "find", "arguments": "{}"}}]}}]}
    live, read = LiveAnswer(CONVERSIONS[path], {}), SERVED[path]()
    stream = b"data: " + orjson.dumps(bare) + b"\n\ndata: [DONE]\n\n"
    events = live.take(stream) + live.end()
    read.take(events)
    answer = read.completion()["choices"][0]["original"]
    assert len(answer["id"]) > 20
    (call_,) = answer["output"] if path == "/responses" else answer["content"]
    assert len(call_.get("call_id", call_["id"])) > 20
    assert events.count(orjson.dumps(answer["id"])) >= (3 if path == "/responses" else 1)


@cases("path", PATHS)
def test_an_error_ends_a_stream(path: str) -> None:
    """In the words of the endpoint, once, and nothing after it."""
    live = LiveAnswer(CONVERSIONS[path], {})
    sent = live.take(b'data: {"error": {"message": "overloaded"}}\n\n' + chunk({"content": "x"})) + live.end()
    assert sent.startswith(b"event: error\n")
    assert b"overloaded" in sent
    assert sent.count(b"event:") == 1
    read = SERVED[path]()
    read.take(sent)
    assert read.failed


def test_a_refusal_and_a_limit_are_said_in_each_endpoints_words() -> None:
    def ends(reason: str, message: Json) -> list[Any]:
        whole = {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}
        response, said = (answers(CONVERSIONS[path], {}, whole)[0] for path in ("/responses", "/messages"))
        return [response["status"], response["incomplete_details"], said["stop_reason"]]

    assert ends("length", {"content": "Can"}) == ["incomplete", {"reason": "max_output_tokens"}, "max_tokens"]
    assert ends("content_filter", {"content": ""}) == ["incomplete", {"reason": "content_filter"}, "refusal"]
    assert ends("stop", {"content": None, "refusal": "No."}) == ["completed", None, "refusal"]
    assert ends("stop", {"content": "Canberra."}) == ["completed", None, "end_turn"]


CITED = {"type": "url_citation", "url_citation": {"url": "https://a.example", "start_index": 0, "end_index": 2, "title": "A"}}  # fmt: skip
GIVEN = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "find", "arguments": {"city": "Rome"}}}
SAYS: list[tuple[str, Json, Any]] = [
    ("thoughts in details", {"reasoning_details": [{"type": "reasoning.text", "text": "Hmm.", "index": 0}]}, "Hmm."),
    ("a summary of thoughts", {"reasoning_details": [{"type": "reasoning.summary", "summary": "Hmm."}]}, "Hmm."),
    ("blocks of thoughts", {"thinking_blocks": [{"type": "thinking", "thinking": "Hmm.", "signature": "s"}]}, "Hmm."),
    ("thoughts said twice", {"reasoning": "Hmm.", "reasoning_content": "Hmm."}, "Hmm."),
    ("arguments as an object", {"tool_calls": [GIVEN]}, "Rome"),
    ("citations", {"annotations": [CITED]}, "https://a.example"),
]


@cases("path", PATHS)
@cases(("name", "said", "kept"), SAYS)
def test_what_both_can_say_is_kept(path: str, name: str, said: Json, kept: str) -> None:
    """In whatever field a server says it, whole and streamed; as a message in place of a delta too."""
    if name == "citations" and path == "/messages":
        return  # its citations quote a text
    message = {"role": "assistant", "content": "Hi"} | said
    answer = {"id": "c", "model": "m", "created": 1, "choices": [{"index": 0, "message": message}]}
    (whole,) = answers(CONVERSIONS[path], {}, answer)
    live = LiveAnswer(CONVERSIONS[path], {})
    streamed = live.take(chunk({"content": "Hi"}) + chunk(said) + chunk({}, "stop")) + live.end()
    other = LiveAnswer(CONVERSIONS[path], {})
    once = {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    at_once = other.take(b"data: " + orjson.dumps(once) + b"\n\n") + other.end()
    for seen in (json.dumps(whole), streamed.decode(), at_once.decode()):
        assert kept in seen
        assert "Hi" in seen
    assert json.dumps(whole).count("Hmm.") <= 1


@cases("path", PATHS)
@cases(
    "raw",
    [
        b'data: {"error": {"message": "slow down", "code": 429}}',
        b'data: {"error": "slow down", "status_code": 429}',
        b'data: {"object": "error", "message": "slow down", "type": "RateLimitError", "code": 429}',
        b'event: error\ndata: {"message": "slow down", "code": 429}',
        b'event: error\ndata: {"detail": "slow down"}',
    ],
)
def test_an_error_in_any_servers_words_is_told(path: str, raw: bytes) -> None:
    """Its text reaches the client, and the stream has ended with it."""
    live = LiveAnswer(CONVERSIONS[path], {})
    seen = live.take(chunk({"content": "Hi"}) + raw + b"\n\n") + live.end()
    assert b"slow down" in seen.split(b"event: error")[1]
