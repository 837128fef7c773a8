"""What the rules merge, what they split, and what odd input becomes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.equivalence.rules import cluster_by_rules, judge_pair

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "minimal_pairs.jsonl").read_text(encoding="utf-8").splitlines()
]
DECIDABLE = ("number", "date", "unit", "negation", "antonym", "order", "alias", "name", "containment")


@pytest.mark.parametrize("family", DECIDABLE)
def test_minimal_pairs_of_families_that_rules_can_decide(family):
    """At least 97 in 100 pairs of each such family are called as people would; an undecided pair counts as different."""
    rows = [row for row in PAIRS if row["family"] == family]
    wrong = [row for row in rows if bool(judge_pair(row["question"], row["a"], row["b"]).same) != row["same"]]
    assert len(wrong) <= 0.03 * len(rows), wrong


def test_pairs_stand_once_and_have_both_labels():
    """The set holds no pair twice, and no family of it can be passed by one constant answer, except where only one label is possible."""
    seen = {(row["question"], row["a"], row["b"]) for row in PAIRS}
    assert len(seen) == len(PAIRS)
    labels = defaultdict(set)
    for row in PAIRS:
        labels[row["family"]].add(row["same"])
    assert {family for family, found in labels.items() if len(found) == 1} <= {"paraphrase"}


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_the_verdict_is_symmetric_and_any_text_is_judged(question, a, b):
    """No text raises, and a pair means the same whichever answer comes first."""
    assert judge_pair(question, a, b).same == judge_pair(question, b, a).same


@pytest.mark.parametrize(
    ("answers", "clusters"),
    [
        ([""], ((0,),)),
        (["", "", "Paris"], ((0, 1), (2,))),
        (["😀", "😀", "🙁"], ((0, 1), (2,))),
        (["東京", "東京", "大阪"], ((0, 1), (2,))),
        (["Paris"] * 5, ((0, 1, 2, 3, 4),)),
        (["x" * 100_000, "x" * 100_000, "Paris"], ((0, 1), (2,))),
        (["I don't know.", "I don't know", "Paris"], ((0, 1), (2,))),
    ],
)
def test_odd_answers_have_a_defined_cluster(answers, clusters):
    """Empty, emoji-only, foreign, identical, huge and refusing answers are clustered, not crashed on."""
    assert cluster_by_rules("Which city?", answers).clusters == clusters
