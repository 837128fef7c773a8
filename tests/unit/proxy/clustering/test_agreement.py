"""How far two sentences say the same of what was asked, and which of their words answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.clustering.agreement import agreeing, agreement, read_asked, read_core
from tests.support.tables import cases

MOUSE = "Mickey Mouse was first drawn by Ub Iwerks in 1927, and shown in thirty films."


@cases(
    ("question", "answers"),
    [
        ("Who first drew Mickey Mouse?", {"ub", "iwerk"}),
        ("When was Mickey Mouse first drawn?", {"1927"}),
    ],
)
def test_what_answers_depends_on_what_is_asked(question: str, answers: set[str]) -> None:
    weights = read_core(MOUSE, read_asked(question)).weights
    others = [weight for word, weight in weights.items() if word not in answers]
    assert min(weights[word] for word in answers) > max(others)


@cases(
    ("question", "draft", "same", "different"),
    [
        (
            "Who first drew Mickey Mouse?",
            "Mickey Mouse was first drawn by Ub Iwerks in 1927, for a film without sound.",
            "It was the animator Ub Iwerks who did so, in the spring of 1928.",
            "Mickey Mouse was first drawn by Floyd Gottfredson in 1927, for a film without sound.",
        ),
        (
            "When was Mickey Mouse first drawn?",
            MOUSE,
            "The first of the drawings that we know of were made in 1927 by Walt Disney himself.",
            "Mickey Mouse was first drawn by Ub Iwerks in 1931, at the studio in Los Angeles.",
        ),
        (
            "Which is older, the Louvre or the Prado?",
            "The Louvre is the older one, for it opened in 1793.",
            "The Louvre was founded before the Prado, which opened later.",
            "The Prado is older than the Louvre, for it opened in 1793.",
        ),
        (
            "Who wrote it?",
            "It was written by the Russian chemist Dmitry Ivanovich Mendeleyev in those years.",
            "Dmitri Mendeleev is the chemist who is known as its author.",
            "Julius Lothar Meyer is the chemist who is known as its author.",
        ),
    ],
)  # fmt: skip
def test_the_same_answer_in_other_words_is_likelier_than_another_in_the_same(
    question: str, draft: str, same: str, different: str
) -> None:
    likely, unlikely = agreement(question, draft, [same, different])
    assert likely > unlikely


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_agree_with_a_probability_that_has_no_order(question: str, a: str, b: str) -> None:
    (there,), (back,) = agreement(question, a, [b]), agreement(question, b, [a])
    assert 0.0 <= there <= 1.0
    assert there == pytest.approx(back)


@cases(
    ("question", "draft", "other"),
    [
        (
            "Is the vaccine effective?",
            "The vaccine is highly effective against the disease in most adults.",
            "The vaccine is not highly effective against the disease in most adults.",
        ),
        (
            "Are both documentaries about Durham?",
            "Yes, both of the documentaries are about Durham, North Carolina.",
            "No, both of the documentaries are not about Durham, North Carolina.",
        ),
    ],
)
def test_who_denies_it_in_the_same_words_does_not_say_the_same(question: str, draft: str, other: str) -> None:
    denied, said = agreement(question, draft, [other, draft.replace("most", "nearly all") + " So it was found."])
    assert denied < 0.1 < 0.5 < said


@cases(
    ("question", "one", "other", "another"),
    [
        ("What population did it have in 2016?", "It had a population of 8,184 then, by the census of the state.", "8184.", "8,506."),
        ("How many of the peoples remained?", "There were eight of them left in all of the valley by then.", "8.", "Nine."),
        ("Which of the Olympic Games was it?", "It was the 30th of the Olympic Games that took place in London.", "30.", "31st."),
    ],
)  # fmt: skip
def test_a_number_is_the_same_in_another_spelling(question: str, one: str, other: str, another: str) -> None:
    same, different = agreement(question, one, [other, another])
    assert same > 0.4 > 0.2 > different


def test_an_answer_without_the_number_that_is_asked_for_is_no_support() -> None:
    question, draft = "What population did its town have in 2016?", "Merimbula."
    (numbered,) = agreement(question, draft, ["Merimbula had a population of 8,184 people at the census that year."])
    (bare,) = agreement(
        "Which town is it in?", draft, ["Merimbula is the town of which it has been a suburb since then."]
    )
    assert numbered < bare


def test_how_an_answer_is_worded_matters_less_where_its_group_says_it_in_other_ways() -> None:
    """The two of the group say the same; which of them stands for it changes nothing."""
    question, apart = (
        "Who first drew Mickey Mouse?",
        ["It was the animator Ub Iwerks who did so, in the spring of 1928."],
    )
    short, long = "Ub Iwerks.", "Mickey Mouse was first drawn by Ub Iwerks in 1927, for a film without sound."
    assert agreeing(question, [short, long], apart) == pytest.approx(agreeing(question, [long, short], apart))
    assert agreeing(question, [short], ["Floyd Gottfredson."]) == 0.0


def test_no_text_is_as_near_as_the_same_text() -> None:
    same, other = agreement("Who drew it?", MOUSE, [MOUSE, MOUSE.replace("Ub Iwerks", "Floyd Gottfredson")])
    assert same > other


def test_who_gives_no_answer_bears_none_out() -> None:
    """Although both name Edwyn Collins first of those that the question offers."""
    question = "Which musician, Edwyn Collins or Jimmie Ross, played the bass guitar?"
    draft = "Edwyn Collins is the one of the two who is known for playing the bass guitar."
    says, declines = agreement(
        question,
        draft,
        ["Edwyn Collins played the bass guitar.", "I couldn't find that Edwyn Collins or Jimmie Ross played it."],
    )
    assert declines < 0.1 < 0.5 < says


@cases(
    ("question", "draft", "same", "different"),
    [
        (
            "Are gin and tonic and the Paloma both cocktails with tequila?",
            "No.",
            "The Paloma is made with tequila, but a gin and tonic is made with gin.",
            "Gin and tonic and the Paloma are both made with tequila.",
        ),
        (
            "Were Pavel Urysohn and Leonid Levin known for the same type of work?",
            "No, they were known for different types of work.",
            "Urysohn was known for topology, whereas Levin was known for computer science.",
            "Yes, Pavel Urysohn and Leonid Levin were both known for work in mathematics.",
        ),
    ],
)
def test_asked_whether_it_is_so_of_both_a_contrast_says_no(
    question: str, draft: str, same: str, different: str
) -> None:
    likely, unlikely = agreement(question, draft, [same, different])
    assert likely > 0.7 > 0.1 > unlikely


def test_a_title_that_begins_with_no_does_not_say_no() -> None:
    asked = read_asked("Which film did the Coens direct?")
    assert read_core("No Country for Old Men was directed by them.", asked).says is None
    assert read_core("No, it was directed by somebody else.", asked).says is False
