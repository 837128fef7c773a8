"""Retrieval ranks by 1-Wasserstein distance, either way, and prefers what suits among near-ties."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.calibration import Beta
from hedgerow.calibration.wasserstein import quantile_nodes, w1_exact
from hedgerow.lexicon import NO_HEDGE, Lexicon, LexiconError, Retriever, load
from hedgerow.lexicon.hedges.retrieval import GRID_ERROR, crossings, l1_search, query_nodes, w1_refined
from tests.support.tables import cases

LEXICON = load()
DIRECT = Retriever(LEXICON, shortlist=None)
WHOLE = Retriever(LEXICON, shortlist=len(LEXICON))
BETAS = st.builds(Beta.from_mean, st.floats(0.01, 0.99), st.floats(0.5, 200))
FLAT = st.builds(Beta.from_mean, st.floats(0.0, 1.0), st.floats(1e-3, 0.5))


@given(BETAS)
def test_both_ways_rank_the_same(target: Beta) -> None:
    """A shortlist as long as the lexicon and one L1 search of the quantile vectors give one ranking."""
    assert DIRECT.nearest(target) == WHOLE.nearest(target)


@given(st.integers(1, 40), st.sampled_from([1, 64]), st.integers(1, 50), st.integers(0, 99))
def test_few_vectors_are_searched_as_many_are(n: int, dimensions: int, count: int, seed: int) -> None:
    """numpy and FAISS find the same vectors at the same distances."""
    rng = np.random.default_rng(seed)
    vectors, query = rng.random((n, dimensions)), rng.random(dimensions)
    few, apart = l1_search(vectors, faiss_from=n + 1)(query, count)
    many, apart_too = l1_search(vectors, faiss_from=n)(query, count)
    assert len(few) == min(n, count)
    assert set(few.tolist()) == set(many.tolist())
    assert sorted(apart) == pytest.approx(sorted(apart_too), rel=1e-5, abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(BETAS)
def test_the_first_is_the_nearest_by_the_exact_distance(target: Beta) -> None:
    """No hedge is nearer than the first by more than the error of the quadrature."""
    alphas, betas = ([h.beta.alpha for h in DIRECT.hedges], [h.beta.beta for h in DIRECT.hedges])
    best = float(w1_exact(alphas, betas, target.alpha, target.beta).min())
    match = DIRECT.nearest(target, 1)[0]
    exact = float(w1_exact(match.hedge.beta.alpha, match.hedge.beta.beta, target.alpha, target.beta))
    assert match.distance == pytest.approx(exact, abs=1e-4)
    assert exact <= best + 1e-4


@settings(deadline=None)
@given(FLAT, st.lists(FLAT, min_size=12, max_size=12))
def test_flat_betas_are_ranked_by_more_than_their_vectors(target: Beta, others: list[Beta]) -> None:
    """Below a concentration of 0.5 vectors err by hundredths; the first is the nearest all the same."""
    hedges = tuple(replace(LEXICON["probably"], id=f"h{i}", beta=beta) for i, beta in enumerate(others))
    first = Retriever(Lexicon(hedges), shortlist=None).nearest(target, 1)[0]
    alphas, betas = [beta.alpha for beta in others], [beta.beta for beta in others]
    exact = w1_exact(alphas, betas, target.alpha, target.beta)
    assert float(exact[int(first.hedge.id[1:])]) <= float(exact.min()) + 2e-3


@settings(deadline=None)
@given(st.floats(-5, 5), st.floats(log(0.5), log(500)))
def test_interpolated_quantiles_keep_their_bound(logit: float, concentration: float) -> None:
    """The vector of a query is as good as the one that the inverse incomplete beta function gives."""
    mean = 1 / (1 + exp(-logit))
    target = Beta.from_mean(mean, exp(concentration))
    assert np.abs(query_nodes(target) - quantile_nodes(target.alpha, target.beta)).sum() < GRID_ERROR


@cases("target", [Beta(1e-6, 1e-6), Beta(1e6, 1e6), Beta(0.01, 30.0), Beta(1e5, 1e-6)])
def test_beyond_the_grid_nothing_is_extrapolated(target: Beta) -> None:
    """A Beta at the edges of what is allowed has the vector of the reference, and a nearest hedge."""
    assert (query_nodes(target) == quantile_nodes(target.alpha, target.beta)).all()
    assert 0.0 <= DIRECT.nearest(target)[0].distance <= 1.0


@given(BETAS, BETAS)
def test_the_refined_distance_is_the_exact_one(one: Beta, other: Beta) -> None:
    """Never above it, and below it by less than half of what the vectors may err."""
    nodes = quantile_nodes([one.alpha], [one.beta])
    (place,) = crossings(nodes, nodes - query_nodes(other))
    found = w1_refined(one, other, place)
    exact = float(w1_exact(one.alpha, one.beta, other.alpha, other.beta))
    assert exact - 1e-4 <= found <= exact + 1e-9


def test_a_confident_answer_stays_plain() -> None:
    """At the confidence that readers perceive in a plain assertion, no hedge is the nearest."""
    assert Retriever(LEXICON).nearest(LEXICON[NO_HEDGE].beta)[0].hedge.is_plain


def test_words_that_are_only_heard_are_not_retrieved() -> None:
    """To say "usually" would change the claim."""
    assert "usually" not in {match.hedge.id for match in Retriever(LEXICON).nearest(LEXICON["usually"].beta, 30)}


def test_the_last_phrase_is_not_repeated_among_near_ties() -> None:
    """What was said last gives way to something as good, and comes back when nothing is."""
    retriever = Retriever(LEXICON)
    target = LEXICON["i-am-fairly-sure"].beta
    first = retriever.nearest(target)[0].hedge.id
    assert retriever.nearest(target, avoid={first})[0].hedge.id != first
    alone = Retriever(replace(LEXICON, hedges=(LEXICON["never"], LEXICON["probably"], LEXICON[NO_HEDGE])))
    assert alone.nearest(LEXICON["probably"].beta, avoid={"probably"})[0].hedge.id == "probably"


@settings(deadline=None, max_examples=20)
@given(st.sampled_from([Beta(3, 17), Beta(13, 7)]), st.integers(1, 6), st.data())
def test_what_is_remembered_is_what_is_measured(target: Beta, k: int, data: st.DataObject) -> None:
    """Whatever a retriever was asked before, it answers as one that was never asked."""
    avoid = data.draw(st.lists(st.sampled_from([match.hedge.id for match in DIRECT.nearest(target, 8)])))
    fresh = Retriever(LEXICON, shortlist=None)
    assert DIRECT.nearest(target, k, avoid=avoid) == fresh.nearest(target, k, avoid=avoid)


def test_asking_for_more_than_there_is_gives_all() -> None:
    """k may be larger than the lexicon."""
    assert len(DIRECT.nearest(Beta(2, 2), 10_000)) == len(DIRECT.hedges)


def test_nothing_to_retrieve_is_refused() -> None:
    """An empty lexicon, one of perceived-only words, a shortlist or k of 0."""
    with pytest.raises(LexiconError, match="no hedge"):
        Retriever(Lexicon((LEXICON["never"],)))
    with pytest.raises(LexiconError, match="shortlist"):
        Retriever(LEXICON, shortlist=0)
    with pytest.raises(LexiconError, match="k must"):
        DIRECT.nearest(Beta(2, 2), 0)
