"""Which sentence of a draft the template hedges, and which drafts it leaves alone."""

from __future__ import annotations

import pytest

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match, load
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.types import RewriteRequest
from tests.support.rewriting import GOLDEN, TEMPLATE, word


@pytest.mark.parametrize("draft", GOLDEN["refused"]["no answer in them"])
def test_what_asserts_nothing_is_not_hedged(draft: str) -> None:
    questions = {"Das": "Wer war das und wann?", "Je": "Qui est l'auteur ?", "No": "¿Quién es el autor y cuándo?"}
    with pytest.raises(StepFailed, match="no_assertion"):
        word(draft, GOLDEN["frames"]["think"], questions.get(draft.split()[0], ""))


@pytest.mark.parametrize("draft", ["I think it was probably Paris.", "Edwin is likely the elder.", "Definitely Paris."])
def test_where_no_hedge_is_due_the_authors_own_stay(draft: str) -> None:
    """Taken out without another put in, they would make a fact of a guess."""
    plain = Match(load()["no-hedge"], 0.0)
    assert TEMPLATE.rewrite_sync(RewriteRequest("", draft, Beta(12, 1), (plain,))).text == draft


def test_the_authors_own_hedges_go_only_from_the_sentence_that_gets_another() -> None:
    worded = word("It was Paris. It was possibly built by Romans.", GOLDEN["frames"]["think"])
    assert worded == "I think that it was Paris. It was possibly built by Romans."


@pytest.mark.parametrize(
    "draft",
    [
        "It might be X, possibly Y.",
        "The capital is probably Canberra, but it could be Sydney.",
        "It seems like there might be a mistake in the question.",
    ],
)
@pytest.mark.parametrize("frame", ["probably", "think"])
def test_doubt_that_is_part_of_what_a_draft_says_is_left_in_it(draft: str, frame: str) -> None:
    """Taken out, a guess would have become a fact."""
    with pytest.raises(StepFailed, match="already_hedged"):
        word(draft, GOLDEN["frames"][frame])


def test_a_name_is_no_doubt() -> None:
    """ "May" is a modal verb in small letters alone."""
    assert (
        word("Theresa May resigned in 2019.", GOLDEN["frames"]["think"]) == "I think that Theresa May resigned in 2019."
    )


@pytest.mark.parametrize(
    "draft",
    [
        "It was built around 1200, possibly by monks.",
        "Critics say it is probably a hoax.",
        "At this dose it is unlikely to cause harm.",
        "The winner must have been Brazil.",
        "The effect appears to be small.",
        "The library is open unless it is a holiday.",
        "It is Canberra, no doubt about it, as everybody knows.",
        "It was... Brahms.",
        "It is widely accepted that Elvis sold the most records.",
        "Most sources indicate she taught there from 1980 to 1984.",
        "The prize is considered one of the most prestigious in the world.",
        "Bell is credited with inventing the telephone, although others had built similar devices.",
        "The saying is often attributed to Voltaire.",
        "Matthew is regarded as a saint in the Eastern churches.",
        "Sources report that he was found by the club's owner.",
        "It came out on Riot, but that is a different record.",
    ],
)
def test_doubt_about_a_part_or_of_another_is_not_the_answers_own(draft: str) -> None:
    with pytest.raises(StepFailed, match="already_hedged"):
        word(draft, GOLDEN["frames"]["think"])


@pytest.mark.parametrize(
    "draft",
    [
        "/\\_/\\",
        "Country | Population | GDP",
        "Medals in men's figure skating 2018:",
        "Oh sure, and the moon is made of cheese!",
        "To find the roots, we need to solve the equation.",
        "To securely expose the service, you can use a proxy.",
        "Yes, I agree with the statement.",
        "The release date of the next season is currently unknown.",
        "You can follow these steps:",
        "The four types are:\n\n- rain\n- snow",
        "I am trained to answer in a few languages only.",
        "First, we want to find the remainder.",
        "The size depends on the specific trim of the car.",
        "“They say fate is inevitable.",
        "Unit Conversion: Millimeters to Inches\n\nHere is how to do it.",
        "Sure, consider a farmer and his cows. Rain is the cause, and mud is the effect.",
        "As an AI language model, I cannot provide insults. They are words that hurt.",
        "Kurt Cobain was my favorite singer. He was born in 1967.",
        "It was not released in 1999. I couldn't find the year.",
        "Factory Method: It is a pattern that lets subclasses choose.",
        "No doubt.",
        "That's a great answer!",
    ],
)
def test_what_is_no_statement_is_left_alone(draft: str) -> None:
    with pytest.raises(StepFailed, match="no_assertion"):
        word(draft, GOLDEN["frames"]["think"])


def test_a_short_worked_solution_is_hedged_in_its_last_line() -> None:
    draft = "The area is a square. 3 * 4 = 12 tiles fit. 12 * 2 = 24 tiles are bought. 24 + 6 = 30 are there. The total is 30 tiles."
    assert word(draft, GOLDEN["frames"]["probably"]).endswith("are there. The total is probably 30 tiles.")


@pytest.mark.parametrize(
    ("question", "draft", "expected"),
    [
        (
            "Calculate the surface area of a cube of 5 cm.",
            "Each face has an area of 25 cm². There are 6 = 2 * 3 faces. Therefore, the surface area is 150 cm².",
            "Therefore, the surface area is probably 150 cm².",
        ),
        (
            "In which direction did the shadow point?",
            "The shadow fell to his right. He faced south. So the shadow was pointing west.",
            "So the shadow was probably pointing west.",
        ),
        (
            "How many episodes were there?",
            "There were 27 episodes. The first was shown in May. So in all there were 27 episodes.",
            "There were probably 27 episodes.",
        ),
    ],
)
def test_the_conclusion_is_hedged_and_not_its_premise(question: str, draft: str, expected: str) -> None:
    worded = word(draft, GOLDEN["frames"]["probably"], question)
    assert expected in worded
    assert worded.replace("probably ", "") == draft


@pytest.mark.parametrize(
    ("question", "draft", "expected"),
    [
        (
            "how many sons had Eise Eisinga in total",
            "Eise Eisinga was a Dutch amateur astronomer and clockmaker. He had five sons.",
            "Eise Eisinga was a Dutch amateur astronomer and clockmaker. He probably had five sons.",
        ),
        (
            "When was the planetarium finished?",
            "The planetarium is in Franeker. It was finished in 1781.",
            "The planetarium is in Franeker. It was probably finished in 1781.",
        ),
        (
            "When was it opened?",
            "It was opened before the war. It is now a museum.",
            "It was probably opened before the war. It is now a museum.",
        ),
        (
            "Who was Eise Eisinga?",
            "He was a Dutch astronomer. He died in 1828.",
            "He was probably a Dutch astronomer. He died in 1828.",
        ),
    ],
)
def test_where_a_number_is_asked_for_the_sentence_with_it_is_hedged(question: str, draft: str, expected: str) -> None:
    assert word(draft, GOLDEN["frames"]["probably"], question) == expected


@pytest.mark.parametrize(
    "draft",
    [
        "x² + y² = r²",
        "∫₀¹ x² dx = 1/3",
        "C₆H₁₂O₆ + 6 O₂ → 6 CO₂ + 6 H₂O",
        "Na⁺ + Cl⁻ → NaCl",
        "I want to be sure I understand.",
    ],
)
def test_a_formula_by_itself_and_an_intention_are_left_alone(draft: str) -> None:
    with pytest.raises(StepFailed, match=r"no_assertion|unknown_language"):
        word(draft, GOLDEN["frames"]["think"])


@pytest.mark.parametrize(
    "draft",
    [
        "The film is High Road to China, but it was not the film you were looking for.",
        "The castle next to it is Tantallon, is incorrect.",
        "He was born in Leeds, however I found another man of that name.",
        "The question seems to refer to Rome.",
    ],
)
def test_what_takes_itself_back_is_not_hedged(draft: str) -> None:
    with pytest.raises(StepFailed, match="already_hedged"):
        word(draft, GOLDEN["frames"]["think"])


def test_the_sentence_that_puts_it_right_is_hedged() -> None:
    draft = "Florence Pugh was not in that film. The film instead starred Florencia Colucci."
    assert word(draft, {"adverb": "probably"}).startswith(
        "Florence Pugh was not in that film. The film instead probably"
    )


@pytest.mark.parametrize(
    ("frame", "draft", "question", "worded"),
    [
        ({"clause": "it is likely that {clause}"}, "In Austria, they speak German.", "", "In Austria, it is likely that they speak German."),
        ({"clause": "perhaps {clause}"}, "If a ticket costs $2, then the total is $8.", "", "If a ticket costs $2, then perhaps the total is $8."),
        ({"clause": "it is likely that {clause}"}, "In 1776, the declaration was signed.", "", "It is likely that in 1776, the declaration was signed."),
        ({"modal": "may"}, "There is no cure for it.", "", "There may be no cure for it."),
        ({"fragment": "possibly {fragment}"}, "The Lightning Thief", "What is the first book of the series?", "Possibly The Lightning Thief"),
        ({"fragment": "possibly {fragment}"}, "The Dutch navy", "Who lost the battle?", "Possibly the Dutch navy"),
        ({"clause": "perhaps {clause}"}, "Difficulties are a way to grow.", "", "Perhaps difficulties are a way to grow."),
    ],
)  # fmt: skip
def test_a_hedge_stands_in_the_clause_that_it_is_about(
    frame: dict[str, str], draft: str, question: str, worded: str
) -> None:
    assert word(draft, frame, question) == worded


@pytest.mark.parametrize(
    ("frame", "draft"),
    [
        ({"fragment": "it may well be {fragment}"}, "Delegating duties to towns helped the rulers of the empire"),
        ({"fragment": "perhaps {fragment}"}, "Extreme charges of such cells shorten their lives"),
        ({"clause": "it is likely that {clause}"}, "That is when the rods are replaced."),
        ({"clause": "it is likely that {clause}"}, "Language processing – models are used in it."),
        ({"modal": "might"}, "They avoid suits, claiming the story is mere gossip."),
        ({"clause": "I am not certain, but {clause}"}, "Therefore, the rest is lost."),
    ],
)
def test_a_frame_that_would_be_awkward_is_not_used(frame: dict[str, str], draft: str) -> None:
    with pytest.raises(StepFailed, match="no_frame"):
        word(draft, frame)
