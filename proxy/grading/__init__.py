"""Is an answer right? Graders that say so, and by which rule.

`alias`, `numeric` and `choice` are rules and cost nothing; `judge` asks a language model. All are one protocol, `Grader`.
"""

from hedgerow.proxy.grading.alias import AliasGrader
from hedgerow.proxy.grading.choice import ChoiceGrader
from hedgerow.proxy.grading.grade import Grade, Grader
from hedgerow.proxy.grading.judge import JudgeGrader
from hedgerow.proxy.grading.numeric import NumericGrader

__all__ = ["AliasGrader", "ChoiceGrader", "Grade", "Grader", "JudgeGrader", "NumericGrader"]
