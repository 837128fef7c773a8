"""Every endpoint that the proxy answers itself, without the admin key: refused, or meant to be open."""

from __future__ import annotations

import http.client
import json
import re
from itertools import product
from typing import Any

import httpx
import pytest

from hedgerow.proxy.dashboard import site
from tests.support.upstream import Upstream, says

KEY: Any = {"server": {"admin_key": "correct horse battery staple"}, "keys": ["0" * 64]}
OPEN = {
    "/health",
    "/health/ready",
    "/metrics",
    "/openapi.json",
    "/docs",
    "/redoc",
    "/favicon.ico",
    "/sign-in",
    "/sign-in/oidc",
    "/sign-in/oidc/back",
    "/static",
}
"""What needs no key: probes, counters, the description of the API for programs and for people, the icon, the way in, and the pages' own style and scripts."""


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


NEAR = [
    *("/v1/feedback/", "/v1/feedback/x", "/v1/Feedback", "/v1//feedback", "/v1/admin", "/v1/admin/", "/v1/admin/xyz"),
    *("/v1/audit", "/v1/audit/a/b", "/v1/perceive/", "/v1/models/", "/v1/files/../admin/routes", "/v1/x/./y", "/v1/.."),
]


def test_a_near_miss_of_our_own_paths_is_not_sent_upstream(serve: Any, upstream: Upstream) -> None:
    """The keys that come with such a request are for us: 404 from here, and the model provider sees nothing."""
    upstream.default = says("Paris.")
    port = int(serve(settings={"server": {"admin_key": "secret of the admin"}}).rpartition(":")[2])
    headers = {
        "authorization": "Bearer secret of the admin",
        "cookie": "hedgerow_session=x",
        "content-type": "application/json",
    }
    connection = http.client.HTTPConnection("127.0.0.1", port)  # unlike httpx it sends a path as it is written
    for method, path in product(("GET", "POST"), NEAR):
        connection.request(method, path, body=b"{}" if method == "POST" else None, headers=headers)
        reply = connection.getresponse()
        body = json.loads(reply.read())
        assert (method, path, reply.status, body["error"]["code"]) == (method, path, 404, "unknown_path")
    connection.close()
    assert upstream.targets == []


def test_what_only_upstreams_have_still_goes_there(serve: Any, upstream: Upstream) -> None:
    """A model by its name, and paths that only begin like ours."""
    upstream.default = says("Paris.")
    address = serve()
    paths = ["/v1/models/gpt-x", "/v1/feedbacks", "/v1/audits/a", "/v1/files/a.b/content"]
    for path in paths:
        httpx.get(address + path)
    assert upstream.targets == paths


def test_the_session_of_our_pages_stays_here(serve: Any, upstream: Upstream) -> None:
    """A browser on this host sends it along with everything; other cookies are the upstream's."""
    upstream.default = says("Paris.")
    for mode, sent in (("off", "a=1; hedgerow_session=x; b=2"), ("on", "hedgerow_session=x")):
        body = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of France?"}]}
        httpx.post(serve(mode=mode) + "/v1/chat/completions", json=body, headers={"cookie": sent})
    assert {headers.get("cookie") for headers in upstream.headers} == {"a=1; b=2", None}
