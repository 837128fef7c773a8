"""What a grader says, the one way to ask it, and graders that are rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hedgerow.proxy.computing import compute


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict on one answer.

    Attributes:
        correct: 1.0 right, 0.0 wrong; None where the grader cannot decide (the answer claims nothing, the judge's reply cannot be read).
        by: the grader's name.
        reason: a stable word for the rule that decided.
    """

    correct: float | None
    by: str
    reason: str


class Grader(Protocol):
    """Says whether an answer is right."""

    @property
    def name(self) -> str:
        """As in the records."""
        ...

    async def grade(self, question: str, answer: str, golds: Sequence[str], wrong: Sequence[str] = ()) -> Grade:
        """Grade one answer against right answers, and against answers known to be wrong where there are any.

        Raises:
            StepFailed: a judge that has to be asked cannot be.
        """
        ...


Rule = Callable[[str, str, Sequence[str], Sequence[str]], Grade]
"""Grades by question, answer, right answers and wrong answers."""


@dataclass(frozen=True, slots=True)
class RuleGrader:
    """A grader that follows a rule, in a worker thread, since long lists take more than 5 ms."""

    name: str
    rule: Rule

    async def grade(self, question: str, answer: str, golds: Sequence[str], wrong: Sequence[str] = ()) -> Grade:
        """See `Grader`."""
        return await compute(self.rule, question, answer, golds, wrong)
