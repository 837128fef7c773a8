"""What a grader says, and the one way to ask it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


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
