"""CORS: answer preflights, which browsers send without a key, and set the headers by which pages of other origins may read answers."""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import Any

from .entrance import ANY
from .exchange import Scope, Send

MAX_AGE_S = b"600"
"""Seconds for which a browser may cache the answer to a preflight."""


def allowed_origin(scope: Scope, origins: Collection[str]) -> bytes | None:
    """The origin of an API request if pages of that origin may read the answer; None for other origins, and for requests without an origin."""
    if not scope["path"].startswith(("/v1/", "/openai/")):
        return None
    origin = next((value for name, value in scope["headers"] if name == b"origin"), None)
    return origin if origin is not None and (ANY in origins or origin.decode("latin-1") in origins) else None


def is_preflight(scope: Scope) -> bool:
    """Whether a request is a CORS preflight."""
    return scope["method"] == "OPTIONS" and any(
        name == b"access-control-request-method" for name, _ in scope["headers"]
    )


async def answer_preflight(scope: Scope, send: Send, origin: bytes) -> None:
    """Allow the requested method and headers."""
    asked = dict(scope["headers"])
    headers = [
        *_readable_by(origin),
        (b"access-control-allow-methods", asked[b"access-control-request-method"]),
        (b"access-control-allow-headers", asked.get(b"access-control-request-headers", b"*")),
        (b"access-control-max-age", MAX_AGE_S),
    ]
    if asked.get(b"access-control-request-private-network") == b"true":
        headers.append((b"access-control-allow-private-network", b"true"))
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def readable_by(origin: bytes, send: Send) -> Send:
    """A `send` that allows pages of this origin to read answers and headers."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_readable_by(origin)]}
        await send(message)

    return sending


def _readable_by(origin: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"*"),
        (b"vary", b"Origin"),
    ]
