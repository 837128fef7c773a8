"""WebSockets of the API (Realtime): requests like all others until the upstream opens one; then bytes in both directions, as long as the
request would still be admitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress

import anyio
import structlog

from ..errors import RateLimited, UpstreamTimeout
from ..outcomes import Reason
from ..pipeline.result import Run
from ..services.services import Services
from ..types import BYTES_A_TOKEN, Usage
from .exchange import Exchange
from .finish import finish
from .headers import headers
from .pass_through import call_for, send_on
from .sockets import Socket

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 1.0
"""Seconds after which key, route and limits are looked at again, as for a new request."""


async def forward(
    exchange: Exchange, services: Services, run: Run, socket: Socket, admit: Callable[[], object], *, marked: bool
) -> None:
    """Ask the upstream for the WebSocket, and relay it. Any other answer is relayed as it is; the connection ends with it.

    Raises:
        ProxyError: the upstream could not be reached, broke off or was silent; or what `admit` raises later, or a limit of the key.
    """
    job = run.job
    call = call_for(exchange, job, b"")._replace(is_websocket=True)
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(job.route.deadline_s):
                reply = await stack.enter_async_context(services.upstreams[job.route.upstream].relay(call))
        except TimeoutError as error:
            raise UpstreamTimeout(f"the upstream {job.route.upstream!r} did not answer in time") from error
        run.answered(reply.upstream, reply.model)
        result = run.pass_on(Reason.NOT_GENERATING)
        extra = headers(result) if marked else []
        if reply.send is None:
            await send_on(exchange, reply, extra)
        else:
            exchange.switch(socket, [*reply.headers, *extra])
            await _Tunnel(services, run, socket).relay(reply.chunks, reply.send, admit)
    await finish(services, exchange, run.result, http_status=exchange.status)


class _Tunnel:
    """One open WebSocket.

    Attributes:
        sent, received: bytes of the client, and of the upstream.
    """

    def __init__(self, services: Services, run: Run, socket: Socket) -> None:
        self._services, self._run, self._socket = services, run, socket
        self.sent = self.received = self._counted = 0

    async def relay(
        self, chunks: AsyncIterator[bytes], send: Callable[[bytes], Awaitable[None]], admit: Callable[[], object]
    ) -> None:
        """Relay until either side ends or the client may not go on; then both sides are closed.

        Raises:
            ProxyError: as `forward`.
        """
        loop = asyncio.get_running_loop()
        tasks = {loop.create_task(work) for work in (self._up(send), self._down(chunks), self._look(admit))}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._socket.close()
            with anyio.CancelScope(shield=True), suppress(RateLimited):
                await self._count()
            tokens = Usage(self.sent // BYTES_A_TOKEN, self.received // BYTES_A_TOKEN)
            self._run.learn(relayed=tokens)
            with (metrics := self._services.metrics).spared():
                for direction, count in (("sent", self.sent), ("received", self.received)):
                    metrics.tunnel_bytes.labels(self._run.job.route.name, direction).inc(count)
            log.info("tunnel_closed", id=self._run.job.id, sent=self.sent, received=self.received)

    async def _up(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        while data := await self._socket.read():
            self.sent += len(data)
            await send(data)

    async def _down(self, chunks: AsyncIterator[bytes]) -> None:
        async for data in chunks:
            self.received += len(data)
            await self._socket.write(data)

    async def _look(self, admit: Callable[[], object]) -> None:
        """Look again and again whether the request would still be admitted, and count what it has used of the key's tokens."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            admit()
            await self._count()

    async def _count(self) -> None:
        counted, self._counted = self._counted, self.sent + self.received
        if (key := self._run.job.key) is not None:
            await self._services.limits.spend(key, self._run.job.id, (self._counted - counted) // BYTES_A_TOKEN)
