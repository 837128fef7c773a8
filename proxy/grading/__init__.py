"""Graders decide whether an answer is right, and by which rule. All follow the protocol `Grader`."""

from .alias import alias_grade
from .choice import choice_grade
from .grade import Grade, Grader, RuleGrader
from .judge import JudgeGrader
from .numeric import numeric_grade

RULES: dict[str, Grader] = {
    "alias": RuleGrader("alias", alias_grade),
    "numeric": RuleGrader("numeric", numeric_grade),
    "choice": RuleGrader("choice", choice_grade),
}
"""Graders that need no model, by name."""

__all__ = ["RULES", "Grade", "Grader", "JudgeGrader"]
