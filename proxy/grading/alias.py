"""The alias rule: an answer is right if it gives one of the right answers and no known wrong one.

Stricter than "same meaning". The right answer's words are in the answer: numbers whole and with their sign ("5" is not in "10.5"), letters and signs of
formulas too, and nothing denies them; or the two mean the same by the proxy's rules (units, dates, numerals, initials, word order), but
not where the answer breaks off. Its agreement with people is in docs/evidence.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...lexicon.text.language import negations
from ...lexicon.text.numbers import plain_numbers
from ...lexicon.text.words import open_contraction
from ..clustering.normal import normalise, read_question
from ..clustering.rules import compare
from ..clustering.signs import Sign, bounded, letters_in, signs_in, with_letters
from ..clustering.words import word_lists
from .grade import Grade

_WORD = re.compile(r"(?:(?<![\w)])(?<!\d )-)?\.?\d[\w]*(?:[.,:/^]\d[\w]*)*|[^\W\d_][\w]*(?:['’][^\W\d_]+|[.^]\d\w*)*")
_COMMAS = re.compile(r"(?<=\d),(?=\d{3})")


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
    if _breaks_off(answer):
        return None
    asked = read_question(question)
    given = normalise(answer, asked)
    for right in listed:
        judged = compare(given, normalise(right, asked))
        if judged.same and judged.decided_by != "sentence":
            return "same_meaning"
    return None


def _breaks_off(answer: str) -> bool:
    """Whether an answer ends in the middle of a phrase: "Harry Potter and"."""
    last = answer.rsplit(None, 1)[-1:]
    return bool(last) and len(answer) > len(last[0]) and last[0].islower() and last[0] in _CONNECTING


_CONNECTING = frozenset(
    {"a", "an", "the", "and", "or", "of", "in", "at", "by", "for", "from", "to", "with", "is", "was", "are"}
)


def contains_gold(text: str, gold: Sequence[str]) -> bool:
    """Whether the text gives a right answer word by word: numbers whole, signs and single letters equal, not behind a negation.

    >>> contains_gold("It costs $1,500.", ["1500"]), contains_gold("about 10.5", ["5"]), contains_gold("It isn't Paris.", ["Paris"])
    (True, False, False)
    """
    words, signs, letters = _words(text), _signs(text), letters_in(with_letters(text))
    for right in gold:
        wanted = _words(right)
        if not wanted or not _signs(right) <= signs or (letters and not letters_in(with_letters(right)) <= letters):
            continue
        for at in range(len(words) - len(wanted) + 1):
            if words[at : at + len(wanted)] == wanted and not _denied(words[:at]):
                return True
    return False


def _signs(text: str) -> frozenset[Sign]:
    return frozenset(signs_in(bounded(plain_numbers(text))))


def _denied(before: Sequence[str]) -> bool:
    return bool(before) and not negations("en").isdisjoint(open_contraction(before[-1].replace("’", "'")))


def _words(text: str) -> list[str]:
    """The words and numbers of a text in lower case, without articles; "1,500" is one number, "12:30" and "5/6" too."""
    folded = _COMMAS.sub("", with_letters(plain_numbers(text))).casefold().replace("’", "'")
    return [word.removesuffix("'s") for word in _WORD.findall(folded) if word not in word_lists().articles]
