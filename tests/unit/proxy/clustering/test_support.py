"""How far other answers bear out a claim: the order that a reader would put claims in, and figures on judged claims."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fits.claims import read
from hedgerow.calibration.metrics import auroc
from hedgerow.proxy.clustering.support import NAMES, WEIGHTS, features, probability, support, weights_of

OTHERS = (
    "Marie Curie was born in Warsaw in 1867. She won two Nobel Prizes.",
    "Born in Warsaw in 1867, Marie Curie studied in Paris and won two Nobel Prizes.",
    "Marie Curie, born 1867 in Warsaw, received Nobel Prizes in physics and chemistry.",
)


def test_a_name_or_number_that_no_other_answer_holds_counts_against_a_claim() -> None:
    """The same sentence with another year, or another city, is worth less; a claim that the others never speak of is worth least."""
    claims = (
        "She was born in Warsaw in 1867.",
        "She was born in Warsaw in 1871.",
        "She was born in Krakow in 1871.",
    )
    right, wrong_year, all_wrong = support("Who was Marie Curie?", claims, OTHERS)
    assert right > wrong_year > all_wrong
    assert right > 0.7
    assert all_wrong < right - 0.2


def test_answers_that_agree_among_themselves_raise_every_claim() -> None:
    claim = ("She was born in Warsaw.",)
    scattered = ("She was born in Warsaw.", "A chef from Lyon.", "He plays tennis for Brazil.")
    assert support("", claim, OTHERS) > support("", claim, scattered)


@given(
    st.text(max_size=60),
    st.lists(st.text(max_size=80), min_size=1, max_size=4),
    st.lists(st.text(max_size=80), min_size=1, max_size=4),
)
def test_support_is_a_probability_for_any_text(question: str, claims: list[str], others: list[str]) -> None:
    """Whatever a model writes; and the order of the other answers is without consequence."""
    values = support(question, claims, others)
    assert len(values) == len(claims)
    assert all(0.0 < value < 1.0 for value in values)
    assert values == pytest.approx(support(question, claims, others[::-1]))


def test_features_of_one_answer_that_says_the_same() -> None:
    """One answer of one holds every number and name: log-odds of 1.5 to 0.5."""
    (only,) = features("", ("Paris was founded in 1900.",), ("Paris was founded in 1900.",))
    assert only.numbers == only.rarest == pytest.approx(np.log(3.0))
    assert (only.disputed, only.names_alike, only.numbers_alike) == (0.0, 1.0, 1.0)


def test_an_answer_that_says_the_same_of_another_year_disputes_a_claim() -> None:
    """It speaks of it and holds neither its name nor its number; an answer about something else does not dispute."""
    claim = ("The bridge was designed by Arrol in 1890.",)
    (disputed,) = features("", claim, ("A bridge. The bridge was designed by Baker in 1882.",))
    (elsewhere,) = features("", claim, ("It carries two tracks across the firth.",))
    assert (disputed.disputed, elsewhere.disputed) == (1.0, 0.0)
    assert disputed.rarest == elsewhere.rarest


@pytest.mark.slow
def test_claims_of_chat_models_are_told_apart(data: Path) -> None:
    """On judged claims of biographies and facts by three models: well above a coin, on the half of the prompts by hash."""
    claims = read(data, ("graph_uncertainty_bios", "graph_uncertainty_popqa"), counts=(9,))

    confidence = np.array([probability(weights_of(WEIGHTS, NAMES), row) for row in claims.features])
    half = np.array([hashlib.sha256(str(p).encode()).digest()[0] % 2 == 0 for p in claims.prompt])
    for group in sorted(set(claims.group)):
        chosen = (claims.group == group) & half
        assert auroc(confidence[chosen], claims.correct[chosen]) > 0.69, group
