"""Any server that speaks the OpenAI protocol, over aiohttp.

The only file that knows aiohttp's client: its exceptions end here.
"""

from __future__ import annotations

import asyncio
import io
import select
import weakref
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

import aiohttp
import orjson
from aiohttp.connector import Connection
from yarl import URL

from hedgerow.proxy.config import HttpUpstream
from hedgerow.proxy.errors import UpstreamError, UpstreamRejected, UpstreamTimeout
from hedgerow.proxy.protocols import Call, RawCall, Relay
from hedgerow.proxy.types import KEY_HEADERS, Completion, Json
from hedgerow.proxy.upstreams.answers import checked_completion
from hedgerow.proxy.upstreams.dialects.served import whole
from hedgerow.proxy.upstreams.dialects.table import DIALECTS
from hedgerow.proxy.upstreams.retries import with_retries

HOP_BY_HOP = frozenset(
    [
        "connection",
        "http2-settings",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
NOT_FORWARDED = HOP_BY_HOP | {"host", "content-length", "expect", "x-hedgerow-mode"}
OWN_HEADERS = "x-hedgerow-"
"""The proxy alone says what stands in headers that begin so; an upstream's own are not passed on."""
OF_THE_BODY = (
    "content-",
    "etag",
    "last-modified",
    "digest",
    "repr-digest",
    "accept-ranges",
    "cache-control",
    "expires",
    "vary",
)
"""How the headers begin that describe a body: those of another one do not apply."""
LAST_STATUS = 599
LARGEST_PIECE = 1 << 20
"""Bytes of a body that are sent at once."""


def _ours(name: str, error: BaseException | None) -> UpstreamError | None:
    """What stands for an exception of aiohttp's, the most specific first; None for any other one."""
    if isinstance(error, TimeoutError):  # aiohttp's timeouts are TimeoutErrors as well
        return UpstreamTimeout(f"the upstream {name!r} did not answer in time")
    if isinstance(error, aiohttp.ClientConnectorError):
        return UpstreamError(f"the upstream {name!r} cannot be reached", code="upstream_unreachable")
    if isinstance(error, aiohttp.ClientError | ValueError):  # ValueError: a body that breaks HTTP's framing
        return UpstreamError(f"the upstream {name!r} broke off its answer", code="upstream_broken")
    return None


@contextmanager
def _foreign_errors(name: str) -> Iterator[None]:
    """Turn aiohttp's exceptions into ours."""
    try:
        yield
    except Exception as error:
        if (ours := _ours(name, error)) is None:
            raise
        raise ours from error


class _Relaying:
    """A request that is passed on, and its answer: what `relay` gives. A class, because a generator would cost every request more."""

    def __init__(self, model: HttpModel, call: RawCall) -> None:
        self._model, self._call = model, call

    async def __aenter__(self) -> Relay:
        self._request = self._model.request(self._call)
        try:
            answer = await self._request.__aenter__()
        except Exception as error:
            if (ours := _ours(self._model.name, error)) is None:
                raise
            raise ours from error
        try:
            self._model.check_status(answer.status)
        except UpstreamError as error:
            await self._request.__aexit__(type(error), error, None)
            raise
        headers = [pair for pair in answer.raw_headers if _is_passed_on(pair[0].decode("latin-1").lower())]
        return Relay(answer.status, headers, answer.content.iter_any())

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        await self._request.__aexit__(kind, error, None)
        if (ours := _ours(self._model.name, error)) is not None:
            raise ours from error


class _Connector(aiohttp.TCPConnector):
    """Keeps connections for later calls, but for one on which the server has said more than it was asked, or which it has closed: what
    came there unasked would be taken for the answer to the next call.
    """

    def __init__(self, *, limit: int) -> None:
        super().__init__(limit=limit)
        self._news: weakref.WeakKeyDictionary[asyncio.BaseProtocol, select.poll] = weakref.WeakKeyDictionary()

    async def connect(self, *of_the_call: Any, **named: Any) -> Connection:
        """A connection on which nothing has come yet, read or not; its end counts too."""
        while True:
            connection = await super().connect(*of_the_call, **named)
            protocol = connection.protocol
            if protocol is None or protocol.transport is None:
                return connection
            news = self._news.get(protocol)
            if news is None:
                news = self._news[protocol] = select.poll()
                news.register(protocol.transport.get_extra_info("socket").fileno(), select.POLLIN)
                return connection
            if not protocol.should_close and not news.poll(0):
                return connection
            connection.close()


def _is_passed_on(header: str) -> bool:
    """Whether a header of the upstream's answer, in lower case, reaches the client."""
    return header not in HOP_BY_HOP and not header.startswith(OWN_HEADERS)


def _of_the_call(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that reach a client although it gets another body: request id, rate limits, time taken, when to retry."""
    names = ((name.decode("latin-1").lower(), name, value) for name, value in headers)
    return [(name, value) for low, name, value in names if _is_passed_on(low) and not low.startswith(OF_THE_BODY)]


def _with_headers(answer: Json, response: aiohttp.ClientResponse) -> Completion:
    completion = Completion(answer)
    completion.headers = _of_the_call(response.raw_headers)
    return completion


def _without_key(name: str, value: str) -> str:
    """A header without the key that browsers put among the protocols of a WebSocket."""
    if name != "sec-websocket-protocol":
        return value
    return ", ".join(part.strip() for part in value.split(",") if "insecure-api-key" not in part)


def _in_pieces(body: bytes) -> bytes | io.BytesIO:
    """A body as the library sends it; a large one piece by piece, so that other requests have their turn."""
    return io.BytesIO(body) if len(body) > LARGEST_PIECE else body


async def _whole(call: Call, stream: AsyncIterator[bytes]) -> Json:
    """The completion object of an answer that comes as a stream."""
    return await whole(stream, DIALECTS[call.path].served(call.on_text))


async def open_http(name: str, settings: HttpUpstream) -> HttpModel:
    """The upstream; connections are opened by its calls."""
    return HttpModel(name, settings)


class HttpModel:
    """An OpenAI-compatible server. Opened inside a running event loop; `aclose` closes its connections."""

    def __init__(self, name: str, settings: HttpUpstream) -> None:
        self.honours_n = settings.honours_n
        self.name = name
        self._retries = settings.retries
        self._base = settings.base_url.rstrip("/")
        self._origin = str(URL(self._base).origin())
        self._connect_timeout_s = settings.connect_timeout_s
        self._max_answer_bytes = settings.max_answer_bytes
        self._key = settings.api_key.get_secret_value() if settings.api_key else None
        self._query = dict(settings.query)
        self._key_header = settings.key_header
        self._slots = asyncio.Semaphore(settings.max_sampling_calls)
        self._session = aiohttp.ClientSession(
            connector=_Connector(limit=settings.max_connections),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=settings.connect_timeout_s, sock_read=settings.timeout_s
            ),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )

    async def complete(self, call: Call) -> Json:
        """See `Upstream`. Repeats after 429, 5xx and failed connections, with jitter; a call that waits for its next try leaves its slot to
        others.
        """
        return await with_retries(self.name, self._complete_once, call, self._retries, self._slots)

    async def _complete_once(self, call: Call) -> Json:
        headers = self._headers(
            ((name, value) for name, value in call.headers.items() if name != "content-encoding"),
            ("content-type", "application/json"),
            ("accept-encoding", "identity"),
        )
        with _foreign_errors(self.name):
            url = self._address(call.target or call.path)
            data = _in_pieces(orjson.dumps(call.body))
            async with self._session.post(url, data=data, headers=headers, allow_redirects=False) as answer:
                if answer.status == 200 and answer.content_type == "text/event-stream":
                    return _with_headers(await _whole(call, self._bounded(answer)), answer)
                body = await self._read(answer)
        self.check_status(answer.status)
        if answer.status >= 300:
            kind = answer.headers.get("content-type", "application/json")
            raise UpstreamRejected(
                answer.status, body, kind, answer.headers.get("retry-after"), _of_the_call(answer.raw_headers)
            )
        return _with_headers(checked_completion(self.name, body, DIALECTS[call.path].completion), answer)

    def relay(self, call: RawCall) -> _Relaying:
        """See `Upstream`. Nothing is repeated: the client sees what the upstream said."""
        return _Relaying(self, call)

    def request(self, call: RawCall) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """The request of a call as aiohttp makes it."""
        data = _in_pieces(call.body) if isinstance(call.body, bytes) else call.body
        headers = self._headers(call.headers)
        return self._session.request(
            call.method, self._address(call.path), data=data or None, headers=headers, allow_redirects=False
        )

    async def tunnel(
        self, target: str, headers: Sequence[tuple[str, str]]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """See `Tunnels`."""
        url = self._address(target)
        kept = [(name, _without_key(name, value) if self._key else value) for name, value in self._headers(headers)]
        lines = [
            f"GET {url.raw_path_qs} HTTP/1.1",
            f"host: {url.raw_authority}",
            "connection: Upgrade",
            "upgrade: websocket",
        ]
        lines += [f"{name}: {value}" for name, value in kept if value]
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                reader, writer = await asyncio.open_connection(
                    url.raw_host, url.port, ssl=url.scheme == "https" or None
                )
        except (OSError, TimeoutError) as error:
            raise UpstreamError(f"the upstream {self.name!r} cannot be reached", code="upstream_unreachable") from error
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        return reader, writer

    def _address(self, target: str) -> URL:
        """Where a target lies: below the base address; Azure's own paths, at the base address's host. With the configured query, where the target
        does not bring its own.
        """
        base = self._origin if target.startswith("/openai/") else self._base
        if not self._query:
            return URL(base + target, encoded=True)
        sent = {name for name, _ in parse_qsl(target.partition("?")[2], keep_blank_values=True)}
        missing = urlencode({name: value for name, value in self._query.items() if name not in sent})
        return URL(base + target + ("&" if "?" in target else "?") * bool(missing) + missing, encoded=True)

    async def models(self, headers: Mapping[str, str]) -> list[Json]:
        """See `Upstream`."""
        with _foreign_errors(self.name):
            async with self._session.get(
                self._address("/models"), headers=self._headers(headers.items(), ("accept-encoding", "identity"))
            ) as answer:
                body = await self._read(answer)
        self.check_status(answer.status)
        if answer.status >= 300:
            raise UpstreamRejected(answer.status, body, answer.headers.get("content-type", "application/json"))
        try:
            listed = orjson.loads(body)["data"]
        except (ValueError, KeyError, TypeError) as error:
            raise UpstreamError(f"the upstream {self.name!r} lists its models in no known form") from error
        return [model for model in listed if isinstance(model, dict)]

    async def _read(self, answer: aiohttp.ClientResponse) -> bytes:
        """The body of an answer, whole."""
        return b"".join([piece async for piece in self._bounded(answer)])

    async def _bounded(self, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """The body of an answer piece by piece, as long as it stays under the limit.

        Raises:
            UpstreamError: it is over.
        """
        size = 0
        async for piece in answer.content.iter_any():
            size += len(piece)
            if size > self._max_answer_bytes:
                message = f"the upstream {self.name!r} sent an answer of more than {self._max_answer_bytes} bytes (max_answer_bytes)"
                raise UpstreamError(message, code="upstream_broken")
            yield piece

    def check_status(self, status: int) -> None:
        """Raise `UpstreamError` for a status outside HTTP's range, which no server could send on."""
        if not 200 <= status <= LAST_STATUS:
            message = f"the upstream {self.name!r} answered with status {status}, which is not one of HTTP's"
            raise UpstreamError(message, code="upstream_broken")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()

    def _headers(self, pairs: Iterable[tuple[str, str]], *set_here: tuple[str, str]) -> list[tuple[str, str]]:
        """The end-to-end headers, with our own key in place of the client's where one is configured."""
        replaced = {name for name, _ in set_here}
        kept = [(name, value) for name, value in pairs if name not in NOT_FORWARDED and name not in replaced]
        if self._key is not None:
            sent = [name for name, _ in kept if name in KEY_HEADERS]
            kept = [pair for pair in kept if pair[0] not in KEY_HEADERS]
            name: str = self._key_header or (sent[0] if sent else "authorization")
            kept.append((name, f"Bearer {self._key}" if name == "authorization" else self._key))
        return [*kept, *set_here]
