"""Model text is hostile: everything that takes text apart is linear, and raises nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from hypothesis import given

from hedgerow.lexicon.text.claims import claims
from hedgerow.lexicon.text.clauses import clauses
from hedgerow.lexicon.text.language import language_of
from hedgerow.lexicon.text.opaque import masked, protected
from hedgerow.lexicon.text.sentences import pieces, sentence_spans, sentences
from hedgerow.lexicon.text.shape import shape
from hedgerow.lexicon.text.words import tokenize
from tests.support.hostile import HOSTILE, MARKED, NASTY, growth
from tests.support.tables import cases

READERS: dict[str, Callable[[str], object]] = {
    "pieces": pieces, "sentence_spans": sentence_spans, "tokenize": tokenize, "shape": shape,
    "shape de": lambda text: shape(text, language="de"), "masked": masked, "language_of": lambda text: language_of(text, text),
    "clauses": clauses, "clauses de": lambda text: clauses(text, "de"), "claims": claims,
    "protected": protected,
}  # fmt: skip


@cases("reader", READERS)
def test_time_grows_with_the_length(reader: str) -> None:
    for make in (HOSTILE | MARKED).values():
        assert growth(READERS[reader], make).is_linear


@given(NASTY)
def test_nothing_is_lost_and_nothing_is_raised(text: str) -> None:
    assert "".join(piece.text for piece in pieces(text)) == text
    spans = sentence_spans(text)
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    assert len(masked(text)) == len(text)
    assert protected(text) == protected(text)
    parts = claims(text)
    assert all(text[claim.start : claim.end] == claim.text for claim in parts)
    assert all(claim.sentence is None or claim.text in sentences(text)[claim.sentence] for claim in parts)
    for language in ("en", "de", "fr", "es"):
        form = shape(text, language=language)
        assert form.head + form.body == text[: len(form.head + form.body)]
