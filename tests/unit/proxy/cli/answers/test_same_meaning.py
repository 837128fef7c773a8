"""`hedgerow same-meaning` as a filter: a line in, a line out."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.support.tables import cases

HAWAII = {"question": "Where?", "a": "Honolulu", "b": "Honolulu, Hawaii"}
DISEASE = {"question": "What did he die of?", "a": "a heart attack", "b": "myocardial infarction"}


def _run(*rows: object, options: tuple[str, ...] = ()) -> tuple[int, list[str], str]:
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    done = CliRunner().invoke(app, ["same-meaning", *options], input=text)
    return done.exit_code, done.stdout.splitlines(), done.stderr


def test_a_verdict_a_line_in_order() -> None:
    """As JSON, with the step that decided; blank lines are passed over."""
    code, lines, _ = _run(HAWAII, "", HAWAII | {"b": "Hilo"}, DISEASE, options=("--json",))
    assert code == 0
    assert [json.loads(line) for line in lines] == [
        {"same": True, "decided_by": "containment"},
        {"same": None, "decided_by": "undecided"},
        {"same": None, "decided_by": "undecided"},
    ]


def test_in_words() -> None:
    """For people."""
    assert _run({"question": "When?", "a": "1945", "b": "1944"})[1] == ["different (veto:number)"]


@cases(
    ("bad", "says"),
    [("{", "line 2 is not valid JSON"), ({"a": "x"}, "line 2 must be"), ([1], "line 2 must be")],
)
def test_bad_lines_end_with_a_sentence(bad: object, says: str) -> None:
    """Exit code 2, the line's number, no traceback."""
    code, _, stderr = _run(HAWAII, bad)
    assert code == 2
    assert says in stderr
