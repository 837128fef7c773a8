"""A scripted provider that speaks every endpoint: the outside world of the clients. Its answers depend on the request; those to samples
on their turn."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Sequence
from itertools import count
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.dialects import messages, responses
from tests.support.manners import MANNERS
from tests.support.upstream import sse_response, stream_chunks

Json = dict[str, Any]
NAMES = (*("Canberra",) * 6, "Sydney", "Melbourne", "Perth", "Canberra")
"""What ten answers in a row say: seven of ten agree, so that an answer by agreement has the confidence 0.7. The last one is left for a client's own call
that comes after all samples."""
STRONGER = "Hobart"
"""What a stronger model says."""
PATIENCE_S = 120
SLOWLY = "slowly"
"""A question with this word gets the beginning of a stream, and nothing more until its client has left."""
SAMPLED_AT = 0.917
"""The temperature that tells a proxy's samples from a client's own calls: the samples of a shadow route come when they come, and must not change what the
client is answered next."""
HEADERS = {"x-request-id": "req_scripted", "x-ratelimit-remaining-requests": "99"}


class Provider:
    """An ASGI application. `reset` begins anew, so that every client meets the same provider; ids of answers never come again.

    Args:
        names: what answers say in turn.
        doubts_calls: whether the arguments of calls differ as texts do.
        chat_alone: whether it knows neither Responses nor Messages.
    """

    def __init__(self, names: Sequence[str] = NAMES, *, doubts_calls: bool = False, chat_alone: bool = False) -> None:
        self._names, self._doubts_calls, self._chat_alone = names, doubts_calls, chat_alone
        self._left: list[str] = []
        self._ids = count(1)

    def reset(self) -> None:
        """Forget who asked."""
        self._left = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        data = await request.body()
        if request.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        if SLOWLY.encode() in data:
            await _begin_and_wait(request.url.path, json.loads(data), receive, send)
            return
        try:
            body = json.loads(data) if request.method == "POST" else {}
            answer = self._answer(request.url.path, {**body})
        except (TypeError, ValueError, AttributeError, KeyError) as error:  # a body of another form than this one takes
            answer = _json({"error": {"message": str(error), "type": "invalid_request_error", "code": None}}, 400)
        await answer(scope, receive, send)

    def _answer(self, path: str, body: Json) -> Response:
        if path.endswith("/chat/completions"):
            return MANNERS[body["model"]].reply(body) if body.get("model") in MANNERS else self._chat(body)
        if path.endswith("/completions"):
            texts = self._texts(body, _number(body))
            choices = [{"index": i, "finish_reason": "stop", "logprobs": None, "text": t} for i, t in enumerate(texts)]
            return _json(self._completion(choices) | {"object": "text_completion"})
        if path.endswith("/responses") and not self._chat_alone:
            return self._response(body)
        if path.endswith("/messages") and not self._chat_alone:
            return self._message(body)
        if path.endswith("/embeddings"):
            data = [{"object": "embedding", "index": 0, "embedding": [0.5]}]
            return _json({"object": "list", "model": "m", "data": data})
        if path.endswith("/models"):
            named = [{"id": name, "object": "model", "created": 1, "owned_by": "x"} for name in ("m", *MANNERS)]
            return _json({"object": "list", "data": named})
        return _json({"error": {"message": f"nothing at {path}", "type": "invalid_request_error", "code": None}}, 404)

    def _texts(self, body: Json, n: int) -> list[str]:
        schema, names = _schema(body), self._in_turn(body, n)
        return [f"{name}." if schema is None else json.dumps(instance(schema, schema, name)) for name in names]

    def _in_turn(self, body: Json, n: int) -> list[str]:
        """What is said by so many answers. A client's own call says the first name, and its samples the others, whichever comes first."""
        if body.get("temperature") != SAMPLED_AT:
            if n == 1 and self._names[0] not in self._left:
                self._left = [*self._names]
            if n == 1:
                self._left.remove(self._names[0])
            return [self._names[i % len(self._names)] for i in range(n)]
        while len(self._left) < n:
            self._left += self._names
        said, self._left = self._left[:n], self._left[n:]
        return said

    def _calls(self, body: Json, asked: str, n: int = 1) -> list[tuple[str, Json]]:
        """The tool that is called and its arguments, once for each answer; nothing where none is called."""
        tool = _tool(body, asked)
        if tool is None:
            return []
        schema = tool.get("parameters") or tool.get("input_schema") or {}
        quoted = re.search(r"'([^']+)'", asked)
        if quoted or not self._doubts_calls:
            names = [quoted[1] if quoted else self._names[0]] * n
        else:
            names = self._in_turn(body, n)
        return [(tool["name"], instance(schema, schema, name)) for name in names]

    def _chat(self, body: Json) -> Response:
        head = {"id": f"chatcmpl-{next(self._ids)}"}
        called = self._calls(body, _last(body.get("messages")), _number(body))
        said = [_calling(name, arguments) for name, arguments in called]
        said = said or [{"role": "assistant", "content": text} for text in self._texts(body, _number(body))]
        reason = "tool_calls" if called else "stop"
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
        called = self._calls(body, asked if isinstance(asked, str) else _last(asked))
        if not called:
            part = {"type": "output_text", "annotations": [], "logprobs": [], "text": self._texts(body, 1)[0]}
            item: Json = {"id": "msg_1", "type": "message", "role": "assistant", "content": [part]}
        else:
            item = {"id": "fc_1", "type": "function_call", "call_id": "call_1"}
            item |= {"name": called[0][0], "arguments": json.dumps(called[0][1])}
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
        called = self._calls(body, _last(body.get("messages")))
        if not called:
            item: Json = {"type": "text", "text": self._texts(body, 1)[0]}
        else:
            item = {"type": "tool_use", "id": "toolu_1", "name": called[0][0], "input": called[0][1]}
        answer = {
            "id": f"msg_{next(self._ids)}",
            "type": "message",
            "role": "assistant",
            "model": "scripted-1",
            "content": [item],
            "stop_reason": "tool_use" if called else "end_turn",
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


def _tool(body: Json, asked: str) -> Json | None:
    """The tool that is called: the one that must be, or the first whose name has a word of the question."""
    tools = [tool.get("function") or tool for tool in body.get("tools") or ()]
    choice = body.get("tool_choice")
    wanted = (choice.get("function") or choice).get("name") if isinstance(choice, dict) else None
    must = choice == "required" or (isinstance(choice, dict) and choice.get("type") == "any")
    if not asked or choice == "none":
        return None
    for tool in tools:
        said = any(word in asked.lower() for word in str(tool.get("name")).split("_"))
        if tool.get("name") == wanted or (wanted is None and (must or said)):
            return dict(tool)
    return None


def _calling(name: str, arguments: Json) -> Json:
    """The message of an answer that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": "call_1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


async def _begin_and_wait(path: str, body: Json, receive: Any, send: Any) -> None:
    """Begin a stream, where one is asked for, and wait until the client has left; a client that stays gets no end of it."""
    if body.get("stream"):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": _beginning(path), "more_body": True})
    async with asyncio.timeout(PATIENCE_S):
        while (await receive())["type"] != "http.disconnect":
            continue


def _beginning(path: str) -> bytes:
    """The first events of an answer."""
    if path.endswith("/responses"):
        response = {"id": "resp_slow", "object": "response", "created_at": 1, "status": "in_progress", "model": "m"}
        response |= {"output": [], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
        event = {"type": "response.created", "sequence_number": 0, "response": response}
        return f"event: response.created\ndata: {json.dumps(event)}\n\n".encode()
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in stream_chunks("Canberra it is")[:2])


def _schema(body: Json) -> Json | None:
    """The schema that the answer must have; where JSON is asked for in words alone, the keys that are quoted."""
    wish: Json = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    schema = wish.get("schema") or (wish.get("json_schema") or {}).get("schema")
    if schema is not None or "JSON" not in json.dumps(body):
        return schema if isinstance(schema, dict) else None
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
