"""Fit proxy/clustering/support.json on judged claims of long answers: `python -m benchmarks.fits.claims [--check]`.

Claims of four models' biographies and facts with judged claims and samples beside the checkout (long_form/). Each answer is measured
against 2, 4, 9 and all of its samples, so that the weights serve any number. Reported by folds of whole prompts, never on a prompt
that the weights have seen.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import re
import sys
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from benchmarks import DATA
from hedgerow.calibration.logistic import fit_logistic
from hedgerow.calibration.metrics import auroc
from hedgerow.proxy.clustering.support import WEIGHTS, features

SETS = ("graph_uncertainty_bios", "graph_uncertainty_popqa", "wikibio_gpt3")
COUNTS = (2, 4, 9, 20)
FOLDS = 5
NAMES = ("numbers", "names", "agreement")


@dataclass(frozen=True)
class Claims:
    """Features (n, 3), outcomes, the group (set and model) of each claim, its prompt, and how many answers it was held against."""

    features: np.ndarray
    correct: np.ndarray
    group: np.ndarray
    prompt: np.ndarray
    count: np.ndarray


def read(folder: Path, names: tuple[str, ...] = SETS, counts: tuple[int, ...] = COUNTS) -> Claims:
    """Measure every judged claim against each number of other answers."""
    rows = []
    for name in names:
        with lzma.open(folder / "long_form" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for line in lines:
                rows += list(_measure(json.loads(line), name, counts))
    columns = list(zip(*rows, strict=True))
    return Claims(*(np.array(column, dtype=float if i < 2 else None) for i, column in enumerate(columns)))


def _measure(row: dict, name: str, counts: tuple[int, ...]):
    claims = [claim for claim in row["claims"] if claim.get("from_answer", True)]
    question = (
        row["question"] or re.split(r" (?:\(|was |is )|,", row["answer"])[0]
    )  # the subject, where the prompt is not kept
    shuffled = random.Random(row["id"]).sample(row["samples"], len(row["samples"]))
    for count in sorted({min(count, len(shuffled)) for count in counts}) if claims else ():
        measured = features(question, [claim["text"] for claim in claims], shuffled[:count])
        for claim, of_claim in zip(claims, measured, strict=True):
            if claim["label"] is not None:
                yield astuple(of_claim), claim["label"], f"{name} {row['model']}", row["prompt_id"], count


def fit(features: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """Constant and weights of the logistic."""
    columns = [np.ones(len(correct)), *features.T]
    return fit_logistic(columns, correct, prior_mean=np.zeros(4), prior_precision=1e-3).coefficients


def held_out(claims: Claims) -> np.ndarray:
    """Each claim's confidence by weights fitted on other prompts."""
    fold = np.array([int(hashlib.sha256(str(p).encode()).hexdigest(), 16) % FOLDS for p in claims.prompt])
    confidence = np.zeros(len(fold))
    for k in range(FOLDS):
        weights = fit(claims.features[fold != k], claims.correct[fold != k])
        z = weights[0] + claims.features[fold == k] @ weights[1:]
        confidence[fold == k] = 1.0 / (1.0 + np.exp(-z))
    return confidence


def main() -> None:
    claims = read(DATA)
    confidence = held_out(claims)
    table = {}
    for group in sorted(set(claims.group)):
        by_count = {}
        for count in sorted(set(claims.count[claims.group == group])):
            chosen = (claims.group == group) & (claims.count == count)
            by_count[int(count)] = round(float(auroc(confidence[chosen], claims.correct[chosen])), 3)
        table[group] = by_count
        print(f"{group:48} AUROC by number of other answers {by_count}")
    weights = fit(claims.features, claims.correct)
    fitted = {
        "weights": {name: round(float(w), 4) for name, w in zip(("constant", *NAMES), weights, strict=True)},
        "fitted_on": "judged claims of " + ", ".join(SETS) + "; no text of them is in here",
        "claims": len({(p, tuple(f)) for p, f in zip(claims.prompt, claims.features, strict=True)}),
        "auroc_on_other_prompts": table,
    }
    print(fitted["weights"])
    if "--check" not in sys.argv:
        WEIGHTS.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
