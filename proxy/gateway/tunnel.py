"""WebSockets of the API (Realtime): opened to the upstream of their route, then relayed byte by byte in both directions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import structlog
from uvicorn.config import Config
from uvicorn.server import ServerState

from ..errors import Internal, NotFound, ProxyError, UpstreamError
from ..outcomes import Reason, Status
from ..pipeline.job import Job, new_id
from ..pipeline.result import Run
from ..protocols import Tunnels
from ..services.services import Services
from ..upstreams.egress import clients_own
from .access import Caller, caller_of, ours_of
from .edge import NO_ROUTE, route_of
from .entrance import place
from .finish import finish
from .headers import headers
from .reading import Received

log = structlog.get_logger(__name__)

MOST_WAITING = 256 * 1024
"""Bytes that may wait for a slow receiver before reading from the other side pauses."""
KEY_IN_PROTOCOL = "openai-insecure-api-key."
"""Prefix of a key in `Sec-WebSocket-Protocol`, the only place where a browser can send one."""


class Tunnel(asyncio.Protocol):
    """One connection, from its request for a WebSocket on. uvicorn creates it and passes it the head of the request."""

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
        del config
        self._state, self._app_state = server_state, app_state
        self._client: asyncio.Transport = None  # type: ignore[assignment]
        self._upstream: asyncio.StreamWriter | None = None
        self._work: asyncio.Task[None] | None = None
        self._catching_up: asyncio.Task[None] | None = None
        self._status: int | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the client's connection."""
        self._client = transport  # type: ignore[assignment]
        self._state.connections.add(self)  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        """The client left: stop the work with the upstream."""
        self._state.connections.discard(self)
        self._may_write.set()
        if self._work is not None:
            self._work.cancel()

    def shutdown(self) -> None:
        """Close because the server stops."""
        self._client.close()

    def pause_writing(self) -> None:
        """Pause reading from the upstream: the client reads slower than the upstream writes."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """Resume reading from the upstream: the client has caught up."""
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        """Receive the head of the request, then data from the client."""
        if self._work is None:
            self._client.pause_reading()  # until there is an upstream to send it to
            self._work = asyncio.get_running_loop().create_task(self._serve(data))
            self._state.tasks.add(self._work)
            self._work.add_done_callback(self._state.tasks.discard)
        elif self._upstream is not None:
            self._upstream.write(data)
            if self._upstream.transport.get_write_buffer_size() > MOST_WAITING and self._client.is_reading():
                self._client.pause_reading()
                self._catching_up = asyncio.get_running_loop().create_task(self._catch_up(self._upstream))

    async def _catch_up(self, upstream: asyncio.StreamWriter) -> None:
        """Resume reading from the client once the upstream has received everything so far."""
        try:
            await upstream.drain()
            self._client.resume_reading()
        except OSError:
            self._client.close()

    async def _serve(self, head: bytes) -> None:
        services: Services = self._app_state["reloader"].services
        target, sent = _read(head)
        path, _ = place(urlsplit(target).path)
        run = Run(Job(new_id(), NO_ROUTE, path, {}, dict(sent), time.perf_counter(), mode=None, target=target))
        with services.in_use:
            try:
                await self._answer(services, run, sent)
            except ProxyError as error:
                self._refuse(run, error)
            except asyncio.CancelledError:  # the client left
                if self._status is None:
                    run.end(Status.CANCELLED, Reason.CLIENT_GONE)
            except Exception:
                log.exception("request_fault", path=path)
                self._refuse(run, Internal("something went wrong inside the proxy; the operator's log says what"))
            finally:
                if self._upstream is not None:
                    self._upstream.close()
                self._client.close()
                await finish(services, None, run.result, http_status=self._status)

    async def _answer(self, services: Services, run: Run, sent: list[tuple[str, str]]) -> None:
        """Authorise, and relay within the limits of the key.

        Raises:
            ProxyError: as `_open`, or a limit of the key is exhausted.
        """
        caller = caller_of({**_key_in_protocol(run.job.headers), **run.job.headers}, services.settings, services.keys)
        sent = clients_own(sent, ours_of(services.settings, services.keys))
        run.take(run.job._replace(headers=dict(sent)))
        if caller.secret is None:
            await self._pass_on(await self._open(services, run, sent, caller), run)
            return
        key = caller.secret.key
        run.take(run.job._replace(key=key))
        caller.check()
        visit = await services.limits.enter(key, run.job.id)
        try:
            await self._pass_on(await self._open(services, run, sent, caller), run)
        finally:
            await visit.leave()

    async def _open(
        self, services: Services, run: Run, sent: list[tuple[str, str]], caller: Caller
    ) -> asyncio.StreamReader:
        """Request the WebSocket from the upstream of the request's route.

        Raises:
            ProxyError: no route matches the request, or its upstream has no WebSockets or cannot be reached.
        """
        job = run.job
        url = urlsplit(job.target)
        named = parse_qs(url.query)
        model = next(iter(named.get("model") or named.get("deployment") or ()), None)
        route = route_of(services, job.headers, Received(b"", {}, model=model), caller, generates=False)
        run.take(job.routed(route, "off", {"model": model} if model else {}))
        run.pass_on(Reason.NOT_GENERATING)
        upstream = services.upstreams[route.upstream]
        if url.path.startswith(("/v1/", "/openai/")) and isinstance(upstream, Tunnels):
            target = job.target.removeprefix("/v1")
            reader, self._upstream = await upstream.tunnel(target, sent)
            return reader
        raise NotFound(f"there is no WebSocket at {url.path}", code="unknown_path")

    async def _pass_on(self, reader: asyncio.StreamReader, run: Run) -> None:
        """Relay the upstream's answer, then all its data, to the client.

        Raises:
            UpstreamError: it did not answer with HTTP.
        """
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self._status = int(head.split(b" ", 2)[1])
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError, IndexError) as error:
            raise UpstreamError("the upstream broke off its answer", code="upstream_broken") from error
        first, _, rest = head.partition(b"\r\n")
        ours = headers(run.result) if run.job.route.mode == "on" else []
        self._client.write(b"".join([first, b"\r\n", *(b"%s: %s\r\n" % pair for pair in ours), rest]))
        self._client.resume_reading()
        try:
            while data := await reader.read(MOST_WAITING):
                self._client.write(data)
                await self._may_write.wait()
        except OSError:
            log.info("tunnel_broken", id=run.job.id)

    def _refuse(self, run: Run, error: ProxyError) -> None:
        """Answer with an error object instead of a WebSocket."""
        run.fail(error)
        self._status = error.status
        if not self._client.is_closing():
            body = orjson.dumps(error.body())
            head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close"
            if error.retry_after_s is not None:
                head += f"\r\nretry-after: {max(1, round(error.retry_after_s))}"
            self._client.write(f"HTTP/1.1 {error.status} Refused\r\n{head}\r\n\r\n".encode() + body)


def _read(head: bytes) -> tuple[str, list[tuple[str, str]]]:
    """Target and headers of a request."""
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return first.split(" ")[1], [(name.lower(), value.strip()) for name, _, value in pairs]


def _key_in_protocol(sent: Mapping[str, str]) -> dict[str, str]:
    """A browser's key, as the `Authorization` header that it cannot send."""
    for part in sent.get("sec-websocket-protocol", "").split(","):
        if part.strip().startswith(KEY_IN_PROTOCOL):
            return {"authorization": "Bearer " + part.strip().removeprefix(KEY_IN_PROTOCOL)}
    return {}
