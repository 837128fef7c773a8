"""The alias rule: an answer is right if it gives one of the right answers and no known wrong one.

It gives an answer if it contains it as whole words (both normalised as in TriviaQA's grader), or if the two mean the same by the proxy's
rules (units, dates, numerals, initials, word order) except containment, which confuses most answers that people distinguish. Its agreement
with people is in docs/evidence.md.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from ..clustering.normal import normalise, read_question
from ..clustering.rules import compare
from .grade import Grade

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_TRIVIAQA_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "‘’´", " "))


def alias_grade(question: str, answer: str, golds: Sequence[str], wrong: Sequence[str] = ()) -> Grade:
    """Grade by the rule: right if a right answer is given and no wrong one.

    >>> alias_grade("Who wrote it?", "It was written by Mikhail Bulgakov.", ["Bulgakov"]).correct
    1.0
    >>> alias_grade("Where is it from?", "China", ["California"], ["China"])
    Grade(correct=0.0, by='alias', reason='known_wrong')
    """
    rule = _given(question, answer, golds)
    if _given(question, answer, wrong) is not None:
        return Grade(0.0, "alias", "known_wrong")
    return Grade(1.0, "alias", rule) if rule is not None else Grade(0.0, "alias", "no_match")


def _given(question: str, answer: str, listed: Sequence[str]) -> str | None:
    """The rule by which the answer gives one of the listed answers; None if it gives none."""
    if contains_gold(answer, listed):
        return "contains"
    asked = read_question(question)
    given = normalise(answer, asked)
    for right in listed:
        judged = compare(given, normalise(right, asked))
        if judged.same and judged.decided_by != "sentence":
            return "same_meaning"
    return None


def contains_gold(text: str, gold: Sequence[str]) -> bool:
    """Whether the text contains a gold answer as whole words, both normalised as in TriviaQA's grader."""
    words = f" {_words(text)} "
    return any(f" {answer} " in words for answer in map(_words, gold) if answer)


def _words(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_TRIVIAQA_PUNCTUATION)).split())
