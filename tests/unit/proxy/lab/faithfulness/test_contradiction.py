"""Which answers contradict: the paper's own examples."""

import gzip
import json
import random
from pathlib import Path

import pytest

from hedgerow.proxy.lab.faithfulness.assertions import Assertion, assertions
from hedgerow.proxy.lab.faithfulness.contradiction import by_words
from hedgerow.proxy.lab.faithfulness.places import nested
from tests.support.tables import cases

EVOUNA = Path(__file__).parents[6] / "shared" / "data" / "equivalence" / "evouna_nq.jsonl.gz"
BORN = "Where was Barack Obama born?"
PAIRS = [
    (BORN, "Honolulu", "Hawaii", False),
    (BORN, "Honolulu, Hawaii", "Hawaii", False),
    (BORN, "Honolulu", "Kenya", True),
    (BORN, "Barack Obama was born in Honolulu.", "Hawaii", False),
    (BORN, "Barack Obama was born in Honolulu.", "He was born in the United States.", False),
    (BORN, "Barack Obama was born in Honolulu.", "Kenya", True),
    ("Varicose veins occur when what happens to the veins under the skin?", "becomes enlarged.", "becomes irritated by something.", True),
    ("What is LeBron James' profession?", "professional basketball player.", "basketball player", False),
    ("Who did Hillary Clinton marry?", "she married Bill.", "Bill Clinton.", False),
    ("What position does David Beckham typically play?", "Right winger.", "Striker.", True),
    ("Who is the top scorer in Manchester United?", "David Beckham.", "Please use Google search for questions like this.", False),
    ("How many movies did Brad Pitt star in?", "over 80 movies.", "75", True),
    ("When was Barack Obama born?", "Barack Obama was born in 1961", "August 4, 1961.", False),
    ("When was Barack Obama born?", "Barack Obama was born in 1961", "I think he was born in 1961", False),
    ("When was Barack Obama born?", "Barack Obama was born in 1961", "Probably 1955", True),
    ("Who wrote it?", "Harold Pinter", "I don't know.", False),
]  # fmt: skip


@cases(("question", "answer", "other", "contradicts"), PAIRS)
def test_the_papers_examples_both_ways(question, answer, other, contradicts):
    assert by_words(question, [Assertion(answer, 1.0)], [other]) == [(contradicts,)]
    if assertions(other, question):
        assert by_words(question, [Assertion(other, 1.0)], [answer]) == [(contradicts,)]


def test_equal_answers_are_compared_once_and_each_counts():
    table = by_words("Who wrote it?", [Assertion("Pinter", 1.0)], ["Pinter", "Beckett", "Pinter", "Beckett", "Beckett"])
    assert table == [(False, True, False, True, True)]


def test_claims_of_a_long_answer_are_held_against_what_others_say_of_the_same_thing():
    question = "Who was Marie Curie?"
    answer = "Marie Curie was born in Warsaw in 1867. She won two Nobel Prizes in 1903 and 1911."
    others = [
        "Marie Curie was born in Warsaw in 1867 and won two Nobel Prizes in 1903 and 1911.",
        "Marie Curie was born in Paris in 1880. She won two Nobel Prizes, in 1903 and 1911.",
        "Marie Curie was a physicist.",
    ]
    claims = assertions(answer, question)
    assert len(claims) == 2
    (born, won) = by_words(question, claims, others)
    assert born == (False, True, False)
    assert won == (False, False, False)


@cases(
    ("a", "b", "inside"),
    [("Honolulu", "Hawaii", True), ("in the USA", "Chicago, Illinois", True), ("Chicago", "the United States", True), ("Lyon", "Germany", False),
     ("Paris", "Paris", False), ("Brooklyn", "New York", True), ("Harold Pinter", "London", False), ("Rome and Paris", "Italy", False),
     ("It was written by Pinter in London.", "It was written by Beckett in England.", False), ("nice", "France", False)],
)  # fmt: skip
def test_places_in_places(a, b, inside):
    assert nested("", a, b) is nested("", b, a) is inside


def test_places_that_the_question_names_are_not_the_answer():
    assert not nested("Which city in France is larger?", "Lyon in France", "Nantes in France")


@pytest.mark.slow
@pytest.mark.skipif(not EVOUNA.exists(), reason="the judged pairs are not beside the checkout")
def test_contradiction_agrees_with_people():
    """Answers of five systems to NQ against a right answer, judged by people: .89 of all."""
    with gzip.open(EVOUNA, "rt", encoding="utf-8") as file:
        rows = [row for line in file if not (row := json.loads(line))["improper_question"]]
    chosen = random.Random(1).sample(rows, 250)
    verdicts = [
        all(by_words(row["question"], [Assertion(gold, 1.0)], [row["answer"]])[0][0] for gold in row["gold"])
        for row in chosen
    ]
    agreeing = sum(contradicts is not row["correct"] for contradicts, row in zip(verdicts, chosen, strict=True))
    assert agreeing / len(chosen) > 0.83
