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
from benchmarks.fits.fresh import UNSHIPPED
from benchmarks.performance.first_token import ENDPOINTS, differences, percentile
from benchmarks.performance.first_token import measure as first_token
from hedgerow.proxy.lab.rewording import Reworder, default_reworder

OF_EACH_KIND, ROUNDS = 150, 200
SETS = tuple(f"fresh-{number}" for number in range(1, 15))
"""Fresh answers, in the order in which they were read; of some of the last three the grades alone are kept."""
LAST = SETS[-3:]
PICTURE = ROOT / "docs" / "evidence" / "rewriting.svg"


def section(data: Path) -> str:
    """Recompute everything but the grades, which were given by reading, and the editors' replies, which were drawn once."""
    listener, reworder = Listener(data), default_reworder()
    rows, fresh, traps = (_now(file, reworder) for file in (reading.FILE, reading.FRESH, reading.ADVERSARIAL))
    served = measure(data, OF_EACH_KIND)
    formats, languages = touched_formats(reworder), touched_languages(reworder)
    confidences = pairs(served, listener)
    _draw(confidences)
    return "\n\n".join(
        [
            _read(rows, fresh, traps),
            _counted(served, confidences, listener, formats, languages),
            editors(listener),
            streams(),
            goals.table(_goals(rows, fresh, traps, served, confidences, formats, languages)),
        ]
    )


def _now(file: Path, reworder: Reworder) -> list[reading.Row]:
    rows = reading.load(file)
    return grades.now(rows, asyncio.run(reading.reworded(rows, reworder)))


def _fresh_line(fresh: Sequence[reading.Row], half: str) -> str:
    """One row of the table of fresh answers: how many, how many changed, and the grades when first read and now."""
    some = [row for row in fresh if row["half"] == half]
    changed = sum(row["mark"] != grades.LEFT for row in some)
    first, now = (
        " / ".join(f"{grades.graded(some, g, key):.0%}" for g in grades.GRADES) for key in ("first_grade", "mark")
    )
    return f"| {half} | {len(some)} | {changed} | {first} | {now} |"


def _marked_first(fresh: Sequence[reading.Row], halves: Sequence[str]) -> list[reading.Row]:
    """The rows of these sets with the grades that they first got."""
    every = [*fresh, *reading.load(UNSHIPPED)]
    return [row | {"mark": row.get("first_grade", grades.LEFT)} for row in every if row["half"] in halves]


def _read(rows: Sequence[reading.Row], fresh: Sequence[reading.Row], traps: Sequence[reading.Row]) -> str:
    """The graded answers."""
    report = [row for row in rows if row["half"] == "report"]
    tune = [row for row in rows if row["half"] == "tune"]
    before = {grade: grades.graded(tune, grade, "before") for grade in grades.GRADES}
    after = {grade: grades.graded(tune, grade) for grade in grades.GRADES}
    sets = "\n".join(_fresh_line(fresh, half) for half in SETS)
    compared = "\n".join(
        f"| {grade} | {before[grade]:.0%} | {after[grade]:.0%} | {grades.graded(report, grade):.0%} |"
        for grade in grades.GRADES
    )
    return f"""## Rewriting

### As a reader grades it

{len(rows)} real answers of {len({row["source"] for row in rows})} sources with confidences for the answer and each of its claims, worded by a route with its defaults and read one by one: A, a careful
editor might have written it; B, understandable but stilted; C, odd or ungrammatical; D, worse than doing nothing. An answer that is left alone has no grade. One reader. A grade
counts only while the text is the one that was graded (`python -m benchmarks.fits.reading` shows what changed since). Half of the answers, by prompt, were
shown to those who wrote the wording; the other half was read last.

The half that nobody had seen:

{grades.table(report, "kind", lambda row: row["kind"])}

{grades.table(sorted(report, key=lambda row: row["target"]), "target", lambda row: f"{row['target']:.2f}")}

Of the texts that were changed, with the share when the set was drawn:

| grade | before, tuning half (n = {before["A"].n}) | now, tuning half (n = {after["A"].n}) | now, the other half (n = {grades.graded(report, "A").n}) |
|---|---|---|---|
{compared}

{len(SETS)} sets of fresh answers, drawn when the rules were written. From what was wrong in one something was learnt before the next was read, so each is fresh when first read, and the last alone has
had nothing mended for it before the figures beside it. The first two hold more questions of fact; from the third on all sources are in them, replies of models from before chat
(BEGIN) and answers of an 8B model to questions of two steps (HotpotQA) among them, many of them broken off or taken back in the same breath; targets .1 to .95. The long technical prompts are nearly used up: \
the last sets hold few or none; the thirteenth has targets of .3 to .85 alone, where a hedge goes into a sentence or a note follows, and the fourteenth answers to TruthfulQA, whose questions have false premises. From the fourth on `python -m benchmarks.fits.fresh` draws them, of prompts in no other set; from the eighth on \
other models' answers to prompts that are in one come in. Of the last three, drawn by source, some may not be copied: they count below the table alone:

| set | answers | changed now | A / B / C / D when first read | A / B / C / D now |
|---|--:|--:|---|---|
{sets}

The last three by kind, when first read:

{grades.table(_marked_first(fresh, LAST), "kind", lambda row: row["kind"])}

The fourth to the last by source, when first read:

{grades.table(sorted(_marked_first(fresh, SETS[3:]), key=lambda row: row["source"]), "source", lambda row: row["source"])}

{len({row["id"] for row in traps})} short answers of our own, each with one thing that invites a mistake (a condition, a negation, a quotation, sarcasm, emoji, a footnote, right-to-left script ...), at two targets each:

{grades.table(traps, "", lambda _: "invite a mistake")}"""


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
    rows: Sequence[reading.Row],
    fresh: Sequence[reading.Row],
    traps: Sequence[reading.Row],
    served: Sequence[Served],
    confidences: Any,
    formats: Sequence[bool],
    languages: Sequence[bool],
) -> list[Goal]:
    report = [row for row in rows if row["half"] == "report"]
    last = _marked_first(fresh, LAST)
    foreign = [row for row in rows if row["kind"] == "other language"]
    low, high = interval(confidences, correlation, np.random.default_rng(SEED))
    times = long_times(served)
    quick = interval(times, np.median, np.random.default_rng(SEED))
    a, c, d = (grades.graded(report, grade) for grade in "ACD")
    spearman = Estimate(correlation(confidences), low, high, len(confidences))
    return [
        _share("reworded answers worse than doing nothing (D) <= 2 %, half not tuned on", d, 0.02),
        _share("reworded answers odd or ungrammatical (C) <= 8 %, half not tuned on", c, 0.08),
        _share("reworded answers as a careful editor would (A) >= 60 %, half not tuned on", a, 0.6, at_least=True),
        *(
            _share(
                f"the same of the last three sets of fresh answers when first read: {text}",
                first,
                limit,
                at_least=at_least,
            )
            for text, first, limit, at_least in (
                ("D <= 2 %", grades.graded(last, "D", "first_grade"), 0.02, False),
                ("C <= 8 %", grades.graded(last, "C", "first_grade"), 0.08, False),
                ("A >= 60 %", grades.graded(last, "A", "first_grade"), 0.6, True),
            )
        ),
        _none("answers that invite a mistake, graded D: none", [row["mark"] == "D" for row in traps]),
        _none("replies in formats that programs read, changed: none", formats),
        _none("answers in languages without hedges, changed: none", languages),
        _none(
            "real answers in other languages, changed and graded C or D: none", [row["mark"] in "CD" for row in foreign]
        ),
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
