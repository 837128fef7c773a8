"""What is said in a conversation and not of the world, and what breaks off, is left alone."""

from __future__ import annotations

import asyncio

import pytest

from hedgerow.calibration import Beta
from hedgerow.proxy.lab.rewording import GivenAnswer, default_reworder

REWORDER = default_reworder()


def _worded(question: str, answer: str, mean: float) -> str:
    beta = Beta.from_mean(mean, 10.0)
    given = GivenAnswer(question=question, answer=answer, alpha=beta.alpha, beta=beta.beta)
    return asyncio.run(REWORDER.reword(given)).text


@pytest.mark.parametrize("mean", [0.1, 0.6])
@pytest.mark.parametrize(
    "answer",
    [
        "I grew up near the coast , so the sea was always there .",
        "It was made by Fender . Have you ever played one ?",
        "That 's a great answer ! The island has 6.6 million people !",
        "Yes, I'm a huge fan of that band. They come from Leeds.",
        ", and the song was so powerful. The band is Lifehouse.",
        "Well, I haven't seen it yet, but it was made in Rome.",
    ],
)
def test_small_talk_stands(answer: str, mean: float) -> None:
    assert _worded("Where does it come from?", answer, mean) == answer


@pytest.mark.parametrize("answer", ["I Love Lucy was made in Hollywood.", "Imagine is by John Lennon."])
def test_a_title_is_no_small_talk(answer: str) -> None:
    assert _worded("Where was it made?", answer, 0.6) != answer


def test_a_judgement_of_taste_is_not_what_is_hedged() -> None:
    answer = "Recycling plastic is challenging. The last plant was closed in Leeds."
    worded = _worded("Which recycling plant was closed?", answer, 0.6)
    assert worded.startswith("Recycling plastic is challenging.")
    assert worded != answer


def test_a_sentence_that_was_cut_is_not_hedged() -> None:
    answer = (
        "The Crocs River is a tributary of the River Durance, but it is also known to be a tributary of the "
        "Murray River given as the name of another river that is"
    )
    assert _worded("Where does the Crocs River flow?", answer, 0.6) == answer
    assert _worded("Where does the Crocs River flow?", answer, 0.1) != answer, "a note can follow"


def test_who_made_something_is_hedged_where_it_says_so() -> None:
    answer = "Phasma is a character in the Star Wars films, portrayed by the actress Gwendoline Christie."
    worded = _worded("who plays phasma in star wars", answer, 0.6)
    before, _, after = worded.partition("portrayed")
    assert before.startswith("Phasma is a character in the Star Wars films, ")
    assert len(before) > len("Phasma is a character in the Star Wars films, ")
    assert after == " by the actress Gwendoline Christie."


def test_a_second_verb_stays_out_of_the_infinitive() -> None:
    for mean in (0.35, 0.4, 0.45, 0.5, 0.55):
        worded = _worded("Who was born in 1976?", "Charlie Brooker was born in 1976 and wrote for the Guardian.", mean)
        assert " have been " not in worded


def test_where_a_beginning_is_asked_for_the_sentence_with_it_is_hedged() -> None:
    answer = "The Thames is 215 miles long. It begins in Gloucestershire and ends in Essex."
    worded = _worded("where does the river thames begin and end", answer, 0.6)
    assert worded.startswith("The Thames is 215 miles long.")
    assert worded != answer


def test_an_appearance_of_what_did_not_happen_is_not_made() -> None:
    """Not "could have been played by", which says that he was not, nor "may be ratified", which says who is allowed to."""
    for mean in (0.3, 0.4, 0.5, 0.6):
        assert " could " not in _worded("who played Jeb", "Jeb was played by Matt Jones in 2013.", mean)
        worded = _worded("who ratifies treaties", "In Rome, treaties are ratified by the Senate.", mean)
        assert " be ratified" not in worded


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is coding?", "Coding is like giving orders to a machine."),
        ("Who began it?", "The custom is believed to have begun in Rome."),
        ("Is it a hotel?", "It is not, but there is no information provided on the other one."),
        ("Name 3 positive things about a city.", "1. Buses\n2. Theatres\n3. Friends"),
    ],
)
def test_comparisons_hearsay_and_ideas_stand(question: str, answer: str) -> None:
    assert _worded(question, answer, 0.5) == answer


def test_what_is_asked_for_is_hedged_and_not_what_everybody_grants() -> None:
    told = _worded("who told the story of the son", "The story is found in Luke. It was told by Jesus.", 0.6)
    assert told.startswith("The story is found in Luke.")
    assert told != "The story is found in Luke. It was told by Jesus."
    curie = _worded(
        "Name a scientist.", "Marie Curie was a famous scientist. She discovered radium in the year 1898.", 0.6
    )
    assert curie.startswith("Marie Curie was a famous scientist.")


def test_a_title_of_two_halves_is_not_parted_by_a_hedge() -> None:
    answer = "Batman: the Black Mirror, but also Detective Comics, published her."
    assert "Batman: the Black Mirror" in _worded("What comic book published her?", answer, 0.7)


def test_a_note_comes_before_the_farewell() -> None:
    answer = "The capitals are:\n\n1. Rome\n2. Oslo\n3. Bern\n\nLet me know if you need more!"
    worded = _worded("Which capitals are there?", answer, 0.4)
    assert worded.endswith("\n\nLet me know if you need more!")
    assert worded.startswith("The capitals are:\n\n1. Rome\n2. Oslo\n3. Bern\n\n")
    assert len(worded) > len(answer)


@pytest.mark.parametrize("farewell", ["Let me know if you need more!", "Would you like to know more about E.?"])
def test_a_note_on_one_sentence_comes_before_the_farewell(farewell: str) -> None:
    worded = _worded("Which planet is red?", f"It is Mars.  {farewell}", 0.1)
    assert worded.startswith("It is Mars. This answer ")
    assert worded.endswith(f" {farewell}")


@pytest.mark.parametrize(
    "answer",
    [
        "Do you mean the river? The river is about E.",
        "Do you mean vitamin E. or something else about E.",
        "Can you clarify which river you are asking about E.",
        "I see that you described two draws. Could you please clarify what you would like to know? Then I can help.",
    ],
)
@pytest.mark.parametrize("confidence", [0.1, 0.5])
def test_a_question_back_stands_with_or_without_its_mark(answer: str, confidence: float) -> None:
    assert _worded("What is it?", answer, confidence) == answer


@pytest.mark.parametrize(
    ("answer", "hedged"),
    [
        ("He could read Latin at the age of five.", True),
        ("The system could also classify images.", True),
        ("It could run into trouble.", False),
        ("It could seem odd.", False),
        ("It could be Paris.", False),
        ("Smokers are more likely to develop cancer than others.", True),
        ("Smokers are more likely to develop cancer.", False),
    ],
)
def test_an_ability_and_a_comparison_are_no_doubt_of_the_answers_own(answer: str, *, hedged: bool) -> None:
    assert (_worded("What is so?", answer, 0.6) != answer) is hedged


@pytest.mark.parametrize("confidence", [0.45, 0.55, 0.65, 0.75, 0.85])
def test_a_comparison_of_likelihoods_gets_no_second_likely(confidence: float) -> None:
    worded = _worded(
        "What causes fires?", "Lightning is less likely to start a fire than a careless camper.", confidence
    )
    assert worded.lower().count("likel") == 1


@pytest.mark.parametrize(
    "answer",
    [
        "The paragraph describes the trade of the town.",
        "The reasons for it can be summarized as follows.",
        "If you provide more details, it can be found.",
        "The size of the shoe cannot be determined from its length and width.",
        "Not to mention the technical skills used.",
        "I see that the movie comes out in 2005.",
    ],
)
def test_what_is_said_of_a_given_text_or_announced_stands(answer: str) -> None:
    assert _worded("What is it about?", answer, 0.5) == answer


def test_no_adverb_parts_a_noun_from_what_stands_before_it() -> None:
    for mean in (0.35, 0.5, 0.6):
        worded = _worded("Why?", "Its divergence from other developed countries has deep roots.", mean)
        assert "from other developed countries" in worded


def test_no_adverb_stands_before_what_a_sentence_leads_in_with() -> None:
    for mean in (0.35, 0.5, 0.6, 0.7):
        worded = _worded("where did he go", "After leaving Carthage, Aeneas and his fleet sailed to Sicily.", mean)
        assert (
            not worded.endswith(" after leaving Carthage, Aeneas and his fleet sailed to Sicily.") or " that " in worded
        )


@pytest.mark.parametrize("mean", [0.1, 0.6])
@pytest.mark.parametrize(
    "answer",
    [
        "I provide information and answer questions.",
        "I'm working on my next project.",
        "Unfortunately I do not have enough information to name the author. Books often have odd titles. If you could provide more, I can look again.",
        "I cannot predict the outcome of the match. Both teams are strong and have won before.",
        "It is unclear when they get back together. They part several times.",
        "Unfortunately, the story does not mention where it takes place. It names two princes.",
        "Without further information about your address, it is not possible for me to provide an answer.",
    ],
)
def test_what_gives_no_answer_stands(answer: str, mean: float) -> None:
    assert _worded("What can you tell me?", answer, mean) == answer


def test_an_answer_after_a_disclaimer_is_hedged() -> None:
    answer = "I do not have access to live data. However, the population of Brazil was 203 million in 2022."
    assert _worded("How many people live in Brazil?", answer, 0.6) != answer


def test_a_matter_of_taste_stands() -> None:
    assert _worded("What is the best beer?", "That is subjective.", 0.8) == "That is subjective."


def test_an_answer_in_doubt_without_a_place_for_a_hedge_gets_a_note_and_a_likely_one_none() -> None:
    draft = "Yes, because it grows from the flower of the plant."
    noted = _worded("Is it a fruit?", draft, 0.35)
    assert noted.removeprefix(f"{draft} ") in {"This answer is uncertain.", "It is not certain that this is right."}
    assert _worded("Is it a fruit?", draft, 0.65) == draft
