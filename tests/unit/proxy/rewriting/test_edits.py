"""Edits by offset: what is outside of them stays, and edits that do not fit together are refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.rewriting.edits import Edit, applied
from hedgerow.proxy.rewriting.policy import band_of
from tests.support.tables import cases


@st.composite
def _fitting(draw: st.DrawFn) -> tuple[str, list[Edit], str]:
    """A draft, fitting edits in any order, and the draft with them, built piece by piece."""
    parts = draw(st.lists(st.tuples(st.text(max_size=6), st.text(max_size=4), st.text(max_size=6)), max_size=5))
    draft, result, edits = "", "", []
    for kept, removed, new in parts:
        kept = kept or "-"  # two insertions at one place would overlap
        draft, result = draft + kept, result + kept + new
        edits.append(Edit(len(draft), len(draft) + len(removed), new))
        draft += removed
    return draft, draw(st.permutations(edits)), result


@given(_fitting())
def test_edits_change_only_what_they_cover(case: tuple[str, list[Edit], str]) -> None:
    """Joined from pieces or applied by offset, in any order: the same text."""
    draft, edits, result = case
    assert applied(draft, edits) == result


@cases(
    ("edits", "named"),
    [
        ([Edit(2, 9, "x")], "2:9 is outside a text of 5"),
        ([Edit(-1, 2, "x")], "-1:2 is outside"),
        ([Edit(3, 2, "x")], "3:2 is outside"),
        ([Edit(0, 3, "x"), Edit(2, 4, "y")], "2:4 overlaps that of 0:3"),
        ([Edit(1, 1, "x"), Edit(1, 1, "y")], "1:1 overlaps that of 1:1"),
        ([Edit(1, 1, "x"), Edit(1, 3, "y")], "1:3 overlaps that of 1:1"),
    ],
)
def test_edits_that_do_not_fit_are_named(edits: list[Edit], named: str) -> None:
    """An edit outside the text, or over another, is an error that says which."""
    with pytest.raises(ValueError, match=named):
        applied("abcde", edits)


def test_edits_that_touch_are_both_applied() -> None:
    """The end of one is the start of the next."""
    assert applied("abcd", [Edit(2, 4, "y"), Edit(0, 2, "x")]) == "xy"


def test_a_band_includes_its_lower_end() -> None:
    """Half-open intervals: .8 is plain, .7999 light; a table of one's own moves them."""
    means = (1.0, 0.8, 0.7999, 0.45, 0.4499, 0.2, 0.1999, 0.0)
    assert [band_of(mean) for mean in means] == [
        "plain", "plain", "light", "light", "doubt", "doubt", "front", "front",
    ]  # fmt: skip
    assert band_of(0.75, {"plain": 0.7, "light": 0.5, "doubt": 0.3, "front": 0.0}) == "plain"
