"""What may be written of a lexicon: every confidence finds a hedge that a careful editor would sign."""

from __future__ import annotations

import pytest

from hedgerow.calibration import Beta
from hedgerow.lexicon import LexiconError, Retriever, load, offered
from hedgerow.lexicon.hedges.offered import UNSUITED


def test_the_list_of_unsuited_hedges_names_entries_that_there_are() -> None:
    assert {hedge.id for hedge in load()} >= UNSUITED


@pytest.mark.parametrize("mean", [0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
def test_every_confidence_has_a_hedge_near_by(mean: float) -> None:
    """Leaving out a seventh of the entries leaves no gap: the nearest is within .06 of the target."""
    (nearest, *_) = Retriever(offered(load())).nearest(Beta.from_mean(mean, 10), 5)
    assert nearest.hedge.beta.mean == pytest.approx(mean, abs=0.06)
    assert nearest.hedge.register != "casual"


def test_a_sure_answer_is_left_plain() -> None:
    """Nothing is surer than the plain assertion unless a route allows it."""
    target = Beta.from_mean(0.97, 30)
    assert Retriever(offered(load())).nearest(target, 1)[0].hedge.is_plain
    assert not Retriever(offered(load(), boosters=True, never=())).nearest(target, 1)[0].hedge.is_plain


def test_a_choice_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(LexiconError, match="no hedge is left"):
        offered(load(), registers=("casual",), never=[hedge.id for hedge in load()])
