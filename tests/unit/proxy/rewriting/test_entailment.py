"""The guard's cross-encoder: a real one of sentence-transformers, tiny and with random weights, made here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from hedgerow.calibration import Beta
from hedgerow.lexicon import Retriever, load
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.rewriting import FactGuard
from hedgerow.proxy.rewriting.entailment import CrossEncoderEntailment
from hedgerow.proxy.types import Rewrite, RewriteRequest
from tests.support.upstream import Upstream, says

LABELS = ("contradiction", "entailment", "neutral")
WORDS = "[PAD] [UNK] [CLS] [SEP] it was paris london probably i think that canberra sydney ."
DRAFT, OTHER = "It was Paris.", "I think that it was London."


def save_cross_encoder(folder: Path, labels: tuple[str, ...] = LABELS) -> str:
    """A BERT of one layer over a dozen words."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS.split()), encoding="utf-8")
    config = transformers.BertConfig(
        vocab_size=len(WORDS.split()), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)},
    )  # fmt: skip
    torch.manual_seed(5)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the model."""
    pytest.importorskip("sentence_transformers")
    return save_cross_encoder(tmp_path_factory.mktemp("nli") / "model")


def test_the_score_is_that_of_the_paper(model: str) -> None:
    """p(entailed) + 0.5 p(neutral), from the model's own logits by softmax, each direction for itself."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer, bare = (
        AutoTokenizer.from_pretrained(model),
        AutoModelForSequenceClassification.from_pretrained(model).eval(),
    )
    pairs = [(DRAFT, OTHER), (OTHER, DRAFT)]
    with torch.no_grad():
        odds = torch.softmax(bare(**tokenizer(pairs, padding=True, return_tensors="pt")).logits, dim=1)
    expected = (odds[:, 1] + 0.5 * odds[:, 2]).tolist()
    assert CrossEncoderEntailment(model)(pairs) == pytest.approx(expected, abs=1e-6)


def test_a_rewrite_below_the_threshold_is_refused(model: str) -> None:
    """Whatever so small a model says lies between 0 and 1: a threshold of 0 lets all pass, one of 1 none, and the draft stands."""
    target = Beta(6, 4)
    request = RewriteRequest("", DRAFT, target, Retriever(load()).nearest(target, 2))
    scored = CrossEncoderEntailment(model)
    rewrite = Rewrite(f"I think {DRAFT[0].lower()}{DRAFT[1:]}", "i-think")
    for threshold, reason in ((0.0, None), (1.0, "not_entailed")):
        guard = FactGuard(reader=None, entailment=scored, entailed=threshold)
        assert anyio.run(guard.check, request, rewrite).reason == reason


def test_a_route_names_its_model(serve: Any, client_of: Any, upstream: Upstream, model: str) -> None:
    """Through the edge; long answers are checked sentence by sentence."""
    upstream.default = says(*["It was Canberra."] * 6, *["It was Sydney."] * 4)
    ask = [{"role": "user", "content": "Where was it?"}]
    statuses = []
    for threshold in (0.0, 1.0):
        address = serve(rewriting={"entailment": {"model": model, "threshold": threshold}})
        told = client_of(address).chat.completions.create(model="m", messages=ask).model_extra["hedgerow"]
        statuses.append((told["status"], told["reason"]))
    assert statuses == [("hedged", None), ("unhedged", "not_entailed")]


def test_a_model_that_is_not_there_fails_the_step(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """The plain draft, marked; no unchecked rewrite."""
    upstream.default = says(*["It was Canberra."] * 6, *["It was Sydney."] * 4)
    address = serve(rewriting={"entailment": {"model": str(tmp_path / "nothing")}})
    answer = client_of(address).chat.completions.create(model="m", messages=[{"role": "user", "content": "Where?"}])
    told = answer.model_extra["hedgerow"]
    assert answer.choices[0].message.content == "It was Canberra."
    assert (told["status"], told["reason"]) == ("degraded", "no_entailment")


@pytest.mark.slow
def test_a_model_with_other_labels_is_none(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    with pytest.raises(StepFailed, match="no label called entailment or neutral"):
        CrossEncoderEntailment(save_cross_encoder(tmp_path / "model", ("bad", "good")))([(DRAFT, OTHER)])
