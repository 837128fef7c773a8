"""One HTTP exchange over raw ASGI: reading a body under a limit, answering once, noticing that the client left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, TypeVar

import orjson

from ..errors import PayloadTooLarge, ProxyError, RateLimited, UpstreamRejected
from ..strict_json import loads
from ..types import Json
from ..upstreams.dialects.table import dialect_of
from ..upstreams.egress import Ours, clients_own, leads_away
from .entrance import place
from .relayed import Copy
from .sockets import WEBSOCKET, Socket

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]
T = TypeVar("T")

WATCH_AFTER_S = 0.02
"""Seconds after which the client's disconnect is watched for: a watcher costs a task, and quick answers need none."""
WITHOUT_BODY = (204, 304)
"""Statuses whose answers have no body, although a 304 may name the length of one."""


class ClientGone(Exception):
    """The client closed the connection before its answer was complete."""


class Exchange:
    """A request and the one answer to it.

    Attributes:
        path: relative to `/v1`, e.g. "/chat/completions".
        deployment: the model that an Azure path names.
        headers: the request's headers by lower-case name as they came; the last one if a name is repeated.
        header_pairs: those that an upstream may see, in order.
        status: the HTTP status that was sent; None before that.
        recorded: whether the request has its audit row, log line and span, or work was started that will write them.
        own_headers: headers that the proxy adds to any answer; they replace an upstream's headers of the same name.
        before_end: callback before the last byte of the answer is sent, if any.
        copy: of what the upstream answers, if its tokens are counted.
        socket: the connection behind a request for a WebSocket, which is its last one; None for all others.
        missing: bytes of the answer still to be sent if its length was declared; nothing can be added to such an answer.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self.method: str = scope["method"]
        self.path, self.deployment = place(scope["path"])
        self.header_pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        self.headers: Mapping[str, str] = dict(self.header_pairs)
        self.socket: Socket | None = (scope.get("extensions") or {}).get(WEBSOCKET)
        self.status: int | None = None
        self.recorded = False
        self._ended = self._gone = False
        self._watcher: asyncio.Task[None] | None = None
        self.before_end: Callable[[], Awaitable[None]] | None = None
        self.own_headers: list[tuple[bytes, bytes]] = []
        self._is_stream = False
        self._tail = b""
        self.copy: Copy | None = None
        self.missing: int | None = None
        self._ours: Ours | None = None

    def withhold(self, ours: Ours) -> None:
        """Keep what is the proxy's own from upstreams."""
        self.header_pairs, self._ours = clients_own(self.header_pairs, ours), ours

    @property
    def reloader(self) -> Any:
        """The process's services over time (`services.reload`)."""
        return self._scope["state"]["reloader"]

    @property
    def server(self) -> str:
        """The address of this machine to which the request came; "" where that is not known."""
        server: tuple[str | None, int | None] = self._scope.get("server") or (None, None)
        return server[0] or ""

    @property
    def query(self) -> str:
        """The query as sent."""
        query: bytes = self._scope["query_string"]
        return query.decode("latin-1")

    @property
    def target(self) -> str:
        """Path and query as sent, relative to `/v1`; Azure paths in full."""
        raw = self._scope.get("raw_path") or self._scope["path"].encode()
        target = raw.decode("latin-1").partition("?")[0].removeprefix("/v1")
        return f"{target}?{query}" if (query := self.query) else target

    async def body(self, limit: int) -> bytes:
        """The complete body.

        Raises:
            PayloadTooLarge: it is over the limit, by its header or by its actual size.
            ClientGone: the client left while sending it.
        """
        declared = self.headers.get("content-length", "")
        over = f"the body is larger than {limit} bytes"
        if declared.isdigit() and int(declared) > limit:
            raise PayloadTooLarge(over)
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            part: bytes = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise PayloadTooLarge(over)
            parts.append(part)
            if not message.get("more_body"):
                return b"".join(parts) if len(parts) > 1 else part

    async def body_stream(self) -> AsyncIterator[bytes]:
        """The body as it arrives, for requests that are forwarded without being read.

        Raises:
            ClientGone: the client left while sending it.
        """
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            yield message.get("body", b"")
            more = message.get("more_body", False)

    async def unless_gone(self, work: Awaitable[T]) -> T:
        """Await the work; cancel it if the client disconnects first.

        Raises:
            ClientGone: the client left; the work has ended by then.
        """
        task: asyncio.Task[None] = asyncio.current_task()  # type: ignore[assignment]
        later = asyncio.get_running_loop().call_later(WATCH_AFTER_S, self._begin_watching, task)
        try:
            return await work
        except asyncio.CancelledError:
            if self._gone and task.uncancel() == 0:
                raise ClientGone from None
            raise
        finally:
            later.cancel()
            if self._watcher is not None:
                self._watcher.cancel()

    def _begin_watching(self, task: asyncio.Task[None]) -> None:
        self._watcher = asyncio.ensure_future(self._watch(task))

    async def _watch(self, task: asyncio.Task[None]) -> None:
        """Cancel the task when the client disconnects before its answer is complete."""
        while (await self._receive())["type"] != "http.disconnect":
            continue
        if not self._ended:
            self._gone = True
            task.cancel()

    def switch(self, socket: Socket, headers: Headers) -> None:
        """Answer that the WebSocket is open: the rest of the connection is its own."""
        self.status, self._ended = 101, True
        socket.accept([*headers, *self.own_headers])

    async def start(self, status: int, headers: Headers) -> None:
        """Send status and headers."""
        self.status = status
        sent = [pair for pair in headers if status not in WITHOUT_BODY or pair[0].lower() != b"content-length"]
        if 300 <= status < 400 and self._ours is not None and any(map(self._ours.are_in, self.headers.values())):
            sent = [pair for pair in sent if pair[0].lower() != b"location" or not leads_away(pair[1])]
        if self.own_headers:
            ours = {name for name, _ in self.own_headers}
            sent = [pair for pair in sent if pair[0].lower() not in ours] + self.own_headers
        for name, value in sent:
            low = name.lower()
            if low == b"content-length":
                self.missing = int(value)
            elif low == b"content-type":
                self._is_stream = value.lower().startswith(b"text/event-stream")
        await self._send({"type": "http.response.start", "status": status, "headers": sent})

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send a piece of the body; the piece that fills a declared length is the last."""
        if self.missing is not None:
            self.missing -= len(data)
            more = more and self.missing > 0
        if not more and self.before_end is not None:
            await self.before_end()
        self._ended = not more
        if self._is_stream:
            self._tail = (self._tail + data[-4:])[-4:]
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def end(self) -> None:
        """Mark the body as complete, if the last piece did not."""
        if not self._ended:
            await self.write(b"", more=False)

    @property
    def _is_between_events(self) -> bool:
        """Whether the stream is between two events, so that another can follow."""
        is_open = self._is_stream and self.missing is None and not self._ended
        return is_open and (not self._tail or self._tail.endswith((b"\n\n", b"\n\r\n")))

    async def send_json(self, status: int, content: Any, headers: Headers = ()) -> None:
        """Answer with JSON."""
        await self.send_bytes(status, orjson.dumps(content), b"application/json", headers)

    async def send_bytes(self, status: int, data: bytes, kind: bytes, headers: Headers = ()) -> None:
        """Answer with a complete body."""
        own = [(b"content-type", kind), (b"content-length", str(len(data)).encode())]
        await self.start(status, [*own, *headers])
        await self.write(data, more=False)

    async def send_error(self, error: ProxyError, headers: Headers = ()) -> None:
        """Answer with an error object in the endpoint's format; an upstream's own error is forwarded unchanged. In a stream that has begun, the
        error is the last event. Any other answer that has begun, and a stream in the middle of an event, can only be cut off: the server
        closes a connection whose answer is incomplete.
        """
        if self.status is not None:
            if self._is_between_events:
                await self.write(error_event(self.path, error), more=False)
            return
        extra = list(headers)
        if error.is_final:  # libraries repeat what failed, by themselves
            self.own_headers.append((b"x-should-retry", b"false"))
        if isinstance(error, UpstreamRejected):
            extra += error.headers
            if error.retry_after is not None and not error.headers:
                extra.append((b"retry-after", error.retry_after.encode("latin-1", "replace")))
            kind = error.content_type.encode("latin-1", "replace")
            await self.send_bytes(error.status, error.raw_body, kind, extra)
            return
        if isinstance(error, RateLimited):
            self.own_headers += error.headers
        if error.retry_after_s is not None:
            extra.append((b"retry-after", str(max(1, round(error.retry_after_s))).encode()))
        await self.send_json(error.status, error_body(self.path, error), extra)


def error_body(path: str, error: ProxyError) -> Json:
    """The error object in the endpoint's format; an upstream's own error unchanged."""
    if isinstance(error, UpstreamRejected):
        try:
            body = loads(error.raw_body)
        except ValueError:
            body = None
        if isinstance(body, dict) and "error" in body:
            return body
    return dialect_of(path).error(error)


def error_event(path: str, error: ProxyError) -> bytes:
    """An error as an event of a stream; one that came in an upstream's stream as it came."""
    if isinstance(error, UpstreamRejected) and error.event:
        return error.event
    return dialect_of(path).error_event(error_body(path, error))
