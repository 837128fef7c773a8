"""Whether an English answer is a non-answer: the speaker does not know, found nothing or cannot say.

It is not if an answer follows anyway. "It is unknown" (nobody knows) and "There is no evidence for it" do answer the
question.
"""

from __future__ import annotations

import re

LOOKED_AT = 1500
"""Number of characters of an answer that are read."""
_NOT = r"(?:(?:do|did|could|can) ?not|(?:do|did|could|ca)n['’]t|(?:am|was) (?:unable|not able) to)"
_GIVE = "(?:access|answer|confirm|determine|find|give|identify|know|locate|provide|recall|say|specify|validate|verify)"
_KNOWLEDGE = "(?:access|context|data|details?|evidence|information|knowledge|records?)"
_NO_ANSWER = re.compile(
    r"(?:(?:[Uu]nfortunately|[Cc]urrently|[Ss]o|[Tt]herefore),? )*(?:"
    + "|".join(
        (
            rf"I (?:\w+ )?{_NOT} (?:\w+ )?{_GIVE}\b",
            rf"I['’]m (?:unable|not able) to (?:\w+ )?{_GIVE}\b",
            rf"I (?:\w+ )?{_NOT} (?:\w+ )?have (?:\w+ ){{0,4}}{_KNOWLEDGE}\b",
            rf"I have (?:no|insufficient|not enough) (?:\w+ ){{0,2}}{_KNOWLEDGE}\b",
            r"I(?:['’]m| am) (?:not (?:\w+ )?(?:aware|certain|familiar|sure)|unaware|uncertain|unfamiliar|unsure)\b(?! (?:that|it|he|she|they)\b)",
            r"I need (?:\w+ ){0,2}more\b",
            r"(?:[Tt]here (?:is|was) )?(?:[Nn]o|[Nn]ot enough|[Ii]nsufficient) (?:\w+ ){0,2}(?:context|data|details|information)\b",
        )
    )
    + ")"
)
"""Case-sensitive: "I Don't Know How to Love Him" is a song."""
_SORRY = re.compile(r"(?:(?:I am |I['’]m )?(?:very )?sorry|I apologi[sz]e)\b,? (?:but )?", re.IGNORECASE)
_REQUEST = re.compile(
    r"(?:(?:could|can|would|do|did|are) you|if you (?:can|could|have|provide)|please|let me know|more \w+ (?:is|are) needed|it(?:['’]s| is) possible (?:that )?(?:there|this|you|I)\b|I['’](?:ll|d))\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;]?\s(?:but|however|although|though|possibly|probably|perhaps|maybe)\b[,\s]|(?<!\b[A-Z])[.!?;][\"”)]*\s+",
    re.IGNORECASE,
)


def declines(answer: str) -> bool:
    """Whether an answer gives no answer to the question.

    >>> declines("I couldn't find any information on Jimmie Ross.")
    True
    >>> declines("I couldn't find any information on Jimmie Ross, but Edwyn Collins played the bass guitar.")
    False
    """
    text = answer.strip()[:LOOKED_AT]
    first, *others = _CLAUSE.split(_SORRY.sub("", text, count=1), maxsplit=1)
    if _NO_ANSWER.match(first) is None:
        return False
    return all(_adds_nothing(clause) for rest in others for clause in _CLAUSE.split(rest))


def _adds_nothing(clause: str) -> bool:
    words = clause.strip()
    return not words or _NO_ANSWER.match(words) is not None or _REQUEST.match(words) is not None
