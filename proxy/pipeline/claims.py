"""The claims of a draft: their positions (`lexicon/text/claims.py`), and which of them state something (`rewriting/claims.py`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from ...calibration import Beta
from ...lexicon.text.claims import Claim, Kind, claims
from ...lexicon.text.language import known_language_of
from ...lexicon.text.sentences import Piece, pieces
from ..rewriting import assertions
from ..rewriting.asserting import asserts
from ..rewriting.claims import is_claim, is_problem
from ..types import ClaimConfidence

_FACT = re.compile(r"\d|(?<!^)\b[A-Z][^\W\d_]|^[*_]*[A-Z][^\W\d_]+(?:\s+[A-Z]|[*_\s]*$)")
"""A number or a name. A capitalised first word is a name only if it stands alone or another capitalised word follows."""


def claims_of(draft: str, question: str = "") -> tuple[Claim, ...]:
    """The claims of a draft, in order; () for an unknown language."""
    language = known_language_of(draft, question)
    return () if language is None else claims(draft, partial(_says, language, _asked(question)), language)


def claims_if_long(draft: str, question: str, minimum: int) -> tuple[Claim, ...] | None:
    """The claims of a draft with at least `minimum` statements; None if it makes fewer."""
    if not may_be_long(draft, minimum):
        return None
    claimed = claims_of(draft, question)
    return claimed if statements(draft, question, claimed) >= minimum else None


def may_be_long(draft: str, minimum: int) -> bool:
    """Whether a draft has `minimum` pieces that can be statements. A quick test: fewer mean a short answer."""
    return sum(map(_may_be_a_statement, pieces(draft))) >= minimum


def _may_be_a_statement(piece: Piece) -> bool:
    """Whether a piece of a draft can be a statement: a sentence, or a row of a table."""
    return piece.is_sentence or piece.text.lstrip().startswith("|")


def statements(draft: str, question: str, claimed: Sequence[Claim]) -> int:
    """Number of statements in a draft: sentences of running text that may take a hedge, list items that are sentences, rows of tables."""
    items = {
        claim.sentence
        for claim in claimed
        if claim.kind == "item" and is_claim(draft[claim.start : claim.end], _asked(question))
    }
    rows = {draft.count("\n", 0, claim.start) for claim in claimed if claim.kind == "cell"}
    return assertions(draft, question) + len(items) + len(rows)


def _asked(question: str) -> str:
    """The question by which claims are selected; "" for a word problem: the steps of a worked solution are measured although they are not hedged."""
    return "" if is_problem(question) else question


def _says(language: str, question: str, text: str, kind: Kind) -> bool:
    if kind == "cell":
        return True
    if not asserts(text, language):
        return False
    return language != "en" or is_claim(text, question) or (kind == "item" and _FACT.search(text) is not None)


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
