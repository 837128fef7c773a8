"""`hedgerow same-meaning`: try the equivalence on pairs of answers."""

from __future__ import annotations

import sys
from typing import Annotated

import orjson
import typer

from ...clustering.rules import judge_pair
from ..shared.lines import json_lines
from ..shared.messages import say, show_text, stop


def same_meaning(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line instead of words.")] = False,
) -> None:
    """Read {"question", "a", "b"} a line from standard input; print whether a and b mean the same, and which step decided."""
    for number, row in json_lines(sys.stdin.buffer):
        question, a, b = _pair(row, number)
        judged = judge_pair(question, a, b)
        if as_json:
            show_text(orjson.dumps({"same": judged.same, "decided_by": judged.decided_by}).decode())
        else:
            word = {True: "same", False: "different", None: "undecided"}[judged.same]
            say(f"{word} ({judged.decided_by})")


def _pair(row: object, number: int) -> tuple[str, str, str]:
    if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in ("question", "a", "b")):
        stop(f'line {number} must be an object with the texts "question", "a" and "b"')
    return row["question"], row["a"], row["b"]
