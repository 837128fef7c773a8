"""The evidence's part on rewriting."""

from __future__ import annotations

import asyncio
import os
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks import ROOT
from benchmarks.evidence.editors import Tried, replay
from benchmarks.evidence.rewriting import (
    SEED,
    Listener,
    hedged_part,
    interval,
    lost_facts,
    measure,
    summary,
    template_ms,
)
from benchmarks.performance.first_token import measure as first_token

ANSWERS, EMBEDDED, ROUNDS = 2000, 500, 200
PICTURE = ROOT / "docs" / "evidence" / "rewriting.svg"


def section(data: Path) -> str:
    """Recompute everything; about three minutes, most of them the embedded model's. The editors' replies were drawn once."""
    cases, listener = measure(data, ANSWERS, EMBEDDED), Listener(data)
    figures = summary(cases, listener)
    alone = template_ms(cases)
    _draw(figures["pairs"])
    low, high = figures["spearman interval"]
    asserting, status = figures["asserting"], figures["status"]
    refused = ", ".join(f"{name} {count}" for name, count in figures["refused"].items()) or "none"
    fresh = sum(case.source == "embedded" for case in cases)
    return f"""## Rewriting

{figures["answers"] - fresh} recorded answers of {len({case.source for case in cases}) - 1} sets and {fresh} drawn from the embedded model for this page; each was
worded at a target of its own, means even over [.02, .98], concentrations 4, 8 and 16, by the template rewriter with its guard. {figures["no assertion"]}
answers assert nothing (refusals, questions back) and are left alone; the figures are of the other {asserting}.

| | |
|---|---|
| Facts lost or added (numbers, names, long words; a check apart from the guard) | {figures["facts lost"]} of {asserting} |
| Rewriting twice gives another text than once | {figures["not idempotent"]} of {asserting} |
| Spearman, target mean against confidence perceived by an independent reader | **{figures["spearman"]:.3f}** [{low:.3f}, {high:.3f}] |
| mean absolute difference of the two | {figures["mean error"]:.3f} |
| Spearman with the guard's own reader (flatters itself) | {figures["spearman guard"]:.3f} |
| mean W1 of that reading to the target; of the nearest hedge to the target | {figures["w1 guard"]:.3f}; {figures["w1 best"]:.3f} |
| hedged / plain / unhedged | {" / ".join(f"{status.get(name, 0)} ({status.get(name, 0) / asserting:.2%})" for name in ("hedged", "plain", "unhedged"))} |
| refused on the way, then worded with another hedge or left | {refused} |
| different hedges used | {figures["wordings"]} |
| template alone, median and 95th percentile | {alone[0]:.2f} ms, {alone[1]:.2f} ms |
| whole step with guard and reader, median and 95th percentile | {figures["median ms"]:.2f} ms, {figures["p95 ms"]:.2f} ms |

The paper reports Spearman above .9 for its editor, a model of 20 billion parameters, read by other models (RALC D.8); answers, targets
and readers differ, so the two are not one scale. The independent reader is fitted on people's scores of phrases other than the one
it reads, with the features of the lexicon's reader and none of its weights or entries; on single sentences with phrases that it had not met
its correlation with people is {listener.held_out():.3f}, scores that are noisy themselves. Interval: 95 % bootstrap over answers.
Times are of one thread of {os.cpu_count()} shared cores.

![Target and perceived confidence](rewriting.svg)

{editors(listener)}

{streams()}"""


def editors(listener: Listener) -> str:
    """What a live model makes of the three prompts."""
    measured = asyncio.run(replay())
    rows = [_editor(name, tried, listener) for name, tried in measured.items()]
    reasons = {
        name: Counter(
            attempt.partition(":")[2] for one in tried for attempt in one.case.done.attempts if attempt.startswith(name)
        )
        for name, tried in measured.items()
    }
    why = "; ".join(
        f"`{name}`: " + ", ".join(f"{reason} {count}" for reason, count in counts.most_common())
        for name, counts in reasons.items()
    )
    return f"""### Editors with a live model

{max(map(len, measured.values()))} answers (TriviaQA and EVOUNA) reworded by the embedded model, SmolLM2-135M, at temperature 0, with each of the prompts;
`python -m benchmarks.evidence.editors --draw N` draws them, and what it drew is kept beside it. *First reply* is what the model said before any guard.
A model of this size can seldom edit: nearly all it writes is refused, and the template's wording stands. What this shows is that the guard
holds against a bad editor, not how a good one words things.

| | `llm` | `direct_beta` | `hedged_qa` |
|---|---|---|---|
{_transposed(rows)}

Refused, by reason (each attempt counts): {why}."""


def _editor(name: str, tried: Sequence[Tried], listener: Listener) -> dict[str, str]:
    cases = [one.case for one in tried]
    n, rng = len(cases), np.random.default_rng(SEED)
    taken = sum(case.done.rewriter == name for case in cases)
    targets = np.array([case.request.target.mean for case in cases])
    raw = np.column_stack([targets, listener.perceive([one.first or "." for one in tried])])
    final = np.column_stack([targets, listener.perceive([hedged_part(case) for case in cases])])

    def correlation(pairs: Any) -> float:
        if np.ptp(pairs[:, 1]) == 0.0:
            return 0.0  # a reader who perceives the same confidence in all
        return float(spearmanr(pairs[:, 0], pairs[:, 1]).statistic)

    def with_interval(pairs: Any) -> str:
        low, high = interval(pairs, correlation, rng)
        return f"{correlation(pairs):.2f} [{low:.2f}, {high:.2f}]"

    return {
        "answers": f"{n}",
        "taken from the editor": f"{taken} ({taken / n:.0%})",
        "refused twice, the template's wording stands": f"{sum(case.done.rewriter == 'template' for case in cases)}",
        "draft stands, plain or unhedged": f"{sum(case.done.rewriter is None for case in cases)}",
        "facts lost or added in what is served": f"{sum(lost_facts(case) for case in cases)} of {n}",
        "facts lost or added in first replies": f"{sum(_lost(one) for one in tried)} of {n}",
        "Spearman, target against first reply as perceived": with_interval(raw),
        "Spearman, target against what is served as perceived": with_interval(final),
        "ms for the calls of one answer, median, on a machine shared with other work": f"{statistics.median(one.milliseconds for one in tried):,.0f}",
    }


def _lost(one: Tried) -> bool:
    return lost_facts(replace(one.case, done=replace(one.case.done, text=one.first)))


def _transposed(columns: Sequence[dict[str, str]]) -> str:
    return "\n".join(f"| {name} | " + " | ".join(column[name] for column in columns) + " |" for name in columns[0])


def streams() -> str:
    """Time to the first token."""
    measured = first_token(ROUNDS)
    return f"""### First token of a stream

Loopback upstream, the same streamed request in turn, {measured.rounds} rounds: {measured.direct:.2f} ms from the upstream itself, {measured.passed:.2f} ms passed
through (mode off), {measured.append:.2f} ms with `stream: append` (medians). `append` adds {measured.added:.2f} ms to passing through (median of the differences
within a round; 95th percentile {measured.added_p95:.2f} ms); the mark is 5 ms. `python -m benchmarks.performance.first_token`."""


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
            xlim=(0, 1), ylim=(0, 1), xlabel="target mean", ylabel="perceived by the independent reader", aspect="equal"
        )
        axes.legend(frameon=False, loc="upper left")
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(PICTURE, metadata={"Date": None})
        plt.close(figure)
