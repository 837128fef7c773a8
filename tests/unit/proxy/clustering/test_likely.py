"""A short answer in a long one that gives it in other words: what the fitted figures say of pairs that the rules leave open."""

from __future__ import annotations

import anyio

from hedgerow.proxy.clustering import likely
from hedgerow.proxy.clustering.clusterer import JudgedClusterer
from hedgerow.proxy.clustering.likely import LikelyPairs
from hedgerow.proxy.clustering.normal import read_question
from hedgerow.proxy.clustering.rules import Judgement, judge_pair, read
from tests.support.tables import cases


def _judged(question: str, a: str, b: str) -> Judgement:
    asked = read_question(question)
    return likely.judge(read(a, asked), read(b, asked))


@cases(
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
    assert judge_pair(question, short, long).same in (None, same)
    assert _judged(question, short, long).same is same
    assert _judged(question, long, short) == _judged(question, short, long)


@cases("long", ["the " * 20, "... " * 20, "1 2 3 4 5 6 7 8 9 10", "Ein Mann " * 2_000])
def test_any_text_has_a_probability(long: str) -> None:
    asked = read_question("")
    assert 0.0 <= likely.probability(read("?", asked), read(long, asked)) <= 1.0


LOSS = "The area inside represents the energy lost as heat in each full cycle."


def test_the_audit_says_what_decided() -> None:
    """A short answer and a long one by this; two long ones are left open, whatever they have in common, and rules stand above both."""
    answers = ["energy loss", LOSS, "The area inside represents the energy lost as sound in each full cycle.", "3", "4"]
    found = anyio.run(JudgedClusterer(LikelyPairs()).cluster, "What is a measure of it?", answers)
    assert found.clusters == ((0, 1), (2,), (3,), (4,))
    assert found.decided_by["veto:number"] == 1
    assert {"likely", "undecided"} < set(found.decided_by)


def test_answers_in_another_language_are_left_open() -> None:
    """The weights are those of English; the audit counts what was left."""
    answers = [
        "ein Mann, den niemand kannte",
        "Der Film wurde von einem Mann gedreht, den niemand kannte und niemand sah.",
    ]
    found = anyio.run(JudgedClusterer(LikelyPairs()).cluster, "Wer hat den Film gedreht?", answers)
    assert (len(found.clusters), dict(found.decided_by)) == (2, {"judge_language": 1})
