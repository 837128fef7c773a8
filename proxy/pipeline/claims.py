"""The claims of a draft: their positions (`lexicon/text/claims.py`), and which of them state something (its reading)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...calibration import Beta
from ...lexicon.reading.reading import Reading, Sentence
from ...lexicon.text.claims import Claim, Kind, claims
from ...lexicon.text.sentences import Piece, pieces
from ..types import ClaimConfidence

_FACT = re.compile(r"\d|(?<!^)\b[A-Z][^\W\d_]|^[*_]*[A-Z][^\W\d_]+(?:\s+[A-Z]|[*_\s]*$)")
"""A number or a name. A capitalised first word is a name only if it stands alone or another capitalised word follows."""
LIKELY = 0.5
"""Probability of stating something from which a sentence is measured as a claim."""
CLAIMING = frozenset({"states", "computes"})
"""Acts that can be right or wrong: the steps of a worked solution are measured although they are not hedged."""


def claims_of(reading: Reading) -> tuple[Claim, ...]:
    """The claims of a draft, in order; () for an unknown language."""
    if reading.language is None:
        return ()
    read = {reading.words_of(sentence): sentence for sentence in reading.sentences}

    def says(text: str, kind: Kind) -> bool:
        sentence = read.get(text.strip())
        if kind == "cell" or sentence is None:
            return kind == "cell"
        return claims_something(sentence) or (
            kind == "item" and sentence.act == "presents" and bool(_FACT.search(text))
        )

    return claims(reading.text, says, reading.language)


def claims_something(sentence: Sentence) -> bool:
    """Whether a sentence is measured: a needless measurement costs less than a missing one."""
    return sentence.act in CLAIMING or sentence.states >= LIKELY


def claims_if_long(reading: Reading, minimum: int) -> tuple[Claim, ...] | None:
    """The claims of a draft with at least `minimum` statements; None if it makes fewer."""
    if not may_be_long(reading.text, minimum):
        return None
    claimed = claims_of(reading)
    return claimed if statements(reading, claimed) >= minimum else None


def may_be_long(draft: str, minimum: int) -> bool:
    """Whether a draft has so many sentences and rows that it may be long. A quick test, without reading it."""
    return sum(map(_may_be_a_statement, pieces(draft))) >= minimum


def _may_be_a_statement(piece: Piece) -> bool:
    return piece.is_sentence or piece.text.lstrip().startswith("|")


def statements(reading: Reading, claimed: Sequence[Claim]) -> int:
    """Number of statements in a draft: sentences and items that state something, rows of tables."""
    stating = [
        s
        for s in reading.sentences
        if claims_something(s) and s.block in ("prose", "item") and _is_whole(reading.words_of(s))
    ]
    rows = {reading.text.count("\n", 0, claim.start) for claim in claimed if claim.kind == "cell"}
    return len(stating) + len(rows)


def _is_whole(text: str) -> bool:
    """Whether a stretch is a sentence and not a fragment of a list."""
    return text.rstrip('*_)"”').endswith((".", "!", "…")) or len(text.split()) > 5


def of_sentences(claimed: Sequence[ClaimConfidence], count: int) -> list[Beta | None]:
    """The calibrated confidence of each of `count` sentences: that of its weakest claim, None for a sentence without claims.

    Readers apply one hedge to the whole sentence, and a sentence is right only if all of its claims are: at most as often as its
    weakest claim.
    """
    weakest: dict[int, Beta] = {}
    for claim in claimed:
        if claim.sentence is not None:
            known = weakest.get(claim.sentence)
            if known is None or claim.calibrated.mean < known.mean:
                weakest[claim.sentence] = claim.calibrated
    return [weakest.get(index) for index in range(count)]
