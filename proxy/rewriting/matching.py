"""Compares, in order, the words that an answer and its rewrite must share; reports the first difference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ...lexicon.text.english import BE, MODALS, PLAIN_OPENERS
from ...lexicon.text.language import negations
from ...lexicon.text.words import word_set
from ..outcomes import Reason
from .units import Unit
from .verbs import HAVE, agrees

_QUANTITIES = word_set(
    "all most many some few several little half none any every each always never often sometimes usually rarely only almost nearly about "
    "least up one more less fewer both neither either mostly mainly hardly barely scarcely"
)
_TENSE = BE | word_set("be been being has have had having will would do does did")
_POSSIBLE = (MODALS - {"will", "would"}) | word_set(
    "likely unlikely probable improbable possible impossible plausible implausible may might could able"
)
_PRONOUNS = word_set("he she it they this")
_COPULAS = word_set("is was are were has")
_PEOPLES = re.compile(r"\w{2,}(?:ish|ian|ean|ese|can)|may|march|august|turkey|china|japan|jobs?|reading|nice")
"""Words that always have a capital, or change their meaning with one."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A forbidden change in a rewrite, with the words of the answer that are gone and the words that are new."""

    reason: Reason
    dropped: str = ""
    added: str = ""


def walk(left: Sequence[Unit], right: Sequence[Unit]) -> dict[int, int] | Fault:
    """The unit of the draft for each unit of the rewrite (right index -> left index), or the first difference."""
    matched: dict[int, int] = {}
    i = j = 0
    while i < len(left) or j < len(right):
        step = _step(left, i, right, j)
        if step is None:
            return _parting(left[i:], right[j:])
        if step[0] and step[1]:
            matched |= {j + ahead: i for ahead in range(step[1])}
        i, j = i + step[0], j + step[1]
    return matched


def _step(left: Sequence[Unit], i: int, right: Sequence[Unit], j: int) -> tuple[int, int] | None:
    """Number of units of the draft and of the rewrite that correspond here; None where they differ."""
    if i < len(left) and j < len(right):
        if _same(left[i], right[j]):
            return 1, 1
        for one, at, other, with_, swapped in ((left, i, right, j, False), (right, j, left, i, True)):
            pair = one[at : at + 2]  # "has moved" and "(may) have moved"
            if len(pair) == 2 and pair[0].lower in HAVE and not pair[0].form and other[with_].form == "perfect" and pair[1].lower == other[with_].lower:  # fmt: skip
                return (1, 2) if swapped else (2, 1)
    return _split(left, i, right, j)


def _split(left: Sequence[Unit], i: int, right: Sequence[Unit], j: int) -> tuple[int, int] | None:
    """The same where a sentence was split: ", and died" corresponds to ". She died"."""
    if not 0 < j < len(right) or right[j].word.piece == right[j - 1].word.piece or i >= len(left):
        return None
    link = left[i].lower
    following = [unit.lower for unit in right[j : j + 3]]
    if link == "where" and following[:1] == ["there"]:
        return 1, 1
    if link == "meaning" and following[:2] == ["this", "means"]:
        return 1, 2
    if link == "because" and following[:2] == ["this", "is"]:
        return 0, 2
    if link in ("in", "on", "at", "by") and following[0] == "it" and following[1:2] in (["was"], ["is"]):
        return 0, 2
    if link not in ("and", "but", "which", "who") or following[0] not in _PRONOUNS:
        return None
    if following[1:2] and following[1] in _COPULAS and following[2:] == [unit.lower for unit in left[i + 1 : i + 2]]:
        return (1, 2) if any(unit.lower == following[1] for unit in left[:i]) else None  # "is surrounded and protected"
    also = (
        len(following) == 3
        and following[1] == "also"
        and following[2] in _COPULAS
        and (i + 1 >= len(left) or left[i + 1].lower != "also")
    )
    return (1, 3) if also else (1, 1)


def _same(left: Unit, right: Unit) -> bool:
    """Whether two units are the same word.

    Allowed differences: a capital at the start of a sentence, "a" and "an", and the verb form that a hedge requires.
    """
    if left.lower == "is" and right.lower == "'s":
        return True  # "Baby's probably 18"
    if left.form or right.form:
        return agrees(left.lower, left.form, right.lower, right.form)
    if left.word.text == right.word.text or {left.lower, right.lower} == {"a", "an"}:
        return True
    if left.lower.casefold() != right.lower.casefold() or left.word.text[1:] != right.word.text[1:]:
        return False
    seam = left.word.initial or right.word.initial
    return seam and (left.lower in PLAIN_OPENERS or len(left.lower) == 1 or not _PEOPLES.fullmatch(left.lower))


def _differing(left: Sequence[Unit], right: Sequence[Unit]) -> tuple[str, str]:
    """The words (of the draft, of the rewrite) at the first difference, within a window of 40 words."""
    old, new = [unit.word.text for unit in left], [unit.word.text for unit in right]
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    old, new = old[:40], new[:40]
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            return " ".join(old[a:b]), " ".join(new[c:d])
    return "", ""


def _parting(left: Sequence[Unit], right: Sequence[Unit]) -> Fault:
    """The fault for two sequences that differ at the start, classified by the words that differ."""
    dropped, added = _differing(left, right)
    old, new = dropped.lower().split(), added.lower().split()
    changed = {*old, *new}
    negating = negations("en") | {"cannot"}
    if any(not word[0].isalnum() and word != "'s" for word in changed):
        reason = Reason.SYMBOL_CHANGED
    elif sum(w in negating for w in old) != sum(w in negating for w in new):
        reason = Reason.CONTENT_NEGATION
    elif changed - _POSSIBLE - _QUANTITIES - _TENSE - PLAIN_OPENERS:
        reason = _content(left, new)
    elif changed & _POSSIBLE:
        reason = Reason.MODAL_CHANGED
    elif changed & _QUANTITIES:
        reason = Reason.QUANTITY_CHANGED
    else:
        reason = Reason.TENSE_CHANGED if changed & _TENSE else _content(left, new)
    return Fault(reason, dropped, added)


def _content(left: Sequence[Unit], added: Sequence[str]) -> Reason:
    rest = {unit.lower for unit in left}
    return Reason.CONTENT_DROPPED if rest.issuperset(added) else Reason.CONTENT_ADDED
