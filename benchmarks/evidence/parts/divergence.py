"""The evidence's part on Faithfulness Divergence itself: what it sees that the other divergences do not (RALC table 1, figures 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.data.answers import Columns, Floats, load_set
from benchmarks.evidence import plots
from benchmarks.evidence.holding_out import RESAMPLES
from hedgerow.calibration.divergence import faithfulness_divergence, kl_update
from hedgerow.calibration.metrics import expected_brier, expected_nll

SET = "TriviaQA, gemma-2-2b"
SIGNAL = "token"
"""The recorded signal whose concentration varies apart from its mean."""
CONCENTRATION, MEAN = 20.0, 0.75
METRICS: Mapping[str, Callable[..., Floats]] = {
    "FD": faithfulness_divergence, "KL": kl_update, "E[Brier]": expected_brier, "E[NLL]": expected_nll,
}  # fmt: skip
SUBSETS = {
    "(1) high confidence, high concentration, wrong": (True, True, 0.0),
    "(2) low confidence, high concentration, right": (False, True, 1.0),
    "(3) high confidence, low concentration, wrong": (True, False, 0.0),
    "(4) low confidence, low concentration, right": (False, False, 1.0),
}
BY_MEAN, BY_CONCENTRATION = np.linspace(0.02, 0.98, 97), np.geomspace(0.5, 100, 80)


def rises(values: Floats) -> bool:
    """Whether a curve never falls."""
    return bool((np.diff(values) > 0).all())


def curves() -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Each metric for a right answer by its mean, and for a wrong one by concentration (figures 4 and 5)."""
    by_mean = {
        n: f(BY_MEAN * CONCENTRATION, (1 - BY_MEAN) * CONCENTRATION, np.ones_like(BY_MEAN)) for n, f in METRICS.items()
    }
    by_k = {
        n: f(MEAN * BY_CONCENTRATION, (1 - MEAN) * BY_CONCENTRATION, np.zeros_like(BY_CONCENTRATION))
        for n, f in METRICS.items()
    }
    return by_mean, by_k


def _draw(by_mean: dict[str, Floats], by_k: dict[str, Floats]) -> None:
    with plots.picture("divergence", columns=2, size=(5.6, 4.2)) as axes:
        for (name, values), colour, style in zip(by_mean.items(), plots.COLOURS, ("-", "--", "-.", ":"), strict=False):
            axes[0, 0].plot(BY_MEAN, values / values.max(), color=colour, linestyle=style, label=name)
            axes[0, 1].plot(BY_CONCENTRATION, by_k[name] / by_k[name].max(), color=colour, linestyle=style, label=name)
        axes[0, 0].set(
            xlabel=f"mean, right answer, concentration {CONCENTRATION:g}",
            ylabel="share of its own largest value",
            ylim=(0, 1.03),
        )
        axes[0, 1].set(xlabel=f"concentration, wrong answer, mean {MEAN}", xscale="log", ylim=(0, 1.03))
        axes[0, 0].legend(loc="upper right")


def subset(betas: Columns, correct: Floats, which: tuple[bool, bool, float]) -> np.ndarray:
    """Rows in the upper or lower half by mean and by concentration (of the answers with this outcome), with this outcome."""
    sure, agreed, outcome = which
    mean, k = betas[0] / (betas[0] + betas[1]), betas[0] + betas[1]
    has = correct == outcome
    high, tight = mean >= np.median(mean), k >= np.median(k[has & ((mean >= np.median(mean)) == sure)])
    return np.flatnonzero(has & (high == sure) & (tight == agreed))


def table(betas: Columns, correct: Floats) -> list[str]:
    """The four subsets, and how often each metric keeps the expected order when questions are drawn again."""
    lines = [
        f"| subset | n | mean | concentration (median) | {' | '.join(METRICS)} |",
        "|---" * (4 + len(METRICS)) + "|",
    ]
    rows = {name: subset(betas, correct, which) for name, which in SUBSETS.items()}
    values = {name: f(*betas, correct) for name, f in METRICS.items()}
    for name, chosen in rows.items():
        a, b = betas[0][chosen], betas[1][chosen]
        cells = " | ".join(f"{v[chosen].mean():.3f}" for v in values.values())
        lines.append(f"| {name} | {chosen.size} | {(a / (a + b)).mean():.3f} | {np.median(a + b):.1f} | {cells} |")
    lines += ["", "| order asked for | " + " | ".join(METRICS) + " |", "|---" * (1 + len(METRICS)) + "|"]
    first, second, third, fourth = rows.values()
    for title, more, less in (
        ("surely wrong above hesitantly wrong: (1) > (3)", first, third),
        ("surely doubted above hesitantly doubted: (2) > (4)", second, fourth),
    ):
        lines.append(f"| {title} | {' | '.join(_kept(v, more, less) for v in values.values())} |")
    return lines


def _kept(values: Floats, more: np.ndarray, less: np.ndarray) -> str:
    rng = np.random.default_rng(0)
    drawn = [
        values[rng.choice(more, more.size)].mean() > values[rng.choice(less, less.size)].mean()
        for _ in range(RESAMPLES)
    ]
    kept = values[more].mean() > values[less].mean()
    return f"{'yes' if kept else '**no**'} ({np.mean(drawn):.0%} of resamples)"


def section(data: Path, limit: int | None = None) -> str:
    """The whole part; `limit` takes the first rows only."""
    by_mean, by_k = curves()
    _draw(by_mean, by_k)
    measured = load_set(data, SET, limit).measured(SIGNAL)
    right = " | ".join("yes" if rises(-v) else "**no**" for v in by_mean.values())
    surer = " | ".join("yes" if rises(v) else "**no**" for v in by_k.values())
    return "\n".join(
        [
            "## Faithfulness Divergence",
            "",
            f"| law | {' | '.join(METRICS)} |",
            "|---" * (1 + len(METRICS)) + "|",
            f"| figure 4: the higher the mean of a right answer, the less surprise (concentration {CONCENTRATION:g}, means {BY_MEAN[0]:g} to {BY_MEAN[-1]:g}) | {right} |",
            f"| figure 5: the more concentrated a wrong answer's confidence, the more surprise (mean {MEAN}, concentrations {BY_CONCENTRATION[0]:g} to {BY_CONCENTRATION[-1]:g}) | {surer} |",
            "",
            "![By mean and by concentration](divergence.svg)",
            "",
            "### The paper's table 1, on recorded answers",
            "",
            f"{SET}, {SIGNAL} signal before any map, {len(measured)} answers, cut at the median of the means and, within outcome and half, of the concentrations. FD weighs the"
            " update by the concentration, so it calls a firmly held error worse than a hesitant one; the others see the same mean, or count a flat Beta as the greater surprise. Where an E[NLL] runs into thousands, a wrong answer stood at the 1e-6 floor.",
            "",
            *table(measured.raw(SIGNAL), measured.correct),
        ]
    )
