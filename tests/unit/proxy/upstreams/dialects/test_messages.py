"""Messages and their streams, read back by the anthropic library's own accumulator."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hedgerow.proxy.errors import UpstreamError
from hedgerow.proxy.upstreams.dialects import messages
from hedgerow.proxy.upstreams.dialects.messages_stream import ServedMessage
from tests.support.tables import cases

Json = dict[str, Any]
THINKING = {"type": "thinking", "thinking": "Maps come to mind.", "signature": "c2ln"}
TOOL = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"city": "Canberra"}}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def message(*content: Json, **more: Any) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted-1",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "cache_read_input_tokens": 5, "output_tokens": 9},
    } | more


def accumulated(stream: bytes) -> Any:
    """What the anthropic library makes of a stream."""
    from anthropic._models import construct_type_unchecked
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent

    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for block in stream.decode().split("\n\n"):
        if not block.strip():
            continue
        name, data = (line.split(": ", 1)[1] for line in block.splitlines())
        event: Any = construct_type_unchecked(type_=RawMessageStreamEvent, value=json.loads(data))
        assert event.type == name
        if name not in ("message_stop", "ping"):
            snapshot = accumulate_event(event=event, current_snapshot=snapshot, json_bufs=buffers)
    assert name == "message_stop"
    return snapshot


def halves(words: str) -> list[str]:
    return [words[: len(words) // 2], words[len(words) // 2 :]]


def test_a_message_becomes_the_stream_that_its_library_reads_back() -> None:
    answer = message(THINKING, text("Probably Canberra."), TOOL, hedgerow={"confidence": 0.5})
    final = accumulated(b"".join(messages.events(answer, halves)))
    assert final.content[0].thinking == "Maps come to mind."
    assert final.content[0].signature == "c2ln"
    assert final.content[1].text == "Probably Canberra."
    assert final.content[2].input == {"city": "Canberra"}
    assert (final.stop_reason, final.usage.output_tokens, final.usage.input_tokens) == ("end_turn", 9, 12)
    assert final.hedgerow == {"confidence": 0.5}


def test_the_last_text_is_the_answer_and_the_rest_is_kept() -> None:
    from anthropic.types import Message

    answer = message(text("Let me think."), THINKING, text("Canberra."), THINKING, text(" "))
    assert messages.completion(answer)["choices"][0]["message"]["content"] == "Canberra."
    changed = messages.reworded(answer, "Probably Canberra.")
    assert [b.get("text") for b in changed["content"]] == ["Let me think.", None, "Probably Canberra.", None, " "]
    assert answer["content"][2]["text"] == "Canberra."
    assert Message.model_validate(changed).content[2].text == "Probably Canberra."  # type: ignore[union-attr]


def test_neighbouring_texts_are_one_answer() -> None:
    """A citation cuts a text into blocks; what is compared is all that it says, and a text of ours stands in one block."""
    cited = text("is Canberra") | {"citations": [{"type": "web_search_result_location", "url": "u"}]}
    answer = message(text("I will look."), THINKING, text("The capital "), cited, text("."))
    said = messages.completion(answer)["choices"][0]["message"]
    assert (said["content"], said["annotations"]) == ("The capital is Canberra.", cited["citations"])
    changed = messages.reworded(message(THINKING, text("Can"), text("berra."), TOOL), "Probably Canberra.")
    assert changed["content"] == [THINKING, text("Probably Canberra."), TOOL]


def test_calls_refusals_limits_citations_and_tokens_are_read() -> None:
    assert messages.completion(message(TOOL))["choices"][0]["message"]["tool_calls"] == [TOOL]
    refused = messages.completion(message(text("I cannot say."), stop_reason="refusal"))
    assert refused["choices"][0]["message"]["refusal"] == "I cannot say."
    assert (
        messages.completion(message(text("Can"), stop_reason="max_tokens"))["choices"][0]["finish_reason"] == "length"
    )
    cited = text("Canberra.") | {"citations": [{"type": "char_location"}]}
    assert messages.completion(message(cited))["choices"][0]["message"]["annotations"]
    assert messages.completion(message(text("x")))["usage"]["prompt_tokens"] == 17


@cases("odd", [{}, {"content": "text"}, {"choices": []}])
def test_what_is_not_a_message_is_refused(odd: Json) -> None:
    with pytest.raises(ValueError, match="content blocks"):
        messages.completion(odd)


def test_odd_blocks_are_ignored_and_kept() -> None:
    answer = message() | {"content": [None, 3, {"type": "text", "text": None}, {"type": "new_kind", "x": 1}]}
    assert messages.completion(answer)["choices"][0]["message"]["content"] == ""
    assert messages.reworded(answer, "x") == answer
    assert b"new_kind" in b"".join(messages.events(answer, halves))


def test_a_request_is_read_in_the_words_of_chat() -> None:
    body = {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": "Capital of Australia?"}, None],
        "max_tokens": 64,
        "tool_choice": {"type": "any"},
        "output_config": {"format": {"type": "json_schema"}},
    }
    assert messages.as_chat(body) == {
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": "Capital of Australia?"},
        ],
        "max_tokens": 64,
        "tool_choice": "required",
        "response_format": {"type": "json_schema"},
    }


def served(*content: Json) -> tuple[ServedMessage, bytes]:
    stream = ServedMessage()
    return stream, b"".join(map(stream.take, messages.events(message(*content), halves)))


def test_a_stream_that_is_read_to_its_end_is_the_message_that_it_was_made_of() -> None:
    """Thoughts, their signature, citations and the input of a call too."""
    cited = text("Canberra.") | {"citations": [{"type": "char_location", "cited_text": "Canberra is the capital."}]}
    answer = message(THINKING, cited, TOOL, text(""))
    stream, _ = served(THINKING, cited, TOOL, text(""))
    assert stream.completion()["choices"][0]["original"] == answer


def test_the_input_of_a_call_that_was_cut_off_stays_a_text() -> None:
    stream = ServedMessage()
    for event in messages.events(message(TOOL), halves):
        stream.take(event.replace(b'canberra"}', b"canb").replace(b'Canberra\\"}', b"Canb"))
    assert stream.completion()["choices"][0]["original"]["content"][0]["input"] == '{"city":"Canb'


def test_our_sentence_follows_the_last_text() -> None:
    stream, sent = served(THINKING, text("Canberra."))
    assert b"message_delta" not in sent
    assert stream.completion()["choices"][0]["message"]["content"] == "Canberra."
    assert stream.completion()["choices"][0]["original"]["usage"]["output_tokens"] == 9
    ending = b"".join(stream.closing([" This is", " uncertain."], {"hedgerow": {"confidence": 0.5}}, None))
    final = accumulated(sent + ending)
    assert final.content[1].text == "Canberra. This is uncertain."
    assert b'"hedgerow":{"confidence":0.5}' in ending


def test_our_sentence_stands_behind_a_cited_text_in_a_block_of_its_own() -> None:
    """The source did not say it."""
    cited = text("Canberra.") | {"citations": [{"type": "char_location", "cited_text": "Canberra is the capital."}]}
    stream, sent = served(cited)
    final = accumulated(sent + b"".join(stream.closing([" This is", " uncertain."], {}, None)))
    assert [block.text for block in final.content] == ["Canberra.", " This is uncertain."]
    assert [bool(block.citations) for block in final.content] == [True, False]


def test_nothing_said_leaves_the_stream_as_it_was() -> None:
    whole = b"".join(messages.events(message(text("Canberra.")), halves))
    stream, sent = served(text("Canberra."))
    assert sent + b"".join(stream.closing([], {}, None)) == whole


def test_a_text_before_another_block_is_let_go() -> None:
    stream, sent = served(text("Let me look that up."), TOOL)
    assert stream.completion()["choices"][0]["message"]["tool_calls"]
    assert accumulated(sent + b"".join(stream.closing([], {}, None))).content[1].input == {"city": "Canberra"}


def test_a_stream_without_its_end_is_broken_off() -> None:
    stream = ServedMessage()
    for event in list(messages.events(message(text("Canberra.")), halves))[:-1]:
        stream.take(event)
    with pytest.raises(UpstreamError, match="broke off"):
        stream.completion()


def test_an_error_in_a_stream_goes_on_and_is_noticed() -> None:
    stream = ServedMessage()
    event = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "no"}}\n\n'
    assert stream.take(event) == event
    assert stream.failed
