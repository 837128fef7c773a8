"""Short answers in the forms that chat models like: a letter, a line of its own, an exclamation, a word before the answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hedgerow.lexicon.hedges.written import written
from tests.support.rewriting import request_for, reworded, word

CAPITAL = "What is the capital of Australia?"


@pytest.mark.parametrize(
    ("question", "draft", "frame", "worded"),
    [
        ("Which option, A or B?", "A", {"fragment": "perhaps {fragment}"}, "Perhaps A"),
        ("Which option, A or B?", "A.", {"fragment": "perhaps {fragment}"}, "Perhaps A."),
        ("Is Pluto a planet?", "No, it is not.", {"adverb": "possibly"}, "No, it is possibly not."),
        (CAPITAL, "It's Canberra!", {"adverb": "possibly"}, "It's possibly Canberra!"),
        (
            CAPITAL,
            "Canberra\n\nIt was founded.",
            {"fragment": "perhaps {fragment}"},
            "Perhaps Canberra\n\nIt was founded.",
        ),
        (
            CAPITAL,
            "As an AI language model, I don't have access to maps, but it is Canberra.",
            {"adverb": "possibly"},
            "As an AI language model, I don't have access to maps, but it is possibly Canberra.",
        ),
        (CAPITAL, "Neither; it is Canberra.", {"adverb": "possibly"}, "Neither; it is possibly Canberra."),
        (
            CAPITAL,
            "As of my last update, it is Canberra.",
            {"adverb": "possibly"},
            "As of my last update, it is possibly Canberra.",
        ),
    ],
)
def test_the_hedge_is_about_the_answer(question: str, draft: str, frame: dict[str, str], worded: str) -> None:
    assert word(draft, frame, question) == worded
    assert reworded(replace(request_for(draft, 0.4), question=question)).status == "hedged"


@pytest.mark.parametrize(
    "draft",
    ["Of course, the capital is Sydney.", "It's Sydney!", "As of my knowledge cutoff in 2023, the capital is Sydney."],
)
def test_what_sounds_sure_and_is_not_gets_a_note(draft: str) -> None:
    done = reworded(replace(request_for(draft, 0.1), question=CAPITAL))
    assert done.text.removeprefix(draft).strip() in {note.text for note in written().notes}


@pytest.mark.parametrize(
    ("question", "draft"),
    [
        ("Write a poem.", "Sure, here is a poem about the sea."),
        ("Can you help me?", "Of course! Tell me more."),
        ("Who won?", "As of my last update, there was no information about this."),
        ("How was the film?", "It's great!"),
        ("Who built it?", "Nobody knows for sure."),
        ("Who won?", "As of my last update, nothing is known about it."),
        ("What is heat?", "Heat\n\nIt is a form of energy."),
        ("What caused the revolution?", "Introduction\n\nThis was caused by debt."),
        ("Tell me about the fire of London.", "The Great Fire\n\nIt began in a bakery."),
    ],
)
def test_politeness_and_headings_get_no_hedge(question: str, draft: str) -> None:
    done = reworded(replace(request_for(draft, 0.4), question=question))
    first_line, _, below = draft.partition("\n")
    assert done.text == draft or (below and done.text.startswith(f"{first_line}\n"))


def test_words_of_a_name_are_not_taken_for_confidence() -> None:
    done = reworded(
        replace(request_for("It is called Of Course I Still Love You.", 0.4), question="What is it called?")
    )
    assert "Of Course I Still Love You" in done.text


@pytest.mark.parametrize(
    "draft", ["Neither team won.", "Nobody won the match.", "No team has won it.", "In 1998, none of them won."]
)
def test_a_hedge_stands_outside_a_denial(draft: str) -> None:
    """ "Nobody possibly won" does not say that possibly nobody won."""
    worded = reworded(replace(request_for(draft, 0.4), question="Who won?"))
    assert worded.status == "hedged"
    assert worded.text is not None
    assert draft.lower().rstrip(".") in worded.text.lower()


@pytest.mark.parametrize(
    "draft",
    [
        "I don't have access to maps, but you can check an atlas.",
        "I can't browse the internet, but I don't know it.",
        "I don't have a map, but my brother has one.",
    ],
)
def test_a_disclaimer_without_an_answer_behind_it_is_not_hedged(draft: str) -> None:
    worded = reworded(replace(request_for(draft, 0.1), question=CAPITAL))
    assert (worded.status, worded.reason) == ("plain", "no_assertion")


@pytest.mark.parametrize(
    ("question", "draft", "worded"),
    [
        (
            "When did it come out?",
            "All Night Long was released in 1983.",
            "Perhaps All Night Long was released in 1983.",
        ),
        ("Which film won?", "No Country for Old Men won.", "Perhaps No Country for Old Men won."),
        ("Who won in 1972?", "No Nobel Peace Prize was awarded.", "Perhaps no Nobel Peace Prize was awarded."),
        ("Who are they?", "All American Presidents are men.", "Perhaps all American Presidents are men."),
    ],
)
def test_the_first_word_of_a_title_stays_a_capital(question: str, draft: str, worded: str) -> None:
    assert word(draft, {"clause": "perhaps {clause}"}, question) == worded
