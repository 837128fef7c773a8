"""Evidence for answers in full sentences and for claims of long answers: what chat models really say."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.evidence.goals import Goal, table
from benchmarks.evidence.holding_out import Estimate, bootstrap
from benchmarks.fits.claims import SETS, Claims, held_out, read
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.calibration.metrics import auroc, generalised_ece
from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.clustering.support import agreement_with
from hedgerow.proxy.signals.semantic import SENTENCE_WORDS

OTHERS = 9
"""Other answers that a claim is held against: those of a route with ten samples."""
RESAMPLES = 300


def _measured(claims: Claims, confidence: np.ndarray, group: str, count: int) -> tuple[np.ndarray, ...]:
    chosen = (claims.group == group) & (claims.count == count)
    return confidence[chosen], claims.correct[chosen], claims.prompt[chosen]


def _by_prompt(values: np.ndarray, correct: np.ndarray, prompts: np.ndarray, metric: Callable[..., float]) -> Estimate:
    """A metric with an interval over prompts: claims of one answer stand or fall together."""
    rows = [np.flatnonzero(prompts == prompt) for prompt in dict.fromkeys(prompts)]

    def statistic(drawn: list[np.ndarray]) -> float:
        chosen = np.concatenate([rows[i] for i in drawn[0]])
        return float(metric(values[chosen], correct[chosen]))

    estimate = bootstrap([len(rows)], statistic, RESAMPLES)
    return Estimate(estimate.value, estimate.low, estimate.high, len(correct))


def _gece(count: int) -> Callable[[np.ndarray, np.ndarray], float]:
    return lambda mean, correct: float(generalised_ece(mean * count, (1.0 - mean) * count, correct))


def claims_table(claims: Claims, further: Claims) -> tuple[str, list[Goal]]:
    """AUROC and calibration of single claims, by set and model; weights fitted on other prompts."""
    confidence = held_out(claims, further)
    lines = [
        "| claims of | n | right | AUROC | generalised ECE | AUROC at 2 / 4 / 9 other answers |",
        "|---|---|---|---|---|---|",
    ]
    goals = []
    for group in sorted(set(claims.group)):
        value, correct, prompts = _measured(claims, confidence, group, OTHERS)
        ranked = _by_prompt(value, correct, prompts, auroc)
        gap = _by_prompt(value, correct, prompts, _gece(OTHERS))
        curve = [float(auroc(*_measured(claims, confidence, group, n)[:2])) for n in (2, 4, OTHERS)]
        lines.append(
            f"| {group.replace('_', ' ')} | {len(correct):,} | {correct.mean():.0%} | {ranked} | {gap} | "
            + " / ".join(f"{value:.3f}" for value in curve)
            + " |"
        )
        if group.startswith("graph_uncertainty_bios"):
            name = group.split(" ", 1)[1]
            goals.append(
                Goal(f"biographies by {name}: AUROC without a model >= .80", ranked, 0.80, True, "a judge that reads")
            )
    return "\n".join(lines), goals


def sentences_table(data: Path) -> tuple[str, list[Goal]]:
    """Full-sentence answers: the share of the largest cluster beside graded agreement."""
    with gzip.open(
        data / "samples" / "hotpot_llama31_8b" / "hotpot_llama31_8b.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        rows = [row for line in lines if (row := json.loads(line)).get("gold")]
    shares, graded, correct, long = [], [], [], []
    for row in rows:
        texts = [sample["text"] for sample in row["samples"]]
        clusters = cluster_by_rules(row["question"], texts)
        draft = texts[clusters.draft_index]
        others = [text for i, text in enumerate(texts) if i != clusters.draft_index]
        share = len(clusters.largest) / len(texts)
        is_sentence = len(draft.split()) > SENTENCE_WORDS
        agreement = agreement_with(row["question"], draft, others)
        agreeing = share if agreement is None else (1.0 + sum(agreement)) / len(texts)
        shares.append(share)
        graded.append(agreeing if is_sentence else share)
        correct.append(float(row["samples"][clusters.draft_index]["contains"]))
        long.append(is_sentence)
    y, chosen = np.array(correct), np.array(long)
    out = ["| answers | n | right | largest cluster's share | as served |", "|---|---|---|---|---|"]
    goals = []
    for name, rows_ in (("all", np.ones(len(y), bool)), (f"of more than {SENTENCE_WORDS} words", chosen)):
        figures = []
        for values in (np.array(shares), np.array(graded)):
            figures.append(_estimate(values[rows_], y[rows_]))
        out.append(f"| {name} | {rows_.sum()} | {y[rows_].mean():.0%} | {figures[0]} | {figures[1]} |")
        if name == "all":
            goals.append(
                Goal(
                    "full-sentence answers: AUROC without a model >= .82", figures[1], 0.82, True, "a judge that reads"
                )
            )
    return "\n".join(out), goals


def _estimate(values: np.ndarray, correct: np.ndarray) -> Estimate:
    def statistic(drawn: list[np.ndarray]) -> float:
        if len(set(correct[drawn[0]])) < 2:
            raise NotEnoughData("one outcome only")
        return float(auroc(values[drawn[0]], correct[drawn[0]]))

    return bootstrap([len(correct)], statistic, RESAMPLES)


def section(data: Path) -> str:
    """The part on sentences, lists and paragraphs."""
    claims = read(data, counts=(2, 4, OTHERS))
    of_claims, claim_goals = claims_table(claims, read(data, SETS[:2], of_samples=True))
    of_sentences, sentence_goals = sentences_table(data)
    return f"""## Sentences and claims

### Single claims of long answers

Judged claims (long_form/) against {OTHERS} other answers to the same prompt; AUROC tells right claims from wrong ones (.5 is a coin). The weights of
the logistic were fitted on other prompts of the same sets, by {5} folds of prompts; intervals draw prompts. The features were chosen with all of these
sets in sight, so the figures are slightly kind. No model is asked.

{of_claims}

### Answers in a full sentence

HotpotQA questions to llama-3.1-8b, five samples (samples/hotpot_llama31_8b, the questions with a gold answer): does the draft contain it? The form of
the graded count and its limit of {SENTENCE_WORDS} words were chosen on these answers, so the second column is kind; the first is what the partition alone gives.

{of_sentences}

{table([*claim_goals, *sentence_goals])}
"""
