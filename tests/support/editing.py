"""An editor for the tests: a scripted upstream that answers questions with some texts, and calls of the editor with replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.upstream import Json, Upstream, says

REPLIES = Path(__file__).parents[1] / "data" / "editor_replies.jsonl"
_EDIT = '{"sentence": 1, "from": "You have", "to": "I think you have", "hedge": null}'
LONG = {
    "ten thousand edits": f'{{"claims": [1], "edits": [{", ".join([_EDIT] * 10_000)}], "note": null}}',
    "brackets without end": "[" * 20_000,
}
"""Replies that the file names instead of holding them."""
Reply = Callable[[Any, Json], Any]


def is_editing(body: Json) -> bool:
    """Whether a call asks for edits."""
    return str(body["messages"][0]["content"]).startswith("You edit an assistant's answers")


def edits(*edits: Json, note: Json | None = None, claims: tuple[int, ...] = (1,)) -> str:
    """A reply in the requested form."""
    return json.dumps({"claims": list(claims), "edits": [{"hedge": None} | edit for edit in edits], "note": note})


def scripted(upstream: Upstream, editor: Reply | str, *answers: str) -> list[Json]:
    """Let the upstream give these answers, and the editor this reply; the calls of the editor as they come in."""
    draws, asked = says(*answers), list[Json]()
    reply = says(editor, usage=(900, 40)) if isinstance(editor, str) else editor

    def both(request: Any, body: Json) -> Any:
        if not is_editing(body):
            return draws(request, body)
        asked.append(body)
        return reply(request, body)

    upstream.default = both
    return asked


def worded_locally(route: Json) -> Json:
    """A route's settings, with answers that no editor is asked about unless they say so."""
    return route | {"rewriting": {"by": "local"} | route.get("rewriting", {})}


@cache
def recorded() -> tuple[Json, ...]:
    """The recorded replies, good and wrong, each with its answer."""
    rows = [json.loads(line) for line in REPLIES.read_text(encoding="utf-8").splitlines()]
    return tuple(row | {"reply": LONG.get(row["reply"].removeprefix("repeat:"), row["reply"])} for row in rows)


def good() -> list[Json]:
    """The replies that were given in earnest."""
    return [row for row in recorded() if "wrong" not in row]


def wrong() -> list[Json]:
    """The replies that are wrong on purpose."""
    return [row for row in recorded() if "wrong" in row]
