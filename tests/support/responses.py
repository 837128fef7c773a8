"""What a scripted provider says on `/v1/responses`."""

from __future__ import annotations

import itertools
from typing import Any

from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.dialects.responses import events


def message(text: str) -> dict[str, Any]:
    """An item that says a text."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def response(*output: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """A response of these items."""
    details = {"input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 2}}
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1700000000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "scripted-1",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10} | details,
    }


def responds(*texts: str, before: tuple[dict[str, Any], ...] = ()) -> Any:
    """The first text for what is to be kept, the others in turn; as a stream where one is asked for."""
    samples = itertools.cycle(enumerate(texts[1:] or texts, start=1))

    def reply(_request: Any, body: dict[str, Any]) -> Any:
        number, text = (0, texts[0]) if body.get("store") is not False else next(samples)
        answer = response(*before, message(text), number=number)
        if not body.get("stream"):
            return JSONResponse(answer)
        return Response(b"".join(events(answer, lambda text: [text])), media_type="text/event-stream")

    return reply
