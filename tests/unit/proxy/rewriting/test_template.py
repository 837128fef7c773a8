"""The template rewriter: grammar by golden cases, laws by hypothesis and by real answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match, load
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.rewriting import FactGuard
from hedgerow.proxy.rewriting import template as template_module
from hedgerow.proxy.rewriting.frames import LOW
from hedgerow.proxy.types import RewriteRequest
from tests.support.answers import recorded_answers
from tests.support.rewriting import GOLDEN, RETRIEVER, TEMPLATE, only, word

GUARD = FactGuard(reader=None)


def _english() -> Iterator[Any]:
    for theme, cases in GOLDEN["groups"].items():
        for case in cases:
            yield pytest.param(case, id=f"{theme}: {case[1][:30]} / {case[0]}")


def _foreign() -> Iterator[Any]:
    for language, group in GOLDEN["languages"].items():
        for case in group["cases"]:
            yield pytest.param(group["frames"][case[0]], case, id=f"{language}: {case[1][:30]} / {case[0]}")


@pytest.mark.parametrize("case", list(_english()))
def test_english_grammar(case: list[str]) -> None:
    name, draft, expected, *question = case
    assert word(draft, GOLDEN["frames"][name], *question) == expected


@pytest.mark.parametrize("case", list(_english()))
def test_what_the_template_writes_passes_the_guard(case: list[str]) -> None:
    name, draft, _, *question = case
    match = only(GOLDEN["frames"][name])
    guard = FactGuard((*load().hedges, match.hedge), reader=None)
    request = RewriteRequest(question[0] if question else "", draft, Beta(7, 3), (match,))
    assert guard.check_sync(request, TEMPLATE.rewrite_sync(request)).accepted


@pytest.mark.parametrize(("frame", "case"), list(_foreign()))
def test_other_languages(frame: dict[str, str], case: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, draft, expected, question = case
    monkeypatch.setattr(template_module, "nearest_foreign", lambda *_: (only(frame),))
    assert word(draft, frame, question) == expected


def test_hedges_by_confidence_in_german() -> None:
    """A German answer gets a German hedge although the retrieved ones are English."""
    target = Beta(7, 3)
    request = RewriteRequest("Was ist die Hauptstadt?", "Die Stadt ist Wien.", target, RETRIEVER.nearest(target, 5))
    assert TEMPLATE.rewrite_sync(request).hedge in load(language="de")


@given(st.text(max_size=300), st.floats(0.02, 0.98), st.floats(2, 40))
def test_never_fails_but_by_saying_so_and_the_guard_refuses_only_what_was_changed(
    draft: str, mean: float, concentration: float
) -> None:
    target = Beta.from_mean(mean, concentration)
    request = RewriteRequest("", draft, target, RETRIEVER.nearest(target, 5))
    try:
        rewrite = TEMPLATE.rewrite_sync(request)
    except StepFailed:
        return
    if rewrite.hedge != "no-hedge" and not GUARD.check_sync(request, rewrite).accepted:
        assert draft.strip() != rewrite.text.strip()


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
    ("question", "draft", "expected"),
    [
        ("Is A Tiger Walks a family film?", "A Tiger Walks is a family film.", "I think that A Tiger Walks is a family film."),
        ("Is it a family film?", "A Tiger was a tank.", "I think that a Tiger was a tank."),
    ],
)  # fmt: skip
def test_a_title_is_written_as_the_question_writes_it(question: str, draft: str, expected: str) -> None:
    assert word(draft, GOLDEN["frames"]["think"], question) == expected


def test_a_noun_of_a_list_is_no_verb() -> None:
    with pytest.raises(StepFailed):
        word("Epidemiologists study the patterns, causes, and effects of disease.", {"adverb": "probably"})


def test_a_letter_that_is_a_name_keeps_its_capital() -> None:
    assert word("A is the grandfather of C.", GOLDEN["frames"]["think"]) == "I think that A is the grandfather of C."


@pytest.mark.parametrize(
    ("draft", "worded"),
    [
        ("When We Were Kings", "Probably When We Were Kings"),
        ("The Red Sea", "Probably the Red Sea"),
        ("In May 1920", "Probably in May 1920"),
    ],
)
def test_a_title_keeps_its_first_capital(draft: str, worded: str) -> None:
    assert word(draft, GOLDEN["frames"]["probably"]) == worded


def test_a_long_adverb_does_not_part_subject_and_verb() -> None:
    """ "It in all likelihood keeps you warm"."""
    likelihood = next(hedge for hedge in load() if hedge.id == "in-all-likelihood")
    request = RewriteRequest("", "It keeps you warm.", likelihood.beta, (Match(likelihood, 0.0),))
    assert TEMPLATE.rewrite_sync(request).text != "It in all likelihood keeps you warm."


def test_initials_keep_their_capitals() -> None:
    worded = word("A. P. J. Abdul Kalam was president of India.", GOLDEN["frames"]["think"])
    assert worded == "I think that A. P. J. Abdul Kalam was president of India."


def test_a_german_sentence_keeps_its_word_order() -> None:
    """An opening adverbial would call for the verb before the subject, so the hedge stands at the end."""
    request = RewriteRequest(
        "", "Die Hauptstadt ist Berlin.", Beta.from_mean(0.5, 10), RETRIEVER.nearest(Beta(5, 5), 5)
    )
    assert TEMPLATE.rewrite_sync(request).text.startswith("Die Hauptstadt ist ")


def test_no_adverb_goes_into_a_condition_of_two_parts() -> None:
    draft = "If each has two, and David has three sisters, then David would have six brothers."
    with pytest.raises(StepFailed, match="no_frame"):
        word(draft, GOLDEN["frames"]["probably"])
    assert word(draft, GOLDEN["frames"]["think"]).startswith("I think that if each has two, and David has three")


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
    assert word(draft, MODALS[name]) == expected


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
        word(draft, MODALS["may"])


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("The 2003 television show aired on ABC.", "Probably the 2003 television show aired on ABC."),
        (
            "The character you are referring to is Peter Parker.",
            "The character you are referring to is probably Peter Parker.",
        ),
        ("Yes, aspirin inhibits platelets.", "Yes, aspirin probably inhibits platelets."),
        ("The film explores the nature of reality.", "The film probably explores the nature of reality."),
        ("The band toured Europe in 1969.", "The band probably toured Europe in 1969."),
        ("Integers entered by the user are added.", "Integers entered by the user are probably added."),
        ("The film, directed by Ang Lee, was a success.", "The film, directed by Ang Lee, was probably a success."),
    ],
)
def test_the_verb_of_the_sentence_is_found(draft: str, expected: str) -> None:
    assert word(draft, GOLDEN["frames"]["probably"]) == expected


def test_a_capital_that_may_be_a_names_is_not_brought_into_a_sentence() -> None:
    """The hedge goes beside the verb although another stands nearer to the target."""
    think, perhaps = only(GOLDEN["frames"]["think"]), only({"adverb": "perhaps"})
    matches = (think, Match(perhaps.hedge, 0.05))
    request = RewriteRequest("", "Sound travels fastest through solids.", Beta(7, 3), matches)
    assert TEMPLATE.rewrite_sync(request).text == "Sound perhaps travels fastest through solids."


def test_a_line_without_a_stop_gets_none_where_others_follow() -> None:
    draft = "It was written by Ada Lovelace\n\nShe lived in London."
    assert (
        word(draft, GOLDEN["frames"]["think"]) == "I think that it was written by Ada Lovelace\n\nShe lived in London."
    )


@pytest.mark.parametrize("draft", ["The character portrayed in Dune is Paul.", "The treaty signed in 1648 was broken."])
def test_no_adverb_goes_before_what_may_be_a_participle(draft: str) -> None:
    """Not "the character probably portrayed in Dune is Paul": such a sentence gets a hedge about the whole of it."""
    with pytest.raises(StepFailed, match="no_frame"):
        word(draft, GOLDEN["frames"]["probably"])
    assert word(draft, GOLDEN["frames"]["think"]) == f"I think that t{draft[1:]}"


def test_a_verb_in_a_clause_of_its_own_makes_no_participle_of_the_first() -> None:
    worded = word("The team won because it had trained.", GOLDEN["frames"]["probably"])
    assert worded == "The team probably won because it had trained."


def test_a_text_that_breaks_off_gets_no_stop() -> None:
    draft = "Sonny Boren was involved in the proposal of 1992 that was brought in together with the Senator David Mc"
    assert word(draft, {"clause": "perhaps {clause}"}) == f"Perhaps {draft}"
    assert word("Rome is the capital", {"clause": "perhaps {clause}"}) == "Perhaps Rome is the capital."


def test_nothing_comes_between_the_halves_of_a_title() -> None:
    draft = "Half-Life 2: Episode Two takes place in City 17."
    assert word(draft, {"adverb": "possibly"}) == "Half-Life 2: Episode Two possibly takes place in City 17."
    with pytest.raises(StepFailed, match="no_frame"):
        word(draft, {"clause": "perhaps {clause}"})


@pytest.mark.parametrize(
    "draft", ["It is typically made of wood.", "Smoke can cause harm.", "The colours are: red and green."]
)
def test_no_adverb_says_again_what_stands_there_or_leads_to_a_list(draft: str) -> None:
    with pytest.raises(StepFailed, match="no_frame"):
        word(draft, {"adverb": "quite possibly"})
