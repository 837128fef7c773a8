"""The study of `hedgerow regimes`: learn on one part of the questions, search regimes on the rest, audit the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...calibration.arrays import FloatArray
from ...calibration.errors import NotEnoughData
from ...calibration.maps.nonparametric import IsotonicMap
from ...calibration.metrics.binned import ece_equal_width
from ...calibration.metrics.smooth import smooth_ece
from ...calibration.regimes.audits import (
    RESAMPLES,
    THRESHOLDS,
    Permutation,
    Seeds,
    Slice,
    compare_seeds,
    permute,
    worst_slice,
)
from ...calibration.regimes.correction import DirectField, offset
from ...calibration.regimes.direct import DirectEstimator
from ...calibration.regimes.discovery import EPSILON, Discovery, Indices, MeanGap, discover, mean_gap
from ..errors import InputError
from .regime_data import Questions
from .regime_words import Description, describe

LEAST_HELD = 50
"""Fewest held-out answers; at least a fifth as many different questions are needed."""
LEAST_GROUP = 20
"""Held-out answers that a group needs for its gap to be reported."""
ESTIMATORS = ("raw", "platt", "isotonic", "local")
SEEDS = (1, 2)
"""Number of further seeds for which the search is repeated."""

Done = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a study.

    Attributes:
        train_fraction: share of the answers to learn from, in (0, 1), by whole questions.
        permutations: number of sets with permuted labels; 0 for none.
        resamples: number of resamples for the intervals of slices.
        in_order: learn from the first questions instead of drawn ones.
    """

    train_fraction: float = 0.6
    epsilon: float = EPSILON
    permutations: int = 20
    resamples: int = RESAMPLES
    seed: int = 0
    in_order: bool = False


@dataclass(frozen=True, slots=True)
class Study:
    """The results of a study.

    Attributes:
        held: rows of `questions` that were held out.
        predicted: by estimator, the probability in [0, 1] that each held-out answer is right.
        gains: Brier score of the local map minus that of the estimator; below 0 = the local map is better.
        described: a description of each regime.
    """

    questions: Questions
    options: Options
    train: Indices
    held: Indices
    field: DirectField
    discovery: Discovery
    described: tuple[Description, ...]
    predicted: Mapping[str, FloatArray]
    gains: Mapping[str, MeanGap]
    slices: tuple[Slice, ...]
    permutation: Permutation | None
    seeds: Seeds | None


def steps_of(options: Options) -> int:
    """How often `study` calls its `done`."""
    return 5 + options.permutations + len(SEEDS)


def study(questions: Questions, options: Options, done: Done = lambda: None) -> Study:
    """Learn on a part of the questions, then find and audit regimes on the rest.

    Raises:
        InputError: too few answers or questions on either side.
        CalibrationError: nothing can be learned from the answers.
    """
    rng = np.random.default_rng(options.seed)
    train, held = split(questions.columns.prompt, options, rng)
    learn_from, measure_on = questions.columns.take(train), questions.columns.take(held)
    _check(learn_from.correct, measure_on.prompt, questions)
    estimator = DirectEstimator(learn_from.x, learn_from.confidence, learn_from.prompt, rng, done)
    field = estimator.fit(learn_from.correct)
    discovery = discover(field, learn_from, measure_on, rng, epsilon=options.epsilon)
    predicted = _predicted(field, learn_from.confidence, learn_from.correct, measure_on.x, measure_on.confidence)
    slices = tuple(
        worst_slice(discovery, field, measure_on, epsilon, rng, resamples=options.resamples) for epsilon in THRESHOLDS
    )
    done()
    worst = worst_slice(discovery, field, measure_on, options.epsilon, rng)
    permutation = None
    if options.permutations:
        permutation = permute(
            estimator, learn_from, measure_on, discovery, worst, rng.spawn(options.permutations),
            done=done,
        )  # fmt: skip
    del estimator
    y, prompt = measure_on.correct, measure_on.prompt
    return Study(
        questions, options, train, held, field, discovery,
        tuple(describe(questions, held, regime) for regime in discovery.regimes),
        predicted,
        {name: mean_gap((y - predicted["local"]) ** 2 - (y - predicted[name]) ** 2, prompt) for name in ESTIMATORS[:-1]},
        slices,
        permutation,
        compare_seeds(learn_from, measure_on, SEEDS, done=done),
    )  # fmt: skip


def split(prompt: NDArray[np.int64], options: Options, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """(rows to learn from, rows held out); all answers to a question are on one side."""
    if not 0.0 < options.train_fraction < 1.0:
        raise InputError(f"--train-fraction must lie between 0 and 1, got {options.train_fraction:g}")
    names, first = np.unique(prompt, return_index=True)
    order = names[np.argsort(first)] if options.in_order else rng.permutation(names)
    size = np.bincount(prompt)[order]
    chosen = order[np.cumsum(size) - size / 2.0 <= options.train_fraction * prompt.size]
    is_train = np.isin(prompt, chosen)
    return np.flatnonzero(is_train), np.flatnonzero(~is_train)


def _check(correct: FloatArray, held_prompt: Indices, questions: Questions) -> None:
    distinct = np.unique(held_prompt).size
    if held_prompt.size < LEAST_HELD or distinct < LEAST_HELD // 5:
        total = np.unique(questions.columns.prompt).size
        raise InputError(
            f"{questions.columns.prompt.size} answers to {total} different questions leave {held_prompt.size} answers to {distinct} "
            f"questions to measure on: at least {LEAST_HELD} to {LEAST_HELD // 5} are needed"
        )
    if correct.size and correct.min() == correct.max():
        raise NotEnoughData("all answers to learn from have one outcome: give more answers, or another --seed")


def _predicted(
    field: DirectField, confidence: FloatArray, correct: FloatArray, x: Any, held_confidence: FloatArray
) -> dict[str, FloatArray]:
    return {
        "raw": held_confidence,
        "platt": field.fallback.means(held_confidence),
        "isotonic": IsotonicMap.learn(confidence, correct).map.means(held_confidence),
        "local": field.corrected(x, held_confidence),
    }


def group_gaps(made: Study, name: str) -> dict[str, float]:
    """For each group, mean of correct minus predicted on the held-out answers; groups of fewer than 20 are left out."""
    groups, residual = (
        made.questions.groups[made.held],
        made.questions.columns.correct[made.held] - made.predicted[name],
    )
    sizes = {str(group): int(count) for group, count in zip(*np.unique(groups, return_counts=True), strict=True)}
    return {
        group: float(residual[groups == group].mean()) for group, size in sizes.items() if group and size >= LEAST_GROUP
    }


def to_document(made: Study, data: str) -> dict[str, Any]:
    """Every figure as one JSON object."""
    y = made.questions.columns.correct[made.held]
    gaps = {name: group_gaps(made, name) for name in ESTIMATORS}
    worst = {name: max(map(abs, found.values()), default=None) for name, found in gaps.items()}
    choice = made.field.choice
    return {
        "data": data,
        "n": int(y.size),
        "n_fitted": int(made.train.size),
        "questions": int(np.unique(made.questions.columns.prompt).size),
        "accuracy": float(y.mean()),
        "mean_confidence": float(made.predicted["raw"].mean()),
        "brier": {name: float(np.mean((y - made.predicted[name]) ** 2)) for name in ESTIMATORS},
        "generalised_ece": {name: ece_equal_width(made.predicted[name], y) for name in ESTIMATORS},
        "smooth_ece": {name: smooth_ece(made.predicted[name], y) for name in ESTIMATORS},
        "worst_group_gap": worst,
        "group_gaps": gaps,
        "gain": {f"over_{name}": _interval(gap) for name, gap in made.gains.items()},
        "helps": made.discovery.helps,
        "field": {
            "mean": float((made.predicted["local"] - made.predicted["raw"]).mean()),
            "sd": float((made.predicted["local"] - made.predicted["raw"]).std()),
            "sd_beyond_confidence": float(made.discovery.hidden.std()),
        },
        "estimator": {
            "base": choice.base,
            "penalties": dict(choice.penalties),
            "slope": choice.slope,
            "cross_validated_brier": choice.brier,
            "cross_validated_brier_of_base": choice.brier_base,
        },
        "found": len(made.discovery.regimes),
        "regimes": [_regime(made, number) for number in range(len(made.discovery.regimes))],
        "thresholds": [_slice(slice_) for slice_ in made.slices],
        "permutation": _permutation(made.permutation),
        "seeds": _seeds(made.seeds, made.discovery),
    }


def _interval(gap: MeanGap) -> dict[str, float]:
    return {"estimate": gap.mean, "low": gap.low, "high": gap.high}


def _regime(made: Study, number: int) -> dict[str, Any]:
    regime, described = made.discovery.regimes[number], made.described[number]
    return {
        "id": number + 1,
        "sign": "overconfident" if regime.sign < 0 else "underconfident",
        "size": int(regime.rows.size),
        "share": regime.rows.size / made.held.size,
        "gap": regime.gap.mean,
        "interval": [regime.gap.low, regime.gap.high],
        "raw_gap": regime.raw_gap.mean,
        "raw_interval": [regime.raw_gap.low, regime.raw_gap.high],
        "corrected_gap": regime.corrected_gap.mean,
        "corrected_interval": [regime.corrected_gap.low, regime.corrected_gap.high],
        "p_value": regime.p_value,
        "accuracy": float(made.questions.columns.correct[made.held][regime.rows].mean()),
        "words": list(described.words),
        "prompts": list(described.prompts),
        "groups": dict(described.groups),
    }


def _slice(slice_: Slice) -> dict[str, Any]:
    return {
        "epsilon": slice_.epsilon,
        "sign": {-1: "overconfident", 0: None, 1: "underconfident"}[slice_.sign],
        "share_overconfident": slice_.share_over,
        "share_underconfident": slice_.share_under,
        "worst_gap": slice_.gap,
        "interval": [slice_.low, slice_.high],
        "brier_gap": slice_.brier_gap,
        "smooth_ece_corrected": slice_.corrected,
    }


def _permutation(made: Permutation | None) -> dict[str, Any] | None:
    if made is None:
        return None
    return {
        "sets": int(made.null_sd.size),
        "reported": made.reported,
        "sd": made.sd,
        "null_sd": [float(made.null_sd.mean()), float(made.null_sd.std())],
        "worst_gap": made.gap,
        "null_worst_gap": [float(made.null_gap.mean()), float(made.null_gap.std())],
        "p_value": made.p_value,
    }


def _seeds(made: Seeds | None, discovery: Discovery) -> dict[str, Any] | None:
    if made is None:
        return None
    return {
        "n": len(made.regimes),
        "field_correlation": float(made.correlation.mean()),
        "sign_agreement": float(made.agreement.mean()),
        "regimes": [len(discovery.regimes), *made.regimes],
    }


def base_means(made: Study) -> FloatArray:
    """The means of the confidence map under the correction, on the held-out answers."""
    confidence = made.questions.columns.confidence[made.held]
    return np.asarray(special.expit(offset(made.field.base, confidence)), dtype=np.float64)
