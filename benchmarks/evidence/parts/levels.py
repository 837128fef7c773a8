"""Whether what is shown and promised keeps its level: the interval of the Faithfulness Divergence with few verdicts, and drift, certificates, arms
and intervals with verdicts that depend on each other.

Made-up lives whose truth is known: ten samples, a true map of slope .9 and shift -.3.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.evidence import goals
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from hedgerow.calibration.arms import difference
from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.clusters import Names, rests_on, together
from hedgerow.calibration.divergence import faithfulness_divergence
from hedgerow.calibration.drift import information, plausible, sequential_test
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.calibration.maps.base import CalibrationMap
from hedgerow.calibration.maps.parametric import PlattMap
from hedgerow.calibration.metrics.binned import wilson_interval
from hedgerow.calibration.metrics.bootstrap import studentised_interval
from hedgerow.calibration.promises.learning import learn
from hedgerow.calibration.promises.testing import THRESHOLDS
from hedgerow.calibration.promises.watching import watch
from hedgerow.calibration.promises.wishes import parse_all
from hedgerow.calibration.refit import DECIDING, refit
from hedgerow.proxy.monitoring.figures import MIN_FOR_INTERVAL

LIVES, CONTRAST, OF_ARMS = 2000, 200, 500
SAMPLES = 10.0
TRUE = 2100
"""True verdicts before those that one client makes up."""
SIZES = (20, 50, 100, 500)
HONEST, OVERCONFIDENT = "honest", "overconfident"
CLUSTERS = (1, 5, 10)
RHO = (0.0, 0.3, 0.6, 0.9)
FITTED, WATCHED, CERTIFIED, SHOWN, ARM = 300, 400, 400, 200, 150
"""Clusters that a map is fitted on, that are watched, that a certificate is issued on, that an interval is of, and in an arm."""
ALPHA, LEVEL = 0.01, 0.05
WISHES = parse_all(["plain_wrong <= 10 %", "answered_wrong <= 30 %"])
MOST_NATS = 5.0


def section(data: Path) -> str:
    """Coverage of the interval of the Faithfulness Divergence, and levels under dependence."""
    del data
    few, shown = _few_verdicts()
    dependent, rates = _dependent()
    one_key, moved = _one_key()
    least, most = (_estimate(pick(shown), LIVES) for pick in (min, max))
    worst = {name: _estimate(max(rate[name] for rate in rates), LIVES) for name in ("drift", "certified")}
    covered = {name: _estimate(min(rate[name] for rate in rates), n) for name, n in (("fd", LIVES), ("arms", OF_ARMS))}
    lines = [
        Goal("intervals of FD that are shown cover >= 93 %, worst row", least, 0.93, at_least=True),
        Goal("intervals of FD that are shown cover <= 97 %, worst row", most, 0.97),
        Goal(
            "clustered verdicts: lives with a false alarm of drift <= 1 %, worst row", worst["drift"], ALPHA, spec=".4f"
        ),
        Goal("clustered verdicts: draws with a false certificate <= 5 %, worst row", worst["certified"], LEVEL),
        Goal("clustered verdicts: intervals of FD cover >= 93 %, worst row", covered["fd"], 0.93, at_least=True),
        Goal("clustered verdicts: intervals of arms cover >= 93 %, worst row", covered["arms"], 0.93, at_least=True),
        Goal(
            "one key's client: lives in which it moves anything <= 5 %, worst row", _estimate(moved, LIVES // 20), LEVEL
        ),
    ]
    return "\n".join(
        ["## Levels of what is shown and promised", "", *few, "", *dependent, "", *one_key, "", goals.table(lines)]
    )


def _few_verdicts() -> tuple[list[str], list[float]]:
    rows, worst = [], []
    for model in (HONEST, OVERCONFIDENT):
        for n in SIZES:
            percentile, studentised = _covered(model, n)
            shown = n >= MIN_FOR_INTERVAL
            worst += [studentised] if shown else []
            rows.append(f"| {model} | {n} | {percentile:.1%} | {studentised:.1%} | {'yes' if shown else 'no'} |")
    lines = [
        "### The interval of the Faithfulness Divergence",
        "",
        f"{LIVES:,} lives a row, {CONTRAST} for percentiles. Answers of ten samples; the honest model states the truth, the overconfident one the share of its samples that agree. *Percentiles*: of 200 "
        f"resamples, as pages and `audit summary` showed them from 20 verdicts on. *Studentised*: as they show it now, from {MIN_FOR_INTERVAL} verdicts on; with fewer there is an estimate "
        "without an interval, because outcomes that are rare and surprise much have often not been seen yet.",
        "",
        "| model | verdicts | percentiles cover | studentised covers | shown |",
        "|---|---|---|---|---|",
        *rows,
    ]
    return lines, worst


def _dependent() -> tuple[list[str], list[dict[str, float]]]:
    rows, rates = [], []
    for size in CLUSTERS:
        for rho in RHO if size > 1 else (0.0,):
            rate = _rates(size, rho)
            rates.append(rate)
            shown = [
                f"{rate[name]:.2%}"
                for name in ("drift", "drift, all", "certified", "certified, all", "fd", "fd, all", "arms", "arms, all")
            ]
            rows.append(f"| {size} | {rho:g} | {' | '.join(shown)} |")
    lines = [
        "### Verdicts that depend on each other",
        "",
        f"{LIVES:,} lives a row. Outcomes of a cluster (the answers to one user, in one conversation, to one question) share a normal factor with the correlation rho. *Counted*: as the product "
        f"counts, one of each cluster in tests, whole clusters in intervals. *All*: every verdict as if it were independent ({CONTRAST} lives). Arms: {OF_ARMS} lives. Drift: a map fitted on {FITTED} clusters, {WATCHED} watched, nothing "
        f"changes; lives with a false alarm at alpha {ALPHA:g}. Certificates: {', '.join(f'`{wish.text}`' for wish in WISHES)} from {CERTIFIED} clusters at {1 - LEVEL:.0%}; draws in which one is granted "
        f"that is false. FD: coverage of its 95 % interval from {SHOWN} clusters. Arms: coverage of the 95 % interval of the difference of FD between two arms of {ARM} clusters that are alike.",
        "",
        "| cluster | rho | drift: counted | all | certificates: counted | all | FD: counted | all | arms: counted | all |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    return lines, rates


def _one_key() -> tuple[list[str], float]:
    """Lives in which one key's client sends verdicts that are not true after true ones of twenty keys; and the largest share of lives that it moves."""
    rows, moved = [], []
    for what, lives, finding in (
        ("an alarm of drift", LIVES // 10, _alarmed),
        ("a promise found broken", LIVES // 10, _broken),
        ("a certificate that is not true", LIVES // 10, _granted),
        ("a new map that is worse", LIVES // 40, _worse),
    ):
        for n in (60, 300):
            rng, found = np.random.default_rng(6), np.zeros(2, dtype=int)
            for _ in range(lives):
                sender = np.concatenate([rng.integers(0, 20, TRUE), np.full(n, 20)]).astype(str).astype(object)
                found += finding(rng, n, sender)
            rows.append(f"| {what} | {n} | {found[0]} of {lives} | {found[1]} of {lives} |")
            moved.append(found[1] / lives)
    lines = [
        "### One key",
        "",
        f"{TRUE:,} true verdicts from the clients of twenty keys, then those that the client of one more key makes up: all wrong, or for a certificate and a new map all right. Nothing "
        "of this stands on the word of one key's client: it must be found without its verdicts too.",
        "",
        "| what its client is after | made-up verdicts | found if all count | found |",
        "|---|---|---|---|",
        *rows,
    ]
    return lines, max(moved)


def _sent(rng: np.random.Generator, n: int, made_up: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Raw means, the probability of being right, and verdicts, the last n of them made up."""
    raw, truth = answers(rng, TRUE + n)
    return raw, truth, np.where(np.arange(raw.size) < TRUE, rng.random(raw.size) < truth, made_up)


def _both(stands: Callable[[NDArray[np.intp]], bool], sender: Names) -> tuple[bool, bool]:
    """Whether something stands on all verdicts, and whether it does not rest on those of one key."""
    everything = stands(np.arange(len(sender)))
    return everything, everything and rests_on(sender, stands) is None


def _alarmed(rng: np.random.Generator, n: int, sender: Names) -> tuple[bool, bool]:
    _, truth, correct = _sent(rng, n, 0.0)
    return _both(lambda k: sequential_test(truth[k], correct[k], alpha=ALPHA).alarm_at is not None, sender)


def _broken(rng: np.random.Generator, n: int, sender: Names) -> tuple[bool, bool]:
    """A promise that is kept by one point."""
    _, truth, correct = _sent(rng, n, 0.0)
    level = float(1.0 - truth.mean()) + 0.01
    return _both(lambda k: watch(1.0 - correct[k], level=level, alpha=ALPHA).state == "broken", sender)


def _granted(rng: np.random.Generator, n: int, sender: Names) -> tuple[bool, bool]:
    """A promise that not even the surest answers keep, by one point; of these alone the client speaks."""
    _, truth, correct = _sent(rng, n, 1.0)
    truth[TRUE:] = truth.max()
    wishes = parse_all([f"plain_wrong <= {99.0 - 100 * truth.max():.1f} %"])
    return _both(lambda k: learn(truth[k], correct[k], wishes, level=LEVEL).certified, sender)


def _worse(rng: np.random.Generator, n: int, sender: NDArray[np.object_]) -> tuple[bool, bool]:
    """A new map takes the place of the true one and is worse; the client's verdicts are spread over all, in the fit and in the comparison."""
    raw, _, correct = _sent(rng, n, 1.0)
    order = rng.permutation(raw.size)
    alpha, correct = raw[order] * SAMPLES, correct[order]
    active = PlattMap(0.9, -0.3)
    found = refit(alpha, SAMPLES - alpha, correct, active, senders=sender[order], rng=rng)
    worse = _expected(found.fitted.map) > _expected(active)
    return worse and found.difference[DECIDING].high < 0.0, worse and found.is_better


def _expected(made: CalibrationMap) -> float:
    """The divergence that is to be expected of a map's answers."""
    raw, truth = answers(np.random.default_rng(1), 100_000)
    means = made.means(raw)
    right, wrong = (faithfulness_divergence(means * SAMPLES, (1.0 - means) * SAMPLES, y) for y in (1.0, 0.0))
    return float((truth * right + (1.0 - truth) * wrong).mean())


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
    truth = float(_divergences(np.random.default_rng(1), model, 500_000)[1].mean())
    rng, held = np.random.default_rng(2), np.zeros(2)
    lives = np.array([CONTRAST, LIVES])
    for life in range(LIVES):
        values = _divergences(rng, model, n)[0]
        if life < CONTRAST:
            low, high = np.quantile(values[_drawn(rng, n)].mean(axis=1), [0.025, 0.975])
            held[0] += low <= truth <= high
        try:
            interval = studentised_interval(values, rng=rng)
            held[1] += interval.low <= truth <= interval.high
        except NotEnoughData:
            lives[1] -= 1
    return float(held[0] / lives[0]), float(held[1] / lives[1])


def _drawn(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    return rng.integers(0, n, (200, n))


def _outcomes(rng: np.random.Generator, truth: FloatArray, rho: float) -> FloatArray:
    """Outcomes of shape (clusters, size); those of a cluster share a factor."""
    factor = np.sqrt(rho) * rng.standard_normal((truth.shape[0], 1)) + np.sqrt(1.0 - rho) * rng.standard_normal(
        truth.shape
    )
    return (special.ndtr(factor) < truth).astype(np.float64)


def _rates(size: int, rho: float) -> dict[str, float]:
    """Share of lives, counted by cluster and not: false alarms, false certificates, coverage of the two intervals."""
    rng, found = np.random.default_rng(5), dict.fromkeys(("drift", "certified", "fd", "arms"), 0.0)
    every = {f"{name}, all": 0.0 for name in found}
    risk, above = _truth()
    mean = float(_divergences(np.random.default_rng(1), HONEST, 500_000)[1].mean())
    for way, rates, lives in (("", found, LIVES), (", all", every, CONTRAST)):
        by = _first if not way else _all
        for _ in range(lives):
            rates[f"drift{way}"] += _drifts(rng, size, rho, by) / lives
            rates[f"certified{way}"] += _certifies_falsely(rng, size, rho, by, risk, above) / lives
            rates[f"fd{way}"] += _covers(rng, size, rho, mean, counted=not way) / lives
        of_arms = min(lives, OF_ARMS)
        rates[f"arms{way}"] = sum(_arms_cover(rng, size, rho, by) for _ in range(of_arms)) / of_arms
    return found | every


def _first(names: Names) -> NDArray[np.intp]:
    """As `first_of_each` of one key, in less time: a test compares them."""
    return np.sort(np.unique(names, return_index=True)[1])


def _all(names: Names) -> NDArray[np.intp]:
    return np.arange(len(names))


By = Callable[[Names], NDArray[np.intp]]


def _verdicts(
    rng: np.random.Generator, clusters: int, size: int, rho: float
) -> tuple[FloatArray, FloatArray, FloatArray, Names]:
    """Raw means, the probability of being right, outcomes and clusters of verdicts, in a random order."""
    raw, truth = answers(rng, (clusters, size))
    order = rng.permutation(raw.size)
    correct, names = _outcomes(rng, truth, rho), np.repeat(np.arange(clusters).astype(str).astype(object), size)
    return raw.ravel()[order], truth.ravel()[order], correct.ravel()[order], names[order]


def _drifts(rng: np.random.Generator, size: int, rho: float, by: By) -> bool:
    raw, _, correct, names = _verdicts(rng, FITTED, size, rho)
    made = PlattMap.learn(raw, correct).map
    nulls = plausible(information(made.means(raw)[by(names)]), alpha=ALPHA / 2)
    raw, _, correct, names = _verdicts(rng, WATCHED, size, rho)
    kept = by(names)
    return sequential_test(made.means(raw[kept]), correct[kept], alpha=ALPHA / 2, nulls=nulls).alarm_at is not None


def _truth() -> tuple[FloatArray, FloatArray]:
    """By threshold of certificates: the true share wrong above it, and the share of answers above it."""
    _, truth = answers(np.random.default_rng(3), 1_000_000)
    above = [truth >= threshold for threshold in THRESHOLDS]
    return np.array([1.0 - truth[place].mean() if place.any() else 0.0 for place in above]), np.array(
        [place.mean() for place in above]
    )


def _certifies_falsely(
    rng: np.random.Generator, size: int, rho: float, by: By, risk: FloatArray, above: FloatArray
) -> bool:
    _, truth, correct, names = _verdicts(rng, CERTIFIED, size, rho)
    kept = by(names)
    outcome = learn(truth[kept], correct[kept], WISHES, level=LEVEL)
    places = [(THRESHOLDS.index(promise.threshold), promise.wish.limit or 0.0) for promise in outcome.promises]
    return any(risk[place] > limit and above[place] > 0.0 for place, limit in places)


def _surprises(rng: np.random.Generator, clusters: int, size: int, rho: float) -> tuple[FloatArray, Names]:
    _, truth, correct, names = _verdicts(rng, clusters, size, rho)
    return faithfulness_divergence(truth * SAMPLES, (1.0 - truth) * SAMPLES, correct), names


def _covers(rng: np.random.Generator, size: int, rho: float, truth: float, *, counted: bool) -> bool:
    values, names = _surprises(rng, SHOWN, size, rho)
    held = studentised_interval(values, groups=together(names) if counted else None, rng=rng)
    return held.low <= truth <= held.high


def _arms_cover(rng: np.random.Generator, size: int, rho: float, by: By) -> bool:
    arms = []
    for _ in range(2):
        values, names = _surprises(rng, ARM, size, rho)
        arms.append(np.minimum(values[by(names)] / MOST_NATS, 1.0))
    gap = difference(*arms)
    return gap.low <= 0.0 <= gap.high
