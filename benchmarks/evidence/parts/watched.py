"""How soon a broken promise is noticed, beside the alarm of drift on the same verdicts, and how often one that is kept is accused: recorded
answers with certificates of their own, and made-up lives at the limit itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.evidence import goals
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from benchmarks.evidence.parts.drift import ALPHA, SOURCES, SPOILT, Recorded, _read
from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.drift import plausible, sequential_test
from hedgerow.calibration.fitting import fit_map
from hedgerow.calibration.metrics.binned import wilson_interval
from hedgerow.calibration.promises.learning import learn
from hedgerow.calibration.promises.watching import watch, watch_groups
from hedgerow.calibration.promises.wishes import parse

LIVES, LABELS = 10_000, 1500
RUNS = 100
GOOD = BAD = 700
FITTED = ((200, 400), (450, 500))
LIMITS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
"""The tightest of these that the labels bear out is promised."""


@dataclass(frozen=True)
class Delays:
    """Verdicts on the route from the change to the alarm, in runs without an earlier one; and how many earlier ones there were."""

    late: list[float]
    early: int

    @property
    def median(self) -> float:
        """Half of the alarms came within so many."""
        return float(np.median(self.late))

    def shown(self) -> str:
        """Median, nine tenths, and how many were noticed."""
        numbers = [float(np.quantile(self.late, q, method="inverted_cdf")) for q in (0.5, 0.9)]
        median, most = (f"{value:.0f}" if value <= BAD else f"over {BAD}" for value in numbers)
        return f"{median} | {most} | {sum(each <= BAD for each in self.late)} of {len(self.late)}"


def section(data: Path) -> str:
    """False alarms and delays."""
    kept, false = _kept_promises()
    recorded = [_read(data / "samples" / source) for source in SOURCES]
    rows, pairs = [], []
    for fitted, certified in FITTED:
        for share in SPOILT:
            drift, promise, none = _runs(recorded, fitted, certified, share)
            pairs.append((drift, promise))
            rows.append(f"| {fitted} + {certified} | {share:.0%} | {drift.shown()} | {promise.shown()} | {none} |")
    worst = max(promise.median / min(drift.median, BAD + 1.0) for drift, promise in pairs)
    early = sum(promise.early for _, promise in pairs)
    n = sum(len(promise.late) + promise.early for _, promise in pairs)
    lines = [
        "## Promises, watched",
        "",
        f"False alarms: {LIVES:,} lives of {LABELS:,} labels for each row, at the limit itself, which is the worst promise that is kept. Probability of ever raising a "
        f"false alarm: at most {ALPHA:g}.",
        "",
        "| limit | how answers are drawn to be judged | lives with a false alarm (95 %) |",
        "|---|---|---|",
        *kept,
        "",
        f"Delays: recorded answers of two models to {recorded[0].correct.size:,} arithmetic questions each. In each of {RUNS} runs a model, the answers that a Platt map is fitted on, and "
        "those that a certificate is issued on (the tightest of "
        f"{', '.join(f'{limit:.0%}' for limit in LIMITS)} wrong among plain answers that they bear out, with probability 95 %) are drawn anew; then {GOOD} others come in unchanged, and {BAD} in which "
        "the given share of right answers is wrong. Every answer gets a verdict. Delays are counted in verdicts on the route, whether they are on plain answers or not: the same clock for "
        f"both alarms. The promise is watched on its plain answers alone; the alarm of drift is that of `outcomes` as the watcher raises it. Before the change {early} of {n} promises raised an alarm.",
        "",
        "| fitted + certified on | right made wrong | drift: median | 90 % within | noticed | promise: median | 90 % within | noticed | nothing certified |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        _goals(false, Estimate(worst, worst, worst, n)),
    ]
    return "\n".join(lines)


def _goals(false_alarms: Estimate, delay: Estimate) -> str:
    alarms, late = (
        "false alarms over a whole life <= 1 %, worst row",
        "median delay of a broken promise as a part of the drift alarm's <= 1, worst row",
    )
    return goals.table(
        [
            Goal(alarms, false_alarms, ALPHA, closes="a smaller alpha", spec=".4f"),
            Goal(late, delay, 1.0, closes="more verdicts on plain answers", spec=".2f"),
        ]
    )


def _kept_promises() -> tuple[list[str], Estimate]:
    """Lives in which every promise is just kept."""
    rng, rows, worst = np.random.default_rng(21), [], None
    for limit in (0.02, 0.05, 0.2):
        for name, alarmed in _ways(rng, limit).items():
            rate = alarmed / LIVES
            low, high = wilson_interval(np.array([rate]), np.array([float(LIVES)]))
            rows.append(f"| {limit:.0%} | {name} | {alarmed} of {LIVES:,} ({low[0]:.2%} to {high[0]:.2%}) |")
            if worst is None or rate > worst.value:
                worst = Estimate(rate, float(low[0]), float(high[0]), LIVES)
    assert worst is not None
    return rows, worst


def _ways(rng: np.random.Generator, limit: float) -> dict[str, int]:
    """Lives with a false alarm, by how their labels came about."""
    found = {"all alike": 0, "the riskier half five times as often": 0, "ten groups, any of them": 0}
    groups = list(np.arange(LABELS) % 10)
    for _ in range(LIVES):
        found["all alike"] += watch(rng.random(LABELS) < limit, level=limit, alpha=ALPHA).alarm_at is not None
        wrong, drawn = _risky(rng, limit)
        unequal = watch(wrong, level=limit, drawn=drawn, least=0.1, alpha=ALPHA)
        found["the riskier half five times as often"] += unequal.alarm_at is not None
        each = watch_groups(groups, rng.random(LABELS) < limit, level=limit, alpha=ALPHA)
        found["ten groups, any of them"] += any(one.alarm_at is not None for one in each.values())
    return found


def _risky(rng: np.random.Generator, limit: float) -> tuple[FloatArray, FloatArray]:
    """Labels of answers of which half are wrong at 1.8 times the limit, half at a fifth of it; the first are drawn with probability .5, the others with .1."""
    risky = rng.random(5 * LABELS) < 0.5
    drawn = np.where(risky, 0.5, 0.1)
    seen = np.flatnonzero(rng.random(drawn.size) < drawn)[:LABELS]
    wrong = rng.random(seen.size) < limit * np.where(risky[seen], 1.8, 0.2)
    return wrong.astype(np.float64), drawn[seen]


def _lives(
    recorded: list[Recorded], fitted: int, certified: int
) -> Iterator[tuple[FloatArray, FloatArray, tuple[float, ...], float | None, float]]:
    """Calibrated means and outcomes of what is served, the map's information, and the threshold and limit of the certificate."""
    rng = np.random.default_rng(12)
    for _ in range(RUNS):
        rows = recorded[int(rng.integers(len(recorded)))]
        order = rng.permutation(rows.correct.size)
        train, labels, later = np.split(order[: fitted + certified + GOOD + BAD], [fitted, fitted + certified])
        learned = fit_map("platt", rows.alpha[train], rows.beta[train], rows.correct[train], folds=0)
        mean = learned.map.means(rows.alpha / (rows.alpha + rows.beta))
        threshold, limit = _certified(mean[labels], rows.correct[labels])
        yield mean[later], rows.correct[later].copy(), learned.provenance.information, threshold, limit


def _certified(mean: FloatArray, correct: FloatArray) -> tuple[float | None, float]:
    for limit in LIMITS:
        outcome = learn(mean, correct, [parse(f"plain_wrong <= {limit:.0%}")])
        if outcome.promises and outcome.thresholds is not None:
            return outcome.thresholds.plain, limit
    return None, 1.0


def _runs(recorded: list[Recorded], fitted: int, certified: int, share: float) -> tuple[Delays, Delays, int]:
    """Delays of the drift alarm and of the promise's, and how often nothing could be promised."""
    rng = np.random.default_rng(13)
    late: tuple[list[float], list[float]] = ([], [])
    early, none = [0, 0], 0
    for mean, correct, information, threshold, limit in _lives(recorded, fitted, certified):
        correct[GOOD:] *= rng.random(BAD) >= share
        if threshold is None:
            none += 1
            continue  # compared on the same runs
        plain = np.flatnonzero(mean >= threshold)
        of_map = sequential_test(mean, correct, alpha=ALPHA / 2, nulls=plausible(information, alpha=ALPHA / 2)).alarm_at
        of_promise = watch(1.0 - correct[plain], level=limit, alpha=ALPHA).alarm_at
        for place, at in enumerate((of_map, None if of_promise is None else int(plain[of_promise]))):
            if at is not None and at < GOOD:
                early[place] += 1
            else:
                late[place].append(BAD + 1.0 if at is None else at - GOOD + 1.0)
    return Delays(late[0], early[0]), Delays(late[1], early[1]), none
