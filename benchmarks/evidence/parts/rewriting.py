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
from benchmarks.evidence import goals, grades
from benchmarks.evidence.editors import Tried, replay
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from benchmarks.evidence.rewriting import (
    SEED,
    Listener,
    Served,
    correlation,
    hedged_part,
    interval,
    long_times,
    loses_facts,
    lost_facts,
    measure,
    pairs,
    touched_formats,
    touched_languages,
)
from benchmarks.fits import reading
from benchmarks.performance.first_token import ENDPOINTS, differences, percentile
from benchmarks.performance.first_token import measure as first_token
from hedgerow.proxy.lab.rewording import default_reworder

OF_EACH_KIND, ROUNDS = 150, 200
PICTURE = ROOT / "docs" / "evidence" / "rewriting.svg"


def section(data: Path) -> str:
    """Recompute everything but the grades, which were given by reading, and the editors' replies, which were drawn once."""
    listener, reworder = Listener(data), default_reworder()
    rows = grades.load()
    served = measure(data, OF_EACH_KIND)
    formats, languages = touched_formats(reworder), touched_languages(reworder)
    confidences = pairs(served, listener)
    _draw(confidences)
    return "\n\n".join(
        [
            _read(rows),
            _counted(served, confidences, listener, formats, languages),
            editors(listener),
            streams(),
            goals.table(_goals(rows, served, confidences, formats, languages)),
        ]
    )


def _read(rows: Sequence[grades.Row]) -> str:
    """The graded answers."""
    tables = "\n\n".join(
        f"The {name} set, read on {some[0]['read']}:\n\n{grades.table(some, 'kind', lambda row: row['kind'])}"
        for name in dict.fromkeys(row["set"] for row in rows)
        if (some := [row for row in rows if row["set"] == name])
    )
    return f"""## Rewriting

### As a reader grades it

{len(rows)} answers of {len({(row["set"], row["kind"]) for row in rows})} kinds in the manner of chat models, written for this by somebody who had not seen the rules, with confidences from .05 to .95 for
the answer or each of its claims; worded by the local way (no model is called), shuffled with the version before it (the rules at a54e3c49) and graded by readers who had seen
neither rules nor code. A, a careful editor would sign it; B, right but stiff; C, odd or in the wrong place; D, worse than doing nothing; of answers left alone OK, rightly plain; WEAK, a light hedge
would have been right; MISS, sounds sure at .45 or less. *Good* is A, B and OK. Each set is fresh when it is read: what was wrong in one was mended before the next was worded. Writers and readers are language models.

{tables}"""


def _counted(
    served: Sequence[Served], confidences: Any, listener: Listener, formats: Sequence[bool], languages: Sequence[bool]
) -> str:
    """The bulk."""
    rng = np.random.default_rng(SEED)
    low, high = interval(confidences, correlation, rng)
    changed = [one for one in served if one.changed]
    lost = sum(loses_facts(one.row["answer"], one.result.text or "") for one in changed)
    why = Counter(str(one.result.reason) for one in served if not one.changed)
    kinds = [(kind, [one.changed for one in served if one.row["kind"] == kind]) for kind in reading.KINDS]
    lines = "\n".join(
        f"| {kind} | {len(flags)} | {sum(flags)} ({sum(flags) / len(flags):.0%}) |" for kind, flags in kinds if flags
    )
    times, rewrite = [one.milliseconds for one in served], long_times(served)
    return f"""### Counted

{len(served)} further answers of the same sources, at most {OF_EACH_KIND} of a kind, the same way.

| kind | answers | changed |
|---|--:|--:|
{lines}

Left alone because: {", ".join(f"`{reason}` {count}" for reason, count in why.most_common())}.

| | |
|---|---|
| Facts lost or added (numbers, names, long words; a check apart from the guard) | {lost} of {len(changed)} changed |
| Replies in formats that programs read, changed | {sum(formats)} of {len(formats)} |
| Answers in languages without hedges, changed | {sum(languages)} of {len(languages)} |
| Spearman, target against confidence perceived by an independent reader, where English was hedged (n = {len(confidences)}) | **{correlation(confidences):.3f}** [{low:.3f}, {high:.3f}] |
| mean absolute difference of the two | {float(np.abs(confidences[:, 0] - confidences[:, 1]).mean()):.3f} |
| the whole way from a known confidence, median and 95th percentile | {statistics.median(times):.2f} ms, {float(np.quantile(times, 0.95)):.2f} ms |
| the same for answers of eight to twelve sentences (n = {len(rewrite)}) | {statistics.median(rewrite):.2f} ms, {float(np.quantile(rewrite, 0.95)):.2f} ms |

The independent reader is fitted on people's scores of phrases other than the one
it reads, with the features of the lexicon's reader and none of its weights or entries; on single sentences with phrases that it had not met
its correlation with people is {listener.held_out():.3f}, scores that are noisy themselves. Interval: 95 % bootstrap over wordings.
Times are processor time, on {os.cpu_count()} cores shared with other work.

![Target and perceived confidence](rewriting.svg)"""


def _goals(
    rows: Sequence[grades.Row],
    served: Sequence[Served],
    confidences: Any,
    formats: Sequence[bool],
    languages: Sequence[bool],
) -> list[Goal]:
    last = [row for row in rows if row["set"] == rows[-1]["set"]]
    low, high = interval(confidences, correlation, np.random.default_rng(SEED))
    times = long_times(served)
    quick = interval(times, np.median, np.random.default_rng(SEED))
    missed = grades.share(sum(row["grade"] == "MISS" for row in last), sum(row["confidence"] <= 0.45 for row in last))
    spearman = Estimate(correlation(confidences), low, high, len(confidences))
    return [
        _share("local way, last set read: good (A, B, OK) >= 80 %", grades.good(last), 0.8, at_least=True),
        _share("the same: A of changed >= 50 %", grades.of_changed(last, "A"), 0.5, at_least=True),
        _share("the same: C of changed <= 10 %", grades.of_changed(last, "C"), 0.1),
        _share("the same: D of changed <= 2 %", grades.of_changed(last, "D"), 0.02),
        _share("the same: MISS of those at .45 or less <= 15 %", missed, 0.15),
        _none("replies in formats that programs read, changed: none", formats),
        _none("answers in languages without hedges, changed: none", languages),
        Goal("Spearman of target and perceived confidence >= .95 where hedged", spearman, 0.95, at_least=True),
        Goal(
            "ms of processor time for an answer of ten sentences <= 5 (median)",
            Estimate(float(np.median(times)), *quick, len(times)),
            5.0,
            spec=".1f",
        ),
    ]


def _share(text: str, stands: Estimate, limit: float, *, at_least: bool = False) -> Goal:
    return Goal(text, stands, limit, at_least=at_least, spec=".1%")


def _none(text: str, flags: Sequence[bool]) -> Goal:
    return _share(text, grades.share(sum(flags), len(flags)), 0.0)


def editors(listener: Listener) -> str:
    """What a live model makes of the prompts of the baselines."""
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
    return f"""### The baselines with a live model

{max(map(len, measured.values()))} answers (TriviaQA and EVOUNA) reworded by the embedded model, SmolLM2-135M, at temperature 0, with each of the prompts;
`python -m benchmarks.evidence.editors --draw N` draws them, and what it drew is kept beside it. *First reply* is what the model said before any guard.
A model of this size can seldom edit: nearly all it writes is refused, and the template's wording stands. What this shows is that the guard
holds against a bad editor, not how a good one words things.

| | `direct_beta` | `hedged_qa` |
|---|---|---|
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
    measured = first_token(ROUNDS, ENDPOINTS["chat"])
    direct, passed, append = measured.medians
    added = differences(measured.append, measured.passed)
    return f"""### First token of a stream

Loopback upstream, the same streamed request in turn, {ROUNDS} rounds: {direct:.2f} ms from the upstream itself, {passed:.2f} ms passed
through (mode off), {append:.2f} ms with `stream: append` (medians). `append` adds {statistics.median(added):.2f} ms to passing through (median of the differences
within a round; 95th percentile {percentile(added, 0.95):.2f} ms); the mark is 5 ms. `python -m benchmarks.performance.first_token`."""


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
