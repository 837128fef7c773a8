"""Checks that a rewrite keeps or replaces the answer's own words of confidence and puts new ones in allowed places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ...lexicon.text.sentences import Piece
from ...lexicon.text.words import word_set
from ..outcomes import Reason
from .claims import may_claim
from .doubt import Doubt
from .matching import Fault
from .units import Reading, is_adverb

_LINKS = word_set("and but or which who because while whereas so although though if unless until when where")
_SAYS = word_set(
    "say says said claims claimed argue argues argued assert asserts asserted believe believes believed think thinks alleges alleged insists "
    "insisted told writes concludes concluded maintains maintained contends contended denies denied promises promised predicts predicted warns warned "
    "expects expected hopes hoped fears feared suspects suspected admits admitted explained announces announced"
)
_SAYS_THAT = word_set(
    "state states stated report reports reported suggest suggests suggested wrote claim show shows showed found thought"
)
_DESCRIBED = word_set(
    "described mentioned noted stated reported recorded told depicted shown seen explained defined given"
)
"""After "as", these verbs name a source ("as described in Acts 15")."""
_MOST_DOUBTS = 200
"""Number of words of confidence in the reworded part above which the rewrite is refused without a closer look."""
_ADDRESSED = word_set("you we i one")


@dataclass(frozen=True)
class Fate:
    """The words of confidence of a draft and its rewrite, compared.

    `matched` maps units of the rewrite (`right`) to the same units of the draft (`left`).
    """

    left: Reading
    right: Reading
    matched: dict[int, int]
    draft: tuple[Piece, ...]

    def fault(self) -> Fault | None:
        """The first hedge that was dropped, or put where none is allowed; None if there is none."""
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
        """The doubts that only one of the two texts has, with the draft's units they belong to: (lost, new)."""
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
        """The draft's unit that corresponds to a unit of the rewrite, or to the next unit that has one."""
        while unit not in self.matched and unit < len(self.right.units):
            unit += 1
        return self.matched.get(unit, len(self.left.units) - 1)

    @cached_property
    def _clauses(self) -> list[tuple[int, int]]:
        """For each unit of the draft: (its stretch between strong breaks, its clause)."""
        clauses: list[tuple[int, int]] = []
        clause = 0
        for unit in self.left.units:
            clause += unit.lower in _LINKS
            clauses.append((unit.word.segment, clause))
        return clauses

    def _clause(self, unit: int) -> tuple[int, int]:
        return self._clauses[unit] if 0 <= unit < len(self._clauses) else (-1, -1)

    def _covers(self, doubt: Doubt, unit: int, lost: int) -> bool:
        """Whether a new doubt applies to the clause in which one was lost.

        At the start or end of a sentence it applies to the whole sentence.
        """
        if self._clause(unit) == self._clause(lost):
            return True
        sentence_wide = doubt.kind in ("frame", "caveat") and (self.right.opens(doubt) or self.right.unit_of(doubt)[1])
        return sentence_wide and self._clause(unit)[0] == self._clause(lost)[0]

    def _replaced(self, doubt: Doubt, unit: int, new: Sequence[tuple[Doubt, int]]) -> bool:
        """Whether a lost doubt of the draft has a replacement.

        A modal verb is mostly part of the claim: only another modal verb may replace it, or any hedge after a bare "it
        may be".
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
        subject = next((u.lower for u in reversed(units[:unit]) if not is_adverb(u.lower)), "")
        return being and bool(covering) and subject in ("it", "this", "that", "answer")

    def _misplaced(self, doubt: Doubt, unit: int) -> Fault | None:
        """The fault if a hedge stands on a non-claim or on what others say, or turns a fact into a permission."""
        units = self.left.units
        if doubt.kind == "caveat" or not units:
            claims = any(part.is_sentence and may_claim(part.text) for part in self.draft)
            return None if claims else Fault(Reason.HEDGED_NO_CLAIM, added=doubt.phrase)
        at = self.left.units[min(unit, len(units) - 1)].word.piece
        first = min(word.piece for word in self.left.words)
        text = self.left.parts[at - first].text
        if not may_claim(text) or "please" in text.lower():
            return Fault(Reason.HEDGED_NO_CLAIM, added=doubt.phrase)
        if unit and units[unit].lower in _DESCRIBED and units[unit - 1].lower == "as":
            return Fault(Reason.ATTRIBUTION_CHANGED, added=doubt.phrase)
        set_off = doubt.kind == "frame" and (self.right.opens(doubt) or self.right.unit_of(doubt)[1])
        reported = self._said_by_others(unit, but="" if doubt.kind in ("modal", "infinitive") else "according")
        if not set_off and reported:
            return Fault(Reason.ATTRIBUTION_CHANGED, added=doubt.phrase)
        if doubt.kind == "modal" and unit and units[unit - 1].lower in _ADDRESSED:
            return Fault(Reason.MODAL_CHANGED, added=doubt.phrase)
        return None

    def _said_by_others(self, unit: int, but: str = "") -> bool:
        """Whether a unit comes after "critics say", "she claimed that" or "according to" in its sentence.

        `but`: one of these words to ignore.
        """
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
