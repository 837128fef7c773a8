"""The template rewriter: grammar by golden cases, laws by hypothesis and by real answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration import Beta
from hedgerow.lexicon import Frame, Hedge, Match, Retriever, load
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.rewriting import FactGuard, TemplateRewriter
from hedgerow.proxy.rewriting import template as template_module
from hedgerow.proxy.rewriting.frames import LOW
from hedgerow.proxy.types import RewriteRequest
from tests.support.answers import recorded_answers

GOLDEN = yaml.safe_load((Path(__file__).parents[3] / "data" / "rewriting_golden.yaml").read_text(encoding="utf-8"))
TEMPLATE = TemplateRewriter()
GUARD = FactGuard(reader=None)
RETRIEVER = Retriever(load())


def _match(frame: dict[str, str]) -> Match:
    ((kind, text),) = frame.items()
    return Match(Hedge("only", text, Beta(7, 3), "people", 1, (Frame(kind, text),)), 0.0)  # type: ignore[arg-type]


def _english() -> Iterator[Any]:
    for theme, cases in GOLDEN["groups"].items():
        for case in cases:
            yield pytest.param(case, id=f"{theme}: {case[1][:30]} / {case[0]}")


def _foreign() -> Iterator[Any]:
    for language, group in GOLDEN["languages"].items():
        for case in group["cases"]:
            yield pytest.param(group["frames"][case[0]], case, id=f"{language}: {case[1][:30]} / {case[0]}")


def _word(draft: str, frame: dict[str, str], question: str = "") -> str:
    return TEMPLATE.rewrite_sync(RewriteRequest(question, draft, Beta(7, 3), (_match(frame),))).text


def test_there_are_enough_cases() -> None:
    """A person can be asked to read them; fewer would leave kinds of answers out."""
    assert len(list(_english())) + len(list(_foreign())) >= 150


@pytest.mark.parametrize("case", list(_english()))
def test_english_grammar(case: list[str]) -> None:
    name, draft, expected, *question = case
    assert _word(draft, GOLDEN["frames"][name], *question) == expected


@pytest.mark.parametrize("case", list(_english()))
def test_what_the_template_writes_passes_the_guard(case: list[str]) -> None:
    name, draft, _, *question = case
    match = _match(GOLDEN["frames"][name])
    guard = FactGuard((*load().hedges, match.hedge), reader=None)
    request = RewriteRequest(question[0] if question else "", draft, Beta(7, 3), (match,))
    assert guard.check_sync(request, TEMPLATE.rewrite_sync(request)).accepted


@pytest.mark.parametrize(("frame", "case"), list(_foreign()))
def test_other_languages(frame: dict[str, str], case: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, draft, expected, question = case
    monkeypatch.setattr(template_module, "nearest_foreign", lambda *_: (_match(frame),))
    assert _word(draft, frame, question) == expected


@pytest.mark.parametrize("draft", GOLDEN["refused"]["no answer in them"])
def test_what_asserts_nothing_is_not_hedged(draft: str) -> None:
    questions = {"Das": "Wer war das und wann?", "Je": "Qui est l'auteur ?", "No": "¿Quién es el autor y cuándo?"}
    with pytest.raises(StepFailed, match="no_assertion"):
        _word(draft, GOLDEN["frames"]["think"], questions.get(draft.split()[0], ""))


def test_hedges_by_confidence_in_german() -> None:
    """A German answer gets a German hedge although the retrieved ones are English."""
    target = Beta(7, 3)
    request = RewriteRequest("Was ist die Hauptstadt?", "Die Stadt ist Wien.", target, RETRIEVER.nearest(target, 5))
    assert TEMPLATE.rewrite_sync(request).hedge in load(language="de")


@pytest.mark.parametrize("draft", ["I think it was probably Paris.", "Edwin is likely the elder.", "Definitely Paris."])
def test_where_no_hedge_is_due_the_authors_own_stay(draft: str) -> None:
    """Taken out without another put in, they would make a fact of a guess."""
    plain = Match(load()["no-hedge"], 0.0)
    assert TEMPLATE.rewrite_sync(RewriteRequest("", draft, Beta(12, 1), (plain,))).text == draft


def test_the_authors_own_hedges_go_only_from_the_sentence_that_gets_another() -> None:
    worded = _word("It was Paris. It was possibly built by Romans.", GOLDEN["frames"]["think"])
    assert worded == "I think that it was Paris. It was possibly built by Romans."


@given(st.text(max_size=300), st.floats(0.02, 0.98), st.floats(2, 40))
def test_never_fails_but_by_saying_so_and_never_changes_a_fact(draft: str, mean: float, concentration: float) -> None:
    target = Beta.from_mean(mean, concentration)
    request = RewriteRequest("", draft, target, RETRIEVER.nearest(target, 5))
    try:
        rewrite = TEMPLATE.rewrite_sync(request)
    except StepFailed:
        return
    if rewrite.hedge != "no-hedge" and not GUARD.check_sync(request, rewrite).accepted:
        assert draft.strip() != rewrite.text.strip()  # the guard refuses it, so that the draft stands


def test_rewriting_twice_is_rewriting_once_on_real_answers(data: Path) -> None:
    """1,500 recorded answers; what the template writes at a target at which it is asked, the guard lets through."""
    refused = 0
    for question, answer, mean in recorded_answers(data, 1500):
        target = Beta.from_mean(mean, 10)
        hedges = RETRIEVER.nearest(target, 5)
        try:
            once = TEMPLATE.rewrite_sync(RewriteRequest(question, answer, target, hedges))
        except StepFailed:
            continue
        with contextlib.suppress(StepFailed):  # worded with "might" or "could", which then stands as it is
            assert TEMPLATE.rewrite_sync(RewriteRequest(question, once.text, target, hedges)).text == once.text
        accepted = GUARD.check_sync(RewriteRequest(question, answer, target, hedges), once).accepted
        refused += target.mean > LOW and not accepted
    assert refused <= 5


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
        _word(draft, GOLDEN["frames"][frame])


@pytest.mark.parametrize(
    ("question", "draft", "expected"),
    [
        ("Is A Tiger Walks a family film?", "A Tiger Walks is a family film.", "I think that A Tiger Walks is a family film."),
        ("Is it a family film?", "A Tiger was a tank.", "I think that a Tiger was a tank."),
    ],
)  # fmt: skip
def test_a_title_is_written_as_the_question_writes_it(question: str, draft: str, expected: str) -> None:
    assert _word(draft, GOLDEN["frames"]["think"], question) == expected


def test_a_noun_of_a_list_is_no_verb() -> None:
    with pytest.raises(StepFailed):
        _word("Epidemiologists study the patterns, causes, and effects of disease.", {"adverb": "probably"})


def test_a_letter_that_is_a_name_keeps_its_capital() -> None:
    assert _word("A is the grandfather of C.", GOLDEN["frames"]["think"]) == "I think that A is the grandfather of C."


@pytest.mark.parametrize(
    ("draft", "worded"),
    [
        ("When We Were Kings", "Probably When We Were Kings"),
        ("The Red Sea", "Probably the Red Sea"),
        ("In May 1920", "Probably in May 1920"),
    ],
)
def test_a_title_keeps_its_first_capital(draft: str, worded: str) -> None:
    assert _word(draft, GOLDEN["frames"]["probably"]) == worded


def test_a_long_adverb_does_not_part_subject_and_verb() -> None:
    """ "It in all likelihood keeps you warm"."""
    likelihood = next(hedge for hedge in load() if hedge.id == "in-all-likelihood")
    request = RewriteRequest("", "It keeps you warm.", likelihood.beta, (Match(likelihood, 0.0),))
    assert TEMPLATE.rewrite_sync(request).text != "It in all likelihood keeps you warm."


def test_a_name_is_no_doubt() -> None:
    """ "May" is a modal verb in small letters alone."""
    assert (
        _word("Theresa May resigned in 2019.", GOLDEN["frames"]["think"])
        == "I think that Theresa May resigned in 2019."
    )


def test_initials_keep_their_capitals() -> None:
    worded = _word("A. P. J. Abdul Kalam was president of India.", GOLDEN["frames"]["think"])
    assert worded == "I think that A. P. J. Abdul Kalam was president of India."


def test_a_german_sentence_keeps_its_word_order() -> None:
    """An opening adverbial would call for the verb before the subject, so the hedge stands at the end."""
    request = RewriteRequest(
        "", "Die Hauptstadt ist Berlin.", Beta.from_mean(0.5, 10), RETRIEVER.nearest(Beta(5, 5), 5)
    )
    assert TEMPLATE.rewrite_sync(request).text.startswith("Die Hauptstadt ist ")


@pytest.mark.parametrize(
    "draft",
    [
        "It was built around 1200, possibly by monks.",
        "Critics say it is probably a hoax.",
        "At this dose it is unlikely to cause harm.",
        "The winner must have been Brazil.",
        "The effect appears to be small.",
        "The library is open unless it is a holiday.",
        "Neither 9 nor 15 is prime.",
        "It is Canberra, no doubt about it, as everybody knows.",
        "It was... Brahms.",
    ],
)
def test_doubt_about_a_part_or_of_another_is_not_the_answers_own(draft: str) -> None:
    with pytest.raises(StepFailed, match="already_hedged"):
        _word(draft, GOLDEN["frames"]["think"])


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
        _word(draft, GOLDEN["frames"]["think"])


def test_a_short_worked_solution_is_hedged_in_its_last_line() -> None:
    draft = "The area is a square. 3 * 4 = 12 tiles fit. 12 * 2 = 24 tiles are bought. 24 + 6 = 30 are there. The total is 30 tiles."
    assert _word(draft, GOLDEN["frames"]["probably"]).endswith("are there. The total is probably 30 tiles.")


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
    worded = _word(draft, GOLDEN["frames"]["probably"], question)
    assert expected in worded
    assert worded.replace("probably ", "") == draft


def test_no_adverb_goes_into_a_condition_of_two_parts() -> None:
    draft = "If each has two, and David has three sisters, then David would have six brothers."
    with pytest.raises(StepFailed, match="no_frame"):
        _word(draft, GOLDEN["frames"]["probably"])
    assert _word(draft, GOLDEN["frames"]["think"]).startswith("I think that if each has two, and David has three")


MODALS = {"may": {"modal": "may"}, "appear": {"modal": "appear to"}, "likely": {"modal": "be likely to"}}


@pytest.mark.parametrize(
    ("name", "draft", "expected"),
    [
        ("may", "It was Paris.", "It may have been Paris."),
        ("may", "It's in Rome.", "It may be in Rome."),
        ("may", "Yes, the plays were written by Pinter.", "Yes, the plays may have been written by Pinter."),
        ("may", "There are 12 of them.", "There may be 12 of them."),
        ("appear", "The lake is dry.", "The lake appears to be dry."),
        ("appear", "They're dry.", "They appear to be dry."),
        ("likely", "The lake was dry.", "The lake is likely to have been dry."),
        ("may", 'According to the text, "A" is B.', 'According to the text, "A" may be B.'),
    ],
)
def test_a_modal_takes_the_place_of_be(name: str, draft: str, expected: str) -> None:
    assert _word(draft, MODALS[name]) == expected


@pytest.mark.parametrize(
    "draft",
    [
        "I was there.",
        "He's been there.",
        "It is not rare.",
        "They were both there.",
        "She was also there.",
    ],
)
def test_a_modal_stays_out_where_it_would_not_be_english(draft: str) -> None:
    with pytest.raises(StepFailed, match="no_frame"):
        _word(draft, MODALS["may"])


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("The 2003 television show aired on ABC.", "Probably the 2003 television show aired on ABC."),
        (
            "The character you are referring to is Peter Parker.",
            "The character you are referring to is probably Peter Parker.",
        ),
        ("Roger Ebert co-wrote the film and was its producer.", None),
    ],
)
def test_the_verb_of_the_sentence_is_found(draft: str, expected: str | None) -> None:
    worded = _word(draft, GOLDEN["frames"]["probably"]) if expected else None
    assert worded == expected


def test_a_capital_that_may_be_a_names_is_not_brought_into_a_sentence() -> None:
    """The hedge goes beside the verb although another stands nearer to the target."""
    think, perhaps = _match(GOLDEN["frames"]["think"]), _match({"adverb": "perhaps"})
    matches = (think, Match(perhaps.hedge, 0.05))
    request = RewriteRequest("", "Sound travels fastest through solids.", Beta(7, 3), matches)
    assert TEMPLATE.rewrite_sync(request).text == "Sound perhaps travels fastest through solids."


def test_a_line_without_a_stop_gets_none_where_others_follow() -> None:
    draft = "It was written by Ada Lovelace\n\nShe lived in London."
    assert (
        _word(draft, GOLDEN["frames"]["think"]) == "I think that it was written by Ada Lovelace\n\nShe lived in London."
    )


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
    assert _word(draft, GOLDEN["frames"]["probably"], question) == expected


@pytest.mark.parametrize("draft", ["The character portrayed in Dune is Paul.", "The treaty signed in 1648 was broken."])
def test_no_adverb_goes_before_what_may_be_a_participle(draft: str) -> None:
    """Not "the character probably portrayed in Dune is Paul": such a sentence gets a hedge about the whole of it."""
    with pytest.raises(StepFailed, match="no_frame"):
        _word(draft, GOLDEN["frames"]["probably"])
    assert _word(draft, GOLDEN["frames"]["think"]) == f"I think that t{draft[1:]}"


def test_a_verb_in_a_clause_of_its_own_makes_no_participle_of_the_first() -> None:
    worded = _word("The team won because it had trained.", GOLDEN["frames"]["probably"])
    assert worded == "The team probably won because it had trained."


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
        _word(draft, GOLDEN["frames"]["think"])


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
        _word(draft, GOLDEN["frames"]["think"])


def test_a_text_that_breaks_off_gets_no_stop() -> None:
    draft = "Sonny Boren was involved in the proposal of 1992 that was brought in together with the Senator David Mc"
    assert _word(draft, {"clause": "perhaps {clause}"}) == f"Perhaps {draft}"
    assert _word("Rome is the capital", {"clause": "perhaps {clause}"}) == "Perhaps Rome is the capital."


def test_nothing_comes_between_the_halves_of_a_title() -> None:
    draft = "Half-Life 2: Episode Two takes place in City 17."
    assert _word(draft, {"adverb": "possibly"}) == "Half-Life 2: Episode Two possibly takes place in City 17."
    with pytest.raises(StepFailed, match="no_frame"):
        _word(draft, {"clause": "perhaps {clause}"})


@pytest.mark.parametrize(
    "draft", ["It is typically made of wood.", "Smoke can cause harm.", "The colours are: red and green."]
)
def test_no_adverb_says_again_what_stands_there_or_leads_to_a_list(draft: str) -> None:
    with pytest.raises(StepFailed, match="no_frame"):
        _word(draft, {"adverb": "quite possibly"})


def test_the_sentence_that_puts_it_right_is_hedged() -> None:
    draft = "Florence Pugh was not in that film. The film instead starred Florencia Colucci."
    assert _word(draft, {"adverb": "probably"}).startswith(
        "Florence Pugh was not in that film. The film instead probably"
    )
