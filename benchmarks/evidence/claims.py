"""Judged claims of long answers as the evidence needs them: confidences by weights and maps that saw other prompts, and intervals over prompts."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.evidence.holding_out import LEARNERS, Estimate, bootstrap
from benchmarks.fits.claims import SETS, folds, held_out, read, subject
from hedgerow.calibration.maps.base import apply_map
from hedgerow.calibration.metrics import auroc, generalised_ece
from hedgerow.proxy.clustering.support import WORTH, read_answer

OTHERS = 9
"""Other answers that a claim is held against: those of a route with ten samples."""
COUNTS = tuple(range(1, 11))
RESAMPLES = 300
SERVED = WORTH * OTHERS
"""Observations in each claim's Beta."""
KIND = "platt-bounded"
KINDS = {"graph_uncertainty_bios": "biographies", "graph_uncertainty_popqa": "facts", "wikibio_gpt3": "WikiBio"}
Metric = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Measured:
    """The claims of one set and model against `OTHERS` answers, shape (n,) but for `curve`.

    Attributes:
        raw, mapped: confidence, by weights fitted on other prompts; after a map fitted on other prompts of the same set and model.
        unseen: confidence by weights fitted on other prompts of other models.
        words: share of the claim's words that the others hold, the plainest figure.
        curve: confidence against each of `COUNTS` other answers, shape (len(COUNTS), n).
        wrongness: how wrong the claim was judged, 0 (right), .5 (minor), 1.
    """

    name: str
    correct: np.ndarray
    prompt: np.ndarray
    raw: np.ndarray
    mapped: np.ndarray
    unseen: np.ndarray
    words: np.ndarray
    curve: np.ndarray
    wrongness: np.ndarray

    @property
    def title(self) -> str:
        """The set and model as tables name them."""
        return in_words(self.name)


def in_words(group: str) -> str:
    """A set and its model as tables name them."""
    kind, model = group.split(" ", 1)
    return f"{KINDS[kind]}, {model}"


def measure(data: Path) -> list[Measured]:
    """Every set and model."""
    claims = read(data, counts=COUNTS)
    further = read(data, SETS[:2], counts=(2, 4, OTHERS), of_samples=True)
    confidence, unseen = held_out(claims, further), held_out(claims, further, other_models=True)
    words, wrongness = _words(data)
    at = claims.count == OTHERS
    measured = []
    for group in sorted(set(claims.group)):
        here = claims.group == group
        chosen = here & at
        curve = np.stack([confidence[here & (claims.count == count)] for count in COUNTS])
        raw, correct, prompt = confidence[chosen], claims.correct[chosen], claims.prompt[chosen]
        of_group = claims.group[at] == group
        mapped = by_other_prompts(raw, correct, prompt)
        of_words = words[of_group], curve, wrongness[of_group]
        measured.append(Measured(group, correct, prompt, raw, mapped, unseen[chosen], *of_words))
    return measured


def by_other_prompts(raw: np.ndarray, correct: np.ndarray, prompt: np.ndarray) -> np.ndarray:
    """Confidences through maps that saw other prompts, by folds."""
    fold, mapped = folds(np.array([f"map:{p}" for p in prompt])), raw.copy()
    for k in set(fold):
        learned = LEARNERS[KIND](raw[fold != k], correct[fold != k]).map
        alpha, beta = apply_map(learned, SERVED * raw[fold == k], SERVED * (1.0 - raw[fold == k]))
        mapped[fold == k] = alpha / (alpha + beta)
    return mapped


def _words(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Share of words and wrongness of every claim, in the order of `read`."""
    shares, wrong = [], []
    for name in SETS:
        with lzma.open(data / "long_form" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                asked = set(read_answer(subject(row), set()).words)
                others = random.Random(row["id"]).sample(row["samples"], len(row["samples"]))[:OTHERS]
                held = [read_answer(other, asked).words for other in others]
                for claim in row["claims"]:
                    if claim["label"] is not None and claim.get("from_answer", True):
                        content = read_answer(claim["text"], asked).content or read_answer(claim["text"], set()).words
                        shares.append(fmean(len(content & words) / max(1, len(content)) for words in held))
                        wrong.append({"minor_inaccurate": 0.5}.get(claim["raw"], 1.0 - claim["label"]))
    return np.array(shares), np.array(wrong)


def by_prompt(values: np.ndarray, correct: np.ndarray, prompts: np.ndarray, metric: Metric) -> Estimate:
    """A metric with an interval over prompts: claims of one answer stand or fall together."""
    rows = [np.flatnonzero(prompts == prompt) for prompt in dict.fromkeys(prompts)]

    def statistic(drawn: list[np.ndarray]) -> float:
        chosen = np.concatenate([rows[i] for i in drawn[0]])
        return float(metric(values[chosen], correct[chosen]))

    estimate = bootstrap([len(rows)], statistic, RESAMPLES)
    return Estimate(estimate.value, estimate.low, estimate.high, len(correct))


def gap(observations: float) -> Metric:
    """Generalised ECE of Betas of so many observations."""
    return lambda mean, correct: float(generalised_ece(mean * observations, (1.0 - mean) * observations, correct))


def ranking(values: np.ndarray, correct: np.ndarray) -> float:
    """AUROC."""
    return float(auroc(values, correct))


def precision_recall(values: np.ndarray, correct: np.ndarray) -> float:
    """Area under the precision-recall curve of finding wrong claims (average precision)."""
    order = np.argsort(values, kind="stable")
    wrong = 1.0 - correct[order]
    precision = np.cumsum(wrong) / np.arange(1, len(wrong) + 1)
    return float((precision * wrong).sum() / wrong.sum())


def passages(of: Measured, wrongness: np.ndarray) -> Estimate:
    """Pearson correlation of mean doubt, as `hedgerow claims` prints it, and mean wrongness of a passage's sentences, passage by passage."""
    names = list(dict.fromkeys(of.prompt))
    doubt = np.array([1.0 - of.raw[of.prompt == name].mean() for name in names])
    wrong = np.array([wrongness[of.prompt == name].mean() for name in names])
    return bootstrap([len(names)], lambda drawn: float(np.corrcoef(doubt[drawn[0]], wrong[drawn[0]])[0, 1]), RESAMPLES)
