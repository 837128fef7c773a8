"""One HTTP/1.1 connection to an upstream: sends a request and reads its answer piece by piece.

Our own and not a library's, because every relayed request uses it: data is passed on as the parser (llhttp's) delivers
it, without a task, a generator or an object per layer. One call at a time; after a protocol error or an unfinished
answer the connection is closed and never used again.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import AsyncIterable

import httptools

from ..errors import UpstreamError, UpstreamTimeout

Pairs = list[tuple[bytes, bytes]]
MOST_HEAD = 64 * 1024
"""Maximum size of an answer's head in bytes."""
MOST_HELD = 256 * 1024
"""Bytes of an answer that are buffered for a slow reader before reading from the upstream pauses."""
LARGEST_PIECE = 1 << 20
"""Bytes of a body that are sent at once, so that other requests get their turn in between."""
SWITCHING = 101
CLOSING_S = 5.0
"""Seconds that an upstream has to read what was sent last on a connection that ends."""
_PLAIN_TRANSFERS = (b"chunked", b"identity")
TLS_ALERT = b"\x15\x03"
"""What a server that speaks TLS sends first to somebody who does not."""
CUT_OFF_S = 0.5
"""Seconds after a request within which a closed connection was probably closed before the request was read: later it may be the work that failed."""


class Answer:
    """The answer to one call, available once its head has arrived; iterating gives the body in pieces.

    Attributes:
        status: of the head.
        headers: in order, as they were sent.
        is_switched: whether the upstream has switched to another protocol: the body is what it says in that one.
    """

    def __init__(self, connection: Connection) -> None:
        self.status = 0
        self.headers: Pairs = []
        self.is_whole = self.is_switched = False
        self._connection = connection
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._failure: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether the answer is complete or has failed."""
        return self.is_whole or self._failure is not None

    async def head(self) -> None:
        """Return when status and headers have arrived.

        Raises:
            UpstreamError: the upstream broke off, or did not answer in time.
        """
        while not self.status:
            if self._failure is not None:
                raise self._failure
            await self._next_sign()

    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> bytes:
        while not self._held:
            if self._failure is not None:
                raise self._failure
            if self.is_whole:
                raise StopAsyncIteration
            await self._next_sign()
        data = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._held.clear()
        if self._held_bytes > MOST_HELD:
            self._connection.go_on()
        self._held_bytes = 0
        return data

    async def send(self, data: bytes) -> None:
        """Send something after the request, once the upstream has switched to another protocol; waits while it reads more slowly."""
        await self._connection.send(data)

    async def _next_sign(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def wake(self) -> None:
        """Wake the coroutine that waits for data."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self, piece: bytes) -> None:
        """Buffer a piece of the body."""
        self._held.append(piece)
        self._held_bytes += len(piece)

    @property
    def is_full(self) -> bool:
        """Whether the buffer is full."""
        return self._held_bytes > MOST_HELD

    def fail(self, error: BaseException) -> None:
        """End with an error before the body is complete; what is buffered can still be read."""
        if not self.is_over:
            self._failure = error
            self.wake()


class Connection(asyncio.Protocol):
    """A connection to the upstream `name`.

    It may be silent for `timeout_s` seconds while an answer is due, and take as long for a head.

    Attributes:
        was_cut_off: whether the upstream closed a reused connection at once and before the first byte of an answer; it
            may not have seen the request.
        idle_since: end of the last call, on the loop's clock.
    """

    def __init__(self, name: str, timeout_s: float) -> None:
        self._name, self._timeout_s = name, timeout_s
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport = None  # type: ignore[assignment]
        self._parser = _parser(self)
        self._answer: Answer | None = None
        self._is_head = self._is_interim = self._is_spent = self._is_paused = False
        self._may_switch = False
        self._headers: Pairs = []
        self._head_bytes = 0
        self._last_sign_at = 0.0
        self._watch: asyncio.TimerHandle | None = None
        self._upload: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._calls = 0
        self.was_cut_off = False
        self.idle_since = 0.0

    # The call

    async def ask(
        self, head: bytes, body: bytes | AsyncIterable[bytes], *, is_head: bool = False, may_switch: bool = False
    ) -> Answer:
        """Send a request and wait for the head of its answer.

        A body that is not bytes is sent in chunks as it arrives.

        Args:
            head: the request's head, with its last empty line.
            body: sent after the head.
            is_head: whether the answer has no body, whatever its headers say.
            may_switch: whether another protocol is asked for: then everything behind a 101 is the answer's body, without an end of its own.

        Raises:
            UpstreamError: the upstream broke off, or did not answer in time.
        """
        answer = self._answer = Answer(self)
        self._is_head, self._head_bytes, self._headers, self._may_switch = is_head, 0, [], may_switch
        self._calls += 1
        if isinstance(body, bytes) and len(body) <= LARGEST_PIECE:
            self._transport.write(head + body)
            self._expect()
        else:
            self._transport.write(head)
            self._upload = self._loop.create_task(self._send(body))
            self._upload.add_done_callback(self._sent)
        await answer.head()
        return answer

    def _expect(self) -> None:
        """Start waiting for an answer of the upstream."""
        self._last_sign_at = self._loop.time()
        if self._watch is None:
            self._watch = self._loop.call_later(self._timeout_s, self._check_silence)

    async def _send(self, body: bytes | AsyncIterable[bytes]) -> None:
        """Send a body piece by piece, as fast as the upstream accepts it; in chunks if its length is unknown."""
        if isinstance(body, bytes):
            for start in range(0, len(body), LARGEST_PIECE):
                self._transport.write(body[start : start + LARGEST_PIECE])
                await self._may_write.wait()
            return
        async for piece in body:
            if piece:
                self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await self._may_write.wait()
        self._transport.write(b"0\r\n\r\n")

    async def send(self, data: bytes) -> None:
        """Send bytes of the protocol that the upstream has switched to."""
        self._transport.write(data)
        await self._may_write.wait()

    def _sent(self, upload: asyncio.Task[None]) -> None:
        """Callback after sending the body: wait for the answer, or fail the call if sending failed."""
        if upload.cancelled():
            return
        error = upload.exception()
        if error is None:
            self._expect()
        elif self._answer is not None and upload is self._upload:
            self._answer.fail(error)

    def release(self) -> bool:
        """End the call, complete or not; returns whether the connection can be used for another."""
        answer, self._answer = self._answer, None
        is_sent = self._upload is None or self._upload.done()
        if self._upload is not None:
            self._upload.cancel()
            self._upload = None
        is_over = answer is not None and answer.is_whole and not self._may_switch
        if not is_over or not is_sent or self._transport.get_write_buffer_size():
            self._is_spent = True
        if (
            answer is not None and answer.is_switched and not self._transport.is_closing()
        ):  # what was sent last shall arrive
            self._transport.close()
            self._loop.call_later(CLOSING_S, self._transport.abort)
            return False
        if self._is_spent:
            self.close()
            return False
        self.idle_since = self._loop.time()
        return True

    def is_usable(self, keep_s: float) -> bool:
        """Whether the connection can be used for another call.

        It is open, its last call ended less than `keep_s` ago, and nothing has arrived since: that would be read as the
        answer to the next call.
        """
        is_fresh = self._loop.time() - self.idle_since < keep_s
        return is_fresh and not self._is_spent and not self._transport.is_closing() and not self._incoming.poll(0)

    def close(self) -> None:
        """Close the connection; a running call fails."""
        self._is_spent = True
        self._transport.abort()

    # Callbacks of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = transport  # type: ignore[assignment]
        self.idle_since = self._loop.time()
        self._incoming = select.poll()
        self._incoming.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Parse received data."""
        answer = self._answer
        if answer is None or answer.is_over:
            self.close()  # no answer is due
            return
        try:
            if answer.status:
                self._last_sign_at = self._loop.time()
            else:  # part of a head does not count as activity: it could come byte by byte for ever
                self._head_bytes += len(data)
            if answer.is_switched:
                answer.take(data)
            else:
                self._parser.feed_data(data)
            if not answer.status and self._head_bytes > MOST_HEAD:
                raise httptools.HttpParserError("the head is too large")
        except httptools.HttpParserUpgrade as stop:
            self._is_spent = True
            if not answer.is_switched:
                answer.fail(self._broken())
            elif len(data) > stop.args[0]:
                answer.take(data[stop.args[0] :])
        except httptools.HttpParserError:
            self._is_spent = True
            is_tls = not answer.status and data.startswith(TLS_ALERT)
            answer.fail(self._broken(ConnectionError("the port speaks TLS: use https") if is_tls else None))
        answer.wake()
        if answer.is_full and not self._is_paused and not answer.is_over:
            self._is_paused = True
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Resume reading: there is room in the buffer."""
        if self._is_paused:
            self._is_paused, self._last_sign_at = False, self._loop.time()
            if not self._transport.is_closing():
                self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """The upstream has closed the connection: the end of a body of unknown length, else an error."""
        self._is_spent = True
        self._may_write.set()
        if self._watch is not None:
            self._watch.cancel()
        if self._answer is None:
            return
        waited_s = self._loop.time() - self._last_sign_at
        self.was_cut_off = self._calls > 1 and self._head_bytes == 0 and waited_s < CUT_OFF_S
        if exc is None and self._answer.status and (self._answer.is_switched or not _says_length(self._answer.headers)):
            self._answer.is_whole = True
            self._answer.wake()
        else:
            self._answer.fail(self._broken(exc or ConnectionError("closed before the end of an answer")))

    def pause_writing(self) -> None:
        """The upstream reads more slowly than the client sends."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """The upstream has caught up."""
        self._may_write.set()

    def _check_silence(self) -> None:
        """Fail the call if the upstream has been silent too long; else check again when it could be."""
        self._watch = None
        if self._answer is None or self._answer.is_over or self._answer.is_switched:
            return
        is_ours = self._is_paused or (self._upload is not None and not self._upload.done())
        remaining_s = self._timeout_s - (0.0 if is_ours else self._loop.time() - self._last_sign_at)
        if remaining_s > 0:
            self._watch = self._loop.call_later(remaining_s, self._check_silence)
        else:
            self._is_spent = True
            self._answer.fail(UpstreamTimeout(f"the upstream {self._name!r} did not answer in time"))

    def _broken(self, cause: Exception | None = None) -> UpstreamError:
        error = UpstreamError(f"the upstream {self._name!r} broke off its answer", code="upstream_broken")
        error.__cause__ = cause
        return error

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        """Another answer: after an interim one, or an unrequested one."""
        if self._answer is not None and self._answer.is_whole:
            self._is_spent = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; trailers after the body are ignored."""
        if self._answer is not None and not self._answer.status:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head of an answer; that of an interim one is ignored."""
        answer, status = self._answer, self._parser.get_status_code()
        if answer is None or answer.is_whole:
            return
        self._last_sign_at = self._loop.time()
        self._is_interim = status < 200 and status != SWITCHING
        headers, self._headers = self._headers, []
        if _is_coded(headers):
            raise ValueError("the transfer is coded")  # the parser ends with an error
        if not self._is_interim:
            answer.status, answer.headers = status, headers
            if self._is_head:
                self._is_spent = answer.is_whole = True  # the parser expects a body

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""
        if self._answer is not None and not self._answer.is_whole:
            self._answer.take(piece)

    def on_message_complete(self) -> None:
        """The end of an answer."""
        if self._is_interim:
            self._is_interim = False
        elif self._answer is not None and self._may_switch and self._parser.should_upgrade():
            self._answer.is_switched = self._is_spent = True
        elif self._answer is not None:
            self._answer.is_whole = True
            self._is_spent = self._is_spent or not self._parser.should_keep_alive()


def _parser(connection: Connection) -> httptools.HttpResponseParser:
    """The parser, as lenient as clients must be: it accepts lines that end without a carriage return."""
    parser = httptools.HttpResponseParser(connection)
    parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)
    return parser


def _says_length(headers: Pairs) -> bool:
    """Whether the headers give the end of the body, so that the connection need not close."""
    return any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in headers)


def _is_coded(headers: Pairs) -> bool:
    """Whether the transfer is coded otherwise than in chunks, which nobody has asked for: its bytes would pass for those of the body."""
    return any(
        len(name) == 17 and name.lower() == b"transfer-encoding" and value.strip().lower() not in _PLAIN_TRANSFERS
        for name, value in headers
    )
