"""Which sentences of real answers are claims, on labelled ones (tests/data/claims.tsv: split, kind, source, row, sentence).

The sentences were drawn at random from answers of MT-Bench, Arena-Hard (Apache-2.0), Factcheck-GPT, HaluQuestQA (Apache-2.0), HaluEval and
FActScore (MIT), and labelled by one reader; those that could be read either way were left out. The rules were written looking at `tuned`
alone; `held` was labelled and measured afterwards.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hedgerow.proxy.rewriting.claims import is_claim, may_claim

LABELLED = [
    line.split("\t")
    for line in (Path(__file__).parents[3] / "data" / "claims.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(("split", "precision", "recall"), [("tuned", 0.86, 0.78), ("held", 0.92, 0.82)])
def test_what_would_be_hedged_is_a_claim(split: str, precision: float, recall: float) -> None:
    """Of sentences outside fiction, which a request for a story keeps from this question altogether."""
    judged = [(is_claim(text), kind) for part, kind, _, _, text in LABELLED if part == split and kind != "fiction"]
    called = [kind for claim, kind in judged if claim]
    claims = sum(kind == "claim" for _, kind in judged)
    assert called.count("claim") / len(called) >= precision
    assert called.count("claim") / claims >= recall


@pytest.mark.parametrize(
    "kind", ["presents", "instructs", "own work", "polite", "refusal", "safety", "code", "question"]
)
def test_kinds_that_a_hedge_would_spoil(kind: str) -> None:
    """Announcements, instructions, politeness and the like are all but never taken for claims, in either split."""
    taken = Counter(is_claim(text) for _, label, _, _, text in LABELLED if label == kind)
    assert taken[True] <= 0.04 * taken.total()


@pytest.mark.parametrize(
    "text",
    [
        "Sure!", "I'd be happy to help you draw a hopscotch game on your driveway.", "I hope this message finds you well.",
        "Thank you for choosing our services.", "Call emergency services now.", "Here are some popular options to consider:",
        "**Meaning:**", "so $c = -a - b.$ Then", "Combine like terms and set the result to zero.", "",
        "I can't help with that.", "No doubt about it", "Therefore, 38 people got on the bus at the terminal.", "日本で一番高い山は富士山です。",
    ],
)  # fmt: skip
def test_sentences_that_were_hedged_and_should_not_have_been(text: str) -> None:
    """Found in answers that an earlier version served."""
    assert not is_claim(text)


@pytest.mark.parametrize(
    "hurt",
    ["." * 20_000 + "x", " " * 20_000, "Paris " + " " * 20_000 + "x", "to be " * 5_000, "((" * 10_000, "a " * 20_000],
)
def test_hostile_text_is_read_in_linear_time(hurt: str) -> None:
    """Nothing here looks twice at a long run; the suite's timeout is the bound."""
    assert is_claim(hurt) is False


@pytest.mark.parametrize("name", ["Great Britain", "Great Expectations.", "Hello Dolly", "Sure Shot"])
def test_a_name_that_opens_like_a_reply_is_an_answer(name: str) -> None:
    assert may_claim(name)
