"""What an answer asserts, how decisively, and what is a punt."""

import csv
import gzip
import json
from pathlib import Path
from statistics import fmean

import pytest
from scipy.stats import spearmanr

from hedgerow.lexicon import perceive
from hedgerow.proxy.lab.faithfulness.assertions import Unread, assertions
from tests.support.hostile import HOSTILE
from tests.support.tables import cases

DATA = Path(__file__).parents[6] / "shared" / "data"
RECORDED = DATA / "samples" / "simpleqa_gpt5mini" / "simpleqa_gpt5mini.jsonl.gz"
PHRASES = DATA / "hedges" / "probability_phrases.csv.gz"


def one(answer, question=""):
    (found,) = assertions(answer, question)
    return found


@cases("answer", ["Pinter", "It was Harold Pinter.", "1843", "Yes.", "It was certainly Pinter."])
def test_an_answer_without_a_hedge_is_fully_decisive(answer):
    assert one(answer, "Who wrote it?").decisiveness == 1.0


@cases(
    ("answer", "text"),
    [
        ("I'm not sure, but I think it was Harold Pinter.", "It was Harold Pinter."),
        ("It was Harold Pinter. But I could be wrong.", "It was Harold Pinter."),
        ("My best guess: Pinter.", "Pinter."),
        ("It was probably Harold Pinter.", "It was Harold Pinter."),
    ],
)
def test_a_short_answer_asserts_one_thing_and_sounds_as_sure_as_it_is_worded(answer, text):
    assertion = one(answer, "Who wrote The Birthday Party?")
    assert assertion.text == text
    assert assertion.decisiveness == pytest.approx(perceive(answer).beta.mean)
    assert assertion.decisiveness < 0.8


def test_surer_words_are_more_decisive():
    ladder = [
        "It was Pinter.",
        "It was almost certainly Pinter.",
        "It was probably Pinter.",
        "It might have been Pinter.",
        "I doubt it, but it was possibly Pinter.",
    ]
    decisive = [one(answer).decisiveness for answer in ladder]
    assert decisive == sorted(decisive, reverse=True)


def test_the_papers_own_example_has_two_assertions_of_which_one_is_hedged():
    """Section 2: "Barack Obama is an American politician. I think he was born in 1961, but I'm not sure."."""
    answer = "Barack Obama is an American politician. I think he was born in 1961, but I'm not sure."
    sure, unsure = assertions(answer, "Tell me about Barack Obama")
    assert (sure.text, sure.decisiveness) == ("Barack Obama is an American politician.", 1.0)
    assert "1961" in unsure.text
    assert unsure.decisiveness < 0.5


def test_a_hedge_is_about_its_own_clause_and_a_remark_about_the_sentence_before_it():
    born, died, won = assertions(
        "Marie Curie was born in Warsaw in 1867 and probably died in Passy in 1934. She won two Nobel Prizes. I'm not sure about the second one.",
        "Who was Marie Curie?",
    )
    assert born.decisiveness == 1.0
    assert 0.5 < died.decisiveness < 0.9
    assert won.decisiveness < 0.5


@cases(
    "answer",
    ["", "  ", "I don't know who wrote it.", "Sorry, I can't help with that.", "Which play do you mean?",
     "I'm not certain who received it; would you like me to look it up?"],
)  # fmt: skip
def test_a_punt_asserts_nothing(answer):
    assert assertions(answer, "Who wrote it?") == ()


def test_an_answer_in_a_language_that_is_not_known_is_refused_and_not_taken_for_decisive():
    with pytest.raises(Unread, match="language"):
        assertions("Это был Гарольд Пинтер.", "Кто написал пьесу?")


@cases("name", HOSTILE)
def test_hostile_texts_are_read_or_refused(name):
    try:
        each = assertions(HOSTILE[name](8000), "Who wrote it?")
    except Unread:
        return
    assert all(0.0 <= assertion.decisiveness <= 1.0 for assertion in each)


@pytest.mark.skipif(not PHRASES.exists(), reason="people's scores are not beside the checkout")
def test_ten_hedges_in_answers_rank_as_people_rank_them():
    """The paper's figure 2, with people's scores of three surveys; the lexicon was fitted on these (docs/evidence/faithfulness.md has a reader that was not)."""
    forms = {
        "almost certainly": "It is almost certainly {}.", "highly likely": "It is highly likely that it is {}.",
        "very good chance": "There is a very good chance that it is {}.", "we believe": "We believe it is {}.", "likely": "It is likely that it is {}.",
        "probably": "It is probably {}.", "better than even": "The chances are better than even that it is {}.",
        "about even": "The chances are about even that it is {}.", "unlikely": "It is unlikely that it is {}.",
        "almost no chance": "There is almost no chance that it is {}.",
    }  # fmt: skip
    scores = {phrase: [] for phrase in forms}
    with gzip.open(PHRASES, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            scores.get(row["phrase"].lower(), []).append(float(row["value_0_100"]))
    answers = ("Harold Pinter", "Honolulu", "1849", "a string instrument", "the Danube")
    decisive = [
        fmean(one(form.format(text), "What is it?").decisiveness for text in answers) for form in forms.values()
    ]
    assert spearmanr(decisive, [fmean(of) for of in scores.values()]).statistic >= 0.95


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded answers are not beside the checkout")
def test_punts_of_a_real_model_are_found():
    """gpt-5-mini on SimpleQA, plain and asked to hedge; grade C = not attempted. Of 1,707 punts .978 are found, of 2,661 attempts .011 taken for one."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        answers = [
            (row := json.loads(line))[kind] | {"question": row["question"]}
            for line in file
            for kind in ("vanilla", "hedged")
        ][::5]
    by_grade = {"C": [], "AB": []}
    for answer in answers:
        by_grade["C" if answer["grade"] == "C" else "AB"].append(not assertions(answer["text"], answer["question"]))
    assert sum(by_grade["C"]) / len(by_grade["C"]) > 0.96
    assert sum(by_grade["AB"]) / len(by_grade["AB"]) < 0.03
