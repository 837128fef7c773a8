"""Which records count where some depend on each other, and on whose word a finding rests."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration.clusters import first_of_each, rests_on, together

NAMES = st.one_of(st.none(), st.sampled_from("abc"))


@given(st.lists(st.tuples(NAMES, NAMES), max_size=12))
def test_no_two_that_count_share_a_name_and_no_more_could(rows: list[tuple[str | None, str | None]]) -> None:
    """What is left out shares a name with an earlier one that counts; whether one counts depends on no later one."""
    kept = first_of_each([row[0] for row in rows], [row[1] for row in rows]).tolist()

    def shares(one: int, other: int) -> bool:
        return any(a is not None and a == b for a, b in zip(rows[one], rows[other], strict=True))

    assert not any(shares(one, other) for one in kept for other in kept if one < other)
    assert all(any(shares(i, j) for j in kept if j < i) for i in range(len(rows)) if i not in kept)
    for end in range(len(rows)):
        part = first_of_each([row[0] for row in rows[:end]], [row[1] for row in rows[:end]]).tolist()
        assert part == [i for i in kept if i < end]


@given(st.lists(NAMES, max_size=12))
def test_records_of_one_name_are_together_and_others_apart(names: list[str | None]) -> None:
    numbers = together(names)
    for i, j in np.ndindex(len(names), len(names)):
        assert (numbers[i] == numbers[j]) == (i == j or (names[i] is not None and names[i] == names[j]))


def test_a_finding_stands_without_any_one_sender_or_names_it() -> None:
    """Those with the most records are tried first; records of nobody in particular always count."""
    senders = ["a", "b", None, "b", "a", "a"]
    assert rests_on(senders, lambda kept: kept.size >= 3) is None
    assert rests_on(senders, lambda kept: 1 in kept) == "b"
    assert rests_on(senders, lambda kept: kept.size >= 5) == "a"
    assert rests_on([None, None], lambda _: False) is None
