"""Wishes in plain words: what can be said, and what is refused with a sentence that shows what can."""

from __future__ import annotations

import pytest

from hedgerow.calibration.promises.wishes import SAYABLE, Wish, WishError, parse, parse_all
from tests.support.hostile import HOSTILE
from tests.support.tables import cases


@cases(
    ("text", "wish"),
    [
        ("plain_wrong <= 5%", Wish("plain", 0.05)),
        ("plain_wrong<=0.05", Wish("plain", 0.05)),
        ("Plain answers are right at least 95 percent.", Wish("plain", 0.05)),
        ("worded(>= .8) wrong <= 20%", Wish("worded", 0.2, words_from=0.8)),
        ("worded(80%) right >= 0.8", Wish("worded", 0.2, words_from=0.8)),
        ("answered wrong at most 30 %", Wish("answered", 0.3)),
        ("plain_and_wrong <= 2% on average", Wish("plain_and_wrong", 0.02, on_average=True)),
        ("abstain <= 0%", Wish("abstain", 0.0)),
        ("abstain as little as possible", Wish("abstain", None)),
    ],
)
def test_the_same_wish_in_several_words(text: str, wish: Wish) -> None:
    """Spelling does not matter, and the canonical form is read again."""
    assert parse(text) == wish
    assert parse(wish.text) == wish


@cases("line", SAYABLE)
def test_what_the_message_offers_can_be_said(line: str) -> None:
    """A message that offers what is then refused helps nobody."""
    assert parse(line.split("   ")[0])


@cases(
    ("text", "why"),
    [
        ("plain_wrong <= 5", "write 5% or 0.05"),
        ("plain_wrong <= 0", "no number of labels"),
        ("plain_right >= 100%", "no number of labels"),
        ("plain_wrong <= 100%", "everything may be wrong"),
        ("plain_wrong >= 5%", "from above"),
        ("plain_right <= 95%", "from above"),
        ("plain_wrong <= %", "a number is missing"),
        ("worded(>= 0) wrong <= 10%", "between 0 and 1"),
        ("plain_wrong <= 5% on average", "only plain_and_wrong"),
        ("abstain >= 10%", "from above only"),
        ("be good", "not one of the forms"),
        ("", "not one of the forms"),
    ],
)
def test_a_wish_that_cannot_be_had_is_refused_with_what_can(text: str, why: str) -> None:
    """The sentence says what is wrong, and the forms stand under it."""
    with pytest.raises(WishError) as refused:
        parse(text)
    assert why in str(refused.value)
    assert "abstain as little as possible" in str(refused.value)


def test_several_wishes_come_out_in_the_order_of_their_sets() -> None:
    """Answered, worded, plain; said twice is said once; one text may hold several."""
    wishes = parse_all(["plain_wrong<=5%, answered_wrong<=30%", "worded(>=.8) wrong<=20%", "plain wrong <= 0.05"])
    assert [wish.subject for wish in wishes] == ["answered", "worded", "plain"]


@cases(
    ("texts", "why"),
    [
        (["plain_wrong <= 5%", "plain_wrong <= 10%"], "contradict each other"),
        (["worded(>= .8) wrong <= 20%", "worded(>= 80%) wrong <= 10%"], "contradict each other"),
        (["abstain as little as possible"], "nothing to promise"),
        ([], "nothing to promise"),
    ],
)
def test_wishes_that_cannot_be_had_together(texts: list[str], why: str) -> None:
    """Two limits for one thing, and no limit at all."""
    with pytest.raises(WishError, match=why):
        parse_all(texts)


@cases("name", HOSTILE)
def test_hostile_texts_are_refused(name: str) -> None:
    """In no time, and without all of the text in the message."""
    with pytest.raises(WishError) as refused:
        parse(HOSTILE[name](100_000))
    assert len(str(refused.value)) < 2000
