"""The evidence's calibration part: both Platt maps on recorded answers, fitted on the first 30 %, and the distance of Betas."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import ROOT
from hedgerow.calibration import quantile_nodes, w1_exact
from hedgerow.calibration.evaluation import Evaluation, evaluate
from hedgerow.calibration.metrics import bootstrap_interval
from hedgerow.calibration.metrics.binned import generalised_reliability
from hedgerow.calibration.metrics.table import METRICS
from hedgerow.calibration.wasserstein import w1_nodes
from hedgerow.proxy.clustering.clusterer import RuleClusterer
from hedgerow.proxy.lab.datasets import BadRow
from hedgerow.proxy.lab.measuring import ExactClusterer, Records, measure
from hedgerow.proxy.lab.rows import Row, parse_row, read_rows
from hedgerow.proxy.protocols import Clusterer, ConfidenceSignal
from hedgerow.proxy.signals.semantic import SemanticSignal
from hedgerow.proxy.signals.token import TokenSignal

SETS = {
    "TriviaQA, LLaMA-13B": "triviaqa_llama13b/samples.jsonl.gz",
    "TriviaQA, gemma-2-2b": "triviaqa_gemma2_2b/train.jsonl.gz",
    "SimpleQA, gpt-5-mini": "simpleqa_gpt5mini/simpleqa_gpt5mini.jsonl.gz",
    "Maths, Llama-3.1-8B": "answerable_math/llama.jsonl.gz",
    "Maths, Mistral-7B": "answerable_math/mistral.jsonl.gz",
    "NQ-open, Qwen2.5-1.5B": "nq_qwen25_1_5b/nq_open.jsonl",
}
RESAMPLES = 200
KINDS = {
    "platt": "The paper's map (`--map platt`)",
    "platt-bounded": "What `hedgerow fit` learns (`--map platt-bounded`)",
}
FIGURE = ROOT / "docs" / "evidence" / "reliability.svg"


def _graded(path: Path) -> Iterator[tuple[int, Row | BadRow]]:
    """The attempted answers (grade A or B) with the cluster ids that the set gives."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, row in enumerate(map(json.loads, lines), start=1):
            if row["vanilla"]["grade"] in ("A", "B"):
                yield number, parse_row({"cluster_ids": row["semantic_ids"], "label": row["vanilla"]["grade"] == "A"})


def _records(path: Path, equivalence: Clusterer, signal: ConfidenceSignal) -> Records:
    rows = _graded(path) if "gpt5mini" in path.name else read_rows(path)
    return asyncio.run(measure(rows, equivalence=equivalence, signal=signal))


def _pair(evaluation: Evaluation, metric: str) -> str:
    return f"{evaluation.before[metric]:.3f} → {evaluation.after[metric]:.3f}"


def _with_interval(evaluation: Evaluation, metric: str) -> str:
    columns = (*evaluation.calibrated, evaluation.correct)
    rng = np.random.default_rng(0)
    interval = bootstrap_interval(METRICS[metric], *columns, rng=rng, resamples=RESAMPLES)
    return f"{_pair(evaluation, metric)} ({interval.low:.3f} to {interval.high:.3f})"


def _evaluate(records: Records, kind: str) -> Evaluation:
    return evaluate(records.alpha, records.beta, records.correct, kind=kind, folds=0)


def _cases(data: Path) -> Iterator[tuple[str, str, str, Records]]:
    """Set, signal, clusters and records of every table row."""
    for name, file in SETS.items():
        path = data / "samples" / file
        if "gpt5mini" in file:
            yield name, "semantic", "given", _records(path, ExactClusterer(), SemanticSignal())
            continue
        yield name, "semantic", "exact", _records(path, ExactClusterer(), SemanticSignal())
        yield name, "semantic", "rules", _records(path, RuleClusterer(), SemanticSignal())
        if "gemma2" in file:
            yield name, "token", "rules", _records(path, RuleClusterer(), TokenSignal())


def _nodes_table() -> list[str]:
    """Worst error of quantile nodes on 2,000 random pairs of two kinds."""
    rows = [
        "| concentration 0.5 to 500 drawn | 64 nodes, worst error | Monte Carlo with 1,000 samples, worst of 200 |",
        "|---|---|---|",
    ]
    for name, logarithmic in (("evenly", False), ("evenly in its logarithm", True)):
        rng = np.random.default_rng(11)
        k = (
            np.exp(rng.uniform(np.log(0.5), np.log(500), (2, 2000)))
            if logarithmic
            else rng.uniform(0.5, 500, (2, 2000))
        )
        mean, edge, side = rng.uniform(0, 1, (2, 2000)), rng.random((2, 2000)) < 0.25, rng.random((2, 2000)) < 0.5
        a = np.where(edge, np.where(side, 1e-6, k), np.maximum(mean * k, 1e-6))
        b = np.where(edge, np.where(side, k, 1e-6), np.maximum((1 - mean) * k, 1e-6))
        exact, nodes = w1_exact(a[0], b[0], a[1], b[1]), quantile_nodes(a, b)
        drawn = [np.sort(rng.beta(a[:, i, None], b[:, i, None], (2, 1000)), axis=1) for i in range(200)]
        sampled = np.array([np.abs(pair[0] - pair[1]).mean() for pair in drawn])
        error, chance = np.abs(w1_nodes(nodes[0], nodes[1]) - exact).max(), np.abs(sampled - exact[:200]).max()
        rows.append(f"| {name} | {error:.1e} | {chance:.3f} |")
    return rows


def _draw(cases: list[tuple[str, str, str, Records]]) -> None:
    """Reliability before and after the map that `hedgerow fit` learns: one panel a set, distributions counted in every bin by their mass there."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "hedgerow"  # the same picture from the same figures
    from matplotlib import pyplot as plt

    shown = [
        (name, records) for name, signal, clusters, records in cases if signal == "semantic" and clusters != "exact"
    ]
    figure, grid = plt.subplots(2, 3, figsize=(9, 6.2), sharex=True, sharey=True)
    for axes, (name, records) in zip(grid.flat, shown, strict=True):
        e = _evaluate(records, "platt-bounded")
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--")
        for (alpha, beta), label, colour in ((e.raw, "before", "#d1495b"), (e.calibrated, "after", "#2a6f97")):
            table = generalised_reliability(alpha, beta, e.correct)
            held = table.weight >= 0.01 * e.correct.size
            x, y = table.confidence[held], table.accuracy[held]
            spread = np.abs(np.vstack([table.accuracy_low[held], table.accuracy_high[held]]) - y)
            axes.errorbar(
                x, y, yerr=spread, marker="o", markersize=3.5, linewidth=1.2, elinewidth=0.7, color=colour, label=label
            )
        axes.set_title(f"{name}, n = {e.correct.size}", fontsize=9)
        axes.set(xlim=(0, 1), ylim=(0, 1))
    grid[0, 0].legend(frameon=False, fontsize=8, loc="upper left")
    figure.supxlabel("mean confidence in the bin", fontsize=9)
    figure.supylabel("share of correct answers, 95 % interval", fontsize=9)
    figure.tight_layout()
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})
    plt.close(figure)


def section(data: Path) -> str:
    """The whole part."""
    lines = [
        "## Calibration",
        "",
        "As `hedgerow evaluate` measures it: fitted on the first 30 % of each set in file order, measured on the rest. Generalised ECE (10 bins) and mean Faithfulness"
        f" Divergence in nats, before → after; in brackets the 95 % bootstrap interval of the latter ({RESAMPLES} resamples). Every map on every set, with held-out folds:"
        " signal space.",
    ]
    cases = list(_cases(data))
    _draw(cases)
    lines += [
        "",
        "![Reliability before and after](reliability.svg)",
        "",
        "Reliability of the semantic signal on the held-out part, bins that hold 1 % of the mass at least: on the dashed line, an answer"
        " said with 70 % confidence is right seven times in ten.",
    ]
    for kind, title in KINDS.items():
        lines += [
            "",
            f"### {title}",
            "",
            "| answers | signal | clusters | n | accuracy | AUROC | generalised ECE | Faithfulness Divergence | smooth ECE |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for name, signal, clusters, records in cases:
            e = _evaluate(records, kind)
            lines.append(
                f"| {name} | {signal} | {clusters} | {e.correct.size} | {e.correct.mean():.3f} | {e.before['auroc']:.3f} |"
                f" {_with_interval(e, 'generalised_ece')} | {_with_interval(e, 'faithfulness_divergence')} | {_pair(e, 'smooth_ece')} |"
            )
    lines += [
        "",
        "### 1-Wasserstein distance by 64 quantile nodes against the exact integral, 2,000 pairs",
        "",
        *_nodes_table(),
    ]
    return "\n".join(lines)
