"""The core of a long answer: what answers the question, in one of its first sentences, whatever the others add."""

from __future__ import annotations

import pytest

from hedgerow.proxy.clustering.rules import judge_pair

QUESTION = "Who first drew Mickey Mouse?"
LONG = "Mickey Mouse was first drawn by Ub Iwerks in 1927, and Walt Disney supplied the voice. He did not draw the later films."


@pytest.mark.parametrize(
    ("question", "short", "long", "same"),
    [
        (QUESTION, "Ub Iwerks", LONG, True),
        (QUESTION, "Ub Iwerks", "Mickey Mouse was first drawn by Ub Iwerks in 1927, and Walt Disney supplied the voice.", True),
        ("Which age is asked for?", "18 years", "There is no federal law on it, as far as is known. It is sold from 18 years on.", True),
        (QUESTION, "Ub Iwerks", "It was not Ub Iwerks who first drew Mickey Mouse. It was somebody else.", False),
        (QUESTION, "Fred Moore", LONG, False),
        ("When was it built?", "1927", "It was built in 1931. It stands in Rome, and it has two towers.", False),
    ],
)  # fmt: skip
def test_a_short_answer_is_the_sentence_that_answers(question: str, short: str, long: str, same: bool) -> None:
    assert (judge_pair(question, short, long).same is True) == same
    assert (judge_pair(question, long, short).same is True) == same
