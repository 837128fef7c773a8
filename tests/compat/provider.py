"""A scripted provider that speaks every endpoint: the outside world of the clients. Its answers depend on the request and on its turn."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.dialects import messages, responses
from tests.support.upstream import sse_response, stream_chunks

Json = dict[str, Any]
TEXTS = ("Canberra.",) * 7 + ("Sydney.", "Melbourne.", "Perth.")
CITY = '{"name":"Canberra","population":450000}'
HEADERS = {"x-request-id": "req_scripted", "x-ratelimit-remaining-requests": "99"}
ARGUMENTS = '{"city":"Canberra"}'


class Provider:
    """An ASGI application. `reset` begins anew, so that every client meets the same provider."""

    def __init__(self) -> None:
        self._turn = 0

    def reset(self) -> None:
        """Forget who asked."""
        self._turn = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        data = await request.body()
        try:
            body = json.loads(data) if data else {}
        except ValueError:
            body = {}
        try:
            answer = self._answer(request.url.path, body if isinstance(body, dict) else {})
        except (TypeError, ValueError, AttributeError) as error:  # a body of another form than this provider takes
            answer = _json({"error": {"message": str(error), "type": "invalid_request_error", "code": None}}, 400)
        await answer(scope, receive, send)

    def _answer(self, path: str, body: Json) -> Response:
        if path.endswith("/chat/completions"):
            return self._chat(body)
        if path.endswith("/completions"):
            texts = self._texts(body, body.get("n") or 1)
            choices = [{"index": i, "finish_reason": "stop", "logprobs": None, "text": t} for i, t in enumerate(texts)]
            return _json(_completion(choices, len(texts)) | {"object": "text_completion"})
        if path.endswith("/responses"):
            return self._response(body)
        if path.endswith("/messages"):
            return self._message(body)
        if path.endswith("/embeddings"):
            return _json(
                {"object": "list", "model": "m", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]}
            )
        if path.endswith("/models"):
            return _json({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}]})
        return _json({"error": {"message": f"nothing at {path}", "type": "invalid_request_error", "code": None}}, 404)

    def _texts(self, body: Json, n: int) -> list[str]:
        if "JSON" in json.dumps(body) or "json_schema" in json.dumps(body):
            return [CITY] * n
        start, self._turn = self._turn, self._turn + n
        return [TEXTS[(start + i) % len(TEXTS)] for i in range(n)]

    def _chat(self, body: Json) -> Response:
        if _wants_tool(body, "tool"):
            return _chat_call(body)
        texts = self._texts(body, body.get("n") or 1)
        if body.get("stream"):
            events: list[Any] = [*stream_chunks(texts[0])]
            if (body.get("stream_options") or {}).get("include_usage"):
                head = {key: value for key, value in events[0].items() if key != "choices"}
                events.append(head | {"choices": [], "usage": _usage(1)})
            return sse_response([*events, "[DONE]"])
        choices = [
            {"index": i, "finish_reason": "stop", "logprobs": None, "message": {"role": "assistant", "content": text}}
            for i, text in enumerate(texts)
        ]
        return _json(_completion(choices, len(texts)))

    def _response(self, body: Json) -> Response:
        call = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": _tool(body)}
        part = {"type": "output_text", "annotations": [], "logprobs": []}
        said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
        if _wants_tool(body, "function_call_output"):
            output: list[Json] = [call | {"arguments": ARGUMENTS}]
        else:
            output = [said | {"content": [part | {"text": self._texts(body, 1)[0]}]}]
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        answer = {
            "id": "resp_scripted",
            "object": "response",
            "created_at": 1700000000,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": "scripted-1",
            "output": output,
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "top_p": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10} | details,
        }
        if body.get("stream"):
            return _stream(b"".join(responses.events(answer, _words)))
        return _json(answer)

    def _message(self, body: Json) -> Response:
        if _wants_tool(body, "tool_result"):
            content: list[Json] = [
                {"type": "tool_use", "id": "toolu_1", "name": _tool(body), "input": {"city": "Canberra"}}
            ]
        else:
            content = [{"type": "text", "text": self._texts(body, 1)[0]}]
        answer = {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": "scripted-1",
            "content": content,
            "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
        if body.get("stream"):
            return _stream(b"".join(messages.events(answer, _words)))
        return _json(answer)


def _words(text: str) -> list[str]:
    return [word + " " for word in text.split(" ")[:-1]] + [text.split(" ")[-1]]


def _wants_tool(body: Json, answered: str) -> bool:
    """Whether a tool is to be called: one is offered, weather is asked for, and no result is there yet."""
    text = json.dumps(body)
    return bool(body.get("tools")) and "weather" in text and f'"{answered}"' not in text.replace('"type": "tool"', "")


def _tool(body: Json) -> str:
    tool = (body.get("tools") or [{}])[0]
    return str(tool.get("name") or tool.get("function", {}).get("name") or "weather")


def _chat_call(body: Json) -> Response:
    call = {"id": "call_1", "type": "function", "function": {"name": _tool(body), "arguments": ARGUMENTS}}
    if body.get("stream"):
        first, last = stream_chunks("x")[0], stream_chunks("x")[-1]
        first["choices"][0]["delta"] = {"role": "assistant", "content": None, "tool_calls": [{"index": 0} | call]}
        last["choices"][0]["finish_reason"] = "tool_calls"
        return sse_response([first, last, "[DONE]"])
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return _json(_completion([{"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}], 1))


def _completion(choices: list[Json], n: int) -> Json:
    head = {"id": "chatcmpl-scripted", "object": "chat.completion", "created": 1700000000, "model": "scripted-1"}
    return head | {"choices": choices, "usage": _usage(n)}


def _usage(n: int) -> Json:
    return {"prompt_tokens": 7, "completion_tokens": 3 * n, "total_tokens": 7 + 3 * n}


def _json(content: Any, status: int = 200) -> Response:
    return JSONResponse(content, status, HEADERS)


def _stream(data: bytes) -> Response:
    return Response(data, media_type="text/event-stream", headers=HEADERS)
