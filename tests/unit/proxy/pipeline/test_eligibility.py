"""Requests whose answers cannot be compared are recognised, and questions of fact are not taken for them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.pipeline.eligibility import asks_for_claim, comparable
from tests.support.tables import cases

PROMPTS = [
    line.split("\t")
    for line in (Path(__file__).parents[3] / "data" / "prompts.tsv").read_text(encoding="utf-8").splitlines()
]


@cases("half", [0, 1], ids=["seen", "held out"])
def test_precision_and_recall_on_labelled_prompts(half: int) -> None:
    """Of 200 prompts in ten languages, half read while the patterns were written: few claims are passed on, few others are not."""
    part = PROMPTS[half::2]
    passed = [label for label, prompt in part if not asks_for_claim(prompt)]
    assert passed.count("no") / len(passed) >= 0.95
    assert passed.count("no") / sum(label == "no" for label, _ in part) >= 0.9


def test_the_prompts_are_two_hundred_and_differ() -> None:
    """As many of each kind."""
    assert len({prompt for _, prompt in PROMPTS}) == len(PROMPTS) == 200
    assert sum(label == "no" for label, _ in PROMPTS) == 100


@given(st.text(max_size=300))
def test_any_prompt_is_judged(prompt: str) -> None:
    """Nothing raises, and what is asked after a greeting is asked all the same."""
    asks_for_claim(prompt)
    assert asks_for_claim(f"Hello! {'x' * len(prompt)} What is the capital of Peru?")


@cases(
    ("answers", "largest", "expected"),
    [
        (["How can I help you?"] * 3, 3, False),
        (["Which city do you mean?", "Lima.", "Lima."], 2, True),
        (["\U0001f600", "\U0001f600", "\U0001f600"], 3, False),
        ([f"{i} " + "word " * 70 for i in range(4)], 1, False),
        ([f"{i} " + "word " * 70 for i in range(4)], 2, True),
        (["one", "two", "three"], 1, True),
    ],
)
def test_answers_tell_as_well(answers: list[str], largest: int, expected: bool) -> None:
    """Questions back, signs alone and long texts that all differ cannot be compared; short answers that differ can."""
    assert comparable(answers, largest) is expected


@cases(
    ("prompt", "asks"),
    [("시를 써 주세요", False), ("사랑이라는 노래 가사를 영어로 작성해줘", False), ("호주의 수도는 어디인가요?", True)],
)
def test_korean_says_at_the_end_what_is_to_be_done(prompt: str, asks: bool) -> None:
    """A song is not a claim; a capital is."""
    assert asks_for_claim(prompt) is asks
