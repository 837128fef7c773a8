"""Use an upstream that supports chat only for other endpoints: requests are converted to chat, and answers are converted back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import orjson

from ..computing import aside
from ..errors import BadRequest, UpstreamRejected
from ..outcomes import Reason
from ..protocols import Call, RawCall, Relay, Upstream
from ..strict_json import loads
from ..types import Completion, Json
from .answers import checked_completion, once, request_of
from .coding import plain, readable
from .dialects.conversions import CONVERSIONS, Conversion, LiveAnswer, answers
from .dialects.served import MOST_BYTES

CHAT = "/chat/completions"
LARGE = 500
"""A request with at least this many messages is converted in a worker thread."""
BYTES_OF_AN_ITEM = 200
"""Approximate minimum size of a message in bytes."""
_PLACE = re.compile(r"/+(?:openai/(?:v1/|deployments/[^/]+/)?)?(responses|messages)")
CONTENT_TYPE = b"content-type"
_OF_THE_BODY = (b"content-", b"etag", b"digest", b"repr-digest")
"""Prefixes of headers that describe the body, which is replaced here."""
_ANTHROPICS_OWN = "anthropic-"
T = TypeVar("T")


class Converting:
    """An upstream with further endpoints.

    Args:
        name: the upstream's, for errors.
        inner: what is asked.
        endpoints: those that it does not support itself, without their slash.
    """

    def __init__(self, name: str, inner: Upstream, endpoints: tuple[str, ...]) -> None:
        self._name, self._inner = name, inner
        self._conversions = {f"/{endpoint}": CONVERSIONS[f"/{endpoint}"] for endpoint in endpoints}
        self.honours_n = inner.honours_n

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        conversion = self._conversions.get(call.path)
        if conversion is None:
            return await self._inner.complete(call)
        body = await aside(_items(call.body), LARGE, conversion.words.request, call.body)
        target = _chat_target(call.target) if call.target else ""
        asked = replace(call, path=CHAT, body=body, headers=dict(_headers(call.headers)), target=target)
        try:
            completion = await self._inner.complete(asked)
        except UpstreamRejected as error:
            error.raw_body = _error(conversion, error.status, error.raw_body)
            raise
        return _completion(conversion, call.body, completion)

    @asynccontextmanager
    async def relay(self, call: RawCall) -> AsyncIterator[Relay]:
        """See `Upstream`."""
        place = _PLACE.fullmatch(call.path.partition("?")[0])
        conversion = (
            self._conversions.get(f"/{place[1]}") if place and (call.method == "POST" or call.is_websocket) else None
        )
        if conversion is not None and call.is_websocket:
            message = "the upstream of this route is asked through /v1/chat/completions, which has no WebSocket; send the request by POST, streamed if you like"
            raise BadRequest(message, code=Reason.NOT_IN_CHAT)
        if conversion is None or not isinstance(call.body, bytes):
            async with self._inner.relay(call) as reply:
                yield reply
            return
        body, chat = await aside(len(call.body) // BYTES_OF_AN_ITEM, LARGE, _read, conversion, call.headers, call.body)
        headers = _headers(dict(call.headers)) | {"accept-encoding": "identity"}
        asked = RawCall("POST", _chat_target(call.path), list(headers.items()), chat)
        async with self._inner.relay(asked) as reply:
            reply, is_stream = await readable(self._name, reply)
            if is_stream and body.get("stream"):
                chunks = _live(conversion, body, reply.chunks)
            else:  # read before anything is sent, so that an invalid answer becomes an error with its own status
                data = b"".join([piece async for piece in reply.chunks])
                chunks = once(
                    self._whole(conversion, body, data)
                    if reply.status == 200
                    else _error(conversion, reply.status, data)
                )
            yield Relay(reply.status, [pair for pair in reply.headers if _is_kept(pair[0].lower())], chunks)

    def _whole(self, conversion: Conversion, body: Json, data: bytes) -> bytes:
        return orjson.dumps(answers(conversion, body, checked_completion(self._name, data))[0])

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        return await self._inner.models(headers, query)

    async def aclose(self) -> None:
        """See `Upstream`."""
        await self._inner.aclose()


def _is_kept(header: bytes) -> bool:
    """Whether a header of the upstream's answer, in lower case, is valid for the converted answer."""
    return header == CONTENT_TYPE or not header.startswith(_OF_THE_BODY)


async def _live(conversion: Conversion, body: Json, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    live = LiveAnswer(conversion, body)
    async for data in chunks:
        if ready := live.take(data):
            yield ready
    yield live.end()


def _completion(conversion: Conversion, body: Json, completion: Json) -> Json:
    """A chat completion as the completion object of another endpoint: each choice with its own answer."""
    converted = [conversion.own.completion(answer) for answer in answers(conversion, body, completion)]
    choices = [one["choices"][0] | {"index": index} for index, one in enumerate(converted)]
    counts = {"usage": completion["usage"]} if isinstance(completion.get("usage"), dict) else {}
    result = Completion(converted[0] | {"choices": choices} | counts)
    result.headers = completion.headers if isinstance(completion, Completion) else ()
    return result


def _read(conversion: Conversion, headers: Sequence[tuple[str, str]], data: bytes) -> tuple[Json, bytes]:
    """Parse the request in a body, and convert it to chat.

    Raises:
        BadRequest: it is not a JSON object, or cannot be converted to chat.
    """
    coding = next((value for name, value in headers if name == "content-encoding"), "")
    try:
        body = request_of(plain(data, coding, MOST_BYTES) if coding else data)
    except (ValueError, OverflowError) as error:
        message = f"a compressed request cannot be put into the words of chat, in which this route's upstream is asked: {error}; send it as it is"
        raise BadRequest(message, code=Reason.NOT_IN_CHAT) from error
    return body, orjson.dumps(conversion.words.request(body))


def _chat_target(target: str) -> str:
    """The target with the path of chat and the same query."""
    path, question, query = target.partition("?")
    return path.rpartition("/")[0] + CHAT + question + query


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers without Anthropic's own and without compression, and with its key as a bearer token."""
    left_out = (_ANTHROPICS_OWN, "content-encoding")
    kept = {name: value for name, value in headers.items() if not name.startswith(left_out)}
    if "authorization" not in kept and (key := kept.pop("x-api-key", None)) is not None:
        kept["authorization"] = f"Bearer {key}"
    return kept


def _error(conversion: Conversion, status: int, data: bytes) -> bytes:
    """An upstream's error in the endpoint's format; unchanged if it is not JSON."""
    try:
        return orjson.dumps(conversion.words.error(status, loads(data)))
    except ValueError:
        return data


def _items(body: Json) -> int:
    """Number of items or messages of a request."""
    items = body.get("input") or body.get("messages")
    return len(items) if isinstance(items, list) else 0
