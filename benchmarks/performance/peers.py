"""What the proxy is compared with: the least that could stand in its place. `python -m benchmarks.performance.peers KIND UPSTREAM PORT`.

`asgi` is a bare ASGI handler with an aiohttp client, `fastapi` a FastAPI route with an httpx client.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn


def asgi(upstream: str) -> Any:
    """A bare handler that relays a body both ways."""
    import aiohttp

    session: list[aiohttp.ClientSession] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            session.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=256), auto_decompress=False))
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await session[0].close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = (await receive())["body"]
        async with session[0].post(upstream + scope["path"], data=body) as answer:
            data = await answer.read()
            head = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
            await send({"type": "http.response.start", "status": answer.status, "headers": head})
        await send({"type": "http.response.body", "body": data})

    return app


def fastapi(upstream: str) -> Any:
    """The usual way."""
    import httpx
    from fastapi import FastAPI, Request, Response

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        limits = httpx.Limits(max_connections=256, max_keepalive_connections=256)
        async with httpx.AsyncClient(limits=limits, timeout=60) as app.state.client:
            yield

    app = FastAPI(lifespan=lifespan)

    async def relay(request: Request) -> Response:
        answer = await app.state.client.post(upstream + request.url.path, content=await request.body())
        return Response(answer.content, answer.status_code, media_type="application/json")

    app.add_route("/v1/chat/completions", relay, methods=["POST"])
    return app


if __name__ == "__main__":
    kind, upstream, port = sys.argv[1:]
    uvicorn.run(
        {"asgi": asgi, "fastapi": fastapi}[kind](upstream),
        host="127.0.0.1", port=int(port), loop="uvloop", http="httptools", log_level="critical", access_log=False,
    )  # fmt: skip
