"""The evidence's part on signal space: every recorded set and signal before and after each map, and across sets (RALC tables 2, 4, 5, 7, 8)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.stats import pearsonr

from benchmarks.data.answers import SETS, SIGNALS, Answers, Columns, Floats, load_all
from benchmarks.evidence import goals, plots
from benchmarks.evidence.holding_out import (
    DEFAULT,
    FITTED_ON,
    FOLDS,
    LEARNERS,
    RESAMPLES,
    Estimate,
    Learner,
    bootstrap,
    held_out,
    held_out_by,
    metric,
    transferred,
)
from hedgerow.calibration.errors import CalibrationError
from hedgerow.calibration.maps.base import apply_map, log_odds
from hedgerow.calibration.maps.parametric import BoundedPlattMap

SHOWN = ("generalised_ece", "faithfulness_divergence", "smooth_ece")
TITLES = {
    "generalised_ece": "generalised ECE",
    "faithfulness_divergence": "FD",
    "smooth_ece": "smooth ECE",
    "nll": "NLL of the mean",
}
LIMITS = (2.0, 2.5, 3.0, 3.5, 4.0, 6.0, 16.0)
SCORES = (*SHOWN, "nll")
COVERED = 0.9
"""A signal counts for a set where so many of its answers carry it."""


class Pair:
    """One set measured by one signal."""

    def __init__(self, answers: Answers, signal: str) -> None:
        measured = answers.measured(signal)
        self.name, self.signal = answers.name, signal
        self.raw, self.correct = measured.raw(signal), measured.correct
        self.size = self.correct.size

    @property
    def means(self) -> Floats:
        """Raw means."""
        return self.raw[0] / (self.raw[0] + self.raw[1])


def pairs(sets: Sequence[Answers]) -> list[Pair]:
    """Every set and signal that can be measured."""
    return [Pair(a, s) for a in sets for s in SIGNALS if len(a.measured(s)) >= COVERED * len(a) and len(a.measured(s))]


def mappable(pair: Pair) -> bool:
    """Whether a map can be fitted in every fold: the signal varies and does not point the wrong way."""
    try:
        held_out(pair.raw, pair.correct)
    except CalibrationError:
        return False
    return True


def nll(betas: Columns, correct: Floats) -> float:
    """Mean negative log-likelihood of the means, kept 1e-6 from 0 and 1 for steps that say "always"."""
    p = np.clip(betas[0] / (betas[0] + betas[1]), 1e-6, 1 - 1e-6)
    return float(-(correct * np.log(p) + (1 - correct) * np.log(1 - p)).mean())


def _score(name: str, betas: Columns, correct: Floats) -> float:
    return nll(betas, correct) if name == "nll" else metric(name, betas, correct)


def estimate(name: str, betas: Columns, correct: Floats) -> Estimate:
    """A metric with its interval."""
    return bootstrap(
        [correct.size], lambda rows: _score(name, (betas[0][rows[0]], betas[1][rows[0]]), correct[rows[0]])
    )


def profile(measured_pairs: Sequence[Pair]) -> list[str]:
    """The paper's table 5 and 8: accuracy, mean confidence, bias, AUROC."""
    lines = [
        "| answers | signal | n | accuracy | mean confidence | bias | AUROC (95 %) |",
        "|---|---|---|---|---|---|---|",
    ]
    for pair in track(measured_pairs, "signals", disable=not sys.stderr.isatty()):
        mean, right = pair.means.mean(), pair.correct.mean()
        auroc = estimate("auroc", pair.raw, pair.correct)
        lines.append(
            f"| {pair.name} | {pair.signal} | {pair.size} | {right:.3f} | {mean:.3f} | {mean - right:+.3f} | {auroc} |"
        )
    return lines


def in_domain(measured_pairs: Sequence[Pair]) -> list[str]:
    """Before and after the default map."""
    lines = [
        "| answers | signal | n | generalised ECE | FD | smooth ECE | generalised ECE, isotonic in sample |",
        "|---|---|---|---|---|---|---|",
    ]
    for pair in track(measured_pairs, "in-domain", disable=not sys.stderr.isatty()):
        after = held_out(pair.raw, pair.correct)
        cells = [f"{metric(m, pair.raw, pair.correct):.3f} → {estimate(m, after, pair.correct)}" for m in SHOWN[:2]]
        cells.append(
            f"{metric('smooth_ece', pair.raw, pair.correct):.3f} → {metric('smooth_ece', after, pair.correct):.3f}"
        )
        lines.append(f"| {pair.name} | {pair.signal} | {pair.size} | {' | '.join(cells)} | {_floor(pair):.3f} |")
    return lines


def _floor(pair: Pair) -> float:
    """Generalised ECE of an order-keeping step function, fitted on the very answers that it is measured on."""
    from hedgerow.calibration.fitting import fit_map

    return metric(
        "generalised_ece", apply_map(fit_map("isotonic", *pair.raw, pair.correct, folds=0).map, *pair.raw), pair.correct
    )


def every_map(measured_pairs: Sequence[Pair]) -> list[str]:
    """The paper's table 4: means over sets and signals, with the deviation between them."""
    head = [f"| {' | '.join(TITLES[n] for n in SCORES)} | pairs |", "|---" * (2 + len(SCORES)) + "|"]
    lines = ["| map " + head[0], head[1]]
    for kind, learn in track(LEARNERS.items(), "maps", disable=not sys.stderr.isatty()):
        lines.append(_row("none" if kind == "identity" else kind, learn, measured_pairs))
    lines += ["", "The bounded Platt map by its limit on log-odds:", "", "| limit " + head[0], head[1]]
    lines += [_row(f"{limit:g}", partial(BoundedPlattMap.learn, limit=limit), measured_pairs) for limit in LIMITS]
    return lines


def _row(name: str, learn: Learner, measured_pairs: Sequence[Pair]) -> str:
    """Means and deviations over the pairs for which this map can be learned in every fold."""
    table = []
    for pair in measured_pairs:
        try:
            mapped = held_out_by(learn, pair.raw, pair.correct)
        except CalibrationError:  # no temperature > 0 helps, say
            continue
        table.append([_score(score, mapped, pair.correct) for score in SCORES])
    cells = zip(np.mean(table, axis=0), np.std(table, axis=0, ddof=1), strict=True)
    return f"| {name} | {' | '.join(f'{mean:.3f} ± {deviation:.3f}' for mean, deviation in cells)} | {len(table)} |"


def crossed(measured_pairs: Sequence[Pair], name: str) -> Floats:
    """Metric after the map: rows by what it was fitted on, columns by what it was measured on; the diagonal is held out."""
    matrix = np.empty((len(measured_pairs), len(measured_pairs)))
    for i, source in enumerate(measured_pairs):
        for j, target in enumerate(measured_pairs):
            mapped = (
                held_out(target.raw, target.correct) if i == j else transferred(source.raw, source.correct, target.raw)
            )
            matrix[i, j] = metric(name, mapped, target.correct)
    return matrix


def across(measured_pairs: Sequence[Pair]) -> list[str]:
    """Matrices of change in per cent, the picture, and what a difference in bias has to do with it."""
    before = {m: np.array([metric(m, p.raw, p.correct) for p in measured_pairs]) for m in SHOWN[:2]}
    after = {m: crossed(measured_pairs, m) for m in SHOWN[:2]}
    change = {m: 100 * (after[m] / before[m] - 1) for m in after}
    _draw(measured_pairs, change)
    lines = []
    for m in after:
        lines += [
            "",
            f"{TITLES[m]} after (change from before):",
            "",
            f"| fitted on \\ measured on | {' | '.join(p.name for p in measured_pairs)} |",
        ]
        lines.append("|---" * (1 + len(measured_pairs)) + "|")
        for i, pair in enumerate(measured_pairs):
            cells = [f"{after[m][i, j]:.3f} ({change[m][i, j]:+.0f} %)" for j in range(len(measured_pairs))]
            lines.append(f"| {pair.name} | {' | '.join(cells)} |")
    apart = ~np.eye(len(measured_pairs), dtype=bool)
    bias = np.array([p.means.mean() - p.correct.mean() for p in measured_pairs])
    gap = np.abs(bias[:, None] - bias[None, :])
    advantage = np.diag(after["generalised_ece"])[None, :] - after["generalised_ece"]
    better = {m: f"{(change[m][apart] < 0).sum()} of {apart.sum()}" for m in after}
    text = (
        f"A map from elsewhere lowers generalised ECE in {better['generalised_ece']} pairs and FD in {better['faithfulness_divergence']}. The farther apart the"
        f" biases (mean confidence less accuracy) of two sets, the more is lost against the set's own map: Pearson {pearsonr(gap[apart], advantage[apart])[0]:.2f} between"
        " the difference in bias and the advantage in generalised ECE (figure 12 of the paper)."
    )
    return ["![Change by pair of sets](signal-space-transfer.svg)", *lines, "", text]


def _draw(measured_pairs: Sequence[Pair], change: dict[str, Floats]) -> None:
    names = [p.name.replace(", ", "\n") for p in measured_pairs]
    with plots.picture("signal-space-transfer", columns=2, size=(7.2, 6.6)) as axes:
        for axis, (name, table) in zip(axes[0], change.items(), strict=True):
            axis.imshow(np.clip(table, -100, 100), cmap="PuOr_r", vmin=-100, vmax=100)
            axis.grid(visible=False)
            for i, j in np.ndindex(*table.shape):
                colour = "white" if abs(table[i, j]) > 50 else "#111111"
                axis.text(
                    j,
                    i,
                    f"{table[i, j]:+.0f}",
                    ha="center",
                    va="center",
                    color=colour,
                    weight="bold" if i == j else "normal",
                )
            axis.set_xticks(range(len(names)), names, rotation=45, ha="right")
            axis.set_yticks(range(len(names)), names)
            axis.set(title=f"{TITLES[name]}, change in %", xlabel="measured on")
            axis.spines[:].set_visible(False)
        axes[0, 0].set_ylabel("map fitted on")


def aims(measured_pairs: Sequence[Pair]) -> list[goals.Goal]:
    """Means over sets, after the default map, held out."""
    chosen = [p for p in measured_pairs if p.signal == "semantic"]
    mapped = [held_out(p.raw, p.correct) for p in chosen]

    def mean_of(name: str, rows: list[np.ndarray]) -> float:
        return float(
            np.mean(
                [metric(name, (m[0][r], m[1][r]), p.correct[r]) for p, m, r in zip(chosen, mapped, rows, strict=True)]
            )
        )

    sizes, over = [p.size for p in chosen], f"mean over {len(chosen)} sets, semantic signal, held out"
    why = "more samples (narrower Betas) and a sharper signal; no order-keeping map of these means does much better"
    return [
        goals.Goal(
            f"generalised ECE in signal space ≤ .06 ({over})",
            bootstrap(sizes, partial(mean_of, "generalised_ece")),
            0.06,
            closes=why,
        ),
        goals.Goal(
            f"FD in signal space ≤ .45 ({over})",
            bootstrap(sizes, partial(mean_of, "faithfulness_divergence")),
            0.45,
            closes=why,
        ),
    ]


def graded() -> str:
    """How each set is graded."""
    return "; ".join(f"{name}: {rule}" for name, (_, _, rule) in SETS.items())


def section(data: Path, limit: int | None = None) -> str:
    """The whole part; `limit` takes the first rows of every set only."""
    measured_pairs = pairs(load_all(data, limit))
    fit = [p for p in measured_pairs if mappable(p)]
    dumb = ", ".join(f"{p.name}" for p in measured_pairs if p not in fit) or "none"
    semantic = [p for p in fit if p.signal == "semantic"]
    steepest = float(np.max(np.abs(log_odds(np.concatenate([p.means for p in semantic])))))
    return "\n".join(
        [
            "## Signal space",
            "",
            f'What counts as right: {graded()}. The alias rule is that of `hedgerow collect`: a gold answer stands in the draft, or the two mean the same by the proxy\'s rules ("Vivaldi",'
            f' "Antonio Vivaldi"). Every tenth of a set is calibrated by a map fitted on {FITTED_ON} other tenths ({FITTED_ON / FOLDS:.0%}, as in the paper),'
            f" so each answer is measured once and by a map that did not see it. Intervals: 95 %, bootstrap over questions ({RESAMPLES} resamples).",
            "",
            "### Signals before any map",
            "",
            *profile(measured_pairs),
            "",
            f"Short answers hold no words of doubt, so the linguistic signal is the same for all of them or points the wrong way: no map can be fitted for {dumb}.",
            "",
            f"### Before → after the map that `hedgerow fit` learns ({DEFAULT})",
            "",
            *in_domain(fit),
            "",
            "The last column is what an order-keeping step function gets on the very answers that it was fitted on. Generalised ECE asks where the whole Beta lies and not"
            " only its mean, so Betas of ten samples keep a remainder that no map of the mean takes away.",
            "",
            "### Every map",
            "",
            f"Means ± deviation over the pairs above for which a map of the kind can be fitted, held out. The paper's Platt takes unanimous samples at log-odds of {steepest:.0f}; the bounded one at 3, and fits Platt's"
            " smoothed targets.",
            "",
            *every_map(fit),
            "",
            "### Across sets (semantic signal)",
            "",
            "No two recorded sets are of one model, so model and questions change together; that is harder than the paper's transfer, where the model stayed.",
            "",
            *across(semantic),
            "",
            goals.table(aims(fit)),
        ]
    )
