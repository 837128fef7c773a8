"""Grades, the protocol of graders, and graders that follow a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..computing import compute


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict on one answer.

    Attributes:
        correct: 1.0 right, 0.0 wrong; None if the grader cannot decide (the answer claims nothing, the judge's reply cannot be read).
        by: the grader's name.
        reason: a stable word for the rule that decided.
    """

    correct: float | None
    by: str
    reason: str


class Grader(Protocol):
    """Decides whether an answer is right."""

    @property
    def name(self) -> str:
        """The name in the records."""
        ...

    async def grade(self, question: str, answer: str, golds: Sequence[str], wrong: Sequence[str] = ()) -> Grade:
        """Grade one answer against right answers and, if given, known wrong ones.

        Raises:
            StepFailed: the judge cannot be asked.
        """
        ...


Rule = Callable[[str, str, Sequence[str], Sequence[str]], Grade]
"""(question, answer, right answers, wrong answers) -> grade."""


@dataclass(frozen=True, slots=True)
class RuleGrader:
    """A grader that follows a rule, in a worker thread because long lists take more than 5 ms."""

    name: str
    rule: Rule

    async def grade(self, question: str, answer: str, golds: Sequence[str], wrong: Sequence[str] = ()) -> Grade:
        """See `Grader`."""
        return await compute(self.rule, question, answer, golds, wrong)
