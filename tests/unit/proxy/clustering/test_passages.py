"""Which passage of an answer is shown beside a claim."""

from __future__ import annotations

from hedgerow.proxy.clustering.support import LONGEST, Passages
from tests.support.hostile import HOSTILE, growth


def test_the_sentence_with_most_words_of_the_claim_speaks_of_it() -> None:
    answers = ["Ada was tall. She was born in Rome in 1815. Rome is old.", "I cannot help with that.", ""]
    assert Passages(answers).of("Ada was born in Rome in 1815.") == ["She was born in Rome in 1815.", "", ""]


def test_a_long_passage_is_cut() -> None:
    (passage,) = Passages(["Rome " * 200]).of("Rome is old.")
    assert len(passage) == LONGEST
    assert passage.endswith("…")


def test_time_grows_with_the_length() -> None:
    for make in HOSTILE.values():
        assert growth(lambda text: Passages([text]).of(text[:500]), make).is_linear
