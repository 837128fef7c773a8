"""Whether what is shown and promised keeps its level: the interval of the Faithfulness Divergence with few verdicts.

Made-up lives whose truth is known: ten samples, a true map of slope .9 and shift -.3.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.evidence import goals
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.divergence import faithfulness_divergence
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.calibration.metrics.binned import wilson_interval
from hedgerow.calibration.metrics.bootstrap import studentised_interval
from hedgerow.proxy.monitoring.figures import MIN_FOR_INTERVAL

LIVES = 2000
SAMPLES = 10.0
SIZES = (20, 50, 100, 500)
HONEST, OVERCONFIDENT = "honest", "overconfident"


def section(data: Path) -> str:
    """Coverage of the interval of the Faithfulness Divergence."""
    del data
    rows, worst = [], []
    for model in (HONEST, OVERCONFIDENT):
        for n in SIZES:
            percentile, studentised = _covered(model, n)
            shown = n >= MIN_FOR_INTERVAL
            worst += [studentised] if shown else []
            rows.append(f"| {model} | {n} | {percentile:.1%} | {studentised:.1%} | {'yes' if shown else 'no'} |")
    least, most = (_estimate(pick(worst), LIVES) for pick in (min, max))
    return "\n".join(
        [
            "## Levels of what is shown and promised",
            "",
            "### The interval of the Faithfulness Divergence",
            "",
            f"{LIVES:,} lives a row. Answers of ten samples; the honest model states the truth, the overconfident one the share of its samples that agree. *Percentiles*: of 200 "
            f"resamples, as pages and `audit summary` showed them from 20 verdicts on. *Studentised*: as they show it now, from {MIN_FOR_INTERVAL} verdicts on; with fewer there is an estimate "
            "without an interval, because outcomes that are rare and surprise much have often not been seen yet.",
            "",
            "| model | verdicts | percentiles cover | studentised covers | shown |",
            "|---|---|---|---|---|",
            *rows,
            "",
            goals.table(
                [
                    Goal("intervals of FD that are shown cover >= 93 %, worst row", least, 0.93, at_least=True),
                    Goal("intervals of FD that are shown cover <= 97 %, worst row", most, 0.97),
                ]
            ),
        ]
    )


def _estimate(share: float, n: int) -> Estimate:
    low, high = wilson_interval(np.array([share]), np.array([float(n)]))
    return Estimate(share, float(low[0]), float(high[0]), n)


def answers(rng: np.random.Generator, size: tuple[int, ...] | int) -> tuple[FloatArray, FloatArray]:
    """Raw means of answers of ten samples, unanimous ones as 10.5 : 0.5, and the probability that each is right."""
    agree = np.maximum(rng.binomial(int(SAMPLES), rng.beta(2.5, 0.8, size)), 1)
    raw = np.where(agree == SAMPLES, 10.5 / 11.0, agree / SAMPLES)
    return raw, np.asarray(special.expit(0.9 * special.logit(raw) - 0.3))


def _divergences(rng: np.random.Generator, model: str, n: int) -> tuple[FloatArray, FloatArray]:
    """Divergences of n answers, and the expectation of each."""
    raw, truth = answers(rng, n)
    stated = truth if model == HONEST else raw
    right, wrong = (faithfulness_divergence(stated * SAMPLES, (1.0 - stated) * SAMPLES, y) for y in (1.0, 0.0))
    return np.where(rng.random(n) < truth, right, wrong), truth * right + (1.0 - truth) * wrong


def _covered(model: str, n: int) -> tuple[float, float]:
    """Shares of lives in which the percentiles and the studentised interval hold the truth; what is refused counts for neither."""
    truth = float(_divergences(np.random.default_rng(1), model, 2_000_000)[1].mean())
    rng, held = np.random.default_rng(2), np.zeros(2)
    lives = np.full(2, LIVES)
    for _ in range(LIVES):
        values = _divergences(rng, model, n)[0]
        means = values[_drawn(rng, n)].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        held[0] += low <= truth <= high
        try:
            interval = studentised_interval(values, rng=rng)
            held[1] += interval.low <= truth <= interval.high
        except NotEnoughData:
            lives[1] -= 1
    return float(held[0] / lives[0]), float(held[1] / lives[1])


def _drawn(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    return rng.integers(0, n, (200, n))
