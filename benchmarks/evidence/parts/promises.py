"""The evidence on promises: how often they are false, how many labels they need, and how much can go out plain, by simulation and on recorded sets."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.data.answers import SETS, Answers, Floats, load_set
from benchmarks.evidence import goals, plots
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import LEARNERS, Estimate
from benchmarks.evidence.promises import (
    LEVEL,
    Rates,
    best_share,
    labels_for,
    named_suffice,
    oracle_labels,
    rates,
    shapes,
)
from hedgerow.calibration.maps import DEFAULT
from hedgerow.calibration.metrics.binned import wilson_interval
from hedgerow.calibration.promises.learning import learn
from hedgerow.calibration.promises.wishes import parse_all

DRAWS, POWER_DRAWS, SPLITS = 2000, 200, 500
WORKERS = 2
SIZES = (50, 200, 800, 3200)
LIMIT = 0.05
WISHES = {
    "one wish": parse_all(["plain_wrong <= 5%"]),
    "three wishes": parse_all(["plain_wrong <= 5%", "worded(>= .8) wrong <= 15%", "answered_wrong <= 25%"]),
}
ON_SETS = ("plain_wrong <= 5%", "plain_wrong <= 10%", "plain_wrong <= 20%", "worded(>= .8) wrong <= 20%")
OTHERS = (
    "plain_wrong <= 10%",
    "plain_and_wrong <= 3%",
    "plain_and_wrong <= 3% on average",
    "answered_wrong <= 8%; abstain <= 50%",
)
"""Wishes of other kinds; the first also on graded labels."""
FITTED, LABELLED = 0.3, 0.35
"""Shares of a set that the map is fitted on and that is labelled for the certificate; the rest is what is served."""


def section(data: Path, limit: int | None = None) -> str:
    """All of it, with its pictures; `limit` takes the first rows of each set only."""
    made = _simulated()
    with ProcessPoolExecutor(WORKERS) as pool:
        sets = list(pool.map(partial(_of_set, data=data, limit=limit), SETS))
    _draw_false(made)
    _draw_sets(sets)
    worst = max((held.false, name) for name, held in made.items())
    worst_set = max((row for rows in sets for row in rows), key=lambda row: (row.false, row.granted))
    lines = [
        "## Promises",
        "",
        f"How often is a promise of `hedgerow certify` false, and what does it cost? Every promise here is made with probability {1 - LEVEL:.0%}.",
        "",
        *_false_tables(made),
        *_other_table(),
        *_power_table(),
        *_named_table(),
        *_set_table(sets),
        goals.table(
            [
                Goal(f"a promise is false in at most {LEVEL:.0%} of draws, worst of six shapes and four sizes (other wishes: their own table)", _share(worst[0], DRAWS), LEVEL),
                Goal(f"the same on recorded sets, worst of sets and wishes ({worst_set.name})", _share(worst_set.false, SPLITS), LEVEL),
            ]
        ),
    ]  # fmt: skip
    return "\n".join(lines)


def _share(value: float, n: int) -> Estimate:
    low, high = wilson_interval(np.array([value]), np.array([float(n)]))
    return Estimate(value, float(low[0]), float(high[0]), n)


def _simulated() -> dict[tuple[str, str, int], Rates]:
    """By wishes, shape and number of labels."""
    kinds = shapes(LIMIT)
    places = [(name, i, n) for name in WISHES for i in range(len(kinds)) for n in SIZES]
    with ProcessPoolExecutor(WORKERS) as pool:
        made = pool.map(partial(_cell, draws=DRAWS), places)
        return {(name, kinds[i].name, n): held for (name, i, n), held in zip(places, made, strict=True)}


def _cell(place: tuple[str, int, int], draws: int) -> Rates:
    name, shape, n = place
    return rates(shapes(LIMIT)[shape], WISHES[name], n, draws)


def _false_tables(made: dict[tuple[str, str, int], Rates]) -> list[str]:
    lines = [
        "### How often a promise is false",
        "",
        f"{DRAWS:,} draws of labels from shapes whose truth is known. A cell: in how many draws a promise that was granted is false of all answers, and in "
        "brackets in how many every wish was granted. *Ten values*: calibrated, as ten samples give it. *The most confident wrong*: from 0.99 on three "
        "times the limit. *A cliff*: half of the answers at 0.97, nearly right; with the other half, at 0.9, the share is a thousandth of the limit too high, "
        "which is where a promise is easiest to get wrong.",
        "",
        "![How often a promise is false, by shape and number of labels](promises_false.svg)",
        "",
    ]
    for name, wishes in WISHES.items():
        lines += [
            f"{name.capitalize()}: {'; '.join(f'`{wish.text}`' for wish in wishes)}.",
            "",
            f"| shape | {' | '.join(f'{n:,} labels' for n in SIZES)} |",
            "|---|" + "---|" * len(SIZES),
        ]
        for shape in shapes(LIMIT):
            cells = [made[name, shape.name, n] for n in SIZES]
            lines.append(f"| {shape.name} | {' | '.join(f'{c.false:.1%} ({c.granted:.0%})' for c in cells)} |")
        lines.append("")
    return lines


def _other_table() -> list[str]:
    lines = [
        "Other wishes, on calibrated confidences. *Mean share*: the true share that the first wish speaks of, on average over all draws; on average is how conformal risk "
        "control promises it. Graded: what is wrong has a grade from 0 to a half, and the bound is that of betting.",
        "",
        "| wishes | labels | false | granted | mean share |",
        "|---|---|---|---|---|",
    ]
    calibrated = shapes(LIMIT)[0]
    for text in OTHERS:
        for graded in (False, True) if text == OTHERS[0] else (False,):
            wishes = parse_all([text])
            for n in SIZES[1:3]:
                held = rates(calibrated, wishes, n, max(1, DRAWS // 4) if graded else DRAWS, graded=graded)
                said = f"`{'`, `'.join(wish.text for wish in wishes)}`{' graded' if graded else ''}"
                false = "" if wishes[0].on_average else f"{held.false:.1%}"
                mean = f"{held.mean:.2%}" if wishes[0].subject.startswith("plain") else ""
                lines.append(f"| {said} | {n:,} | {false} | {held.granted:.0%} | {mean} |")
    return [*lines, ""]


def _named_table() -> list[str]:
    lines = [
        f"Where labels do not do, the command says how many would. From {SIZES[1]:,} labels, on those draws of {POWER_DRAWS} in which the wish is refused: how often a number is "
        "named, its median, and how often so many labels, drawn anew, do.",
        "",
        "| shape | a number is named | median, with those there are | do |",
        "|---|---|---|---|",
    ]
    for shape in shapes(LIMIT):
        named, size, enough = named_suffice(shape, WISHES["one wish"], SIZES[1], POWER_DRAWS)
        lines.append(f"| {shape.name} | {named:.0%} | {size:,.0f} | {enough:.0%} |")
    return [*lines, ""]


def _power_table() -> list[str]:
    lines = [
        "### How many labels a promise needs",
        "",
        f"`plain_wrong <= {LIMIT:.0%}`. Labels with which it is granted in four draws of five, beside what one exact test of the whole level would need at the "
        f"threshold that is best for it, known beforehand (the oracle); {POWER_DRAWS} draws a size. Share plain: mean share of all answers that the certificate lets out "
        f"plain with {SIZES[-1]:,} labels ({DRAWS:,} draws, none granted = 0), beside the most that would keep the limit if everything were known.",
        "",
        "| shape | labels | oracle | ratio | share plain | best possible |",
        "|---|---|---|---|---|---|",
    ]
    for shape in shapes(LIMIT):
        ours, oracle = labels_for(shape, WISHES["one wish"], POWER_DRAWS), oracle_labels(shape, LIMIT)
        held = rates(shape, WISHES["one wish"], SIZES[-1], DRAWS)
        shown = (
            f"{ours:,.0f} | {oracle:,.0f} | {ours / oracle:.2f}"
            if np.isfinite(ours)
            else f"over 50,000 | {oracle:,.0f} |"
        )
        lines.append(f"| {shape.name} | {shown} | {held.plain:.1%} | {best_share(shape, LIMIT):.1%} |")
    return [*lines, ""]


@dataclass(frozen=True, slots=True)
class OnSet:
    """One wish on one recorded set, over splits.

    Attributes:
        n: labels of a certificate.
        granted: share of splits in which the wish is granted.
        false: share in which what is granted is not true of all answers that the map was not fitted on; labels drawn from them with replacement.
        refuted: share in which more than the limit is wrong on the rest of a split, which was not labelled; its own chance included.
        shares: share of the rest above the threshold, a split; 0 where nothing is granted.
        best: the same for the lowest threshold that keeps the limit on all of these answers, known afterwards; mean.
    """

    name: str
    wish: str
    n: int
    granted: float
    false: float
    refuted: float
    shares: Floats
    best: float


def _of_set(name: str, data: Path, limit: int | None) -> list[OnSet]:
    """Every wish on one set, in a process of its own."""
    return _on_set(load_set(data, name, limit))


def _on_set(answers: Answers) -> list[OnSet]:
    """Every wish on one set; each split fits its own map."""
    alpha, beta = answers.raw("semantic")
    raw, correct = alpha / (alpha + beta), answers.correct
    fitted, labelled = int(FITTED * correct.size), int(LABELLED * correct.size)
    rng = np.random.default_rng(23)
    counts: dict[str, list[tuple[bool, bool, bool, float, float]]] = {wish: [] for wish in ON_SETS}
    for _ in range(SPLITS):
        order = rng.permutation(correct.size)
        means = LEARNERS[DEFAULT](raw[order[:fitted]], correct[order[:fitted]]).map.means(raw[order[fitted:]])
        labels = correct[order[fitted:]]
        again = rng.integers(0, labels.size, labelled)
        for wish in ON_SETS:
            counts[wish].append(_one(means, labels, labelled, again, wish))
    return [_summed(answers.name, wish, labelled, counts[wish]) for wish in ON_SETS]


def _one(means: Floats, labels: Floats, n: int, again: Floats, text: str) -> tuple[bool, bool, bool, float, float]:
    """Granted, false, refuted on the rest, share of the rest, best share."""
    (wish,) = parse_all([text])
    limit, lowest = wish.limit or 0.0, wish.words_from or 0.0
    drawn = learn(means[again], labels[again], [wish], level=LEVEL).promises
    false = bool(drawn) and _too_many(means, labels, drawn[0].threshold, limit)
    held = learn(means[:n], labels[:n], [wish], level=LEVEL).promises
    refuted = bool(held) and _too_many(means[n:], labels[n:], held[0].threshold, limit)
    share = float((means[n:] >= held[0].threshold).mean()) if held else 0.0
    best = _best_share(means, labels, lowest, limit)
    return bool(held), false, refuted, share, best


def _best_share(means: Floats, labels: Floats, lowest: float, limit: float) -> float:
    """The largest share of answers above a threshold, no lower than `lowest`, of which no more than the limit are wrong."""
    order = np.argsort(-means, kind="stable")
    wrong = np.cumsum(1.0 - labels[order]) / np.arange(1, labels.size + 1)
    ends = np.append(np.diff(means[order]) != 0.0, True)
    (fitting,) = np.nonzero(ends & (wrong <= limit) & (means[order] >= lowest))
    return float((fitting.max() + 1) / labels.size) if fitting.size else 0.0


def _too_many(means: Floats, labels: Floats, threshold: float, limit: float) -> bool:
    above = means >= threshold
    return bool(above.any() and (1.0 - labels[above]).mean() > limit)


def _summed(name: str, wish: str, n: int, counts: Sequence[tuple[bool, bool, bool, float, float]]) -> OnSet:
    granted, false, refuted, shares, best = (np.array(column, dtype=np.float64) for column in zip(*counts, strict=True))
    return OnSet(name, wish, n, granted.mean(), false.mean(), refuted.mean(), shares, float(best.mean()))


def _set_table(sets: Sequence[Sequence[OnSet]]) -> list[str]:
    lines = [
        "### On recorded answers",
        "",
        f"{SPLITS} random splits of each set: {FITTED:.0%} fit the map, {LABELLED:.0%} are the labels, the rest is served. *False*: share of splits in which the promise is not "
        "true of all answers that the map was not fitted on (the labels drawn from these with replacement, so that the truth is known). *More than the limit on the rest*: on "
        "the answers that were left, whose own chance comes on top; that is no promise, but what an operator sees. *Share*: of the answers that are left, the mean share "
        "above the threshold (none granted = 0), beside the best threshold in hindsight.",
        "",
        "![What can go out plain, by set and wish](promises_sets.svg)",
        "",
        "| set | wish | labels | granted | false | more than the limit on the rest | share | best in hindsight |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for rows in sets:
        for place, row in enumerate(rows):
            lines.append(
                f"| {'' if place else row.name} | `{row.wish}` | {row.n:,} | {row.granted:.0%} | {row.false:.1%} | {row.refuted:.1%} | {row.shares.mean():.1%} | {row.best:.1%} |"
            )
    return [*lines, ""]


def _draw_false(made: dict[tuple[str, str, int], Rates]) -> None:
    """One panel for each set of wishes."""
    with plots.picture("promises_false", columns=len(WISHES), sharey=True) as axes:
        for panel, name in zip(axes[0], WISHES, strict=True):
            for i, shape in enumerate(shapes(LIMIT)):
                shares = [100 * made[name, shape.name, n].false for n in SIZES]
                panel.plot(SIZES, shares, color=plots.COLOURS[i], marker=plots.MARKS[i], label=shape.name)
            panel.axhline(100 * LEVEL, color="#000000", linestyle="--", linewidth=1.2)
            panel.set_xscale("log")
            panel.set_xticks(SIZES, [f"{n:,}" for n in SIZES])
            panel.set_xticks([], minor=True)
            panel.set(title=name, xlabel="labels", ylim=(-0.2, 100 * LEVEL + 0.8))
        axes[0][0].set_ylabel("draws with a false promise, %")
        axes[0][0].annotate("allowed", (SIZES[0], 100 * LEVEL), xytext=(0, 4), textcoords="offset points")
        axes[0][1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _draw_sets(sets: Sequence[Sequence[OnSet]]) -> None:
    """One panel a wish: mean share above the threshold with the middle 80 % of splits, and the best in hindsight."""
    names = list(SETS)
    with plots.picture("promises_sets", columns=2, rows=2, size=(5.8, 3.4), sharex=True, sharey=True) as axes:
        for panel, place in zip(axes.flat, range(len(ON_SETS)), strict=True):
            rows = [found[place] for found in sets]
            height = np.arange(len(rows))
            low, high = (np.array([np.quantile(row.shares, q) for row in rows]) for q in (0.1, 0.9))
            middle = np.array([row.shares.mean() for row in rows])
            panel.hlines(height, 100 * low, 100 * high, color=plots.COLOURS[0], linewidth=5, alpha=0.35)
            panel.plot(100 * middle, height, "o", color=plots.COLOURS[0], label="certified: mean, and 80 % of splits")
            panel.plot(
                [100 * row.best for row in rows],
                height,
                "|",
                color=plots.COLOURS[1],
                markersize=16,
                markeredgewidth=3,
                label="best in hindsight",
            )
            panel.set(title=ON_SETS[place], xlim=(-2, 102), ylim=(len(rows) - 0.5, -0.5))
            panel.set_yticks(height, names[: len(rows)])
        for panel in axes[1]:
            panel.set_xlabel("share of answers above the threshold, %")
        axes[0][0].figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
