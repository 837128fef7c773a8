"""The guard on rewrites written by hand: excellent ones as a strong editor would hand them in, and subtly harmful ones."""

from __future__ import annotations

import re
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evidence.guarding import Judged, judged
from hedgerow.calibration import Beta
from hedgerow.lexicon import Match, load
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.rewriting import FactGuard
from hedgerow.proxy.rewriting.moved import with_phrases_moved
from hedgerow.proxy.types import Rewrite, RewriteRequest
from tests.support.tables import cases


@cache
def _found() -> tuple[Judged, ...]:
    return tuple(judged(FactGuard()))


def _wrong(part: str, *, good: bool) -> float:
    rows = [one for one in _found() if one.row["part"] == part and one.good is good]
    assert len(rows) >= 24
    return sum(one.wrong for one in rows) / len(rows)


@cases(
    ("part", "most"),
    [
        ("tune", 0.1),
        ("held_out", 0.1),
        ("second", 0.1),
        ("third", 0.1),
        ("fourth", 0.18),
        ("fifth", 0.18),
        ("sixth", 0.1),
    ],
)
def test_few_excellent_rewrites_are_refused(part: str, most: float) -> None:
    """A third of the fourth set and all of the fifth move a phrase, which is taken where nothing may be about something else then."""
    assert _wrong(part, good=True) <= most


@cases("part", ["tune", "held_out", "second", "third", "fourth", "fifth", "sixth"])
def test_hardly_a_harmful_rewrite_passes(part: str) -> None:
    assert _wrong(part, good=False) <= 0.02


@given(st.sampled_from(range(2000)))
def test_a_phrase_that_is_moved_back_takes_no_word_with_it(number: int) -> None:
    rows = _found()
    row = rows[number % len(rows)].row
    moved = with_phrases_moved(row["draft"], row["rewrite"])
    assert moved is None or sorted(re.findall(r"\w+", moved.lower())) == sorted(
        re.findall(r"\w+", row["draft"].lower())
    )


@cases(
    "rewrite",
    [
        "The band played in Rome. In 1979, it probably split up.",
        "In 1979, the band probably played in Rome. It split up.",
    ],
)
def test_what_a_sentence_ends_with_stays_in_it(rewrite: str) -> None:
    """A date that is put at the front of the next sentence says when another thing happened."""
    request = RewriteRequest(
        "", "The band played in Rome in 1979. It split up.", Beta(7, 3), (Match(load()["probably"], 0.0),)
    )
    assert FactGuard().check_sync(request, Rewrite(rewrite, None)).accepted is rewrite.endswith("It split up.")


REASONS = {
    "likely": {Reason.MODAL_CHANGED, Reason.CONTENT_NEGATION, Reason.CONTENT_ADDED},
    "sign": {Reason.SYMBOL_CHANGED, Reason.NUMBER_CHANGED, Reason.CONTENT_ADDED, Reason.MATHS_CHANGED},
    "quotation": {Reason.QUOTATION_CHANGED},
    "number": {Reason.NUMBER_CHANGED, Reason.DATE_CHANGED, Reason.CONTENT_ADDED},
    "confidence": {Reason.CONFIDENCE_OFF},
}


@cases("kind", REASONS)
def test_a_refusal_says_why_and_names_the_words(kind: str) -> None:
    """Its sentence is for logs and holds no word of the texts; the words are for the editor alone."""
    refused = [one for one in _found() if not one.good and one.row["kind"] == kind and not one.verdict.accepted]
    assert refused
    for one in refused:
        verdict = one.verdict
        assert verdict.detail
        assert verdict.words is None or verdict.words not in verdict.detail
        assert verdict.words or verdict.reason in {Reason.CONFIDENCE_OFF, Reason.STRUCTURE_CHANGED}
    most = sum(one.verdict.reason in REASONS[kind] for one in refused)
    assert most >= 0.8 * len(refused)


@cases(
    "kind",
    sorted(
        {
            "insertion",
            "local_edit",
            "caveat",
            "split",
            "moved",
            "own_hedge",
            "other_language",
            "likely_that",
            "contraction",
        }
    ),
)
def test_most_of_each_kind_of_excellent_rewrite_pass(kind: str) -> None:
    rows = [one for one in _found() if one.good and one.row["kind"] == kind]
    assert sum(one.wrong for one in rows) <= 0.35 * len(rows)
