"""The guard on rewrites written by hand: excellent ones as a strong editor would hand them in, and subtly harmful ones."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.evidence.guarding import Judged, judged
from hedgerow.calibration import Beta
from hedgerow.lexicon import Match, load
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.rewriting import FactGuard
from hedgerow.proxy.types import Rewrite, RewriteRequest


@cache
def _found() -> tuple[Judged, ...]:
    return tuple(judged(FactGuard()))


def test_few_excellent_rewrites_are_refused() -> None:
    """Those that move a phrase are refused, since it may belong to another word then; an editor is told to keep the order."""
    rows = [one for one in _found() if one.good and one.row["kind"] != "moved"]
    assert len(rows) == 526
    assert sum(one.wrong for one in rows) <= 0.06 * len(rows)


def test_hardly_a_harmful_rewrite_passes() -> None:
    rows = [one for one in _found() if not one.good]
    assert len(rows) == 722
    assert sum(one.wrong for one in rows) <= 0.03 * len(rows)


def test_what_a_sentence_ends_with_stays_in_it() -> None:
    """A date that is put at the front of the next sentence says when another thing happened."""
    request = RewriteRequest(
        "", "The band played in Rome in 1979. It split up.", Beta(7, 3), (Match(load()["probably"], 0.0),)
    )
    moved = "The band played in Rome. In 1979, it probably split up."
    assert not FactGuard().check_sync(request, Rewrite(moved, None)).accepted


REASONS = {
    "likely": {
        Reason.MODAL_CHANGED,
        Reason.CONTENT_NEGATION,
        Reason.CONTENT_ADDED,
        Reason.CONTENT_DROPPED,
        Reason.DOUBT_DROPPED,
        Reason.QUANTITY_CHANGED,
    },
    "sign": {Reason.SYMBOL_CHANGED, Reason.NUMBER_CHANGED, Reason.CONTENT_ADDED, Reason.MATHS_CHANGED},
    "quotation": {Reason.QUOTATION_CHANGED},
    "number": {Reason.NUMBER_CHANGED, Reason.DATE_CHANGED, Reason.CONTENT_ADDED},
    "confidence": {Reason.CONFIDENCE_OFF},
}


@pytest.mark.parametrize("kind", REASONS)
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
    assert most >= 0.7 * len(refused)


def test_most_of_each_kind_of_excellent_rewrite_pass() -> None:
    kinds = ("insertion", "local_edit", "caveat", "split", "own_hedge", "other_language", "likely_that", "contraction")
    rows = {kind: [one.wrong for one in _found() if one.good and one.row["kind"] == kind] for kind in kinds}
    assert not {kind: sum(wrong) for kind, wrong in rows.items() if sum(wrong) > 0.15 * len(wrong)}
