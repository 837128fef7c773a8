"""Finds contradictions of two answers: other numbers, units, months or lists, a denial, an opposite, swapped roles."""

from __future__ import annotations

import re

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
    if any(antonyms[t] & only and not antonyms[t] & first for t in first - second if t in antonyms):
        return True
    return max(len(first), len(second)) <= MATCHED and any(opposed(x, y) for x in first - second for y in only)


_OPPOSED = [
    ending.split()
    for ending in (
        "hyper hypo", "inter intra", "intra extra", "macro micro", "endo exo", "ab ad", "pre post", "ante post", "tachy brady", "homo hetero", "auto hetero",
        "ana cata", "in ex", "im ex", "intro extro", "intro extra", "over under", "up down", "antero retro", "pro retro", "super sub", "mono di", "mono poly",
        "uni multi", "di ha", "bene male", "af ef", "in de", "en de", "ecto endo", "a de",
    )
]  # fmt: skip
_ADJECTIVE = (
    r"\w+(?:\w\w(?:(?<!m)ent|(?<!gr)ant|ect|inct|[ei]te|(?<!a)id|ile|est|ure)|xact|ible|al|ar|ic|ive|ous|ful)(?:ly)?$"
)
_DENIED = re.compile(
    rf"(?:non|anti|(?:un|dis|in(?![blmpr])|im(?=[bmp])|il(?=l)|ir(?=r))(?={_ADJECTIVE})|(?:un|dis|im|il|ir)(?=\w+ably?e?$)"
    r"|un(?=\w+(?:ed|y)$)|(?:an(?=[aeiouh])|a(?![aeiou]))(?=\w+(?:ic|al|ar|ous)$))(\w+)"
)
"""A word behind a prefix that surely denies it: before the letters that it stands before, and before adjectives, by their ending.

Other words may mean the same with the prefix and without ("flammable", "inflammable"; "round", "around"), or nothing of
the kind ("come", "income"): those are for a judge.
"""
ROOT = 4
"""Fewest letters that two words share behind their prefixes."""


def opposed(x: str, y: str) -> bool:
    """Whether two words differ in prefixes of opposite sense, or in one that denies: "hypertension", "hypotension".

    >>> opposed("hypertension", "hypotension"), opposed("legal", "illegal"), opposed("abduction", "adduction"), opposed("round", "around")
    (True, True, True, False)
    """
    short, long = sorted((x, y), key=len)
    if len(short) < ROOT or short[-3:] != long[-3:]:
        return False
    if (denied := _DENIED.fullmatch(long)) and short == denied[1]:
        return True
    return any(
        first.startswith(p)
        and second.startswith(q)
        and first[len(p) :] == second[len(q) :]
        and len(first) - len(p) >= ROOT
        for p, q in _OPPOSED
        for first, second in ((x, y), (y, x))
    )
