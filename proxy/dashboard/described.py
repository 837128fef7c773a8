"""The page `/docs`: how to use the proxy, with an example for this server's address and its own endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from starlette.requests import Request
from starlette.responses import Response

from ..api.health import ROUTES
from ..api.routers import endpoints
from .render import rendered


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint of the proxy's own."""

    method: str
    path: str
    what: str
    """What it does, in one sentence."""


async def docs_page(request: Request) -> Response:
    """As public as `/openapi.json`, because users of the proxy may not be able to sign in to its pages."""
    address = str(request.base_url).rstrip("/")
    return await rendered("docs.html", visitor=None, here="", address=address, endpoints=_endpoints())


@cache
def _endpoints() -> tuple[Endpoint, ...]:
    """The endpoints in `/openapi.json`, one line each; those for operators come last."""
    paths = endpoints(ROUTES).openapi()["paths"]
    listed = [
        Endpoint(method.upper(), path, _first_sentence(described.get("description", "")))
        for path, methods in paths.items()
        for method, described in methods.items()
    ]
    return tuple(sorted(listed, key=lambda each: each.path.startswith("/v1/admin")))


def _first_sentence(text: str) -> str:
    r"""The text up to its first full stop or semicolon.

    >>> _first_sentence("Whether the process answers; more\nof it. And so on.")
    'Whether the process answers.'
    """
    flat = " ".join(text.split())
    ends = [place for mark in (". ", "; ", ": ") if (place := flat.find(mark)) > 0]
    return flat[: min(ends)] + "." if ends else flat
