"""Requests made from the OpenAI description, valid and invalid (`python -m tests.compat.description --keep`): off is direct, and on never answers with a fault of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.compat.running import Place, places
from tests.support.tables import cases

ID = re.compile(rb'"(?:cmpl-|chatcmpl-|resp_|msg_)\d+"')
KEPT = Path(__file__).parents[1] / "data" / "description_requests.jsonl"
REQUESTS = [json.loads(line) for line in KEPT.read_text(encoding="utf-8").splitlines()]
PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses")


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, Place]]:
    """The provider directly, and behind the proxy in each mode."""
    with places() as running:
        yield running


def _ask(client: httpx.Client, place: Place, asked: dict[str, Any]) -> httpx.Response:
    place.provider.reset()
    body = asked["body"].encode("latin-1")
    return client.post(place.address + asked["path"], content=body, headers={"content-type": "application/json"})


@cases("path", PATHS)
def test_off_is_direct(path: str, found: dict[str, Place]) -> None:
    """Status and body, whatever is asked; but for the ids, which each provider counts on its own."""
    with httpx.Client(timeout=30) as client:
        for asked in (row for row in REQUESTS if row["path"] == path):
            direct, off = _ask(client, found["direct"], asked), _ask(client, found["off"], asked)
            bodies = [ID.sub(b"", reply.content) for reply in (direct, off)]
            assert (off.status_code, bodies[1]) == (direct.status_code, bodies[0]), asked


@cases("mode", ["on", "append"])
@cases("path", PATHS)
def test_no_request_is_answered_with_a_fault(mode: str, path: str, found: dict[str, Place]) -> None:
    """What the provider answers is answered; what is refused is refused as an error of the caller, in OpenAI's form, with the provider's status
    wherever it was asked."""
    with httpx.Client(timeout=30) as client:
        for asked in (row for row in REQUESTS if row["path"] == path):
            direct, seen = _ask(client, found["direct"], asked), _ask(client, found[mode], asked)
            assert seen.status_code < 500, (asked, seen.text)
            if direct.status_code == 200:
                assert seen.status_code == 200, (asked, seen.text)
            if seen.status_code != 200:
                assert seen.json()["error"]["message"], asked
