"""Read as much of a request as routing needs. A body that cannot be read here may still be valid for the upstream."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import AsyncIterable, AsyncIterator
from typing import NamedTuple

import orjson

from ..computing import compute
from ..errors import BadRequest, PayloadTooLarge
from ..pipeline.job import Unread, decoded
from ..types import Json
from .exchange import Exchange

LARGE_BODY_BYTES = 100_000
"""Bodies of at least this size are decoded in a worker thread, so that they do not block other requests."""
READ_OF_A_FORM = 64 * 1024
"""Bytes of a multipart form that are searched for its model; the rest is forwarded without being read."""
_MODEL = re.compile(rb'name="model"(?:;[^\r\n]*)?\r\n(?:[^\r\n]+\r\n){0,8}\r\n([^\r\n]{1,256})\r\n--')
_ZLIB_OR_GZIP = 47


class Received(NamedTuple):
    """A request's body.

    Attributes:
        data: the received bytes, complete or piece by piece.
        body: the JSON object as far as it could be read; of a form, its model.
        fault: the reason why it could not be read; None if it was.
        model: the model that it names.
    """

    data: bytes | AsyncIterable[bytes]
    body: Json
    fault: BadRequest | None = None
    model: str | None = None


async def received(exchange: Exchange, limit: int, *, is_json: bool) -> Received:
    """The body of a request: parsed if it is JSON; of a form, its model.

    Raises:
        PayloadTooLarge: it is over the limit.
        ClientGone: the client left while sending it.
    """
    headers = exchange.headers
    if not is_json:
        kind = headers.get("content-type", "")
        if exchange.method in ("GET", "HEAD", "DELETE") and not _has_body(exchange):
            named = exchange.path.removeprefix("/models/")
            return Received(b"", {}, model=named if named != exchange.path else exchange.deployment)
        if kind.startswith("multipart/form-data"):
            form = await _form(exchange.body_stream())
            return Received(form, {"model": form.model}, model=form.model)
        if not kind.startswith("application/json"):
            return Received(exchange.body_stream(), {})
    data = await exchange.body(limit)
    encoding = headers.get("content-encoding", "")
    if len(data) < LARGE_BODY_BYTES and not encoding:
        body, fault = _read(data)
    else:
        body, fault = await compute(_read, data, encoding, limit)
    model = body.get("model")
    return Received(data, body, fault, model if isinstance(model, str) else exchange.deployment)


def _has_body(exchange: Exchange) -> bool:
    return exchange.headers.get("content-length", "0") != "0" or "transfer-encoding" in exchange.headers


def _read(data: bytes, encoding: str = "", limit: int = 0) -> tuple[Json, BadRequest | None]:
    """The JSON object of a body, and the reason if it could not be read."""
    try:
        plain = _plain(data, encoding, limit) if encoding else data
        return decoded(plain), None
    except BadRequest as fault:
        return (_loosely(plain) if isinstance(fault, Unread) and not encoding else {}), fault


def _plain(data: bytes, encoding: str, limit: int) -> bytes:
    """A compressed body, decompressed.

    Raises:
        Unread: the compression is not supported or the body is not compressed as declared.
        PayloadTooLarge: it is over the limit when decompressed.
    """
    if encoding.lower() == "identity":
        return data
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        raise Unread("the body has a `content-encoding` that is not read here")
    try:
        plain = zlib.decompressobj(_ZLIB_OR_GZIP).decompress(data, limit + 1)
    except zlib.error as error:
        raise Unread("the body is not what its `content-encoding` says") from error
    if len(plain) > limit:
        raise PayloadTooLarge(f"the body is larger than {limit} bytes")
    return plain


def _loosely(data: bytes) -> Json:
    """The fields that matter here, of a JSON object that only a lenient parser accepts."""
    try:
        body = json.loads(data)
        orjson.dumps([body.get(name) for name in ("model", "user", "safety_identifier")])
    except (ValueError, RecursionError, AttributeError):
        return {}
    return body if isinstance(body, dict) else {}


class Form:
    """A multipart form that is forwarded piece by piece.

    Attributes:
        model: the model that it names near its beginning.
    """

    def __init__(self, head: bytes, rest: AsyncIterator[bytes]) -> None:
        self._head, self._rest = head, rest
        self._match = _MODEL.search(head)
        self.model = self._match[1].decode("utf-8", "replace") if self._match is not None else None

    def rename(self, model: str) -> None:
        """Replace the model's name."""
        if self._match is not None:
            self._head = self._head[: self._match.start(1)] + model.encode() + self._head[self._match.end(1) :]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._head
        async for piece in self._rest:
            yield piece


async def _form(stream: AsyncIterator[bytes]) -> Form:
    head = b""
    async for piece in stream:
        head += piece
        if len(head) >= READ_OF_A_FORM or _MODEL.search(head) is not None:
            break
    return Form(head, stream)
