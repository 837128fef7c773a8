"""German, French and Spanish are perceived by the wordings of their lexicons."""

import pytest

from hedgerow.lexicon import NO_HEDGE, Hedge, LexiconError, load, perceive, spot
from hedgerow.lexicon.hedges.entries import Frame
from hedgerow.lexicon.perception.translated import languages
from tests.support.tables import cases

ENTRIES = [hedge for language in ("de", "fr", "es") for hedge in load(language=language) if hedge.frames]
CLAUSE = {"de": "es war Rom", "fr": "c'était Rome", "es": "fue Roma"}


def said(frame: Frame, language: str) -> str:
    """A frame filled with an answer that holds no hedge."""
    text = frame.text
    for slot, filling in (("{clause}", CLAUSE[language]), ("{fragment}", "1912"), ("{answer}", CLAUSE[language])):
        text = text.replace(slot, filling)
    return f"{text}." if "{" in frame.text else f"{CLAUSE[language]}, {text}."


@cases("hedge", ENTRIES, ids=lambda hedge: f"{hedge.language}-{hedge.id}")
def test_every_frame_is_heard_as_its_own_entry(hedge: Hedge) -> None:
    """What the template rewriter says is perceived at the confidence that it was chosen for, give or take another entry's wording."""
    for frame in hedge.frames:
        text = said(frame, hedge.language)
        assert spot(text, hedge.language), text
        assert perceive(text, hedge.language).beta.mean == pytest.approx(hedge.beta.mean, abs=0.1), text


@cases(
    ("language", "text"),
    [("de", "Rom wurde 753 gegründet."), ("fr", "Rome a été fondée en 753."), ("es", "Roma fue fundada en 753.")],
)
def test_a_plain_sentence_is_plain(language: str, text: str) -> None:
    """No hedge: the language's plain assertion."""
    assert perceive(text, language).beta == load(language=language)[NO_HEDGE].beta


@cases(
    ("language", "doubtful", "sure"),
    [
        ("de", "Es ist nicht sicher wahrscheinlich.", "Es ist wahrscheinlich."),
        ("de", "Das ist nicht wahrscheinlich.", "Das ist wahrscheinlich."),
        ("fr", "Ce n'est pas certainement lui.", "C'est certainement lui."),
        ("es", "No es probable que fuera Roma.", "Es probable que fuera Roma."),
        ("es", "No creo que fuera Roma.", "Creo que fue Roma."),
    ],
)
def test_negation_turns_a_hedge(language: str, doubtful: str, sure: str) -> None:
    """A negated hedge is perceived in the lower half, and has no entry in the lexicon."""
    low, high = perceive(doubtful, language), perceive(sure, language)
    assert low.beta.mean < 0.5 < high.beta.mean
    assert low.spans[0].hedge is None


def test_a_comma_ends_the_reach_of_a_negation() -> None:
    """What is denied before the comma is another matter."""
    assert perceive("Rom war es nicht, wahrscheinlich Athen.", "de").spans[0].hedge == "wahrscheinlich"


def test_two_hedges_weigh_together() -> None:
    """Between the two, nearer to the doubt."""
    both = perceive("Ich glaube, vielleicht war es Rom.", "de").beta.mean
    one, other = (load(language="de")[id].beta.mean for id in ("ich-glaube", "vielleicht"))
    assert other < both < (one + other) / 2


def test_the_longest_wording_is_taken() -> None:
    """ "Very likely" is not "likely"."""
    assert [span.hedge for span in spot("Sehr wahrscheinlich war es Rom.", "de")] == ["sehr-wahrscheinlich"]


def test_boosters_are_told_from_hedges() -> None:
    """As in English."""
    assert [span.kind for span in spot("Sans aucun doute, c'était Rome. C'est presque certain.", "fr")] == [
        "booster",
        "hedge",
    ]


@cases("language", ["it", "", "english", "DE"])
def test_an_unknown_language_is_an_error(language: str) -> None:
    """And not perceived as plain."""
    for read in (perceive, spot):
        with pytest.raises(LexiconError, match="en, de, es, fr"):
            read("Forse era Roma.", language)


def test_a_language_is_two_data_files() -> None:
    """Every shipped language has entries that people would use, variants among them, and words of negation."""
    assert languages() == ("en", "de", "es", "fr")
    for language in languages()[1:]:
        lexicon = load(language=language)
        assert lexicon.negations
        variants = [(hedge, variant) for hedge in lexicon for variant in hedge.variants]
        assert len(variants) > 20
        for hedge, variant in variants:
            assert spot(f"Roma, {variant}.", language)[0].hedge in (hedge.id, None), variant
