"""A short answer in a long one that gives it in other words: what the fitted figures say of pairs that the rules leave open."""

from __future__ import annotations

import anyio
import pytest

from hedgerow.proxy.clustering import likely
from hedgerow.proxy.clustering.clusterer import JudgedClusterer
from hedgerow.proxy.clustering.local import LocalJudge, LocalPairs
from hedgerow.proxy.clustering.normal import read_question
from hedgerow.proxy.clustering.opening import read
from hedgerow.proxy.clustering.rules import Judgement, judge_pair


def _judged(question: str, a: str, b: str) -> Judgement:
    asked = read_question(question)
    return likely.judge(read(a, asked), read(b, asked))


@pytest.mark.parametrize(
    ("question", "short", "long", "same"),
    [
        ("Who made the first table?", "Dmitri Mendeleev", "The first table is credited to the Russian chemist Dmitry Ivanovich Mendeleyev.", True),
        ("What is a measure of it?", "energy loss", "The area inside represents the energy lost as heat in each full cycle.", True),
        ("What caused it?", "strong economic growth", "It was caused by a long period of prosperity and of growth of the economy.", True),
        ("Who made the first table?", "Dmitri Mendeleev", "The first table is credited to the German chemist Julius Lothar Meyer.", False),
        ("Where was it filmed?", "Dublin, Ireland", "All of it was filmed in the hills and the towns of New Zealand.", False),
    ],
)  # fmt: skip
def test_other_words_for_the_same_are_told_from_another_answer(
    question: str, short: str, long: str, same: bool
) -> None:
    assert judge_pair(question, short, long).same is None
    assert _judged(question, short, long).same is same
    assert _judged(question, long, short) == _judged(question, short, long)


@pytest.mark.parametrize("long", ["the " * 20, "... " * 20, "1 2 3 4 5 6 7 8 9 10", "Ein Mann " * 2_000])
def test_any_text_has_a_probability(long: str) -> None:
    asked = read_question("")
    assert 0.0 <= likely.probability(read("?", asked), read(long, asked)) <= 1.0


def test_the_local_judge_asks_no_model_about_a_short_answer_in_a_long_one() -> None:
    """So that no budget is spent on it, and the audit says what decided."""
    clusterer = JudgedClusterer(LocalPairs(LocalJudge(), budget_s=0.0))
    answers = ["energy loss", "The area inside represents the energy lost as heat in each full cycle."]
    found = anyio.run(clusterer.cluster, "What is a measure of it?", answers)
    assert (len(found.clusters), dict(found.decided_by)) == (1, {"likely": 1})
