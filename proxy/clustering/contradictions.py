"""Finds contradictions of two answers: other numbers, units, months or lists, a denial, an opposite, swapped roles."""

from __future__ import annotations

from ...lexicon.text.words import MONTHS
from .amounts import clash
from .containment import MATCHED, is_sentence
from .normal import Normal
from .words import word_lists


def contradiction(a: Normal, b: Normal, swapped: bool | None) -> str | None:
    """The name of the first contradiction between two answers; None if none is found.

    `swapped` is what `reversed_arguments` says of them.
    """
    if a.yes is not None and b.yes is not None and a.yes != b.yes:
        return "negation"
    if a.numbers and b.numbers and (reason := clash(a, b)):
        return reason
    if a.negated != b.negated and not (a.yes is not None and a.yes == b.yes):
        return "negation"
    if _different_months(a, b):
        return "date"
    if a.items and b.items and is_sentence(a) == is_sentence(b) and _different_items(a, b):
        return "list"
    if swapped is not None:
        return "order" if swapped else None
    return "antonym" if opposites(a, b) else None


def _different_months(a: Normal, b: Normal) -> bool:
    first, second = (frozenset(t for t in x.tokens if t in MONTHS) for x in (a, b))
    return bool(first and second) and not (first <= second or second <= first)


def _different_items(a: Normal, b: Normal) -> bool:
    """Whether two lists share at most half of the items of the longer one."""
    longer = max(len(a.items), len(b.items))
    if longer > MATCHED:
        shared = len(frozenset(a.items) & frozenset(b.items))
    else:
        shared = sum(any(x <= y or y <= x for y in b.items) for x in a.items)
    return 2 * shared <= longer


def opposites(a: Normal, b: Normal) -> bool:
    """Whether the other answer has the opposite of a word in one, and neither answer has both words."""
    first, second = frozenset(a.tokens), frozenset(b.tokens)
    only, antonyms = second - first, word_lists().antonyms
    if not only:
        return False
    return any(antonyms[t] & only and not antonyms[t] & first for t in first - second if t in antonyms)
