"""Evidence for the equivalence, the signals and adaptive sampling: the tables of docs/evidence.md."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.equivalence_data import SAMPLE_SETS, Row, contains, evouna, exact, is_development, read
from benchmarks.stopping import table
from calibration import Beta
from calibration.fitting import fit_moments
from proxy.equivalence.embeddings import OnnxEncoder
from proxy.equivalence.prior import EmbeddingPrior
from proxy.equivalence.rules import cluster_by_rules, judge_pair
from proxy.signals.combine import combine, fit_weights, logit_of

PAIRS = Path(__file__).parent.parent / "tests" / "data" / "minimal_pairs.jsonl"
Clusters = Sequence[Sequence[int]]


def _scores(called: Sequence[bool], rows: Sequence[Row]) -> str:
    right = np.array([row["correct"] for row in rows])
    call = np.array(called, bool)
    hit = int((call & right).sum())
    precision, recall = hit / call.sum(), hit / right.sum()
    rng = np.random.default_rng(0)
    draws = [rng.integers(0, len(rows), len(rows)) for _ in range(500)]
    f1 = [2 * (call[d] & right[d]).sum() / (call[d].sum() + right[d].sum()) for d in draws]
    low, high = np.quantile(f1, [0.025, 0.975])
    return f"{len(rows)} | {precision:.3f} | {recall:.3f} | {2 * hit / (call.sum() + right.sum()):.3f} ({low:.3f}-{high:.3f})"


def _layered(row: Row, prior: EmbeddingPrior) -> bool:
    judged = [judge_pair(row["question"], gold, row["answer"]) for gold in row["gold"]]
    if any(j.same for j in judged):
        return True
    undecided = [(i, len(judged)) for i, j in enumerate(judged) if j.same is None]
    found = prior.weigh(row["question"], [*row["gold"], row["answer"]], undecided) if undecided else []
    return any(j.same for j in found)


def verdicts(data: Path) -> str:
    """Against people's verdicts."""
    prior = EmbeddingPrior(OnnxEncoder(threads=2))
    methods: dict[str, Callable[[Row], bool]] = {
        "exact match": lambda r: any(exact(g) == exact(r["answer"]) for g in r["gold"]),
        "containment": lambda r: any(contains(g, r["answer"]) or contains(r["answer"], g) for g in r["gold"]),
        "rules": lambda r: any(judge_pair(r["question"], g, r["answer"]).same for g in r["gold"]),
        "rules and embedding prior": lambda r: _layered(r, prior),
    }
    lines = ["| answers | method | n | precision | recall | F1 (95 % interval) |", "|---|---|---|---|---|---|"]
    short = evouna(data)
    sets = {
        "<= 8 words, development": [r for r in short if is_development(r)],
        "<= 8 words, held out": [r for r in short if not is_development(r)],
    }
    for name, rows in sets.items():
        lines += [
            f"| {name} | {method} | {_scores([call(r) for r in rows], rows)} |" for method, call in methods.items()
        ]
    every = [r for r in evouna(data, words=None) if not is_development(r)]
    lines += [
        f"| all lengths, held out | {m} | {_scores([methods[m](r) for r in every], every)} |"
        for m in ("exact match", "containment", "rules")
    ]
    return "\n".join(lines)


def minimal_pairs() -> str:
    """Share of pairs called as written, by family."""
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    lines = ["| family | pairs | of them same | called right by rules |", "|---|---|---|---|"]
    for family in dict.fromkeys(r["family"] for r in rows):
        part = [r for r in rows if r["family"] == family]
        right = sum(bool(judge_pair(r["question"], r["a"], r["b"]).same) == r["same"] for r in part)
        lines.append(f"| {family} | {len(part)} | {sum(r['same'] for r in part)} | {right / len(part):.3f} |")
    return "\n".join(lines)


def _exact_clusters(row: Row) -> Clusters:
    members: dict[str, list[int]] = {}
    for i, sample in enumerate(row["samples"]):
        members.setdefault(exact(sample["text"]), []).append(i)
    return sorted(members.values(), key=lambda c: (-len(c), c[0]))


def _surface(row: Row, i: int) -> bool:
    sample = row["samples"][i]
    return bool(sample["contains"]) if "contains" in sample else bool(sample.get("correct", row["label"]))


def _label(row: Row, cluster: Sequence[int], *, whole: bool) -> bool:
    """Surface label of the cluster's first sample, or of any of its samples."""
    return any(_surface(row, i) for i in cluster) if whole else _surface(row, cluster[0])


def auroc(rows: Sequence[Row], clusters: Sequence[Clusters], *, whole: bool) -> float:
    """AUROC of the largest cluster's share."""
    right = [_label(r, c[0], whole=whole) for r, c in zip(rows, clusters, strict=True)]
    return float(roc_auc_score(right, [len(c[0]) / len(r["samples"]) for r, c in zip(rows, clusters, strict=True)]))


def sample_sets(data: Path) -> str:
    lines = [
        "| set | n | exact, draft | ours, draft | exact, cluster | ours, cluster | ms per question (median) |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, path in SAMPLE_SETS.items():
        rows = read(data / path)
        theirs = [_exact_clusters(r) for r in rows]
        ours, spent = [], []
        for row in rows:
            start = time.perf_counter()
            ours.append(cluster_by_rules(row["question"], [s["text"] for s in row["samples"]]).clusters)
            spent.append(1000 * (time.perf_counter() - start))
        figures = [auroc(rows, c, whole=w) for w in (False, True) for c in (theirs, ours)]
        lines.append(
            f"| {name} | {len(rows)} | " + " | ".join(f"{f:.3f}" for f in figures) + f" | {np.median(spent):.2f} |"
        )
    return "\n".join(lines)


def combined(data: Path) -> str:
    """Semantic, token and both on gemma2; weights from one half of the questions, figures from the other, both ways, ten splits."""
    rows = read(data / SAMPLE_SETS["gemma2"])
    signals, right = [], []
    for row in rows:
        cluster = cluster_by_rules(row["question"], [s["text"] for s in row["samples"]]).clusters[0]
        scores = [float(np.exp(min(row["samples"][i]["logprob_mean"], 0.0))) for i in cluster]
        signals.append(
            {"semantic": Beta.floored(len(cluster), len(row["samples"]) - len(cluster)), "token": fit_moments(scores)}
        )
        right.append(_surface(row, cluster[0]))
    y, found = np.array(right), []
    for seed in range(10):
        half = np.random.default_rng(seed).permutation(len(rows)) % 2
        for held in (0, 1):
            fit = np.flatnonzero(half != held)
            weights = fit_weights([signals[i] for i in fit], [right[i] for i in fit])
            test = np.flatnonzero(half == held)
            means = [[logit_of(signals[i][s]) for i in test] for s in ("semantic", "token")]
            found.append(
                [roc_auc_score(y[test], m) for m in (*means, [combine(signals[i], weights).mean for i in test])]
            )
    semantic, token, both = np.mean(found, axis=0)
    return f"| semantic | token | both |\n|---|---|---|\n| {semantic:.3f} | {token:.3f} | {both:.3f} |"


def section(data: Path) -> str:
    """The part on clusters, signals and stopping."""
    return f"""## Same meaning, signals, stopping

### Against people's verdicts (EVOUNA, Natural Questions, any gold answer)

Rules were written and the prior was fitted on even questions; odd ones are held out.

{verdicts(data)}

### Minimal pairs

Written with the rules, so no estimate of how they do on new pairs. Undecided counts as different. Paraphrases are for a judge.

{minimal_pairs()}

### AUROC of the largest cluster's share (rules alone)

"Draft": the first sample of the largest cluster holds the gold answer on the surface. "Cluster": any sample of it does. The first calls
"Doctor Zhivago" wrong where the gold answer is "Dr Zhivago", so it punishes the merge of the two; the second favours larger
clusters, so neither settles the question alone. Times are wall clock on a machine in use. Maths sets label the question, not the sample.

{sample_sets(data)}

### Two signals together (gemma2, held-out AUROC, surface label of the draft)

{combined(data)}

### Adaptive sampling

llama13b:

{table(data, "llama13b")}

gemma2 (semantic signal alone):

{table(data, "gemma2")}
"""
