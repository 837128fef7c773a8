"""What may be written of a lexicon: every confidence finds a hedge that a careful editor would sign."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hedgerow.calibration import Beta
from hedgerow.lexicon import LexiconError, Retriever, load, offered
from hedgerow.lexicon.hedges.offered import UNSUITED, written
from tests.support.tables import cases


def test_the_list_of_unsuited_hedges_names_entries_that_there_are() -> None:
    assert {hedge.id for hedge in load()} >= UNSUITED


@cases("mean", [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.79])
def test_every_confidence_that_is_hedged_has_a_hedge_near_by(mean: float) -> None:
    """A short list leaves no gap: the nearest is within .06 of the target."""
    (nearest, *_) = Retriever(offered(load())).nearest(Beta.from_mean(mean, 10), 5)
    assert nearest.hedge.beta.mean == pytest.approx(mean, abs=0.06)
    assert nearest.hedge.register == "plain"


@cases("language", ["en", "de", "fr", "es"])
def test_vetted_wordings_are_of_entries_that_there_are(language: str) -> None:
    vetted = written(language).wordings
    assert set(vetted) <= set(load(language=language).by_id)
    assert not set(vetted) & UNSUITED
    assert all(wording.frames for wording in vetted.values())


def test_nobody_speaks_in_an_impersonal_wording() -> None:
    """By its phrase an entry is impersonal; so are all of its forms."""
    impersonal = offered(load())
    said = [frame.text for hedge in impersonal for frame in hedge.frames]
    assert len(said) >= 15
    assert not [text for text in said if {"I", "my", "me", "we"} & set(text.split())]


@cases("mean", [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.89])
def test_a_bare_name_can_be_worded_at_every_confidence(mean: float) -> None:
    """Of the five hedges that are retrieved one at least goes with an answer without a verb."""
    matches = Retriever(offered(load())).nearest(Beta.from_mean(mean, 10), 5)
    assert any(frame.kind in ("fragment", "adverb") for match in matches for frame in match.hedge.frames)


def test_an_entry_of_ones_own_is_written_as_it_stands() -> None:
    own = replace(load()["i-reckon"], id="i-dare-say", phrase="one dares say", register="plain")
    lexicon = replace(load(), hedges=(*load().hedges, own))
    assert offered(lexicon)["i-dare-say"] == own


def test_a_sure_answer_is_left_plain() -> None:
    """Nothing is surer than the plain assertion."""
    target = Beta.from_mean(0.97, 30)
    assert Retriever(offered(load())).nearest(target, 1)[0].hedge.is_plain


def test_a_choice_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(LexiconError, match="no hedge is left"):
        offered(replace(load(), hedges=()))
