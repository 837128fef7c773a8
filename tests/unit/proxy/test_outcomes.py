"""Statuses and reasons: every code that the source gives has its sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import hedgerow.proxy
from hedgerow.proxy.outcomes import Reason, Status, explain
from tests.support.tables import cases

SOURCE = Path(hedgerow.proxy.__file__).parent
FOLDERS = ("gateway", "pipeline", "rewriting", "clustering", "signals", "services", "upstreams")


def codes(tree: ast.AST) -> Iterator[str]:
    """The reasons that failed steps, refused rewrites and errors for the client are given as literals."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            place = {"StepFailed": 1, "Verdict": 1, "Rewording": 2}.get(node.func.id)
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            for value in (*node.args[place : place + 1], *named) if place else named:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value


@cases("folder", FOLDERS)
def test_every_reason_of_the_source_is_known(folder: str) -> None:
    """A step that fails, a guard that refuses and an upstream that errs give a code that people can look up."""
    given = {code for file in (SOURCE / folder).rglob("*.py") for code in codes(ast.parse(file.read_text()))}
    assert given <= set(Reason), given - set(Reason)


def test_every_kind_of_difference_has_a_reason() -> None:
    """The guard builds these from what it compares."""
    from hedgerow.lexicon.text.opaque import protected

    for kind in (*protected(""), "structure"):
        assert f"{kind}_changed" in set(Reason)


def test_a_code_explains_itself() -> None:
    """Ours by its sentence; an upstream's own stands as it is."""
    assert explain(Status.HEDGED) == Status.HEDGED.sentence
    assert explain("not_a_claim") == Reason.NOT_A_CLAIM.sentence
    assert explain("insufficient_quota") == "insufficient_quota"
    assert all(code.sentence for code in (*Status, *Reason))
