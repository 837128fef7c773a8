"""Is an answer right? Graders that say so, and by which rule.

`alias`, `numeric` and `choice` are rules and cost nothing; `judge` asks a language model. All are one protocol, `Grader`.
"""

from proxy.grading.alias import AliasGrader
from proxy.grading.choice import ChoiceGrader
from proxy.grading.grade import Grade, Grader
from proxy.grading.judge import JudgeGrader
from proxy.grading.numeric import NumericGrader

__all__ = ["AliasGrader", "ChoiceGrader", "Grade", "Grader", "JudgeGrader", "NumericGrader"]
