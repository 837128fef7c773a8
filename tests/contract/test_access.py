"""Every endpoint that the proxy answers itself, without the admin key: refused, or meant to be open."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from hedgerow.proxy.dashboard import site

KEY: Any = {"server": {"admin_key": "correct horse battery staple"}, "keys": ["0" * 64]}
OPEN = {"/health", "/health/ready", "/metrics", "/openapi.json", "/sign-in", "/static"}
"""What needs no key: probes, counters, the description of the API, the way in, and the pages' own style and scripts."""


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer wrong"}, {"cookie": "hedgerow_session=9999999999.x"}]
)
def test_without_its_key_nothing_else_opens(serve: Any, headers: dict[str, str]) -> None:
    """A route that is added without a guard is found here."""
    address = serve(settings=KEY)
    described = httpx.get(address + "/openapi.json").json()["paths"]
    doors = {(path, method.upper()) for path, methods in described.items() for method in methods}
    doors |= {(route.path, method) for route in site.routes() for method in getattr(route, "methods", None) or {"GET"}}
    assert len(doors) > 25
    for path, method in sorted(doors - {(path, "HEAD") for path, _ in doors}):
        if path in OPEN:
            continue
        reply = httpx.request(method, address + re.sub(r"\{[^}]*\}", "test", path), headers=headers)
        refused = reply.status_code in (401, 403) or reply.headers.get("location", "").startswith("/sign-in")
        assert refused, f"{method} {path} answers {reply.status_code}: {reply.text[:100]}"
