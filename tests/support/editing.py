"""An editor for the tests: a scripted upstream that answers questions with some texts, and calls of the editor with replies."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.upstream import Json, Upstream, says

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
