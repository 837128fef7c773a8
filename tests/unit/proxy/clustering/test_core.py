"""The core of a long answer: what answers the question, in one of its first sentences, whatever the others add."""

from __future__ import annotations

from hedgerow.proxy.clustering.rules import judge_pair
from tests.support.tables import cases

QUESTION = "Who first drew Mickey Mouse?"
LONG = "Mickey Mouse was first drawn by Ub Iwerks in 1927, and Walt Disney supplied the voice. He did not draw the later films."


@cases(
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


@cases(
    ("question", "short", "sentence", "same"),
    [
        # what denies something in another clause, or in the question's own words, denies nothing of the answer
        ("When did it start?", "21 September 2016", "I do not have access to current events. However, it started on September 21, 2016.", True),
        ("When did it start?", "1981", "I do not have access to current events, but it started again in 1981 in Rome.", True),
        ("Who sings 'You'll Never Walk Alone'?", "Patti LaBelle", "The song 'You'll Never Walk Alone' is sung by Patti LaBelle.", True),
        ("How long did they get?", "life", "The brothers were sentenced to life in prison without any hope of parole.", True),
        ("Who wrote it?", "Ann Lee", "It is in dispute, but it was surely not written by Ann Lee, whatever they say.", False),
        ("Who never paid?", "Ann Lee", "Nobody of the family except Ann Lee was there when he never paid.", False),
        # a name without what stands in its middle
        ("Who plays Ann?", "Claudia Grace Wells", "In all of the three films the part was played by Claudia Wells.", True),
        ("Who plays Ann?", "Claudia Grace Wells", "In all of the three films the part was played by Claudia G. Wells.", True),
        ("Who plays Ann?", "Claudia Grace Wells", "In all of the three films the part was played by Claudia Moore.", False),
        ("Who plays Ann?", "Claudia Grace Wells", "In all of the three films the part was played by Claudia and Orson Wells.", False),
        # a date with more or less of it
        ("When did it end?", "July 2017", "The tour of the whole band came to an end on July 6, 2017.", True),
        ("When was it released?", "October 24, 2000", "The song by her was first released in the United States in 2000.", True),
        ("When was it released?", "October 24, 2000", "The song by her was first released in the United States in October 2001.", False),
        ("When was it released?", "October 24, 2000", "The song by her was first released in the States on October 25, 2000.", False),
        ("When was it law?", "1 January 1976", "A law on seat belts was proposed in 1976 and became valid in September 1983.", False),
        ("When is it out in 2017?", "15 December 2017", "The dates can vary, but some of it was shown throughout 2017.", False),
        # words that lost the space between them, and the number of a source set behind a year
        ("Who sings it?", "Sonu Nigam", "The song of the film was performed bySonu Nigamfor the drama of the same name.", True),
        ("When was it released?", "1979", "The first film of the series was released on April 12, 19791.", True),
        ("How many live there?", "1979", "At the last count the town had a population of 19791.", False),
        ("How much was it?", "50 million euros", "The sum paid in the end was 250 million euros.", False),
    ],
)  # fmt: skip
def test_a_sentence_gives_a_short_answer(question: str, short: str, sentence: str, same: bool) -> None:
    assert (judge_pair(question, short, sentence).same is True) == same
    assert (judge_pair(question, sentence, short).same is True) == same
