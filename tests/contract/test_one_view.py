"""The same conversation of an agent is treated in one way, whichever endpoint it is told on."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, StreamingResponse

from tests.contract.test_failures import rows_of
from tests.contract.test_manners import MODES
from tests.support import messages as messages_support
from tests.support import responses as responses_support
from tests.support.upstream import Upstream, completion, says, stream_chunks

CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
REMINDER = "<system-reminder>Write a short commit message.</system-reminder>"


def _chat(question: str, result: str, before: str) -> Any:
    called = {"role": "assistant", "content": before or None, "tool_calls": [CALL]}
    turns = [{"role": "user", "content": question}, called, {"role": "tool", "tool_call_id": "c", "content": result}]
    return "/v1/chat/completions", {"messages": turns, "tools": [{"type": "function", "function": {"name": "read"}}]}


def _responses(question: str, result: str, before: str) -> Any:
    items: list[Any] = [{"role": "user", "content": question}]
    items += [{"role": "assistant", "content": before}] if before else []
    items.append({"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"})
    items.append({"type": "function_call_output", "call_id": "c", "output": result})
    return "/v1/responses", {"input": items, "tools": [{"type": "function", "name": "read"}]}


def _messages(question: str, result: str, before: str) -> Any:
    said: list[Any] = [{"type": "text", "text": before}] if before else []
    call = {"type": "tool_use", "id": "c", "name": "read", "input": {}}
    done = [{"type": "tool_result", "tool_use_id": "c", "content": result}, {"type": "text", "text": REMINDER}]
    turns = [{"role": "user", "content": question}, {"role": "assistant", "content": [*said, call]}]
    return "/v1/messages", {"messages": [*turns, {"role": "user", "content": done}], "tools": [{"name": "read"}], "max_tokens": 99}  # fmt: skip


CASES = {
    "a claim": ("When is the release of notes?", "14 March", "", "hedged"),
    "a claim after a sentence": ("When is the release of notes?", "14 March", "I'll look.", "hedged"),
    "a task": ("There is a bug in calc.py. Fix it.", "ok", "", "not_a_claim"),
    "a form in a result": (
        "What is the capital of Australia? Look it up.",
        "Write a short commit message.",
        "",
        "hedged",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_turn_of_an_agent_is_seen_alike_on_every_endpoint(
    serve: Any, upstream: Upstream, lines: Any, case: str
) -> None:
    """The question is the user's own; results of tools and reminders beside them are no instructions."""
    question, result, before, expected = CASES[case]
    turn = itertools.cycle(
        ("It is 14 March.", "It is 15 April.", "It is 14 March.", "It is 16 May.", "It is 14 March.")
    )

    def reply(request: Any, body: Any) -> Any:
        texts = [next(turn) for _ in range(body.get("n") or 1)]
        if request.url.path.endswith("/responses"):
            return JSONResponse(responses_support.response(responses_support.message(texts[0])))
        if request.url.path.endswith("/messages"):
            return JSONResponse(messages_support.message({"type": "text", "text": texts[0]}))
        return JSONResponse(completion(*texts))

    upstream.default = reply
    address = serve(sampling={"n": 5})
    for told in (_chat, _responses, _messages):
        path, body = told(question, result, before)
        got = httpx.post(address + path, json={"model": "m", "store": False} | body).json()
        field = got.get("hedgerow", {})
        assert expected in (field.get("status"), field.get("reason"), lines.of("request")[-1]["reason"]), (path, field)


def _answers(upstream: Upstream) -> int:
    return sum(body.get("n") or 1 for body in upstream.calls)


CODER = "Think, then write code in ```python blocks."
STEPS: dict[str, tuple[list[Any], str]] = {
    "title": ([{"role": "user", "content": "Create a concise title for this chat:\nWho is the mayor of Rome?"}], "Mayor of Rome"),
    "code": ([{"role": "system", "content": CODER}, {"role": "user", "content": "How many apples are there?"}], "```python\ncount()\n```"),
    "ReAct": ([{"role": "system", "content": "Thought: think\nAction: act"}, {"role": "user", "content": "Who won?"}], "Thought: look it up.\nAction: search"),
    "typed": ([{"role": "system", "content": "[[ ## answer ## ]]\n{answer}"}, {"role": "user", "content": "Who won?"}], "[[ ## answer ## ]]\nRome"),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("step", STEPS)
def test_what_is_never_reworded_nor_measured_costs_what_it_costs_direct(
    serve: Any, upstream: Upstream, mode: str, step: str
) -> None:
    """Titles, and turns of agents that are text for a program: one answer, as it came."""
    messages, text = STEPS[step]
    upstream.default = says(text)
    address = serve(**MODES[mode])
    for stream in (False, True):
        upstream.calls.clear()
        got = httpx.post(address + "/v1/chat/completions", json={"model": "m", "messages": messages, "stream": stream})
        assert got.status_code == 200
        assert stream or got.json()["choices"][0]["message"]["content"] == text
        assert _answers(upstream) == 1


@pytest.mark.parametrize("tools", [False, True])
def test_shadow_draws_as_many_answers_as_on(serve: Any, upstream: Upstream, tmp_path: Any, tools: bool) -> None:
    """The answer that the client has is one of them."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    offered = {"tools": [{"type": "function", "function": {"name": "read"}}]} if tools else {}
    body = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]} | offered
    for mode in ("on", "shadow"):
        upstream.calls.clear()
        httpx.post(serve(mode=mode, sampling={"n": 6}) + "/v1/chat/completions", json=body)
        rows = rows_of(tmp_path, 1 + (mode == "shadow"))
        assert (rows[-1]["mode"], rows[-1]["samples"], _answers(upstream)) == (mode, 6, 6)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_a_client_that_closes_at_the_last_event_has_had_its_answer(
    serve: Any, upstream: Upstream, tmp_path: Any, path: str
) -> None:
    """The connection may end later: the row is that of a complete answer, and it is measured."""
    chat = [*(f"data: {json.dumps(chunk)}\n\n" for chunk in stream_chunks("Canberra.")), "data: [DONE]\n\n"]
    response = responses_support.response(responses_support.message("Canberra."))
    said = messages_support.message({"type": "text", "text": "Canberra."})
    events, last = {
        "/v1/chat/completions": ([part.encode() for part in chat], b"[DONE]"),
        "/v1/responses": (responses_support.events(response, lambda text: [text]), b"response.completed"),
        "/v1/messages": (messages_support.events(said, lambda text: [text]), b"event: message_stop"),
    }[path]
    data = b"".join(events)

    async def still_open() -> Any:
        yield data
        await asyncio.sleep(60)

    upstream.enqueue(lambda _request, _body: StreamingResponse(still_open(), media_type="text/event-stream"))
    upstream.default = {
        "/v1/chat/completions": says("Canberra."),
        "/v1/responses": responses_support.responds("Canberra."),
        "/v1/messages": messages_support.speaks("Canberra."),
    }[path]
    ask = "What is the capital of Australia?"
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": ask}],
        "input": ask,
        "max_tokens": 99,
        "stream": True,
    }
    with httpx.stream("POST", serve(mode="shadow", sampling={"n": 3}) + path, json=body) as got:
        came = b""
        for piece in got.iter_raw():
            came += piece
            if last in came and came.endswith(b"\n\n"):
                break
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["samples"]) == ("plain", 3)
