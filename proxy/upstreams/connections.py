"""The pool of connections to one upstream: opened on demand, kept for later calls, closed when idle."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterable, Sequence
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from aiohappyeyeballs import start_connection

from ..errors import ConfigError, UpstreamError, UpstreamTimeout
from .wire import MOST_HEAD, Answer, Connection

PORTS = {"http": 80, "https": 443}
KEEP_S = 4.0
"""Longest time that an idle connection is kept, in seconds.

Shorter than the 5 seconds after which uvicorn (and so vLLM) and Node close idle connections, possibly just when the
next call is sent.
"""
REST_S = 0.05
"""Seconds that a connection rests, if another is free: an answer too many that arrives by then closes it, later it would pass for the next one."""
SECOND_ADDRESS_S = 0.25
"""Seconds that the first address of a host may take before the next is tried in parallel."""
ADDRESSES_S = 10.0
"""Seconds that the addresses of a host are cached."""
REPEATABLE = frozenset(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
"""Idempotent methods, which may be repeated."""
WITHOUT_BODY = frozenset(["GET", "HEAD", "OPTIONS", "TRACE"])
"""Methods that need no header to say that there is no body."""


class Connections:
    """At most `most` connections to one origin.

    Args:
        name: of the upstream, for messages.
        address: any URL at the origin.
        tls: the context for https; None for http.
        connect_s, silent_s: time limits for connecting, and for an upstream's silence while an answer is due.
    """

    def __init__(
        self,
        name: str,
        address: SplitResult,
        tls: ssl.SSLContext | None,
        *,
        most: int,
        connect_s: float,
        silent_s: float,
    ) -> None:
        self.name, self._tls = name, tls
        self._host, self._port = _host(address), address.port or PORTS[address.scheme]
        self.authority = authority(address)
        self._proxy = proxy_of(address)
        self._is_closed = False
        self._connect_s, self._silent_s = connect_s, silent_s
        self._slots = asyncio.Semaphore(most)
        self._idle: deque[Connection] = deque()
        self._sweep: asyncio.TimerHandle | None = None
        self._addresses: list[tuple[int, int, int, str, tuple[object, ...]]] = []
        self._looked_up_at = -ADDRESSES_S

    def ask(
        self,
        method: str,
        target: str,
        headers: Sequence[tuple[str, str]],
        body: bytes | AsyncIterable[bytes],
        *,
        may_switch: bool = False,
    ) -> Asked:
        """A call, made when its context is entered.

        `headers` are sent as they are; framing and host are added.
        """
        return Asked(self, method, target, headers, body, may_switch)

    async def take(self) -> Connection:
        """A connection for one call: the most recently used one, or if that has not rested the longest idle one, or a new one."""
        await self._slots.acquire()
        now = asyncio.get_running_loop().time()
        try:
            while self._idle:
                kept = self._idle.pop() if now - self._idle[-1].idle_since >= REST_S else self._idle.popleft()
                if kept.is_usable(KEEP_S):
                    return kept
                kept.close()
            return await self._open()
        except BaseException:
            self._slots.release()
            raise

    def give_back(self, connection: Connection) -> None:
        """Return the connection after the call."""
        self._slots.release()
        if not connection.release():
            return
        if self._is_closed:
            connection.close()
            return
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(KEEP_S, self._close_idle)

    def _close_idle(self) -> None:
        """Close connections that have been idle for too long."""
        loop = asyncio.get_running_loop()
        while self._idle and loop.time() - self._idle[0].idle_since >= KEEP_S:
            self._idle.popleft().close()
        self._sweep = loop.call_later(KEEP_S / 2, self._close_idle) if self._idle else None

    async def _open(self) -> Connection:
        try:
            async with asyncio.timeout(self._connect_s):
                return await self._connected()
        except TimeoutError as error:
            raise UpstreamTimeout(f"the upstream {self.name!r} did not answer in time") from error
        except (OSError, RuntimeError, UnicodeError) as error:
            raise UpstreamError(f"the upstream {self.name!r} cannot be reached", code="upstream_unreachable") from error

    async def _connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        if time.monotonic() - self._looked_up_at >= ADDRESSES_S:
            host, port = (self._proxy.hostname, self._proxy.port or 80) if self._proxy else (self._host, self._port)
            self._addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)  # type: ignore[assignment]
            self._looked_up_at = time.monotonic()
        try:
            connected = await start_connection(self._addresses, happy_eyeballs_delay=SECOND_ADDRESS_S)
        except OSError:
            self._looked_up_at = -ADDRESSES_S  # the host may have a new address
            raise
        if self._proxy is not None:
            await self._tunnel(connected, self._proxy)
        _, connection = await loop.create_connection(
            lambda: Connection(self.name, self._silent_s),
            sock=connected,
            ssl=self._tls,
            server_hostname=self._host if self._tls is not None else None,
            # before the time-out of the whole, which could not say what was waited for
            ssl_handshake_timeout=0.8 * self._connect_s if self._tls is not None else None,
        )
        return connection

    async def _tunnel(self, connected: socket.socket, proxy: SplitResult) -> None:
        """Ask a proxy for a connection to the upstream.

        Raises:
            ConnectionError: it gives none.
        """
        loop, said = asyncio.get_running_loop(), b""
        target = f"{_in_brackets(self._host)}:{self._port}"
        user = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}".encode()
        shown = f"proxy-authorization: Basic {b64encode(user).decode()}\r\n" if proxy.username else ""
        try:
            await loop.sock_sendall(connected, f"CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n{shown}\r\n".encode())
            while not said.endswith(b"\r\n\r\n"):
                more = await loop.sock_recv(connected, 4096)
                said += more
                if not more or len(said) > MOST_HEAD:
                    raise ConnectionError("the proxy of HTTPS_PROXY broke off")
            status = said.splitlines()[0].partition(b" ")[2]
            if not status.startswith(b"200"):
                raise ConnectionError(f"the proxy of HTTPS_PROXY answered {status[:60].decode('latin-1')}")
        except BaseException:
            connected.close()
            raise

    async def aclose(self) -> None:
        """Close the idle connections; one in use is closed when its call ends."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        while self._idle:
            self._idle.pop().close()


class Asked:
    """A call and its answer, returned by `Connections.ask`.

    A class, because a generator would make every request slower.

    Raises:
        UpstreamError: the upstream cannot be reached, broke off, or did not answer in time; the last two also while its
            answer is read.
    """

    def __init__(
        self,
        connections: Connections,
        method: str,
        target: str,
        headers: Sequence[tuple[str, str]],
        body: bytes | AsyncIterable[bytes],
        may_switch: bool,
    ) -> None:
        self._connections, self._method, self._body, self._may_switch = connections, method, body, may_switch
        self._target, self._headers = target, headers
        self._connection: Connection | None = None

    async def __aenter__(self) -> Answer:
        head = self._head()
        may_repeat = self._method in REPEATABLE and isinstance(self._body, bytes)
        while True:
            connection = await self._connections.take()
            try:
                answer = await connection.ask(
                    head, self._body, is_head=self._method == "HEAD", may_switch=self._may_switch
                )
            except BaseException as error:
                self._connections.give_back(connection)
                if not connection.was_cut_off or not isinstance(error, UpstreamError):
                    raise
                if not may_repeat:  # `retries` make a call of our own again; a relayed POST is the client's to repeat
                    message = f"the upstream {self._connections.name!r} closed the connection before it answered"
                    raise UpstreamError(message, code="upstream_unreachable") from error
                may_repeat = False
            else:
                self._connection = connection
                return answer

    async def __aexit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connections.give_back(self._connection)

    def _head(self) -> bytes:
        """The head of the request, encoded.

        Raises:
            UpstreamError: a header contains a line break.
        """
        method, body = self._method, self._body
        lines = [f"{method} {self._target} HTTP/1.1\r\nhost: {self._connections.authority}\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in self._headers]
        if not isinstance(body, bytes):
            lines.append("transfer-encoding: chunked\r\n")
        elif body or method not in WITHOUT_BODY:
            lines.append(f"content-length: {len(body)}\r\n")
        head = "".join(lines)
        if head.count("\n") != len(lines) + 1 or head.count("\r") != len(lines) + 1 or "\0" in head:
            message = (
                f"a header for the upstream {self._connections.name!r} holds the end of a line; look at its api_key"
            )
            raise UpstreamError(message, code="upstream_broken")
        return (head + "\r\n").encode("latin-1")


def proxy_of(address: SplitResult) -> SplitResult | None:
    """The proxy through which the environment (`HTTPS_PROXY`, `NO_PROXY`) leads to an https upstream; None if it is reached directly.

    Raises:
        ConfigError: it is none that is spoken to here.
    """
    proxies = getproxies()
    named = proxies.get("https", "") if address.scheme == "https" else ""
    if not named or proxy_bypass(address.hostname or ""):
        return None
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    try:
        is_known = proxy.scheme == "http" and bool(proxy.hostname) and proxy.port != 0
    except ValueError:  # a port that is none
        is_known = False
    if not is_known:
        raise ConfigError(
            "HTTPS_PROXY must name a proxy as http://[user:password@]host:port; no other kind is spoken to"
        )
    return proxy


def _host(address: SplitResult) -> str:
    """The host name for the look-up."""
    host = address.hostname or ""
    return host if host.isascii() else host.encode("idna").decode()


def _in_brackets(host: str) -> str:
    """A host as it stands before a port; only addresses of IPv6 have colons."""
    return f"[{host}]" if ":" in host else host


def authority(address: SplitResult) -> str:
    """Host and port as requests name them; the scheme's default port is left out."""
    host = _in_brackets(_host(address))
    return host if address.port in (None, PORTS[address.scheme]) else f"{host}:{address.port}"
