"""Long answers, sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration import Beta
from hedgerow.lexicon import load
from hedgerow.lexicon.text.sentences import pieces
from hedgerow.proxy.rewriting import (
    Choice,
    FactGuard,
    natural_pieces,
    reword_sentences,
    sentences,
)
from hedgerow.proxy.types import Rewording, Rewrite, RewriteRequest, Verdict
from tests.support.rewriting import GUARD, RETRIEVER, TEMPLATE

SURE, UNSURE = Beta.from_mean(0.94, 10), Beta.from_mean(0.4, 10)
LONG = "Paris is the capital of France. It was founded by the Parisii. It lies on the Seine. It hosted the Olympics in 1900."


def _worded(draft: str, confidences: list[Beta | None], cells: Sequence[tuple[int, Beta]] = ()) -> Rewording:
    choice = Choice.of(load())
    return reword_sentences(
        "", draft, confidences, nearest=lambda target, avoid: choice.nearest(target, 5, draft, avoid), template=TEMPLATE, guard=GUARD, cells=cells
    )  # fmt: skip


def _long(confidences: list[Beta | None]) -> Rewording:
    return _worded(LONG, confidences)


def test_only_sentences_that_deserve_a_hedge_get_one() -> None:
    plain = load()["no-hedge"].beta
    done = _long([plain, Beta(3, 7), plain, plain])
    before, after = sentences(LONG), sentences(done.text)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True, True]
    assert done.status == "hedged"


def test_two_sentences_at_most_are_hedged_the_least_sure_ones_in_different_words() -> None:
    draft = LONG + " It has 20 large districts. It has 37 old bridges. It has 130 public museums."
    doubts = [Beta.from_mean(m, 10) for m in (0.45, 0.5, 0.4)]
    done = _worded(draft, [SURE, SURE, SURE, SURE, *doubts])
    before, after = sentences(draft), sentences(done.text)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, True, True, False, True, False]
    assert done.hedge == done.sentences[6].hedge
    assert len({sentence.hedge for sentence in done.sentences if sentence.hedge}) == 2


@pytest.mark.parametrize(("mean", "status"), [(0.8, "plain"), (0.66, "plain"), (0.6, "hedged"), (0.3, "hedged")])
def test_claims_of_like_confidence_are_not_hedged_one_by_one(mean: float, status: str) -> None:
    """None stands below the rest. Where many are in doubt a note says so; the answer itself is not touched."""
    done = _long([Beta.from_mean(mean, 10)] * 4)
    assert (done.status, done.text.startswith(LONG)) == (status, True)
    assert ("uncertain" in done.text) == (status == "hedged")
    assert _worded(LONG, [Beta.from_mean(mean, 10)] * 4).text == done.text


def test_items_and_cells_that_stand_below_the_rest_get_a_mark() -> None:
    draft = "Marie Curie lived in these towns:\n\n- Warsaw\n- **Passy**\n- Paris.\n\n| town | year |\n|---|---|\n| Warsaw | 1867 |\n| Passy | 1934 |\n"
    confidences = [None, SURE, Beta.from_mean(0.68, 40), Beta.from_mean(0.41, 7)]
    cells = [(draft.index(year) + 4, beta) for year, beta in (("1867", SURE), ("1934", Beta.from_mean(0.41, 7)))]
    done = _worded(draft, confidences, [*cells, *[(draft.index("Warsaw |") + 6, SURE)] * 6])
    assert "- Warsaw\n- **Passy** (probably)\n- Paris (possibly).\n" in done.text
    assert "| Warsaw | 1867 |\n| Passy | 1934 (possibly) |" in done.text
    assert done.status == "hedged"


def test_a_worked_solution_is_hedged_in_its_result_alone() -> None:
    draft = "The train travels for 3 hours. The distance is 3 * 60 = 180 km. The return is 2 * 60 = 120 km. The sum is 180 + 120 = 300 km. The total distance is 300 km."
    done = _worded(draft, [SURE, UNSURE, SURE, SURE, UNSURE])
    before, after = sentences(draft), sentences(done.text)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, True, True, True, False]


def test_an_answer_that_is_a_fragment_gets_the_hedge_and_not_the_background() -> None:
    draft = "A severe decline. The herring stocks of the North Sea were fished by seven nations. Norway fished the largest share of them."
    done = _worded(draft, [UNSURE, SURE, SURE])
    assert done.sentences[0].status == "hedged"
    assert done.text.endswith(draft.removeprefix("A severe decline."))


def test_a_long_answer_that_deserves_no_hedge_stands() -> None:
    done = _long([load()["no-hedge"].beta, None, None, None])
    assert (done.text, done.status) == (LONG, "plain")


def test_confidences_must_go_with_the_sentences() -> None:
    with pytest.raises(ValueError, match="4 sentences and 1 confidences"):
        _long([None])


@given(st.text(alphabet=st.sampled_from(list("ab. !?\n-*1`#\"'()A,:…[]é|>")), max_size=200))
def test_nothing_is_lost_in_cutting(text: str) -> None:
    assert "".join(piece.text for piece in pieces(text)) == text
    assert "".join(natural_pieces(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was Dr. Who. He left.", ("It was Dr. Who.", "He left.")),
        ("Born in the U.S. in 1990. Died.", ("Born in the U.S. in 1990.", "Died.")),
        ("J. K. Rowling wrote it. Yes.", ("J. K. Rowling wrote it.", "Yes.")),
        ("It costs 1.5 million. Wow!", ("It costs 1.5 million.", "Wow!")),
        ("1. One.\n2. Two.", ("One.", "Two.")),
        ("# Title\n\nText.\n\n```\nx. y\n```", ("Text.",)),
        ("Er kam am 9. November. Gut.", ("Er kam am 9. November.", "Gut.")),
        ('He said "Stop." Then he left.', ('He said "Stop."', "Then he left.")),
    ],
)
def test_sentences(text: str, expected: tuple[str, ...]) -> None:
    assert sentences(text) == expected


class Refusing(FactGuard):
    """A guard that refuses some wordings."""

    def __init__(self, refuses: Callable[[Rewrite], bool]) -> None:
        super().__init__()
        self.refuses = refuses

    def check_sync(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        if self.refuses(rewrite):
            return Verdict(accepted=False, reason="numbers_changed")
        return super().check_sync(request, rewrite)


def _guarded(refuses: Callable[[Rewrite], bool], text: str = LONG) -> Rewording:
    return reword_sentences(
        "", text, [Beta(3, 7)] + [None] * (len(sentences(text)) - 1), template=TEMPLATE, guard=Refusing(refuses),
        nearest=lambda target, avoid: RETRIEVER.nearest(target, 5, avoid=avoid),
    )  # fmt: skip


def test_a_sentence_whose_wording_is_refused_gets_the_next_or_none() -> None:
    """The refusals are listed; where all are refused an answer in doubt gets a note, and its sentences stand as they were."""
    best = _guarded(lambda _: False)
    second = _guarded(lambda rewrite: rewrite.hedge == best.hedge)
    assert (second.status, second.attempts) == ("hedged", ("template:numbers_changed",))
    assert second.hedge != best.hedge
    none = _guarded(lambda _: True)
    assert none.text.startswith(f"{LONG}\n\n")
    assert (none.rewriter, set(none.attempts)) == ("closing", {"template:numbers_changed"})
    assert [sentence.status for sentence in none.sentences] == ["unhedged", "plain", "plain", "plain"]


def test_a_long_answer_in_an_unknown_language_stands() -> None:
    draft = "東京は日本の首都です。大阪は西にあります。"
    done = _guarded(lambda _: False, draft)
    assert (done.text, done.status, done.reason) == (draft, "unhedged", "unknown_language")
