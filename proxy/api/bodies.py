"""The bodies of requests to our own endpoints: within the limit, and JSON that can be written again."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import orjson

from ..computing import aside
from ..errors import BadRequest
from ..gateway.exchange import ClientGone, Exchange, Receive, Scope, Send
from ..gateway.reading import LARGE_BODY_BYTES
from ..outcomes import Reason
from ..strict_json import loads


class StrictBodies:
    """An application whose requests are read before it sees them: FastAPI would read without limit, and JSON that nobody can write again."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            BadRequest: the body is too large, or not JSON although it says so.
        """
        exchange, limit = Exchange(scope, receive, send), scope["state"]["services"].settings.server.max_body_bytes
        try:
            data = await exchange.body(limit)
        except ClientGone:
            return
        if data and "json" in exchange.headers.get("content-type", "").lower():
            await aside(len(data), LARGE_BODY_BYTES, _check, data)
        came = [{"type": "http.request", "body": data, "more_body": False}]

        async def again() -> MutableMapping[str, Any]:
            return came.pop() if came else await receive()

        await self._app(scope, again, send)


def _check(data: bytes) -> None:
    try:
        loads(data)
    except orjson.JSONDecodeError as error:
        message = f"the body is not valid JSON: {error.msg} at character {error.pos}"
        raise BadRequest(message, code=Reason.INVALID_JSON) from error
