"""A scripted provider that speaks every endpoint: the outside world of the clients. Its answers depend on the request; those to samples
on their turn."""

from __future__ import annotations

import gzip
import json
import re
from itertools import count
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.dialects import messages, responses
from tests.support.upstream import sse_response, stream_chunks

Json = dict[str, Any]
NAMES = ("Canberra",) * 7 + ("Sydney", "Melbourne", "Perth")
"""What ten answers in a row say: seven of ten agree, so that an answer by agreement has the confidence 0.7."""
SAMPLED_AT = 0.917
"""The temperature that tells a proxy's samples from a client's own calls: the samples of a shadow route come when they come, and must not change what the
client is answered next."""
HEADERS = {"x-request-id": "req_scripted", "x-ratelimit-remaining-requests": "99"}


class Provider:
    """An ASGI application. `reset` begins anew, so that every client meets the same provider; ids of answers never come again."""

    def __init__(self) -> None:
        self._turn = 0
        self._ids = count(1)

    def reset(self) -> None:
        """Forget who asked."""
        self._turn = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        data = await request.body()
        if request.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        try:
            body = json.loads(data) if request.method == "POST" else {}
            answer = self._answer(request.url.path, {**body})
        except (TypeError, ValueError, AttributeError, KeyError) as error:  # a body of another form than this one takes
            answer = _json({"error": {"message": str(error), "type": "invalid_request_error", "code": None}}, 400)
        await answer(scope, receive, send)

    def _answer(self, path: str, body: Json) -> Response:
        if path.endswith("/chat/completions"):
            return self._chat(body)
        if path.endswith("/completions"):
            texts = self._texts(body, _number(body))
            choices = [{"index": i, "finish_reason": "stop", "logprobs": None, "text": t} for i, t in enumerate(texts)]
            return _json(self._completion(choices) | {"object": "text_completion"})
        if path.endswith("/responses"):
            return self._response(body)
        if path.endswith("/messages"):
            return self._message(body)
        if path.endswith("/embeddings"):
            data = [{"object": "embedding", "index": 0, "embedding": [0.5]}]
            return _json({"object": "list", "model": "m", "data": data})
        if path.endswith("/models"):
            return _json({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}]})
        return _json({"error": {"message": f"nothing at {path}", "type": "invalid_request_error", "code": None}}, 404)

    def _texts(self, body: Json, n: int) -> list[str]:
        is_sample = body.get("temperature") == SAMPLED_AT
        start = self._turn if is_sample else 0  # a client's own call is the first of its ten
        self._turn = start + n
        names = [NAMES[(start + i) % len(NAMES)] for i in range(n)]
        schema = _schema(body)
        return [f"{name}." if schema is None else json.dumps(instance(schema, schema, name)) for name in names]

    def _chat(self, body: Json) -> Response:
        head = {"id": f"chatcmpl-{next(self._ids)}"}
        call = _call(body, _last(body.get("messages")))
        if call is None:
            said = [{"role": "assistant", "content": text} for text in self._texts(body, _number(body))]
        else:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            calls = [{"id": "call_1", "type": "function", "function": function}]
            said = [{"role": "assistant", "content": None, "tool_calls": calls}]
        reason = "stop" if call is None else "tool_calls"
        if body.get("stream"):
            return sse_response([*_chunks(said[0], reason, head, body), "[DONE]"])
        choices = [
            {"index": i, "finish_reason": reason, "logprobs": None, "message": message}
            for i, message in enumerate(said)
        ]
        return _json(self._completion(choices) | head)

    def _completion(self, choices: list[Json]) -> Json:
        head = {"id": f"cmpl-{next(self._ids)}", "object": "chat.completion", "created": 1700000000}
        return head | {"model": "scripted-1", "choices": choices, "usage": _usage(len(choices))}

    def _response(self, body: Json) -> Response:
        asked = body.get("input")
        call = _call(body, asked if isinstance(asked, str) else _last(asked))
        if call is None:
            part = {"type": "output_text", "annotations": [], "logprobs": [], "text": self._texts(body, 1)[0]}
            item: Json = {"id": "msg_1", "type": "message", "role": "assistant", "content": [part]}
        else:
            item = {"id": "fc_1", "type": "function_call", "call_id": "call_1"}
            item |= {"name": call[0], "arguments": json.dumps(call[1])}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        answer = {
            "id": f"resp_{next(self._ids)}",
            "object": "response",
            "created_at": 1700000000,
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": "scripted-1",
            "output": [item | {"status": "completed"}],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "text": body.get("text") or {"format": {"type": "text"}},
            "top_p": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10} | details,
        }
        if body.get("stream"):
            return _stream(b"".join(responses.events(answer, _words)))
        return _json(answer)

    def _message(self, body: Json) -> Response:
        call = _call(body, _last(body.get("messages")))
        if call is None:
            item: Json = {"type": "text", "text": self._texts(body, 1)[0]}
        else:
            item = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": call[1]}
        answer = {
            "id": f"msg_{next(self._ids)}",
            "type": "message",
            "role": "assistant",
            "model": "scripted-1",
            "content": [item],
            "stop_reason": "end_turn" if call is None else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
        if body.get("stream"):
            return _stream(b"".join(messages.events(answer, _words)))
        return _json(answer)


def _number(body: Json) -> int:
    """How many choices are asked for."""
    n = body.get("n")
    if n is None or type(n) is int:
        return n or 1
    raise TypeError("n must be a whole number")


def _words(text: str) -> list[str]:
    return [word + " " for word in text.split(" ")[:-1]] + [text.split(" ")[-1]]


def _last(items: Any) -> str:
    """What the user said last; nothing where the last item is an answer or the result of a tool."""
    item = items[-1] if isinstance(items, list) and items else {}
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    if item.get("role") != "user" or any(part.get("type") == "tool_result" for part in parts):
        return ""
    return " ".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _call(body: Json, asked: str) -> tuple[str, Json] | None:
    """The tool that is called and its arguments: the one that must be, or the first whose name has a word of the question."""
    tools = [tool.get("function") or tool for tool in body.get("tools") or ()]
    choice = body.get("tool_choice")
    wanted = (choice.get("function") or choice).get("name") if isinstance(choice, dict) else None
    must = choice == "required" or (isinstance(choice, dict) and choice.get("type") == "any")
    if not asked or choice == "none":
        return None
    for tool in tools:
        said = any(word in asked.lower() for word in str(tool.get("name")).split("_"))
        if tool.get("name") == wanted or (wanted is None and (must or said)):
            schema = tool.get("parameters") or tool.get("input_schema") or {}
            quoted = re.search(r"'([^']+)'", asked)
            return tool["name"], instance(schema, schema, quoted[1] if quoted else NAMES[0])
    return None


def _schema(body: Json) -> Json | None:
    """The schema that the answer must have; where JSON is asked for in words alone, the keys that are quoted."""
    wish: Json = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    found = wish.get("schema") or (wish.get("json_schema") or {}).get("schema")
    if found is not None or "JSON" not in json.dumps(body):
        return found if isinstance(found, dict) else None
    named = {key: {"type": "string"} for key in re.findall(r"'(\w+)'", json.dumps(body))}
    return {"properties": named or {"name": {"type": "string"}, "population": {"type": "integer"}}}


def instance(schema: Json, root: Json, name: str) -> Any:
    """A value of a JSON schema: every text is `name`, every number is 3."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("anyOf") or ()
    for kind in kinds:
        if kind.get("type") != "null":
            return instance(kind, root, name)
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        return {key: instance(of, root, name) for key, of in (schema.get("properties") or {}).items()}
    if kind == "array":
        return [instance(schema["items"], root, name)]
    return {"integer": 3, "number": 3, "boolean": True, "null": None}.get(kind, name)


def _chunks(message: Json, reason: str, head: Json, body: Json) -> list[Json]:
    """A chat answer as the chunks of a stream."""
    chunks = stream_chunks(message["content"] or "x")
    if message["content"] is None:
        chunks = [chunks[0], chunks[-1]]
        calls = [call | {"index": i} for i, call in enumerate(message["tool_calls"])]
        chunks[0]["choices"][0]["delta"] = message | {"tool_calls": calls}
    chunks[-1]["choices"][0]["finish_reason"] = reason
    if (body.get("stream_options") or {}).get("include_usage"):
        chunks.append(chunks[0] | {"choices": [], "usage": _usage(1)})
    return [chunk | head for chunk in chunks]


def _usage(n: int) -> Json:
    return {"prompt_tokens": 7, "completion_tokens": 3 * n, "total_tokens": 7 + 3 * n}


def _json(content: Any, status: int = 200) -> Response:
    return JSONResponse(content, status, HEADERS)


def _stream(data: bytes) -> Response:
    return Response(data, media_type="text/event-stream", headers=HEADERS)
