"""Agreement of JSON answers, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.clustering.support import MOST_FIELDS, agreement, leaves, path_name, representative
from tests.support.tables import cases

QUESTION = "Tell me about Australia."
DRAFT = {
    "capital": "Canberra",
    "population": 26.64,
    "federal": True,
    "motto": None,
    "states": [{"name": "Victoria", "capital": "Melbourne"}, {"name": "Tasmania", "capital": "Hobart"}],
}


def named(draft: Any, *others: Any) -> dict[str, list[float]]:
    return {path_name(path): shares for path, shares in agreement(QUESTION, draft, others).items()}


def test_every_field_has_the_share_of_each_other_answer() -> None:
    other = DRAFT | {"capital": "Sydney", "federal": False}
    shares = named(DRAFT, DRAFT, other)
    assert shares["$.capital"] == [1.0, 0.0]
    assert shares["$.federal"] == [1.0, 0.0]
    assert shares["$.motto"] == [1.0, 1.0]
    assert shares["$.states[1].capital"] == [1.0, 1.0]


def test_arrays_are_matched_by_content() -> None:
    """The order of a list says nothing; an element that only one answer has disagrees."""
    turned = DRAFT | {"states": [DRAFT["states"][1], {"name": "Victoria", "capital": "Geelong"}]}  # type: ignore[index]
    shares = named(DRAFT, turned, DRAFT | {"states": []})
    assert shares["$.states[0].name"] == [1.0, 0.0]
    assert shares["$.states[0].capital"] == [0.0, 0.0]
    assert shares["$.states[1].name"] == [1.0, 0.0]
    assert named(["a", "b", "b"], ["b", "a"])["$[2]"] == [0.0]


@cases(
    ("a", "b", "same"),
    [
        (48.8566, 48.86, True),
        (1998, 1999, False),
        (1998, 1998.0, True),
        (1e400, 1e400, True),
        (0.5, 0.56, False),
        (5, "5", False),
        (True, 1, False),
        (None, 0, False),
        ("USA", "United States of America", True),
        ("Robert Smith", "Alice Smith", False),
        ("10 km", "10 kilometres", True),
    ],
)
def test_values_are_the_same_or_not(a: Any, b: Any, same: bool) -> None:
    assert named({"x": a}, {"x": b})["$.x"] == [float(same)]


def test_prose_agrees_by_its_names_and_numbers_or_is_not_measured() -> None:
    prose = "It is a quiet and leafy city with a great many trees and roundabouts."
    fact = "The site was chosen in 1908 as a compromise between the rivals Sydney and Melbourne after long disputes."
    shares = named({"tone": prose, "history": fact}, {"tone": prose, "history": fact.replace("1908", "1913")})
    assert "$.tone" not in shares
    assert shares["$.history"] == [pytest.approx(2 / 3)]


def test_the_answer_with_most_in_common_speaks_for_all() -> None:
    assert representative([{"a": 1, "b": 1}, {"a": 2, "b": 2}, {"a": 2, "b": 3}, {"a": 2, "b": 2}]) == 1
    assert representative([{}, {}]) == 0


def test_huge_answers_are_bounded() -> None:
    huge = {f"k{i}": i for i in range(5_000)}
    assert len(named(huge, huge)) == MOST_FIELDS
    assert named(list(range(3_000)), list(range(3_000)))["$[499]"] == [1.0]


jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(draft=jsons, others=st.lists(jsons, min_size=1, max_size=3))
def test_any_json_is_compared(draft: Any, others: list[Any]) -> None:
    """Each measured field has one share a sample, in [0, 1]."""
    shares = agreement(QUESTION, draft, others)
    assert set(shares) <= {path for path, _ in leaves(draft)}
    assert all(len(values) == len(others) for values in shares.values())
    assert all(0.0 <= value <= 1.0 for values in shares.values() for value in values)


@given(draft=jsons)
def test_an_answer_agrees_with_itself(draft: Any) -> None:
    assert all(values == [1.0] for values in agreement("", draft, [draft]).values())
