"""The real anthropic client on `/v1/messages`: calibrated like a chat, and every block that is not the answer's text stays as it was."""

from __future__ import annotations

import time
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.dialects.messages import events
from tests.contract.test_failures import rows_of
from tests.support.messages import message, speaks
from tests.support.upstream import Upstream, completion

ASK: Any = {
    "model": "m",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "What is the capital of Australia?"}],
}
UNSURE = ["Canberra."] * 6 + ["Sydney."] * 2 + ["Melbourne.", "Perth."]
THINKING = {"type": "thinking", "thinking": "Maps come to mind.", "signature": "c2ln"}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"city": "x"}}
TOOL: Any = {"name": "find", "description": "Finds.", "input_schema": {"type": "object", "properties": {}}}


def test_an_unsure_message_is_hedged(serve: Any, claude_of: Any, upstream: Upstream, tmp_path: Any) -> None:
    """The text is reworded; thinking and tokens are the upstream's."""
    upstream.default = speaks(*UNSURE, before=(THINKING,))
    answer = claude_of(serve()).messages.create(**ASK, system="Be brief.")
    assert answer.content[0].thinking == "Maps come to mind."
    assert "Canberra" in answer.content[1].text
    assert answer.content[1].text != "Canberra."
    assert (answer.usage.output_tokens, answer.usage.cache_read_input_tokens) == (3, 2)
    field = answer.hedgerow
    assert (field["status"], field["clusters"]) == ("hedged", [6, 2, 1, 1])
    assert field["usage"]["samples"] == {
        "prompt_tokens": 81,
        "completion_tokens": 27,
        "cached_tokens": 18,
        "reasoning_tokens": 0,
        "cost": None,
    }
    assert {call["system"] for call in upstream.calls} == {"Be brief."}
    assert all(headers["anthropic-version"] for headers in upstream.headers)
    (row,) = rows_of(tmp_path, 1)
    assert (row["path"], row["response_id"]) == ("/v1/messages", answer.id)


@pytest.mark.parametrize("stream", ["buffer", "append"])
def test_a_stream_is_what_its_client_accumulates(
    serve: Any, claude_of: Any, upstream: Upstream, stream: str, tmp_path: Any
) -> None:
    """The text that arrives piece by piece is that of the final message, and hedged."""
    upstream.default = speaks(*UNSURE, before=(THINKING,))
    with claude_of(serve(stream=stream)).messages.stream(**ASK) as events_:
        text = "".join(events_.text_stream)
        final = events_.get_final_message()
    assert final.content[1].text == text
    assert "Canberra" in text
    assert text != "Canberra."
    assert (final.content[0].thinking, final.content[0].signature) == ("Maps come to mind.", "c2ln")
    assert (final.stop_reason, final.usage.output_tokens) == ("end_turn", 3)
    assert rows_of(tmp_path, 1)[0]["status"] == "hedged"


def test_calls_of_tools_stay_as_they_are(serve: Any, claude_of: Any, upstream: Upstream) -> None:
    """One answer is drawn, to see; it is a call, and goes on."""
    upstream.default = lambda *_: JSONResponse(message({"type": "text", "text": "Let me look."}, TOOL_USE))
    answer = claude_of(serve()).messages.create(**ASK, tools=[TOOL])
    assert answer.content[1].input == {"city": "x"}
    assert answer.hedgerow["reason"] == "tool_calls"
    assert len(upstream.calls) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"mcp_servers": [{"type": "url", "url": "http://x", "name": "mail"}]},
        {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
    ],
)
def test_tools_that_act_act_once(serve: Any, claude_of: Any, upstream: Upstream, more: Any, tmp_path: Any) -> None:
    """The provider runs them itself: every sample would do so again."""
    upstream.default = speaks(*UNSURE)
    answer = claude_of(serve()).messages.create(**ASK, extra_body=more)
    assert answer.content[0].text == "Canberra."
    assert len(upstream.calls) == 1
    assert rows_of(tmp_path, 1)[0]["reason"] == "acting_tools"


@pytest.mark.parametrize("stream", ["buffer", "append"])
def test_a_paused_turn_goes_on_as_it_is(serve: Any, claude_of: Any, upstream: Upstream, stream: str) -> None:
    """It is not an answer yet: the client sends it back, and the provider searches on. No further search is begun."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "capital"}}
    paused = message({"type": "text", "text": "The capital may be Sydney."}, search) | {"stop_reason": "pause_turn"}

    def reply(_request: Any, body: Any) -> Any:
        data = b"".join(events(paused, lambda text: [text]))
        return Response(data, media_type="text/event-stream") if body.get("stream") else JSONResponse(paused)

    upstream.default = reply
    client, ask = (
        claude_of(serve(stream=stream)),
        ASK | {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    )
    answers = [client.messages.create(**ask)]
    assert answers[0].hedgerow["reason"] == "tool_calls"
    with client.messages.stream(**ask) as events_:
        answers.append(events_.get_final_message())
    for answer in answers:
        assert (answer.content[0].text, answer.stop_reason) == ("The capital may be Sydney.", "pause_turn")
        assert answer.content[1].input == {"query": "capital"}
    assert len(upstream.calls) == 2


def test_counting_tokens_is_passed_on(serve: Any, claude_of: Any, upstream: Upstream) -> None:
    """What lies below the path is the upstream's."""
    upstream.default = lambda *_: JSONResponse({"input_tokens": 14})
    asked = {name: ASK[name] for name in ("model", "messages")}
    assert claude_of(serve()).messages.count_tokens(**asked).input_tokens == 14


def test_our_errors_are_in_the_form_that_its_clients_know(serve: Any, claude_of: Any, upstream: Upstream) -> None:
    """An upstream that answers with a chat is named; a request without messages is refused; both as Anthropic's error objects."""
    import anthropic

    upstream.default = lambda *_: JSONResponse(completion("Canberra."))
    client = claude_of(serve())
    with pytest.raises(anthropic.APIStatusError, match="without a list of content blocks") as failure:
        client.messages.create(**ASK)
    assert failure.value.body["error"]["type"] == "api_error"
    with pytest.raises(anthropic.BadRequestError, match="`messages` is missing") as refusal:
        client.post("/v1/messages", body={"model": "m"}, cast_to=object)
    assert refusal.value.body == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "`messages` is missing"},
    }


def test_an_upstreams_own_error_stays_its_own(serve: Any, claude_of: Any, upstream: Upstream) -> None:
    """Status and object as they came."""
    import anthropic

    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    upstream.default = lambda *_: JSONResponse(body, 529)
    with pytest.raises(anthropic.APIStatusError) as failure:
        claude_of(serve()).messages.create(**ASK)
    assert (failure.value.status_code, failure.value.body) == (529, body)


def test_shadow_compares_what_was_served(serve: Any, claude_of: Any, upstream: Upstream, tmp_path: Any) -> None:
    """The client sees no trace; the row holds the confidence, for a stream too."""
    upstream.default = speaks("Canberra.", *UNSURE)
    with claude_of(serve(mode="shadow")).messages.stream(**ASK) as events_:
        assert events_.get_final_text() == "Canberra."
    (row,) = rows_of(tmp_path, 1)
    assert (row["mode"], row["served_agrees"], row["response_id"]) == ("shadow", True, "msg_0")


@pytest.mark.parametrize("stream", [True, False])
def test_calls_read_from_streams_keep_their_input(serve: Any, claude_of: Any, upstream: Upstream, stream: bool) -> None:
    """Of an upstream that answers in streams alone; in `append` the fields of the served call are measured by what it says."""

    def reply(_request: Any, body: dict[str, Any]) -> Any:
        if not (body.get("stream") or stream):
            return JSONResponse({"type": "error", "error": {"message": "`stream` must be true"}}, 400)
        answer = message(TOOL_USE)
        if not body.get("stream"):
            return JSONResponse(answer)
        return Response(b"".join(events(answer, lambda text: [text])), media_type="text/event-stream")

    upstream.default = reply
    address = serve(stream="append" if stream else "buffer", tool_calls="measure")
    with claude_of(address).messages.stream(**ASK, tools=[TOOL]) as events_:
        seen = list(events_)
        final = events_.get_final_message()
    assert final.content[0].input == {"city": "x"}
    (field,) = [event.hedgerow for event in seen if event.type == "message_delta"]
    assert field["fields"]["$[0].arguments.city"]["raw"]["mean"] == 1.0


def test_comments_before_the_first_event_are_not_in_the_way(serve: Any, claude_of: Any, upstream: Upstream) -> None:
    """While the pipeline works, comment lines keep the stream open; the client reads over them."""
    replies = speaks(*UNSURE)

    def slow(request: Any, body: Any) -> Any:
        time.sleep(0.1)
        return replies(request, body)

    upstream.default = slow
    address = serve(settings={"server": {"keep_alive_s": 0.05}})
    with claude_of(address).messages.stream(**ASK) as events_:
        assert "Canberra" in events_.get_final_text()
