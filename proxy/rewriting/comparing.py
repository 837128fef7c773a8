"""What differs between an English answer and its rewrite, words of confidence apart; and what became of the answer's own.

Both are read as words. Words of confidence are found in each (`doubt`), not taken out of both: what is left must be the same words in the same
order, verbs in the form that a hedge gives them ("was" and "may have been"), and a hedge that went must have been replaced in its own clause.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import takewhile

from hedgerow.lexicon.text.english import ADVERBS, BE, MODALS, PLAIN_OPENERS
from hedgerow.lexicon.text.language import negations
from hedgerow.lexicon.text.opaque import first_difference, protected
from hedgerow.lexicon.text.sentences import Piece, pieces
from hedgerow.lexicon.text.shape import shape
from hedgerow.lexicon.text.words import word_set
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.rewriting.claims import may_claim
from hedgerow.proxy.rewriting.doubt import Doubt, Doubts
from hedgerow.proxy.rewriting.verbs import HAVE, Form, agrees, is_participle
from hedgerow.proxy.rewriting.words import Word, words_of

_MOVABLE = ADVERBS - word_set("not never ever only even just all both each perhaps maybe possibly probably")
_LINKS = word_set("and but or which who because while whereas so although though if unless until when where")
_SAYS = word_set(
    "say says said claims claimed argue argues argued assert asserts asserted believe believes believed think thinks alleges alleged insists "
    "insisted told writes concludes concluded maintains maintained contends contended denies denied promises promised predicts predicted warns warned "
    "expects expected hopes hoped fears feared suspects suspected admits admitted explained announces announced"
)
_SAYS_THAT = word_set(
    "state states stated report reports reported suggest suggests suggested wrote claim show shows showed found thought"
)
_QUANTITIES = word_set(
    "all most many some few several little half none any every each always never often sometimes usually rarely only almost nearly about "
    "least up one more less fewer both neither either mostly mainly hardly barely scarcely"
)
_TENSE = BE | word_set("be been being has have had having will would do does did")
_POSSIBLE = (MODALS - {"will", "would"}) | word_set(
    "likely unlikely probable improbable possible impossible plausible implausible may might could able"
)
_MOST_DOUBTS = 200
"""Words of confidence in the part of an answer that was reworded, beyond which nobody means them."""
_PRONOUNS = word_set("he she it they this")
_COPULAS = word_set("is was are were has")
_ADDRESSED = word_set("you we i one")
_PEOPLES = re.compile(r"\w{2,}(?:ish|ian|ean|ese|can)|may|march|august|turkey|china|japan|jobs?|reading|nice")
"""Words whose capital makes another word of them, or belongs to them anywhere."""
_STOP_IN_QUOTATION = re.compile(r"[.,](?=[\"”»])")


@dataclass(frozen=True, slots=True)
class Fault:
    """What a rewrite may not have done, and the words at which it did: those of the answer, and what stands in their place."""

    reason: Reason
    dropped: str = ""
    added: str = ""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A word that must be kept, and how it stands."""

    word: Word
    form: Form = ""

    @property
    def lower(self) -> str:
        return self.word.lower


@dataclass(frozen=True)
class Reading:
    """A text read: its pieces from the first that differs to the last, their words, and which of these word confidence."""

    parts: tuple[Piece, ...]
    words: list[Word]
    doubts: list[Doubt]

    @cached_property
    def units(self) -> list[_Unit]:
        """The words that must be kept."""
        return _without_empty_brackets(_verbs_after_adverbs(list(_units(self.words, self.doubts))))

    @cached_property
    def bare(self) -> str:
        """The text without its words of confidence."""
        text, cut = "".join(part.text for part in self.parts), 0
        kept: list[str] = []
        for doubt in self.doubts:
            kept.append(text[cut : self.words[doubt.start].start])
            cut = self.words[doubt.end - 1].end
        lines = _STOP_IN_QUOTATION.sub("", "".join([*kept, text[cut:]])).splitlines()
        return "\n".join(line for line in lines if re.search(r"\w", line))

    @cached_property
    def _starts(self) -> list[int]:
        return sorted(unit.word.start for unit in self.units)

    def unit_of(self, doubt: Doubt) -> tuple[int, bool]:
        """The unit that a doubt goes with, and whether the doubt closes its sentence: then it goes with the last unit before it."""
        last = self.words[doubt.end - 1]
        following = bisect_left(self._starts, last.end)
        closes = following == len(self.units) or self.units[following].word.piece != last.piece
        after_own = following > 0 and self.units[following - 1].word.piece == last.piece
        if closes and (after_own or doubt.kind == "caveat" or following == len(self.units)):
            return max(0, following - 1), True
        return following, False

    def opens(self, doubt: Doubt) -> bool:
        """Whether a doubt is the first of its sentence or of what follows a colon in it."""
        return self.words[doubt.start].initial


def compare(draft: str, rewrite: str, doubts: Doubts) -> Fault | None:
    """What a rewrite changed besides the confidence; None where nothing. Linear in the texts' lengths."""
    before, after = pieces(draft), pieces(rewrite)
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    known = {word.lower for word in words_of(before)}
    old, new = (_region(parts, head, tail) for parts in (before, after))
    fragment = any(shape(part.text).kind == "fragment" for part in old[0] if part.is_sentence)
    would = "would" not in known
    left = Reading(*old, list(_doubts(old[1], doubts, known, fragment=False, would=False)))
    right = Reading(*new, list(_doubts(new[1], doubts, known, fragment=fragment, would=would)))
    kind = first_difference(left.bare, right.bare)
    if kind is not None and kind != "structure":
        return Fault(Reason(f"{kind}_changed"), *_spans(kind, left, right))
    matched = _walk(left.units, right.units)
    if isinstance(matched, Fault) and (kind is None or matched.reason != Reason.SYMBOL_CHANGED):
        return matched
    if kind is not None or isinstance(matched, Fault):
        return Fault(Reason.STRUCTURE_CHANGED)
    return _Fate(left, right, matched, before).fault()


def _shared(one: Sequence[Piece], other: Sequence[Piece]) -> int:
    """With how many equal pieces two texts begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0].text == pair[1].text, zip(one, other, strict=False)))


def _region(parts: Sequence[Piece], head: int, tail: int) -> tuple[tuple[Piece, ...], list[Word]]:
    """The pieces between those that both texts share, and their words, with offsets into those pieces."""
    inside = tuple(parts[head : len(parts) - tail])
    shift = sum(len(part.text) for part in parts[:head])
    found = [
        replace(word, start=word.start - shift, end=word.end - shift)
        for word in words_of(parts)
        if head <= word.piece < len(parts) - tail
    ]
    return inside, found


def _doubts(words: Sequence[Word], doubts: Doubts, known: set[str], *, fragment: bool, would: bool) -> Iterator[Doubt]:
    """The words of confidence of each stretch between strong breaks."""
    start = 0
    while start < len(words):
        end = start
        while end < len(words) and words[end].segment == words[start].segment:
            end += 1
        said = ["¤" if word.opaque else word.lower for word in words[start:end]]
        for doubt in doubts.within(said, known, fragment=fragment, would=would):
            yield replace(doubt, start=doubt.start + start, end=doubt.end + start)
        start = end


def _units(words: Sequence[Word], doubts: Sequence[Doubt]) -> Iterator[_Unit]:
    """The words outside the doubts, the verb after a modal verb, "to", "does" or "did" marked as bare, "have" before a participle left out."""
    ends = {doubt.end: doubt.kind in ("modal", "infinitive") for doubt in doubts}
    hidden = {index for doubt in doubts for index in range(doubt.start, doubt.end)}
    shown = [index for index in range(len(words)) if index not in hidden]
    form: Form = ""
    piece = -1
    last = 0
    for place, index in enumerate(shown):
        word = words[index]
        if word.piece != piece:
            form, piece = "", word.piece
        if any(ends.get(at, False) for at in range(last + 1, index + 1)):
            form = "base"
        last = index
        following = [words[i].lower for i in shown[place + 1 : place + 4]]
        if (
            form == "base"
            and word.lower == "have"
            and is_participle(next((w for w in following if not _is_adverb(w)), ""))
        ):
            form = "perfect"
        elif word.lower in ("do", "does", "did") and following[:1] == ["not"]:
            form = "past" if word.lower == "did" else "base"
        elif form and (_is_adverb(word.lower) or word.lower == "not"):
            yield _Unit(word)
        else:
            yield _Unit(word, form)
            form = ""


def _is_adverb(word: str) -> bool:
    return word in _MOVABLE or (word.endswith("ly") and len(word) > 4)


def _verbs_after_adverbs(units: list[_Unit]) -> list[_Unit]:
    """The units with forms of "be" and "have" behind the adverbs that follow them: where an adverb stands tells nothing."""
    for index in range(len(units) - 2, -1, -1):
        at = index
        while (
            at + 1 < len(units)
            and (units[at].lower in BE | HAVE or units[at].lower in ("be", "been"))
            and _is_adverb(units[at + 1].lower)
        ):
            units[at], units[at + 1] = units[at + 1], units[at]
            at += 1
    return units


def _without_empty_brackets(units: list[_Unit]) -> list[_Unit]:
    kept: list[_Unit] = []
    for unit in units:
        if unit.lower == ")" and kept and kept[-1].lower == "(":
            kept.pop()
        else:
            kept.append(unit)
    return kept


def _walk(left: Sequence[_Unit], right: Sequence[_Unit]) -> dict[int, int] | Fault:
    """Which unit of the rewrite is which of the draft, or where they part."""
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


def _step(left: Sequence[_Unit], i: int, right: Sequence[_Unit], j: int) -> tuple[int, int] | None:
    """How many units of each go together here; None where they do not."""
    if i < len(left) and j < len(right):
        if _same(left[i], right[j]):
            return 1, 1
        for one, at, other, with_, swapped in ((left, i, right, j, False), (right, j, left, i, True)):
            pair = one[at : at + 2]  # "has moved" and "(may) have moved"
            if len(pair) == 2 and pair[0].lower in HAVE and not pair[0].form and other[with_].form == "perfect" and pair[1].lower == other[with_].lower:  # fmt: skip
                return (1, 2) if swapped else (2, 1)
    return _split(left, i, right, j)


def _split(left: Sequence[_Unit], i: int, right: Sequence[_Unit], j: int) -> tuple[int, int] | None:
    """What a sentence cut in two begins with, for what led on: ", and died" and ". She died"."""
    if not 0 < j < len(right) or right[j].word.piece == right[j - 1].word.piece or i >= len(left):
        return None
    link = left[i].lower
    said = [unit.lower for unit in right[j : j + 3]]
    if link == "where" and said[:1] == ["there"]:
        return 1, 1
    if link == "meaning" and said[:2] == ["this", "means"]:
        return 1, 2
    if link == "because" and said[:2] == ["this", "is"]:
        return 0, 2
    if link in ("in", "on", "at", "by") and said[0] == "it" and said[1:2] in (["was"], ["is"]):
        return 0, 2
    if link not in ("and", "but", "which", "who") or said[0] not in _PRONOUNS:
        return None
    also = (
        len(said) == 3
        and said[1] == "also"
        and said[2] in _COPULAS
        and (i + 1 >= len(left) or left[i + 1].lower != "also")
    )
    return (1, 3) if also else (1, 1)


def _same(left: _Unit, right: _Unit) -> bool:
    """The same word, but for a capital at a seam, "a" and "an", and the form that a hedge gives a verb."""
    if left.form or right.form:
        return agrees(left.lower, left.form, right.lower, right.form)
    if left.word.text == right.word.text or {left.lower, right.lower} == {"a", "an"}:
        return True
    if left.lower.casefold() != right.lower.casefold() or left.word.text[1:] != right.word.text[1:]:
        return False
    seam = left.word.initial or right.word.initial
    return seam and (left.lower in PLAIN_OPENERS or len(left.lower) == 1 or not _PEOPLES.fullmatch(left.lower))


def _differing(left: Sequence[_Unit], right: Sequence[_Unit]) -> tuple[str, str]:
    """The words of each from where they part to where they meet again, within a window."""
    old, new = [unit.word.text for unit in left], [unit.word.text for unit in right]
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    old, new = old[:40], new[:40]
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            return " ".join(old[a:b]), " ".join(new[c:d])
    return "", ""


def _spans(kind: str, left: Reading, right: Reading) -> tuple[str, str]:
    """The numbers, quotations, ... that differ."""
    old, new = (protected(reading.bare)[kind] for reading in (left, right))
    return " ".join(old - new), " ".join(new - old)


def _parting(left: Sequence[_Unit], right: Sequence[_Unit]) -> Fault:
    """The fault where two runs of units part, by the words that differ."""
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


def _content(left: Sequence[_Unit], added: Sequence[str]) -> Reason:
    rest = {unit.lower for unit in left}
    return Reason.CONTENT_DROPPED if rest.issuperset(added) else Reason.CONTENT_ADDED


@dataclass(frozen=True)
class _Fate:
    """What became of the draft's words of confidence, and where the rewrite put its own."""

    left: Reading
    right: Reading
    matched: dict[int, int]
    draft: tuple[Piece, ...]

    def fault(self) -> Fault | None:
        """The first hedge that was dropped, or put where none may stand."""
        if len(self.left.doubts) + len(self.right.doubts) > _MOST_DOUBTS:
            return Fault(Reason.CONTENT_ADDED)
        lost, new = self._unmatched()
        for doubt, unit in new:
            if (fault := self._misplaced(doubt, unit)) is not None:
                return fault
        for doubt, unit, _ in lost:
            if not self._replaced(doubt, unit, new):
                reason = Reason.MODAL_CHANGED if doubt.kind == "modal" else Reason.DOUBT_DROPPED
                return Fault(reason, doubt.phrase)
        return None

    def _unmatched(self) -> tuple[list[tuple[Doubt, int, bool]], list[tuple[Doubt, int]]]:
        """The draft's doubts that are not in the rewrite, and the rewrite's that are not in the draft, with the units they go with."""
        new = [(doubt, self._in_draft(self.right.unit_of(doubt)[0])) for doubt in self.right.doubts]
        lost: list[tuple[Doubt, int, bool]] = []
        for doubt in self.left.doubts:
            unit, closes = self.left.unit_of(doubt)
            kept = next(
                (n for n in new if n[0].phrase == doubt.phrase and self._clause(n[1]) == self._clause(unit)), None
            )
            if kept is None:
                lost.append((doubt, unit, closes))
            else:
                new.remove(kept)
        return lost, new

    def _in_draft(self, unit: int) -> int:
        """The draft's unit for one of the rewrite's: the nearest that has one."""
        while unit not in self.matched and unit < len(self.right.units):
            unit += 1
        return self.matched.get(unit, len(self.left.units) - 1)

    @cached_property
    def _clauses(self) -> list[tuple[int, int]]:
        """For each unit of the draft its stretch between strong breaks, and its clause."""
        found: list[tuple[int, int]] = []
        clause = 0
        for unit in self.left.units:
            clause += unit.lower in _LINKS
            found.append((unit.word.segment, clause))
        return found

    def _clause(self, unit: int) -> tuple[int, int]:
        return self._clauses[unit] if 0 <= unit < len(self._clauses) else (-1, -1)

    def _covers(self, doubt: Doubt, unit: int, lost: int) -> bool:
        """Whether a new doubt speaks of the clause in which one was lost: at an end of a sentence it speaks for all of it."""
        if self._clause(unit) == self._clause(lost):
            return True
        whole = doubt.kind in ("frame", "caveat") and (self.right.opens(doubt) or self.right.unit_of(doubt)[1])
        return whole and self._clause(unit)[0] == self._clause(lost)[0]

    def _replaced(self, doubt: Doubt, unit: int, new: Sequence[tuple[Doubt, int]]) -> bool:
        """Whether a doubt of the draft has another in its place. A modal verb is mostly part of the claim: only another modal verb may
        replace it, or any hedge after a bare "it may be".
        """
        if self._said_by_others(unit):
            return False
        covering = [(other, at) for other, at in new if self._covers(other, at, unit)]
        if doubt.kind != "modal":
            return bool(covering)
        units = self.left.units
        being = 0 <= unit < len(units) and units[unit].lower in ("be", "been")
        if any(other.kind == "modal" and at == unit for other, at in covering):
            return being or not doubt.phrase.startswith("could")
        subject = next((u.lower for u in reversed(units[:unit]) if not _is_adverb(u.lower)), "")
        return being and bool(covering) and subject in ("it", "this", "that", "answer")

    def _misplaced(self, doubt: Doubt, unit: int) -> Fault | None:
        """A hedge on what claims nothing, in what others say, or one that makes a permission of a fact."""
        units = self.left.units
        if doubt.kind == "caveat" or not units:
            claims = any(part.is_sentence and may_claim(part.text) for part in self.draft)
            return None if claims else Fault(Reason.HEDGED_NO_CLAIM, added=doubt.phrase)
        at = self.left.units[min(unit, len(units) - 1)].word.piece
        first = min(word.piece for word in self.left.words)
        text = self.left.parts[at - first].text
        if not may_claim(text) or "please" in text.lower():
            return Fault(Reason.HEDGED_NO_CLAIM, added=doubt.phrase)
        apart = doubt.kind == "frame" and (self.right.opens(doubt) or self.right.unit_of(doubt)[1])
        reported = self._said_by_others(unit, but="" if doubt.kind in ("modal", "infinitive") else "according")
        if not apart and reported:
            return Fault(Reason.ATTRIBUTION_CHANGED, added=doubt.phrase)
        if doubt.kind == "modal" and unit and units[unit - 1].lower in _ADDRESSED:
            return Fault(Reason.MODAL_CHANGED, added=doubt.phrase)
        return None

    def _said_by_others(self, unit: int, but: str = "") -> bool:
        """Whether a unit stands behind "critics say", "she claimed that" or "according to" in its sentence, or behind all `but` one."""
        units = self.left.units
        if not 0 <= unit < len(units):
            return False
        before = [u.lower for u in units[:unit] if u.word.piece == units[unit].word.piece]
        return any(
            word in _SAYS
            or (word in _SAYS_THAT and before[i + 1 : i + 2] == ["that"])
            or (before[i : i + 2] == ["according", "to"] and word != but)
            for i, word in enumerate(before)
        )
