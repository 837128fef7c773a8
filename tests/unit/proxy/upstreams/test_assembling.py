"""Streams put together again: whatever the cuts and the manner of the provider, the completion is the one that was cut."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.errors import UpstreamError
from hedgerow.proxy.upstreams.assembling import Assembly, filled
from hedgerow.proxy.upstreams.dialects import chat
from hedgerow.proxy.upstreams.dialects.chat_stream import ServedChat
from hedgerow.proxy.upstreams.dialects.conversions import CONVERSIONS, LiveAnswer
from hedgerow.proxy.upstreams.dialects.messages_stream import ServedMessage
from hedgerow.proxy.upstreams.dialects.responses_stream import ServedResponse
from hedgerow.proxy.upstreams.dialects.served import ServedStream, whole
from tests.support.tables import cases

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


NAMES = st.sampled_from([
    "index", "id", "type", "name", "content", "text", "arguments", "function", "tool_calls", "delta", "logprobs",
    "choices", "message", "usage", "item", "part", "output", "content_block", "output_index", "content_index",
    "summary_index", "summary", "annotation", "annotations", "citation", "citations", "thinking", "response",
    "error", "partial_json", "input",
])  # fmt: skip
KINDS = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "response.output_item.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.added",
    "response.output_text.annotation.added",
    "response.output_item.done",
    "text_delta",
]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.floats() | st.sampled_from([*KINDS, "", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
)
LAST = {
    ServedChat: {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    ServedResponse: {"type": "response.completed", "response": {"id": "r"}},
    ServedMessage: {"type": "message_stop"},
}


@pytest.mark.parametrize("dialect", LAST)
@given(data=st.data())
def test_events_of_any_form_raise_nothing_else(dialect: type[ServedStream], data: Any) -> None:
    """What is not an event of the endpoint is left out, or the answer is said to be broken."""
    events = data.draw(st.lists(st.dictionaries(NAMES, ODD, max_size=6), max_size=6))
    for event in events:
        event["type"] = data.draw(st.sampled_from(KINDS))
    with contextlib.suppress(UpstreamError):
        assert _read([{"type": "message_start", "message": {"id": "m"}}, *events, LAST[dialect]], dialect())["choices"]


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


def _read(events: list[Any], served: ServedStream | None = None, blank: bytes = b"\n\n") -> dict[str, Any]:
    """The answer of a stream of these events; characters beyond ASCII are escaped, as halves of them may be."""
    raw = b"".join(b"data: " + json.dumps(event).encode() + blank for event in events)

    async def sent() -> Any:
        yield raw

    return asyncio.run(whole(sent(), served or ServedChat()))


def _message(*deltas: Any) -> dict[str, Any]:
    said: dict[str, Any] = _read([*map(_choice, deltas), _choice({}, reason="stop")])["choices"][0]["message"]
    return said


def _call(arguments: str, **names: Any) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": names.pop("name")} if "name" in names else {})
    return {"type": "function", "function": function} | names


TEXTS = st.text(max_size=8)
ARGUMENTS = st.dictionaries(st.text(max_size=4), st.text(max_size=6) | st.integers(), max_size=2).map(json.dumps)


@st.composite
def _cuts(draw: Any, text: str) -> list[str]:
    """A text in pieces; a character beyond the first plane may be cut in two, as servers do that count in UTF-16."""
    units = text.encode("utf-16-be", "surrogatepass")
    places = sorted(draw(st.lists(st.integers(0, len(units) // 2), max_size=3)))
    ends = zip([0, *places], [*places, len(units) // 2], strict=True)
    return [units[2 * start : 2 * end].decode("utf-16-be", "surrogatepass") for start, end in ends]


@st.composite
def _streams(draw: Any) -> tuple[dict[str, Any], list[Any]]:
    """A whole answer, and the chunks in which one provider or another says it."""
    numbering, naming = (
        draw(st.sampled_from(["own", "same", "none"])),
        draw(st.sampled_from(["once", "empty", "again"])),
    )
    answer: dict[str, Any] = HEAD | {"object": "chat.completion", "citations": ["u"], "timings": {"ms": 1.5}}
    message: dict[str, Any] = {"role": "assistant", "content": draw(st.none() | TEXTS)}
    deltas: list[Any] = [] if message["content"] is None else [{"content": p} for p in draw(_cuts(message["content"]))]
    if thought := draw(TEXTS):
        constant = {"type": "reasoning.text", "format": "anthropic-v1", "index": 0}
        message |= {"reasoning_content": thought, "reasoning_details": [constant | {"text": thought, "signature": "s"}]}
        pieces = draw(_cuts(thought))
        deltas += [{"reasoning_content": p, "reasoning_details": [constant | {"text": p}]} for p in pieces]
        deltas.append({"reasoning_details": [constant | {"signature": "s"}]})
    for number, arguments in enumerate(draw(st.lists(ARGUMENTS, max_size=3))):
        names = {"id": f"call_{number}", "name": draw(st.sampled_from(["find", "look"]))}
        message.setdefault("tool_calls", []).append(_call(arguments, **names))
        message["content"] = message["content"] or None
        index = {"own": {"index": number}, "same": {"index": 0}, "none": {}}[numbering]
        later = {"once": {}, "empty": {"id": "", "name": ""}, "again": names}[naming]
        for place, piece in enumerate(draw(_cuts(arguments))):
            deltas.append({"tool_calls": [_call(piece, **(later if place else names), **index)]})
    filters = {"hate": {"filtered": False, "severity": "safe"}}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "stop",
        "logprobs": None,
        "content_filter_results": filters,
    }
    chunks = [_choice(delta) for delta in deltas or [{}]]
    for chunk in chunks:
        chunk["choices"][0]["content_filter_results"] = filters
    chunks.append(_choice({}, reason="stop") | {"citations": ["u"], "timings": {"ms": 1.5}})
    if draw(st.booleans()):  # as Azure opens its streams
        chunks.insert(0, dict.fromkeys(HEAD, "") | {"created": 0, "choices": []})
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    chunks.append(HEAD | {"choices": draw(st.sampled_from([None, []])), "usage": usage})
    return answer | {"choices": [choice], "usage": usage}, chunks


@given(stream=_streams(), blank=st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"]))
def test_an_answer_in_the_manner_of_any_provider_is_itself(stream: tuple[Any, list[Any]], blank: bytes) -> None:
    """Names said once, again or emptied later; calls with their own index, with one for all, or with none; reports at the end."""
    answer, chunks = stream
    assert _read(chunks, blank=blank) == answer


@cases("numbers", [(0, 0), (None, None), (0, 1)])
def test_calls_of_one_name_without_ids_are_told_apart_by_what_is_complete(numbers: Any) -> None:
    """Arguments that are complete do not grow."""
    cities = [_call(json.dumps({"city": city}), name="weather", id="") for city in ("Perth", "Hobart")]
    deltas = [{"tool_calls": [c | ({} if n is None else {"index": n})]} for c, n in zip(cities, numbers, strict=True)]
    assert [call["function"]["arguments"] for call in _message(*deltas)["tool_calls"]] == [
        '{"city": "Perth"}',
        '{"city": "Hobart"}',
    ]


MANY = 20_000
"""So many parts take minutes if each piece is compared with each of them: the time limit of every test ends it."""


@pytest.mark.slow
@cases("numbering", ["own", "same", "none"])
@cases("has_id", [True, False])
def test_many_calls_are_put_together_at_once(numbering: str, has_id: bool) -> None:
    """With an index each, one for all or none; by id or by name; all open at once where their names allow it."""
    index = {"own": lambda n: {"index": n}, "same": lambda _: {"index": 0}, "none": lambda _: {}}[numbering]
    names = [index(n) | ({"id": f"call_{n}"} if has_id else {}) for n in range(MANY)]
    ends = [_call("1}", **name) for name in names]
    starts = [_call('{"a": ', name=f"f{n}", **name) for n, name in enumerate(names)]
    open_at_once = has_id or numbering == "own"
    pieces = [*starts, *ends] if open_at_once else [piece for call in zip(starts, ends, strict=True) for piece in call]
    calls = _message(*({"tool_calls": [piece]} for piece in pieces))["tool_calls"]
    assert calls == [
        _call('{"a": 1}', name=f"f{n}", **({"id": name["id"]} if has_id else {})) for n, name in enumerate(names)
    ]


def test_many_entries_are_put_together_at_once() -> None:
    """Parts that say no text, a chunk that holds all calls, annotations of a text, blocks that grow in turn."""
    sources = [{"type": "url_citation", "url": f"https://a.example/{n}"} for n in range(MANY)]
    calls = [_call("{}", name="f", id=f"call_{n}", index=n) for n in range(MANY)]
    said = _message(*({"annotations": [source]} for source in [*sources, *sources]), {"tool_calls": calls})
    assert (said["annotations"], len(said["tool_calls"])) == (sources, MANY)
    mixed = [*sources, "no object", *({"url": n} for n in range(MANY))]
    assert _message(*({"annotations": [entry]} for entry in mixed))["annotations"] == mixed
    at = {"output_index": 0, "content_index": 0}
    noted = [{"type": "response.output_text.annotation.added", **at, "annotation": source} for source in sources]
    first, *between, last = _of_responses(items=False, output={})
    (item,) = _read([first, *between, *noted, last], ServedResponse())["choices"][0]["original"]["output"]
    assert item["content"][0]["annotations"] == sources
    begun = [
        {"type": "content_block_start", "index": n, "content_block": {"type": "text", "text": ""}} for n in range(MANY)
    ]
    texts = [
        {"type": "content_block_delta", "index": n, "delta": {"type": "text_delta", "text": str(n)}}
        for n in range(MANY)
    ]
    message = {"type": "message_start", "message": {"id": "m", "role": "assistant"}}
    answer = _read([message, *begun, *texts, {"type": "message_stop"}], ServedMessage())["choices"][0]["original"]
    assert [block["text"] for block in answer["content"]] == [str(n) for n in range(MANY)]


R, M = {"id": "r", "summary": "s"}, {"id": "m", "content": "c"}


@cases(
    ("snapshot", "known", "whole_list"),
    [
        ([{"id": "m"}], [R, M], [R, M]),  # the first left out
        ([{"id": "r"}], [R, M], [R, M]),
        ([{"id": "m"}, {"id": "r"}], [R, M], [R, M]),
        ([{"id": "m"}, {"id": "z"}], [R, M], [R, M, {"id": "z"}]),
        ([{"id": "z"}, {"id": "m"}], [M], [{"id": "z"}, M]),
        ([{"id": "m"}, {"id": "m"}], [M], [M, {"id": "m"}]),
        ([{"type": "x"}, {"id": "m"}], [R, M, {"k": 1}], [R, M, {"k": 1, "type": "x"}]),
        ([{"id": "y"}], [R, M], [{"id": "y"}, M]),  # all ids are new: by position
        ([{"type": "x"}, {}], [{"text": "a"}, {"text": "b"}, {"text": "c"}], [{"text": "a", "type": "x"}, {"text": "b"}, {"text": "c"}]),
        (["a"], ["b", "c"], ["a", "c"]),
    ],
)  # fmt: skip
def test_a_snapshot_is_joined_with_what_has_its_id(snapshot: Any, known: Any, whole_list: Any) -> None:
    """Nothing is doubled and nothing is lost if the last event leaves an item out."""
    assert filled(snapshot, known) == whole_list


def test_an_item_that_the_last_event_left_out_doubles_no_other() -> None:
    """The reasoning is not in the last event's output, the message is."""
    events = _of_responses(items=False, output={"output": [{"id": "m", "type": "message", "role": "assistant"}]})
    for event in events[1:-1]:
        event["output_index"] = 1
    events.insert(1, {"type": "response.output_item.added", "output_index": 0, "item": R | {"type": "reasoning"}})
    answer = _read(events, ServedResponse())["choices"][0]
    assert [item["id"] for item in answer["original"]["output"]] == ["r", "m"]
    assert answer["message"]["content"] == "Canberra."


def test_a_legacy_call_keeps_its_name() -> None:
    """Later chunks name it with an empty string."""
    said = _message(
        {"function_call": {"name": "f", "arguments": ""}}, {"function_call": {"name": "", "arguments": "{}"}}
    )
    assert said["function_call"] == {"name": "f", "arguments": "{}"}


def test_a_content_of_parts_is_read_as_parts() -> None:
    """Mistral's reasoning models: a text first, then thoughts in parts, then texts again."""
    thought = [{"content": [{"type": "thinking", "thinking": [{"type": "text", "text": t}]}]} for t in ("Hm", "m.")]
    expected = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm."}]},
        {"type": "text", "text": "Can" + "berra."},
    ]
    for last in ({"content": "berra."}, {"content": [{"type": "text", "text": "berra."}]}):
        assert _message({"content": ""}, *thought, {"content": "Can"}, last)["content"] == expected


def test_numbers_that_are_not_json_and_halves_of_characters_cost_nothing_else() -> None:
    """As every client in Python reads them; what is left of a character at the end is marked."""
    raw = b'\xef\xbb\xbfdata: {"choices": [{"delta": {"content": "Perth \\ud83d"}, "finish_reason": "length"}], "tps": Infinity}\n\n'

    async def sent() -> Any:
        yield raw

    answer = asyncio.run(whole(sent(), ServedChat()))
    assert (answer["choices"][0]["message"]["content"], answer["tps"]) == ("Perth \ufffd", None)


def _of_responses(*, items: bool, output: Any) -> list[Any]:
    part = {"type": "output_text", "text": "", "annotations": []}
    item = {"id": "m", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    at = {"item_id": "m", "output_index": 0, "content_index": 0}
    events: list[Any] = [{"type": "response.created", "response": {"id": "r", "model": "m", "output": []}}]
    events += [{"type": "response.output_item.added", "output_index": 0, "item": item}] if items else []
    events += [{"type": "response.content_part.added", **at, "part": part}] if items else []
    events += [{"type": "response.output_text.delta", **at, "delta": piece} for piece in ("Can", "berra.")]
    done = item | {"status": "completed", "content": [part | {"text": "Canberra."}]}
    events += [{"type": "response.output_item.done", "output_index": 0, "item": done}] if items else []
    return [*events, {"type": "response.completed", "response": {"id": "r", "status": "completed"} | output}]


@cases("items", [True, False])
@cases("output", [{}, {"output": []}, {"output": None}])
def test_what_the_last_event_lacks_is_filled_from_the_items(items: bool, output: Any) -> None:
    """ChatGPT's own backend ends with an empty list."""
    answer = _read(_of_responses(items=items, output=output), ServedResponse())["choices"][0]
    (item,) = answer["original"]["output"]
    assert (answer["message"]["content"], item["content"][0]["text"]) == ("Canberra.", "Canberra.")
    assert (answer["original"]["model"], answer["original"]["status"]) == ("m", "completed")


def test_arguments_and_summaries_of_items_without_an_end_are_whole() -> None:
    """Each delta goes where its kind says."""
    reasoning, call, code = (
        {"id": str(n), "type": kind} for n, kind in enumerate(["reasoning", "function_call", "code_interpreter_call"])
    )
    events: list[Any] = [
        {"type": "response.output_item.added", "output_index": n, "item": item}
        for n, item in enumerate([reasoning | {"summary": []}, call | {"arguments": "", "name": "f"}, code])
    ]
    for kind, place in (
        ("reasoning_summary_text", 0),
        ("function_call_arguments", 1),
        ("code_interpreter_call_code", 2),
    ):
        where = {"output_index": place} | ({"summary_index": 0} if place == 0 else {})
        events += [{"type": f"response.{kind}.delta", **where, "delta": piece} for piece in ("a", "b")]
    answer = _read([*events, {"type": "response.completed", "response": {"id": "r"}}], ServedResponse())
    assert answer["choices"][0]["original"]["output"] == [
        reasoning | {"summary": [{"type": "summary_text", "text": "ab"}]},
        call | {"arguments": "ab", "name": "f"},
        code | {"code": "ab"},
    ]


def test_pieces_go_to_the_block_that_they_name_and_nothing_of_a_message_is_lost() -> None:
    """Two calls open at once, a compaction, and fields of the last event."""
    blocks = [
        {"type": "compaction", "content": None},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        {"type": "tool_use", "id": "b", "name": "g", "input": {}},
    ]
    deltas = [(0, {"type": "compaction_delta", "content": piece}) for piece in ("Sum", "mary")]
    for piece in ('{"x": ', "1}"):
        deltas += [(index, {"type": "input_json_delta", "partial_json": piece}) for index in (1, 2)]
    usage = {"input_tokens": 3, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "stop_reason": None, "usage": usage}
    edits = {"context_management": {"applied_edits": [{"type": "clear"}]}}
    answer = _read(
        [
            {"type": "message_start", "message": message},
            *({"type": "content_block_start", "index": i, "content_block": b} for i, b in enumerate(blocks)),
            *({"type": "content_block_delta", "index": i, "delta": delta} for i, delta in deltas),
            *({"type": "content_block_stop", "index": i} for i in range(3)),
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5, "input_tokens": None}} | edits,
            {"type": "message_stop"},
        ],
        ServedMessage(),
    )  # fmt: skip
    whole_blocks = [
        blocks[0] | {"content": "Summary"},
        blocks[1] | {"input": {"x": 1}},
        blocks[2] | {"input": {"x": 1}},
    ]
    said = {"content": whole_blocks, "stop_reason": "tool_use", "usage": usage | {"output_tokens": 5}}
    assert answer["choices"][0]["original"] == message | said | edits


@cases("numbers", [(0, 0), (None, None)])
@cases("path", ["/responses", "/messages"])
def test_parallel_calls_stay_apart_in_other_words_too(numbers: Any, path: str) -> None:
    """The same rule for answers that are put into another endpoint's words."""
    live = LiveAnswer(CONVERSIONS[path], {"model": "m", "input": "x", "messages": []})
    chunks: list[Any] = [dict.fromkeys(HEAD, "") | {"created": 0, "choices": []}]
    for number, index in enumerate(numbers):
        call = _call(json.dumps({"n": number}), id=f"call_{number}", name=f"f{number}")
        chunks.append(_choice({"tool_calls": [call | ({} if index is None else {"index": index})]}))
    chunks.append(_choice({}, reason="tool_calls"))
    raw = live.take(b"".join(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks)) + live.end()
    served = {"/responses": ServedResponse, "/messages": ServedMessage}[path]()
    served.take(raw)
    answer = served.completion()
    calls = answer["choices"][0]["message"]["tool_calls"]
    said = [call.get("arguments") or orjson.dumps(call.get("input")).decode() for call in calls]
    assert ([call["name"] for call in calls], [orjson.loads(text) for text in said]) == (
        ["f0", "f1"],
        [{"n": 0}, {"n": 1}],
    )
    assert answer["model"] == "m"


PARTS = st.lists(
    st.builds(lambda t: {"type": "text", "text": t}, st.text(min_size=1, max_size=8))
    | st.builds(lambda t: {"type": "thinking", "thinking": [{"type": "text", "text": t}]}, st.text(min_size=1, max_size=8)),
    min_size=1,
    max_size=1,
)  # fmt: skip


@given(stream=_streams(), parts=st.none() | PARTS, reason=st.sampled_from(["stop", "length", "content_filter"]))
def test_an_answer_that_is_sent_as_a_stream_is_itself(stream: tuple[Any, list[Any]], parts: Any, reason: str) -> None:
    """Whatever describes it: thoughts, calls, filter results, reports, a content of parts."""
    answer, _ = stream
    message = answer["choices"][0]["message"] | ({} if parts is None else {"content": parts})
    answer["choices"][0] |= {"message": message, "finish_reason": reason}
    raw = b"".join(chat.events(answer, lambda text: [text[:3], text[3:]], True))
    served = ServedChat()
    served.take(raw)
    assert served.completion() == answer
