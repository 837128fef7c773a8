"""The adaptive map: laws of confidence and worth, and what it learns from answers of known difficulty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.calibration import Beta
from hedgerow.calibration.errors import NotEnoughData, RangeError
from hedgerow.calibration.maps.adaptive import AdaptiveMap
from hedgerow.calibration.maps.base import map_from_dict
from hedgerow.calibration.maps.counts import Tokens
from hedgerow.calibration.regimes.adaptive import fit_adaptive
from hedgerow.calibration.regimes.drawings import Drawings, paths
from hedgerow.calibration.regimes.plain import PLAIN, plain_features
from hedgerow.calibration.regimes.states import judged
from tests.support.tables import cases

ALONE = (-1.0, 1.2, -0.4, 0.3, 0.4, -0.2)
COUNTS = AdaptiveMap(ALONE, budget=10, share=0.6)


def drawings(n: int = 240, budget: int = 8, *, telling: bool = True, seed: int = 0) -> Drawings:
    """Two kinds of questions: answers to one agree and are right nine times in ten, to the other they scatter and one in ten is right."""
    rng = np.random.default_rng(seed)
    easy = rng.random(n) < 0.5
    place = easy if telling else rng.random(n) < 0.5
    x = (np.eye(4)[place.astype(int)] + rng.normal(0, 0.15, (n, 4))).astype(np.float32)
    agree = rng.random((n, budget)) < np.where(easy, 0.92, 0.3)[:, None]
    cluster = np.where(agree, 0, rng.integers(1, 9, (n, budget)))
    right = np.where(cluster == 0, (rng.random(n) < np.where(easy, 0.9, 0.3))[:, None], False).astype(float)
    return Drawings(x, cluster, right, np.zeros((n, budget, 3)), np.full((n, budget, 2), np.nan), np.arange(n))


@pytest.fixture(scope="module")
def fitted():
    return fit_adaptive(drawings(), samples=3.0)


def test_an_easy_question_costs_fewer_answers_than_a_hard_one(fitted):
    """The same first answers; what the question lets expect decides."""
    made = fitted.map
    assert made.helps
    easy, hard = (made.context(made.seen(np.eye(4)[kind], np.zeros(3))) for kind in (1, 0))
    probability = lambda context: 1.0 / (1.0 + np.exp(-float(made.log_odds(1, 1, context))))  # noqa: E731
    assert probability(easy) > 0.75
    assert probability(hard) < 0.35
    assert made.worth([1], 1, 7, easy[None])[1][0] != made.worth([1], 1, 7, hard[None])[1][0]


def test_figures_are_of_questions_that_the_fit_did_not_see_and_cheaper_than_all_answers(fitted):
    price, cost, brier = next(row for row in fitted.map.policy if row[0] == fitted.map.price)
    assert cost <= 3.0
    assert brier < fitted.map.fixed[2] + 0.01
    assert f"{cost:.2f} answers" in fitted.fitted.provenance.notes[1]
    assert len(fitted.map.fixed) == 8
    assert fitted.map.pays(price)


def test_a_question_that_says_nothing_falls_back_to_the_counts_and_says_so():
    made = fit_adaptive(drawings(telling=False, seed=3))
    assert not made.map.helps
    assert "the counts alone serve" in made.fitted.provenance.notes[0]
    seen = made.map.seen(np.eye(4)[1], np.zeros(3))
    assert made.map.context(seen) is None
    assert made.map.wanted(1, 1, 9, None, 0.01) == 1  # one answer alone says nothing


def test_scalar_and_array_readings_agree(fitted):
    """What serves one request is what was measured on many."""
    drawn = drawings(20, seed=5)
    seen = paths(drawn, np.random.default_rng(0))
    states = judged(fitted.map, seen)
    for row in range(20):
        for n in (1, 3, 8):
            context = fitted.map.context(fitted.map.seen(drawn.x[row], seen.plain[row, n - 1]))
            z = float(fitted.map.log_odds(seen.agreeing[row, n - 1], n, context))
            assert 1.0 / (1.0 + np.exp(-z)) == pytest.approx(states.full[row, n - 1], abs=1e-6)
            each = fitted.map.worth([seen.agreeing[row, n - 1]], n, 8 - n, context[None])[1][0]
            assert each == pytest.approx(states.worth[row, n - 1], abs=1e-6)


def test_a_map_survives_json_and_adds_the_question_to_its_counts(fitted):
    again = map_from_dict(fitted.map.to_dict())
    assert again == fitted.map
    context = again.context(again.seen(np.eye(4)[1], np.zeros(3)))
    raw = Beta.floored(3, 0)
    alone = np.log(again.apply(raw).mean / (1 - again.apply(raw).mean))
    assert alone + again.shift(raw, context) == pytest.approx(float(again.log_odds(3, 3, context)), abs=1e-4)


def test_the_draft_is_the_first_answer_of_the_largest_group_so_far_or_the_first_of_all():
    one = replace(drawings(1, 4), cluster=np.array([[5, 7, 7, 5]]), right=np.array([[0.0, 1.0, 1.0, 0.0]]))

    class InOrder:
        def random(self, shape):
            return np.tile(np.arange(shape[1], dtype=float), (shape[0], 1))

    largest, first = (paths(one, InOrder(), draft) for draft in ("largest", "first"))
    assert largest.agreeing.tolist() == [[1, 1, 2, 2]]
    assert largest.right.tolist() == [[0, 0, 1, 0]]  # two against two: the group that came first
    assert first.agreeing.tolist() == [[1, 1, 1, 2]]
    assert first.right.tolist() == [[0, 0, 0, 0]]


@given(st.integers(1, 9), st.data(), st.floats(-3, 3), st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_laws_of_worth(drawn, data, lean, share):
    """Worth lies in [0, 1/4], is nothing where no answer is left, and a higher price never draws more."""
    agreeing, left = data.draw(st.integers(1, drawn)), 10 - drawn
    known = replace(COUNTS, full=(*ALONE, 0.5, 0.5, 0.2, -0.2), lean="", agree="", gain=(-0.1, -0.2, -0.05))
    for made, context in ((COUNTS, None), (known, np.array([lean, np.log(share / (1 - share))]))):
        samples, each = made.worth([agreeing], drawn, left, None if context is None else context[None])
        assert 0.0 <= each[0] <= 0.25
        assert 1 <= samples[0] <= left
        assert made.worth([agreeing], drawn, 0, None if context is None else context[None])[0][0] == 0
        wants = [made.wanted(agreeing, drawn, left, context, price) for price in (0.0001, 0.01, 0.3)]
        assert all(0 <= more <= left for more in wants)
        floor = 1 if context is None and drawn < 2 else 0
        assert wants[2] == floor
        assert (wants[1] > floor) <= (wants[0] > 0)


@given(st.text(max_size=200), st.text(max_size=200))
@settings(deadline=None)
def test_plain_features_are_finite_whatever_the_text(question, answer):
    values = plain_features(question, answer)
    assert len(values) == len(PLAIN)
    assert np.isfinite(values).all()


def test_token_probabilities_are_read_where_every_answer_has_them():
    one = drawings(160)
    likely = np.where(one.cluster == 0, 0.8, 0.1)[..., None] * np.array([1.0, 1.1])
    made = fit_adaptive(replace(one, tokens=likely)).map
    assert made.tokens
    seen = made.seen(np.eye(4)[0], np.zeros(3))
    assert made.context(seen) is None  # an answer without them is judged by its counts
    assert made.context(seen, Tokens(0.8, 0.88)).shape == (4,)


def test_questions_without_an_outcome_are_read_but_do_not_count_in_the_gain(fitted):
    one = drawings()
    right = np.where(np.arange(len(one.right))[:, None] < 40, np.nan, one.right)
    made = fit_adaptive(replace(one, right=right))
    assert made.gain.mean == pytest.approx(fitted.gain.mean, abs=0.01)
    assert made.map.helps


def test_what_cannot_be_learned_from_is_refused_with_its_numbers():
    with pytest.raises(NotEnoughData, match="30 different questions"):
        fit_adaptive(drawings(30))
    with pytest.raises(NotEnoughData, match="2 answers to each question"):
        fit_adaptive(drawings(80, 2))
    one = drawings(200)
    with pytest.raises(NotEnoughData, match="right and wrong answers"):
        fit_adaptive(replace(one, right=np.ones_like(one.right)))
    with pytest.raises(NotEnoughData, match="1 different questions"):
        fit_adaptive(replace(one, prompt=np.zeros(200, np.int64)))


@cases(
    "change", [{"alone": (1.0,)}, {"full": (1.0,)}, {"budget": 0}, {"share": 1.0}, {"price": -1.0}, {"strength": 0.0}]
)
def test_a_damaged_map_is_refused_when_it_is_made(change):
    with pytest.raises(RangeError):
        replace(COUNTS, **change)


def test_an_embedding_of_another_encoder_is_refused(fitted):
    with pytest.raises(RangeError, match="embeddings of 4 finite numbers, got 5"):
        fitted.map.is_known(np.zeros(5))
    assert fitted.map.is_known(np.eye(4)[1])[0]
    assert not fitted.map.is_known(np.full(4, 30.0))[0]
