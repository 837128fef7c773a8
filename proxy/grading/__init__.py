"""Graders decide whether an answer is right, and by which rule. All follow the protocol `Grader`."""

from hedgerow.proxy.grading.alias import alias_grade
from hedgerow.proxy.grading.choice import choice_grade
from hedgerow.proxy.grading.grade import Grade, Grader, RuleGrader
from hedgerow.proxy.grading.judge import JudgeGrader
from hedgerow.proxy.grading.numeric import numeric_grade

RULES: dict[str, Grader] = {
    "alias": RuleGrader("alias", alias_grade),
    "numeric": RuleGrader("numeric", numeric_grade),
    "choice": RuleGrader("choice", choice_grade),
}
"""Graders that need no model, by name."""

__all__ = ["RULES", "Grade", "Grader", "JudgeGrader"]
