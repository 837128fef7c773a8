"""The part of docs/evidence.md on rewriting."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rewriting import Listener, measure, summary, template_ms

ANSWERS, EMBEDDED = 2000, 500
PICTURE = Path(__file__).parent.parent / "docs" / "evidence" / "rewriting.svg"


def section(data: Path) -> str:
    """Recompute everything; about three minutes, most of them the embedded model's."""
    cases, listener = measure(data, ANSWERS, EMBEDDED), Listener(data)
    figures = summary(cases, listener)
    alone = template_ms(cases)
    _draw(figures["pairs"])
    low, high = figures["spearman interval"]
    told, status = figures["asserting"], figures["status"]
    refused = ", ".join(f"{name} {count}" for name, count in figures["refused"].items()) or "none"
    fresh = sum(case.source == "embedded" for case in cases)
    return f"""## Rewriting

{figures["answers"] - fresh} recorded answers of {len({case.source for case in cases}) - 1} sets and {fresh} drawn from the embedded model for this page; each was
worded at a target of its own, means even over [.02, .98], concentrations 4, 8 and 16, by the template rewriter with its guard. {figures["no assertion"]}
answers assert nothing (refusals, questions back) and are left alone; the figures are of the other {told}.

| | |
|---|---|
| Facts lost or added (numbers, names, long words; a check apart from the guard) | {figures["facts lost"]} of {told} |
| Rewriting twice gives another text than once | {figures["not idempotent"]} of {told} |
| Spearman, target mean against confidence heard by an independent reader | **{figures["spearman"]:.3f}** [{low:.3f}, {high:.3f}] |
| mean absolute difference of the two | {figures["mean error"]:.3f} |
| Spearman with the guard's own reader (flatters itself) | {figures["spearman guard"]:.3f} |
| mean W1 of that reading to the target; of the nearest hedge to the target | {figures["w1 guard"]:.3f}; {figures["w1 best"]:.3f} |
| hedged / plain / unhedged | {" / ".join(f"{status.get(name, 0)} ({status.get(name, 0) / told:.2%})" for name in ("hedged", "plain", "unhedged"))} |
| refused on the way, then worded with another hedge or left | {refused} |
| different hedges used | {figures["wordings"]} |
| template alone, median and 95th percentile | {alone[0]:.2f} ms, {alone[1]:.2f} ms |
| whole step with guard and reader, median and 95th percentile | {figures["median ms"]:.2f} ms, {figures["p95 ms"]:.2f} ms |

The paper reports Spearman above .9 for its editor, a model of 20 billion parameters, heard by other models (RALC D.8); answers, targets
and readers differ, so the two are not one scale. The independent reader is fitted on people's scores of phrases other than the one
it hears, with the features of the lexicon's reader and none of its weights or entries; on single sentences with phrases that it had not met
its correlation with people is {listener.held_out():.3f}, scores that are noisy themselves. Interval: 95 % bootstrap over answers.
Times are of one thread of {os.cpu_count()} shared cores.

![Target and heard confidence](evidence/rewriting.svg)"""


def _draw(pairs: Any) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": "rewriting", "font.size": 9}):
        figure, axes = plt.subplots(figsize=(5, 4.6), layout="constrained")
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=1)
        axes.scatter(pairs[:, 0], pairs[:, 1], s=5, alpha=0.35, linewidths=0, color="#2a6f97")
        edges = np.linspace(0, 1, 11)
        which = np.digitize(pairs[:, 0], edges[1:-1])
        middles = [(pairs[which == i, 0].mean(), pairs[which == i, 1].mean()) for i in range(10) if (which == i).any()]
        axes.plot(
            *zip(*middles, strict=True),
            color="#bc4749",
            marker="o",
            markersize=4,
            linewidth=1.5,
            label="mean of each tenth",
        )
        axes.set(
            xlim=(0, 1), ylim=(0, 1), xlabel="target mean", ylabel="heard by the independent reader", aspect="equal"
        )
        axes.legend(frameon=False, loc="upper left")
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(PICTURE, metadata={"Date": None})
        plt.close(figure)
