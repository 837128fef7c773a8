"""Perceived confidence follows people's order, scope and negation, and says so where it cannot read."""

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.lexicon import NO_HEDGE, LexiconError, load, perceive
from tests.support.hostile import HOSTILE, growth
from tests.support.tables import cases


def mean(text: str) -> float:
    return perceive(text).beta.mean


@cases(
    ("less", "more"),
    [
        ("It is unlikely that it was Rome.", "It is likely that it was Rome."),
        ("It is not likely that it was Rome.", "It is likely that it was Rome."),
        ("I'm not at all sure, but it was Rome.", "I'm not entirely sure, but it was Rome."),
        ("I doubt that it was Rome.", "I doubt that it is unlikely to be Rome."),
        ("It might be Rome.", "It must be Rome."),
        ("There is little chance that it was Rome.", "There is a very good chance that it was Rome."),
        ("I think it was Rome, but I could be wrong.", "I think it was Rome."),
        ("Was it Rome?", "It was Rome."),
        ("It was either Rome or Naples.", "It was Rome."),
        ("I have no doubts about Rome, I just have no idea.", "I have no doubt that it was Rome."),
        ("I'm not sure at all, but it was Rome.", "I'm not sure, but it was Rome."),
        ("Odds of that being Rome, probability is small.", "Odds of that being Rome, probability is high."),
        ("There is not a good chance that it was Rome.", "It might be Rome."),
        ("There is a good chance that it was Rome.", "It is a complete certainty that it was Rome."),
        ("I doubt it was Rome, but it is unlikely to be Oslo.", "I doubt that it is unlikely to be Rome."),
    ],
)
def test_people_perceive_the_second_as_surer(less: str, more: str) -> None:
    """Negation, scope, degree, questions and alternatives."""
    assert mean(less) < mean(more)


@given(
    st.sampled_from(["Rome", "Oslo", "1974", "Harold Pinter", "nine"]),
    st.sampled_from(["Paris", "the Nile", "May 1814"]),
)
def test_the_claim_itself_is_not_heard(one: str, other: str) -> None:
    """Only the wording counts: another answer in the same words sounds the same."""
    assert mean(f"I'm fairly sure it was {one}.") == mean(f"I'm fairly sure it was {other}.")


def test_a_plain_sentence_is_the_plain_assertion() -> None:
    """A month, an ability, a name and what a recipe asks for are not hedges."""
    plain = load()[NO_HEDGE].beta
    for text in (
        "It was Harold Pinter.", "It was signed in May 1814.", "He could swim before he was five.", "1974", "It needs a pinch of salt.",
    ):  # fmt: skip
        assert perceive(text).beta.mean == pytest.approx(plain.mean)


def test_an_entry_is_heard_as_people_heard_it() -> None:
    """What was measured wins over what is modelled."""
    perceived, entry = perceive("It was probably Harold Pinter.").beta, load()["probably"].beta
    assert (perceived.alpha, perceived.beta) == pytest.approx((entry.alpha, entry.beta))


@cases(("text", "people"), [
    ("There is a better than even chance that it is Rome.", 0.58), ("It is Rome, with better than even odds.", 0.58), ("There is a 50/50 chance it is Rome.", 0.50),
    ("There's a fifty-fifty chance that it is Rome.", 0.50), ("There is an about even chance that it was Rome.", 0.50), ("The odds are even that it was Rome.", 0.50),
    ("The odds are slight that it was Rome.", 0.14), ("The odds are slim that it was Rome.", 0.14),
])  # fmt: skip
def test_chances_and_odds_are_heard_as_the_phrase_that_people_rated(text: str, people: float) -> None:
    """Means of the surveys (benchmarks.evidence.decisive_ranks): "better than even", "about even", "chances are slight"; a noun behind them changes nothing."""
    assert perceive(text).beta.mean == pytest.approx(people, abs=0.08)


def test_an_opening_hedge_governs_a_short_answer() -> None:
    """The doubt of one sentence reaches the next, and sentences keep their own reading."""
    perceived = perceive("I am not sure about this. It was Harold Pinter.")
    assert perceived.beta.mean < 0.45
    assert [round(sentence.beta.mean, 2) for sentence in perceived.sentences][1] > 0.9


@cases("text", ["", "  \n", "...", "你好，世界", "Привет"])
def test_what_cannot_be_read_is_an_error(text: str) -> None:
    """No silent default."""
    with pytest.raises(LexiconError):
        perceive(text)


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=200))
def test_any_latin_text_is_heard(text: str) -> None:
    """A Beta or a LexiconError, whatever the text."""
    try:
        perceived = perceive("a " + text)
    except LexiconError:
        return
    assert 0 < perceived.beta.mean < 1


HEDGED = st.lists(
    st.sampled_from(
        ["not", "at all", "sure", "I'm", "can't", "doubt", "unlikely", "that", "May", "7", "100%", ".", "?", "...", "\u00a0", "\n", "'", "“",
         "no", "chance", "very", "as far as I know", "either", "or", "vielleicht", "nicht", "peut-être", "creo", "的", "😀", "é", "\u0301"]
    ), max_size=40,
).map(" ".join)  # fmt: skip


@given(HEDGED, st.sampled_from(["en", "de", "es", "fr"]))
def test_spans_lie_in_order_inside_the_text(text: str, language: str) -> None:
    """Whatever hedges, negations and marks pile up: spans quote the text, do not overlap and lie in (0, 1)."""
    try:
        reading = perceive(text, language)
    except LexiconError:
        return
    end = 0
    for span in reading.spans:
        assert end <= span.start < span.end
        assert text[span.start : span.end] == span.text
        assert 0 < span.beta.mean < 1
        end = span.end


def test_importing_is_light() -> None:
    """No FAISS, no scikit-learn, no torch until they are needed."""
    code = "import sys; from hedgerow import lexicon; lexicon.perceive('Maybe.'); print([m for m in ('faiss', 'sklearn', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@cases("name", HOSTILE)
@cases("language", ["en", "de"])
def test_perception_is_linear(name: str, language: str) -> None:
    """What a broken model repeats costs no more than ordinary text of that length."""

    def read(text: str) -> None:
        with contextlib.suppress(LexiconError):  # nothing to read
            perceive(text, language)

    assert growth(read, HOSTILE[name]).is_linear


def test_a_language_without_cues_is_not_taken_for_plain() -> None:
    """A Polish "być może" is doubt. Whoever cannot read it says so, instead of a confidence of .93."""
    with pytest.raises(LexiconError, match="'pl' cannot be read; use one of en, de, es, fr"):
        perceive("Być może był to Rzym.", "pl")
