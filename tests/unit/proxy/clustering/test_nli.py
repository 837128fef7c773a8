"""The cross-encoder judge, on a real model of sentence-transformers with two tiny layers and random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hedgerow.proxy.clustering.nli import NliJudge
from hedgerow.proxy.errors import StepFailed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "paris", "rome", "where", "?"]
PAIRS = [(0, 1), (0, 2), (1, 2)]
ANSWERS = ["paris", "rome", "a b c"]


def _model(folder: Path, labels: tuple[str, ...], *, always: str | None = None) -> str:
    """A cross-encoder on disk; with `always`, one whose bias outweighs everything else."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, id2label=dict(enumerate(labels)), label2id={n: i for i, n in enumerate(labels)},
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    if always is not None:
        with torch.no_grad():
            model.classifier.bias[labels.index(always)] = 100.0
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


THREE = ("contradiction", "entailment", "neutral")


@pytest.mark.parametrize(("always", "same"), [("entailment", True), ("neutral", False), ("contradiction", False)])
def test_both_directions_must_entail(tmp_path: Path, always: str, same: bool) -> None:
    """Only entailment is sameness, wherever its label stands in the model's list."""
    judge = NliJudge(_model(tmp_path, THREE, always=always), budget_s=60)
    found = judge.read("where?", ANSWERS, PAIRS)
    assert [(j.same, j.decided_by) for j in found] == [(same, "nli")] * 3


def test_batches_do_not_change_the_verdicts(tmp_path: Path) -> None:
    """One pair at a time says what all at once say, and each pair is read in both directions: swapping it changes nothing."""
    folder = _model(tmp_path, THREE)
    alone = NliJudge(folder, budget_s=60, batch=2).read("where?", ANSWERS, PAIRS)
    together = NliJudge(folder, budget_s=60, batch=64).read("where?", ANSWERS, PAIRS)
    swapped = NliJudge(folder, budget_s=60).read("where?", ANSWERS, [(b, a) for a, b in PAIRS])
    assert [j.same for j in alone] == [j.same for j in together] == [j.same for j in swapped]


def test_pairs_beyond_the_budget_are_left_open(tmp_path: Path, monkeypatch: Any) -> None:
    """What was read in time stands; the rest is late, and nothing is guessed."""
    clock = iter([0.0, 0.5, 1.5])
    judge = NliJudge(_model(tmp_path, THREE, always="entailment"), budget_s=1.0, batch=2)
    judge.read("where?", ANSWERS, [])  # loads the model, whose own use of the clock is none of ours
    monkeypatch.setattr("hedgerow.proxy.clustering.nli.time.monotonic", lambda: next(clock))
    found = judge.read("where?", ANSWERS, PAIRS)
    assert [(j.same, j.decided_by) for j in found] == [(True, "nli"), (None, "judge_late"), (None, "judge_late")]


def test_a_model_without_entailment_is_refused(tmp_path: Path) -> None:
    """With the labels it has."""
    with pytest.raises(StepFailed, match="no label called entailment") as caught:
        NliJudge(_model(tmp_path, ("same", "different"))).read("where?", ANSWERS, PAIRS)
    assert caught.value.reason == "no_judge"


def test_a_model_that_is_not_there_is_refused() -> None:
    """Named, and with a stable reason."""
    pytest.importorskip("sentence_transformers")
    with pytest.raises(StepFailed, match=r"\./no/such/folder"):
        NliJudge("./no/such/folder").read("where?", ANSWERS, PAIRS)
