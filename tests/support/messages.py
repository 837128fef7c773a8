"""What a scripted provider says on `/v1/messages`."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.dialects.messages import events


def message(*content: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """A message of these blocks."""
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "scripted-1",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 2},
    }


def speaks(*texts: str, before: tuple[dict[str, Any], ...] = ()) -> Any:
    """One text a call, in turn; as a stream where one is asked for."""
    turn = 0

    def reply(_request: Any, body: dict[str, Any]) -> Any:
        nonlocal turn
        answer = message(*before, {"type": "text", "text": texts[turn % len(texts)]}, number=turn)
        turn += 1
        if not body.get("stream"):
            return JSONResponse(answer)
        return Response(b"".join(events(answer, lambda text: [text])), media_type="text/event-stream")

    return reply
