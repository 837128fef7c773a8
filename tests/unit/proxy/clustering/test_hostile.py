"""What a broken or malicious model writes is compared in time linear in its length, and never raises what nobody expects."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.clustering.llm import read_groups
from hedgerow.proxy.clustering.normal import normalise
from hedgerow.proxy.clustering.rules import judge_pair
from hedgerow.proxy.clustering.support import support
from hedgerow.proxy.errors import StepFailed
from tests.support.hostile import HOSTILE, LIMIT_S, growth, seconds
from tests.support.tables import cases


def _nine(text: str) -> list[str]:
    """Nine answers that differ at both ends."""
    return [f"{text[i:]} {chr(97 + i)}q" for i in range(9)]


@cases("name", HOSTILE)
def test_normal_forms_are_linear(name):
    assert growth(lambda text: normalise(text, "Is it?"), HOSTILE[name]).is_linear


@cases("name", HOSTILE)
def test_a_pair_is_compared_in_linear_time(name):
    """The same text with a word put into its middle, and with its last word changed."""
    assert growth(
        lambda text: [
            judge_pair("Where is it?", text, other)
            for other in (f"{text[: len(text) // 2]} y {text[len(text) // 2 :]}", f"z {text[:-3]} z")
        ],
        HOSTILE[name],
    ).is_linear


@cases("name", HOSTILE)
def test_nine_answers_are_grouped_in_linear_time(name):
    assert growth(lambda text: cluster_by_rules("Where?", _nine(text)), lambda n: HOSTILE[name](n // 2)).is_linear


@pytest.mark.slow
@cases("name", ["figures", "different words", "amounts", "short sentences"])
def test_twenty_long_answers_are_grouped_soon(name):
    """190 pairs of 20,000 characters: beyond a thousand words only equal texts are the same, and nothing else is worked out."""
    answers = [f"{HOSTILE[name](20_000)} {chr(97 + i)}q" for i in range(20)]
    assert seconds(lambda _: cluster_by_rules("Where is it?", answers), "") < LIMIT_S


def test_long_answers_are_the_same_where_their_words_are():
    text = HOSTILE["different words"](20_000)
    assert judge_pair("Where?", text, f"The answer is: {text}.").same is True
    assert judge_pair("Where?", text, f"not {text}").same is None


@cases("name", HOSTILE)
def test_nine_answers_support_claims_in_linear_time(name):
    assert growth(
        lambda text: support("Where?", [text[:1000], text], _nine(text)), lambda n: HOSTILE[name](n // 2)
    ).is_linear


@cases(
    "make",
    [
        lambda n: "[" * n,
        lambda n: "[[" + "] x " * (n // 4),
        lambda n: "[" + " " * n,
        lambda n: f"[[{'1' * n}]]",
        lambda n: "[ " * n,
    ],
)
def test_a_judges_nonsense_is_refused_in_linear_time(make):
    """Brackets without end and numbers of thousands of digits are nonsense like any other, not a crash."""

    def read(reply):
        with pytest.raises(StepFailed) as caught:
            read_groups(reply, 3)
        assert caught.value.reason == "judge_nonsense"

    assert growth(read, make).is_linear


def test_numbers_of_any_length_are_told_apart():
    """Also where they differ in the last of 20 or of 400 digits only."""
    for digits in (20, 400, 5000):
        number = "7" * digits
        assert judge_pair("How many?", number + "1", number + "2").same is False
        assert judge_pair("How many?", number + " 1/2", number + " 1/4").same is not True
    assert judge_pair("How far?", "1 mile", "1609.344 m").same is True


def test_digits_of_scripts_without_a_place_system_are_words():
    """Ethiopic and Kharosthi digits count as digits in Unicode and cannot be calculated with."""
    assert judge_pair("How many?", "፩", "፪").same is not True
    assert judge_pair("How many?", "\U00010a40 km", "\U00010a41 km").same is not True


PIECES = st.sampled_from(
    ["7", "1/2", " ", "\u00a0", ".", ",", "-", "(", "[", '"', "'", "’", "\n", "a", "not", "Paris", "and", "million", "hundred", "ii",
     "²", "፩", "½", "°", "c", "$", "%", "than", "before", "from", "to", "by", "s", "u", "é", "\u0301", "的", "😀", "=", "*", "é", "ﬁ"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_any_text_can_be_compared(question, a, b):
    """Nothing is raised, an answer means what it means itself, and the order of the two does not matter."""
    assert judge_pair(question, a, b).same == judge_pair(question, b, a).same
    assert a.strip() == "" or judge_pair(question, a, a).same
    assert all(0 < p < 1 for p in support(question, [a, b], [b, a]))
