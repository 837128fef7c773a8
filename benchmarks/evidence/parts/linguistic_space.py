"""The evidence's part on linguistic space: perceived confidence before and after (RALC tables 6 and 9, figures 2 and 3)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.special import logit
from scipy.stats import spearmanr

from benchmarks.data.answers import Floats, load_all
from benchmarks.evidence import baselines, goals, plots
from benchmarks.evidence.baselines import FD, GECE, given_the_beta, own_hedges
from benchmarks.evidence.holding_out import RESAMPLES, Estimate, bootstrap, held_out, held_out_by, metric
from benchmarks.evidence.parts.signal_space import mappable, pairs
from benchmarks.evidence.reader import Reader
from benchmarks.evidence.wording import Worded, Writer, at, means, some, word
from hedgerow.calibration import PlattMap
from hedgerow.calibration.maps.base import Learned

MOST = 600
"""Questions of a set that are worded."""
PAPER = {"reduction FD": 0.66, "reduction ECE": 0.58, "Spearman": 0.9}


def base_rate(mean: Floats, correct: Floats) -> Learned:
    """A map that gives every answer the share of right ones: what saying the same of all answers would bring."""
    return Learned(PlattMap(w=0.0, b=float(logit((correct.sum() + 1) / (correct.size + 2)))))


def reduction(worded: Worded, name: str, rows: np.ndarray) -> float:
    """How much of a metric the wording takes away, as a share."""
    correct = worded.correct[rows]
    return 1 - metric(name, at(worded.after, rows), correct) / metric(name, at(worded.before, rows), correct)


def rho(worded: Worded, rows: np.ndarray) -> float:
    """Spearman correlation of the calibrated mean and the mean perceived."""
    return float(spearmanr(means(at(worded.target, rows)), means(at(worded.after, rows))).statistic)


def over(sets: Sequence[Worded], statistic: Callable[[Worded, np.ndarray], float]) -> Estimate:
    """Mean of a statistic over sets."""
    return bootstrap(
        [w.correct.size for w in sets],
        lambda rows: float(np.mean([statistic(w, r) for w, r in zip(sets, rows, strict=True)])),
    )


def worded_sets(data: Path, reader: Reader, limit: int | None) -> list[tuple[str, Worded, Worded]]:
    """(signal, worded at the calibrated confidence, worded at the base rate) of every set and signal that can be calibrated."""
    writer, worded_rows = Writer(), []
    by_name = {answers.name: answers for answers in load_all(data, limit)}
    for pair in track(
        [p for p in pairs(list(by_name.values())) if mappable(p)], "sets", disable=not sys.stderr.isatty()
    ):
        answers = by_name[pair.name].measured(pair.signal)
        chosen, places = some(answers, MOST)
        target, flat = held_out(pair.raw, pair.correct), held_out_by(base_rate, pair.raw, pair.correct)
        worded_rows.append(
            (
                pair.signal,
                word(chosen, at(target, places), reader, writer),
                word(chosen, at(flat, places), reader, writer),
            )
        )
    return worded_rows


def table(worded_rows: Sequence[tuple[str, Worded, Worded]]) -> list[str]:
    """The paper's table 9 and, for AUROC, 6."""
    lines = [
        "| answers | signal | n | FD | less | generalised ECE | less | AUROC after | Spearman, signal and perceived | facts lost | same hedge for all: FD, ECE |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for signal, w, flat in worded_rows:
        figures = " | ".join(
            f"{metric(m, w.before, w.correct):.3f} → {metric(m, w.after, w.correct):.3f} | {over([w], partial(_reduced, m)):.0%}"
            for m in (FD, GECE)
        )
        auroc = bootstrap([w.correct.size], lambda rows, w=w: metric("auroc", at(w.after, rows[0]), w.correct[rows[0]]))
        same = ", ".join(f"{metric(m, flat.after, flat.correct):.3f}" for m in (FD, GECE))
        lines.append(
            f"| {w.name} | {signal} | {w.correct.size} | {figures} | {auroc} | {over([w], rho)} | {w.facts_lost} | {same} |"
        )
    return lines


def _reduced(name: str, worded: Worded, rows: np.ndarray) -> float:
    return reduction(worded, name, rows)


def _draw(worded_rows: Sequence[tuple[str, Worded, Worded]]) -> None:
    names = [f"{w.name}{'' if signal == 'semantic' else f' ({signal})'}" for signal, w, _ in worded_rows]
    with plots.picture("linguistic-space", columns=2, size=(7, 4.6), sharey=True) as axes:
        for axis, name, title in zip(
            axes[0], (FD, GECE), ("Faithfulness Divergence, nats", "generalised ECE"), strict=True
        ):
            for place, (_, w, flat) in enumerate(worded_rows):
                before, after, same = (metric(name, b, w.correct) for b in (w.before, w.after, flat.after))
                axis.plot([before, after], [place, place], color="#999999", zorder=1)
                for value, colour, mark, label in (
                    (before, 1, "s", "plain draft"),
                    (same, 6, "|", "same hedge for all"),
                    (after, 0, "o", "worded at its confidence"),
                ):
                    axis.scatter(
                        value,
                        place,
                        color=plots.COLOURS[colour],
                        marker=mark,
                        s=70,
                        zorder=2,
                        label=label if place == 0 else None,
                    )
            axis.set(xlabel=title, xlim=(0, None))
            axis.set_yticks(range(len(names)), names)
        axes[0, 0].invert_yaxis()
        axes[0, 0].figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _draw_heard(worded_rows: Sequence[tuple[str, Worded, Worded]]) -> None:
    with plots.picture("linguistic-space-perceived", size=(6, 5.4)) as axes:
        axis = axes[0, 0]
        axis.plot([0, 1], [0, 1], color="#999999", linewidth=1)
        chosen = [w for signal, w, _ in worded_rows if signal == "semantic"]
        for w, colour, mark in zip(chosen, plots.COLOURS, plots.MARKS, strict=False):
            target, perceived = means(w.target), means(w.after)
            groups = np.array_split(np.argsort(target), min(12, len(target)))
            axis.plot(
                [target[g].mean() for g in groups],
                [perceived[g].mean() for g in groups],
                color=colour,
                marker=mark,
                linewidth=1,
                label=w.name,
            )
        axis.set(
            xlabel="calibrated mean", ylabel="mean perceived in the wording", xlim=(0, 1), ylim=(0, 1), aspect="equal"
        )
        axis.legend(loc="upper left", fontsize=10)


def aims(worded_rows: Sequence[tuple[str, Worded, Worded]]) -> list[goals.Goal]:
    """Means over sets by the semantic signal."""
    sets = [w for signal, w, _ in worded_rows if signal == "semantic"]
    what = f"mean over {len(sets)} sets, semantic signal"
    why = "hedges for the levels at which the listener and the lexicon differ; answers whose calibrated means hardly differ cannot be ranked"
    return [
        goals.Goal(
            f"FD in linguistic space less by ≥ 70 % ({what}; paper {PAPER['reduction FD']:.0%})",
            over(sets, partial(_reduced, FD)),
            0.70,
            at_least=True,
            closes=why,
            spec=".1%",
        ),
        goals.Goal(
            f"generalised ECE in linguistic space less by ≥ 62 % ({what}; paper {PAPER['reduction ECE']:.0%})",
            over(sets, partial(_reduced, GECE)),
            0.62,
            at_least=True,
            closes=why,
            spec=".1%",
        ),
        goals.Goal(
            f"Spearman of calibrated signal and perceived confidence ≥ .97 ({what}; paper > {PAPER['Spearman']})",
            over(sets, rho),
            0.97,
            at_least=True,
            closes=why,
        ),
    ]


def section(data: Path, limit: int | None = None) -> str:
    """The whole part; `limit` takes the first rows of every set only."""
    reader = Reader(data)
    worded_rows = worded_sets(data, reader, limit)
    _draw(worded_rows)
    _draw_heard(worded_rows)
    own, remark = own_hedges(data, reader, limit)
    direct = given_the_beta(data, reader, limit)
    baselines.draw([own, direct])
    return "\n".join(
        [
            "## Linguistic space",
            "",
            f"Up to {MOST} drafts of each set, worded by the template at the confidence that a held-out map gives them (k = 5, shortlist 30, nothing surer than the plain assertion),"
            " and read by a reader that has no part in the proxy: fitted on people's scores of other phrases than the one it reads, people's agreement included. Facts lost: by"
            f" a check apart from the guard. Intervals: 95 %, bootstrap over questions ({RESAMPLES} resamples).",
            "",
            *table(worded_rows),
            "",
            "Reductions depend on what a plain assertion costs before: models that are mostly wrong and never hedge have the most to gain, so the percentages are not the paper's"
            " scale, while the figures after are. The last column words every answer at the set's share of right answers: most of the reduction is that models stop sounding sure of all they"
            " say; what the signal adds is the rest, and all of the AUROC.",
            "",
            "![Before and after by set](linguistic-space.svg)",
            "",
            "![Calibrated and perceived confidence](linguistic-space-perceived.svg)",
            "",
            "### A model's own hedges",
            "",
            *baselines.table(own),
            "",
            remark,
            "",
            "### A model given the Beta, without a lexicon",
            "",
            "TriviaQA answers of LLaMA-13B; the editor is the embedded SmolLM2-135M, drawn once (benchmarks/evidence/direct_beta.py), without a guard. It is far too small an editor to stand for the"
            " paper's baseline of 20 billion parameters.",
            "",
            *baselines.table(direct),
            "",
            "![Baselines](linguistic-space-baselines.svg)",
            "",
            goals.table(aims(worded_rows)),
        ]
    )
