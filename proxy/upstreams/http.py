"""Any server with the OpenAI protocol, over our own connections (`connections.py`)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import anyio.to_thread
import orjson

from ..computing import aside
from ..config import HttpUpstream
from ..errors import UpstreamError, UpstreamRejected
from ..protocols import Call, RawCall, Relay
from ..strict_json import loads
from ..types import Completion, Json
from .answers import checked_completion, once
from .coding import decompressed, header
from .connections import Asked, Connections
from .dialects.served import whole
from .dialects.table import DIALECTS
from .egress import UpstreamKey, leaving, of_a_sample, passed_on
from .retries import with_retries
from .sse import STREAM, begins_stream
from .wire import Answer

OF_THE_BODY = ("content-", "etag", "last-modified", "digest", "repr-digest", "accept-ranges", "cache-control", "expires", "vary")  # fmt: skip
"""Prefixes of headers that describe a body; they do not apply to another body."""
LAST_STATUS = 599
LARGE_BYTES = 100_000
"""An answer of this size is decoded in a worker thread."""
MOST_MODELS = 10_000
"""Models of an upstream after which no further page is asked for."""
UPGRADE = (("connection", "Upgrade"), ("upgrade", "websocket"))
_SAFE = "/%:@!$&'()*+,;=~-._"
"""Characters of a path that are sent without escaping."""


class _Relaying:
    """A relayed request and its answer, returned by `relay`.

    A class, because a generator would make every request slower.
    """

    def __init__(self, model: HttpModel, call: RawCall) -> None:
        self._model, self._call = model, call

    async def __aenter__(self) -> Relay:
        self._asked = self._model.asked(self._call)
        answer = await self._asked.__aenter__()
        if answer.is_switched:
            return Relay(answer.status, passed_on(answer.headers), answer, send=answer.send)
        try:
            self._model.check_status(answer.status)
        except UpstreamError:
            await self._asked.__aexit__()
            raise
        return Relay(answer.status, passed_on(answer.headers), answer)

    async def __aexit__(self, *_: object) -> None:
        await self._asked.__aexit__()


@lru_cache(maxsize=1024)
def _is_of_the_call(header: bytes) -> bool:
    """Whether a header is passed on even with another body, and to all who share it: request id, rate limits, when to retry; no cookies."""
    return not header.decode("latin-1").lower().startswith((*OF_THE_BODY, "set-cookie"))


def _of_the_call(answer: Answer) -> list[tuple[bytes, bytes]]:
    return [pair for pair in passed_on(answer.headers) if _is_of_the_call(pair[0])]


def _with_headers(read: Json, answer: Answer) -> Completion:
    completion = Completion(read)
    completion.headers = _of_the_call(answer)
    return completion


async def _whole(call: Call, stream: AsyncIterator[bytes]) -> Json:
    """The completion object of an answer that arrives as a stream."""
    return await whole(stream, DIALECTS[call.path].served())


async def open_http(name: str, settings: HttpUpstream) -> HttpModel:
    """The upstream; connections are opened when calls need them."""
    is_https = settings.base_url.startswith("https:")
    return HttpModel(name, settings, await anyio.to_thread.run_sync(_tls) if is_https else None)


def _tls() -> ssl.SSLContext:
    """The TLS context with the machine's certificates; loading them takes time."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class HttpModel:
    """An OpenAI-compatible server.

    Create it inside a running event loop; `aclose` closes its connections.
    """

    def __init__(self, name: str, settings: HttpUpstream, tls: ssl.SSLContext | None) -> None:
        self.honours_n = settings.honours_n
        self.name = name
        self._retries = settings.retries
        self._address = urlsplit(settings.base_url.rstrip("/"))
        self._base = quote(self._address.path, safe=_SAFE)
        self._max_answer_bytes = settings.max_answer_bytes
        key = settings.api_key.get_secret_value().encode().decode("latin-1") if settings.api_key else None
        self._key = UpstreamKey(key, settings.key_header) if key is not None else None
        self._query = dict(settings.query)
        self._slots = asyncio.Semaphore(settings.max_sampling_calls)
        self._tls = tls
        self._connections, self._tunnels = (  # WebSockets last, and shall not keep calls waiting
            Connections(
                name,
                self._address,
                tls,
                most=settings.max_connections,
                connect_s=settings.connect_timeout_s,
                silent_s=settings.timeout_s,
            )
            for _ in range(2)
        )

    async def complete(self, call: Call) -> Json:
        """See `Upstream`. Repeats after 429, 5xx and failed connections, with jitter.

        A call that waits for its next attempt frees its slot.
        """
        return await with_retries(self.name, self._complete_once, call, self._retries, self._slots)

    async def _complete_once(self, call: Call) -> Json:
        headers = self._headers(
            of_a_sample(call.headers), ("content-type", "application/json"), ("accept-encoding", "identity")
        )
        target, data = self._target(call.target or call.path), orjson.dumps(call.body)
        async with self._connections.ask("POST", target, headers, data) as answer:
            kind = header(answer.headers, b"content-type") or "application/json"
            if answer.status == 200 and kind.lower().startswith(STREAM):
                return _with_headers(await _whole(call, self._bounded(answer)), answer)
            body = await self._read(answer)
        self.check_status(answer.status)
        if answer.status >= 300:
            retry_after = header(answer.headers, b"retry-after") or None
            raise UpstreamRejected(answer.status, body, kind, retry_after, _of_the_call(answer))
        if call.body.get("stream") and begins_stream(body):
            return _with_headers(await _whole(call, once(body)), answer)
        convert = DIALECTS[call.path].completion
        return _with_headers(await aside(len(body), LARGE_BYTES, checked_completion, self.name, body, convert), answer)

    def relay(self, call: RawCall) -> _Relaying:
        """See `Upstream`. Nothing is repeated: the client gets the upstream's answer."""
        return _Relaying(self, call)

    def asked(self, call: RawCall) -> Asked:
        """The request of a call, made when its context is entered."""
        target, headers = self._target(call.path), self._headers(call.headers)
        if not call.is_websocket:
            return self._connections.ask(call.method, target, headers, call.body)
        return self._tunnels.ask(call.method, target, [*headers, *UPGRADE], call.body, may_switch=True)

    def _target(self, target: str) -> str:
        """Path and query of a call, relative to the base address.

        Azure's own paths are relative to the base address's host. The configured query is added if the target has none.
        """
        path = target if target.startswith("/openai/") else self._base + target
        if not self._query:
            return path
        sent = {name for name, _ in parse_qsl(target.partition("?")[2], keep_blank_values=True)}
        missing = urlencode({name: value for name, value in self._query.items() if name not in sent})
        return path + ("&" if "?" in target else "?") * bool(missing) + missing

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        sent = self._headers(of_a_sample(headers), ("accept-encoding", "identity"))
        listed: list[Json] = []
        fields = dict(parse_qsl(query, keep_blank_values=True))
        while True:
            target = self._target("/models" + (f"?{urlencode(fields)}" if fields else ""))
            async with self._connections.ask("GET", target, sent, b"") as answer:
                body = await self._read(answer)
            self.check_status(answer.status)
            if answer.status >= 300:
                kind = header(answer.headers, b"content-type") or "application/json"
                raise UpstreamRejected(answer.status, body, kind)
            try:
                page = loads(body)
                listed += [model for model in page["data"] if isinstance(model, dict)]
            except (ValueError, KeyError, TypeError) as error:
                raise UpstreamError(f"the upstream {self.name!r} lists its models in no known form") from error
            last = page.get("last_id")
            if not page.get("has_more") or not last or last == fields.get("after_id") or len(listed) > MOST_MODELS:
                return listed
            fields |= {"after_id": str(last)}

    async def _read(self, answer: Answer) -> bytes:
        """The whole body of an answer."""
        return b"".join([piece async for piece in self._bounded(answer)])

    async def _bounded(self, answer: Answer) -> AsyncIterator[bytes]:
        """The body of an answer piece by piece, decompressed, up to the size limit.

        Raises:
            UpstreamError: the body is over the limit, or cannot be read.
        """
        size = 0
        coding = header(answer.headers, b"content-encoding")
        async for piece in decompressed(self.name, coding, aiter(answer)) if coding else answer:
            size += len(piece)
            if size > self._max_answer_bytes:
                message = f"the upstream {self.name!r} sent an answer of more than {self._max_answer_bytes} bytes (max_answer_bytes)"
                raise UpstreamError(message, code="upstream_broken")
            yield piece

    def check_status(self, status: int) -> None:
        """Raise `UpstreamError` for a status outside HTTP's range, which a server cannot relay."""
        if not 200 <= status <= LAST_STATUS:
            message = f"the upstream {self.name!r} answered with status {status}, which is not one of HTTP's"
            raise UpstreamError(message, code="upstream_broken")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._connections.aclose()
        await self._tunnels.aclose()

    def _headers(self, pairs: Iterable[tuple[str, str]], *set_here: tuple[str, str]) -> list[tuple[str, str]]:
        """What leaves of these headers, and what is added here."""
        return [*leaving(pairs, self._key), *set_here]
