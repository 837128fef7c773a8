"""Compares an English answer with its rewrite: what changed besides the confidence, and were the answer's hedges kept?

Both texts are read as words, and the words of confidence in each are located (see `doubt`). All other words must be the
same and in the same order, with verbs in the form that a hedge requires ("was" and "may have been"). A hedge of the
answer that is gone must have been replaced in the same clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from ...lexicon.text.opaque import first_difference, protected
from ...lexicon.text.sentences import Piece, pieces
from ...lexicon.text.shape import shape
from ...lexicon.text.words import word_set
from ..outcomes import Reason
from .doubt import Doubt, Doubts
from .fate import Fate
from .matching import Fault, walk
from .moved import with_phrases_moved
from .units import Reading
from .words import Word, words_of

_STOP = re.compile(r"[.!?…:;]")
_LINKS = word_set("and but so while whereas")


def compare(draft: str, rewrite: str, doubts: Doubts) -> Fault | None:
    """The first change of a rewrite besides its confidence, or None.

    Moving a phrase of time or place within its sentence is allowed. Time linear in the lengths of the texts.
    """
    fault = _compare(draft, rewrite, doubts)
    if fault is None or (moved := with_phrases_moved(draft, rewrite)) is None:
        return fault
    return fault if _compare(moved, rewrite, doubts) else None


def _compare(draft: str, rewrite: str, doubts: Doubts) -> Fault | None:
    """Like `compare`, but every word must keep its place."""
    before, after = pieces(draft), pieces(rewrite)
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    words = words_of(before)
    known = {word.lower for word in words}
    old, new = _region(before, words, head, tail), _region(after, words_of(after), head, tail)
    fragment = any(shape(part.text).kind == "fragment" for part in old[0] if part.is_sentence)
    would = "would" not in known
    left = Reading(*old, list(_doubts(old[1], doubts, known, fragment=False, would=False)))
    right = Reading(*new, list(_doubts(new[1], doubts, known, fragment=fragment, would=would)))
    kind = first_difference(left.bare, right.bare)
    if kind is not None and kind != "structure":
        return Fault(Reason(f"{kind}_changed"), *_spans(kind, left, right))
    matched = walk(left.units, right.units)
    if isinstance(matched, Fault) and (kind is None or matched.reason != Reason.SYMBOL_CHANGED):
        return matched
    if kind is not None or isinstance(matched, Fault) or _ends_elsewhere(left, right, matched):
        return Fault(Reason.STRUCTURE_CHANGED)
    return Fate(left, right, matched, before).fault()


def _shared(first: Sequence[Piece], second: Sequence[Piece]) -> int:
    """Number of equal pieces at the start of both texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0].text == pair[1].text, zip(first, second, strict=False)))


def _region(
    parts: Sequence[Piece], words: Sequence[Word], head: int, tail: int
) -> tuple[tuple[Piece, ...], list[Word]]:
    """The pieces that the texts do not share, and the words in them, with offsets relative to those pieces."""
    inside = tuple(parts[head : len(parts) - tail])
    shift = sum(len(part.text) for part in parts[:head])
    inner_words = [
        replace(word, start=word.start - shift, end=word.end - shift)
        for word in words
        if head <= word.piece < len(parts) - tail
    ]
    return inside, inner_words


def _doubts(words: Sequence[Word], doubts: Doubts, known: set[str], *, fragment: bool, would: bool) -> Iterator[Doubt]:
    """The words of confidence, searched separately in each stretch between strong breaks."""
    start = 0
    while start < len(words):
        end = start
        while end < len(words) and words[end].segment == words[start].segment:
            end += 1
        texts = ["¤" if word.opaque else word.lower for word in words[start:end]]
        for doubt in doubts.within(texts, known, fragment=fragment, would=would):
            yield replace(doubt, start=doubt.start + start, end=doubt.end + start)
        start = end


def _ends_elsewhere(left: Reading, right: Reading, matched: dict[int, int]) -> bool:
    """Whether a sentence of the rewrite begins where no sentence of the draft does; before "and" or "but" it may.

    Example: "in 1979. It was covered" against ". In 1979, it was covered".
    """
    text = "".join(part.text for part in left.parts)
    for j in range(1, len(right.units)):
        i = matched.get(j)
        if i is None or matched.get(j - 1) != i - 1 or right.units[j].word.piece == right.units[j - 1].word.piece:
            continue
        before, first = left.units[i - 1].word, left.units[i].word
        separate = first.piece != before.piece or _STOP.search(text, before.end, first.start)
        if not separate and first.lower == right.units[j].lower and first.lower not in _LINKS:
            return True
    return False


def _spans(kind: str, left: Reading, right: Reading) -> tuple[str, str]:
    """The protected parts of this kind (numbers, quotations, ...) that only one of the two texts has: (lost, added)."""
    old, new = (protected(reading.bare)[kind] for reading in (left, right))
    return " ".join(old - new), " ".join(new - old)
