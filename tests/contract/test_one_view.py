"""The same conversation of an agent is treated in one way, whichever endpoint it is told on."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from tests.support import messages as messages_support
from tests.support import responses as responses_support
from tests.support.upstream import Upstream, completion

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
