"""What the proxy's own endpoints say of a value that they do not take: where it is and what is allowed, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.test_keys import at

ADMIN = {"authorization": "Bearer the one admin key"}
VERDICT = {"id": "hr_x", "correct": True}
GRADE = "expected true, false or a number from 0 to 1"
REFUSED: list[tuple[str, Any, str]] = [
    ("/v1/feedback", {"id": "hr_x", "correct": "maybe"}, f"correct: {GRADE}"),
    ("/v1/feedback", {"id": "hr_x", "claims": ["maybe"]}, f"claims: {GRADE}"),
    (
        "/v1/feedback",
        {"id": "hr_x", "claims": {"first": True}},
        "claims: expected the place of a claim, 0 for the first",
    ),
    ("/v1/feedback", VERDICT | {"source": "A B"}, "source: expected up to 32 lower-case letters, digits, - and _"),
    ("/v1/feedback", VERDICT | {"note": "x" * 2001}, "note: must be at most 2000 characters long"),
    ("/v1/feedback", VERDICT | {"id": ""}, "id: must be 1 or more characters long"),
    ("/v1/feedback", VERDICT | {"corect": True}, "corect: there is no such key"),
    ("/v1/admin/keys", {"name": "two words"}, "name: expected up to 64 letters, digits and any of _ . @ + -, a letter"),
    ("/v1/admin/keys", {"name": "x", "team": "a\tb"}, "team: must hold no line end, tab or other control character"),
]


@pytest.fixture
def address(serve: Any, tmp_path: Path) -> str:
    """A proxy with an admin key."""
    url = f"sqlite:///{tmp_path}/audit.db"
    return str(serve(settings=at(url, tmp_path, server={"admin_key": "the one admin key"})))


def test_a_refused_value_is_told_in_words(address: str) -> None:
    """No regular expression, and none of the validator's own sentences."""
    for path, content, sentence in REFUSED:
        reply = httpx.post(address + path, json=content, headers=ADMIN)
        message = reply.json()["error"]["message"]
        assert (reply.status_code, message[: len(sentence)]) == (400, sentence)


def test_paths_are_called_as_on_the_page_of_the_api(address: str) -> None:
    """Whoever reads `/docs` or makes a client from `/openapi.json` finds the names of docs/api.md: an answer has an `id`, a key a `name`."""
    written = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    paths = [path for path in httpx.get(address + "/openapi.json").json()["paths"] if "{" in path]
    assert {"/v1/audit/{id}", "/v1/admin/review/{id}", "/v1/admin/keys/{name}"} <= set(paths)
    assert all(path.partition("}")[0] + "}" in written for path in paths)
