"""The errors that docs/api.md shows are what a client gets: each example is provoked on the real edge and compared word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.upstream import Upstream, fails, never, says

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
ASK: dict[str, Any] = {"model": "gpt-5", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}
RATE = {"error": {"message": "Rate limit reached", "type": "requests", "param": None, "code": "rate_limit_exceeded"}}


def post(address: str, body: Any = ASK, path: str = "/v1/chat/completions", **options: Any) -> httpx.Response:
    return httpx.post(address + path, timeout=60, **({"json": body} | options))


def not_json(serve: Any, upstream: Upstream) -> httpx.Response:
    return post(serve(), content=b'{"model": "gpt-5", "messages": [')


def no_key(serve: Any, upstream: Upstream) -> httpx.Response:
    return post(serve(settings={"keys": ["0" * 64]}))


def no_admin_key(serve: Any, upstream: Upstream) -> httpx.Response:
    return post(serve(), {}, "/v1/admin/reload")


def unknown_answer(serve: Any, upstream: Upstream) -> httpx.Response:
    return post(serve(), {"id": "hr_unknown", "correct": True}, "/v1/feedback")


def too_large(serve: Any, upstream: Upstream) -> httpx.Response:
    large = {"messages": [{"role": "user", "content": "x" * 2000}]}
    return post(serve(settings={"server": {"max_body_bytes": 1024}}), large)


def rejected(serve: Any, upstream: Upstream) -> httpx.Response:
    upstream.default = fails(429, RATE, {"retry-after": "7"})
    return post(serve())


def failed_step(serve: Any, upstream: Upstream) -> httpx.Response:
    upstream.default = says("Canberra.")
    return post(serve(signal="token", on_failure="error"))


def unreachable(serve: Any, upstream: Upstream) -> httpx.Response:
    return post(serve(upstream_settings={"base_url": "http://127.0.0.1:9/v1"}))


def too_slow(serve: Any, upstream: Upstream) -> httpx.Response:
    upstream.default = never()
    return post(serve(deadline_s=0.3))


EXAMPLES: dict[str, Callable[[Any, Upstream], httpx.Response]] = {
    "400": not_json,
    "401": no_key,
    "403": no_admin_key,
    "404": unknown_answer,
    "413": too_large,
    "429": rejected,
    "500": failed_step,
    "502": unreachable,
    "504": too_slow,
}


@pytest.mark.parametrize("status", EXAMPLES)
def test_an_example_error_is_what_a_client_gets(status: str, serve: Any, upstream: Upstream) -> None:
    """Status and body, word for word."""
    text = PAGE.read_text(encoding="utf-8")
    shown = re.search(rf"^{status} .*\n\n```json\n(.*)\n```", text, flags=re.MULTILINE)
    assert shown, f"docs/api.md has no example of status {status}"
    reply = EXAMPLES[status](serve, upstream)
    assert reply.status_code == int(status)
    assert reply.json() == json.loads(shown.group(1)), json.dumps(reply.json())
