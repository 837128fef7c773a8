"""Fit proxy/clustering/support.json on judged claims of long answers: `python -m benchmarks.fits.claims [--check]`.

Claims of four models' biographies and facts with judged claims and samples beside the checkout (long_form/). Each answer is measured
against 2, 4, 9 and all of its samples, so that the weights serve any number; the judged claims of the samples are fitted on too. Reported by folds of whole prompts, never on a prompt
that the weights have seen.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from benchmarks import DATA
from hedgerow.calibration.logistic import fit_logistic
from hedgerow.calibration.metrics import auroc
from hedgerow.proxy.clustering.support import NAMES, WEIGHTS, features, read_answer

SETS = ("graph_uncertainty_bios", "graph_uncertainty_popqa", "wikibio_gpt3")
COUNTS = (2, 4, 9, 20)
FOLDS = 5
Beside = Callable[[list[dict]], Sequence[tuple[float, ...]] | None]
"""Further columns for each claim of an answer from what was published with them; None if it was not."""


@dataclass(frozen=True)
class Claims:
    """Features (n, 6 and those beside), outcomes, the group (set and model) of each claim, its prompt, and how many answers it was held against."""

    features: np.ndarray
    correct: np.ndarray
    group: np.ndarray
    prompt: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[tuple]) -> Claims:
        """Rows of features, outcome, group, prompt and count."""
        return cls(*(np.array(column, float if i < 2 else None) for i, column in enumerate(zip(*rows, strict=True))))

    def and_also(self, other: Claims) -> Claims:
        """These claims and others."""
        return Claims(*map(np.concatenate, zip(vars(self).values(), vars(other).values(), strict=True)))

    def where(self, chosen: np.ndarray) -> Claims:
        """Those of a mask (n,)."""
        return Claims(*(column[chosen] for column in vars(self).values()))


def read(
    folder: Path,
    names: tuple[str, ...] = SETS,
    counts: tuple[int, ...] = COUNTS,
    *,
    of_samples: bool = False,
    beside: Beside = lambda claims: [()] * len(claims),
) -> Claims:
    """Measure every judged claim of the answers, or of their samples, against each number of other answers; `beside` adds columns."""
    rows = []
    for name in names:
        with lzma.open(folder / "long_form" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                for claims, others in _of_samples(row) if of_samples else _of_answer(row):
                    rows += _measure(row, name, claims, others, counts, beside)
    return Claims.of(rows)


def _of_answer(row: dict):
    """The answer's claims and the samples."""
    yield [claim for claim in row["claims"] if claim.get("from_answer", True)], row["samples"]


def _of_samples(row: dict):
    """The claims of each sample with the answer and the other samples. A claim's sample is not published: it is the one with a sentence
    that holds most of its words.
    """
    read = [read_answer(sample, set()) for sample in row["samples"]]
    of: dict[int, list[dict]] = {}
    for claim in row["claims"]:
        if not claim.get("from_answer", True):
            words = read_answer(claim["text"], set()).content
            held = [max(len(words & sentence) for sentence in sample.sentences) for sample in read]
            of.setdefault(int(np.argmax(held)), []).append(claim)
    for i, claims in of.items():
        yield claims, [row["answer"], *row["samples"][:i], *row["samples"][i + 1 :]]


def subject(row: dict) -> str:
    """The question, or the subject of the answer where the prompt is not kept."""
    return row["question"] or re.split(r" (?:\(|was |is )|,", row["answer"])[0]


def _measure(
    row: dict, name: str, claims: list[dict], others: list[str], counts: tuple[int, ...], beside: Beside
) -> Iterator[tuple]:
    further = beside(claims) if claims else None
    if further is None:
        return
    shuffled = random.Random(row["id"]).sample(others, len(others))
    for count in sorted({min(count, len(shuffled)) for count in counts}):
        measured = features(subject(row), [claim["text"] for claim in claims], shuffled[:count])
        for claim, of_claim, more in zip(claims, measured, further, strict=True):
            if claim["label"] is not None:
                figures = (*astuple(of_claim), *more)
                yield figures, claim["label"], f"{name} {row['model']}", row["prompt_id"], count


def fit(features: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """Constant and weights of the logistic."""
    columns = [np.ones(len(correct)), *features.T]
    prior = np.zeros(len(columns))
    return fit_logistic(columns, correct, prior_mean=prior, prior_precision=1e-3).coefficients


def folds(prompts: np.ndarray) -> np.ndarray:
    """The fold of each prompt."""
    return np.array([int(hashlib.sha256(str(p).encode()).hexdigest(), 16) % FOLDS for p in prompts])


def held_out(claims: Claims, further: Claims, *, other_models: bool = False) -> np.ndarray:
    """Each claim's confidence by weights fitted on other prompts, and on further claims of those; `other_models`: of other models than its own only."""
    fold, of_further = folds(claims.prompt), folds(further.prompt)
    model, also_model = models(claims.group), models(further.group)
    confidence = np.zeros(len(fold))
    for k in range(FOLDS):
        for name in set(model) if other_models else {""}:
            seen, also = (fold != k) & (model != name), (of_further != k) & (also_model != name)
            both = claims.where(seen).and_also(further.where(also))
            weights = fit(both.features, both.correct)
            here = (fold == k) & ((model == name) | (not other_models))
            confidence[here] = 1.0 / (1.0 + np.exp(-weights[0] - claims.features[here] @ weights[1:]))
    return confidence


def models(groups: np.ndarray) -> np.ndarray:
    """The model of each group."""
    return np.array([str(group).rpartition(" ")[2] for group in groups])


def keep(file: Path, weights: Mapping[str, float], *, fitted_on: str, **figures: object) -> None:
    """Print weights, and write them with what they were fitted on and how they do; `--check` only prints."""
    rounded = {name: round(float(weight), 4) for name, weight in weights.items()}
    print(rounded)
    if "--check" not in sys.argv:
        fitted = {"weights": rounded, "fitted_on": f"{fitted_on}; no text of them is in here", **figures}
        file.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    claims, further = read(DATA), read(DATA, SETS[:2], of_samples=True)
    confidence = held_out(claims, further)
    table = {}
    for group in sorted(set(claims.group)):
        by_count = {}
        for count in sorted(set(claims.count[claims.group == group])):
            chosen = (claims.group == group) & (claims.count == count)
            by_count[int(count)] = round(float(auroc(confidence[chosen], claims.correct[chosen])), 3)
        table[group] = by_count
        print(f"{group:48} AUROC by number of other answers {by_count}")
    both = claims.and_also(further)
    keep(
        WEIGHTS,
        dict(zip(("constant", *NAMES), fit(both.features, both.correct), strict=True)),
        fitted_on="judged claims of " + ", ".join(SETS),
        claims=int((both.count == 9).sum()),
        auroc_on_other_prompts=table,
    )


if __name__ == "__main__":
    main()
