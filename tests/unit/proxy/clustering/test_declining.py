"""Which answers give none."""

from __future__ import annotations

from hedgerow.proxy.clustering.declining import declines
from tests.support.tables import cases


@cases(
    "answer",
    [
        "I don't know.",
        "I'm sorry, but I cannot verify the year in which he died.",
        "I couldn't find any information on Chancellor Lendley C. Black.",
        "I’m not aware of it. Could you provide more context?",
        "Unfortunately, I do not have enough information to answer that; please give more details.",
        'I cannot find a "Fall Season 2." It is possible that there is a confusion with another title.',
        "There is not enough information to say.",
        "I am unable to find it, but I'm not sure which club you mean.",
    ],
)
def test_who_does_not_know_gives_no_answer(answer: str) -> None:
    assert declines(answer)


@cases(
    "answer",
    [
        "I couldn't find any information on Jimmie Ross, but Edwyn Collins played the bass guitar.",
        "I'm not certain. It was Harold Pinter, I think.",
        "I'm not sure that it was Harold Pinter.",
        "I do not have its budget; however, it was released in 1994.",
        "It is unknown who built it.",
        "There is no scientific evidence for it.",
        "There is no such island.",
        "I Don't Know How to Love Him",
        "I have no family.",
        "No, I do not think so.",
        "He does not know the answer.",
        "",
    ],
)
def test_what_answers_all_the_same_or_says_that_nobody_knows_is_an_answer(answer: str) -> None:
    assert not declines(answer)


@cases("declined", ["I don't know.", "I cannot verify it.", "I'm not aware of that."])
def test_an_answer_behind_it_makes_it_one(declined: str) -> None:
    assert declines(declined)
    assert not declines(f"{declined} It was founded in 1979.")
