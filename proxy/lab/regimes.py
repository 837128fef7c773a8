"""The study of `hedgerow regimes`: learn on one part of the questions, search regimes on the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...calibration.arrays import FloatArray
from ...calibration.errors import NotEnoughData
from ...calibration.maps.nonparametric import IsotonicMap
from ...calibration.metrics.binned import ece_equal_width
from ...calibration.metrics.smooth import smooth_ece
from ...calibration.regimes.correction import DirectField
from ...calibration.regimes.direct import DirectEstimator
from ...calibration.regimes.discovery import Discovery, Indices, MeanGap, discover, mean_gap
from ..errors import InputError
from .regime_data import Questions
from .regime_words import Description, describe

LEAST_HELD = 50
"""Fewest held-out answers; at least a fifth as many different questions are needed."""
LEAST_GROUP = 20
"""Held-out answers that a group needs for its gap to be reported."""
ESTIMATORS = ("raw", "platt", "isotonic", "local")
TRAIN_FRACTION = 0.6
"""Share of the answers to learn from, by whole questions."""
STEPS = 4
"""How often `study` calls its `done`."""

Done = Callable[[], None]


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
    train: Indices
    held: Indices
    field: DirectField
    discovery: Discovery
    described: tuple[Description, ...]
    predicted: Mapping[str, FloatArray]
    gains: Mapping[str, MeanGap]


def study(questions: Questions, done: Done = lambda: None) -> Study:
    """Learn on a part of the questions, then find regimes on the rest; the same parts every time.

    Raises:
        InputError: too few answers or questions on either side.
        CalibrationError: nothing can be learned from the answers.
    """
    rng = np.random.default_rng(0)
    train, held = split(questions.columns.prompt, rng)
    learn_from, measure_on = questions.columns.take(train), questions.columns.take(held)
    _check(learn_from.correct, measure_on.prompt, questions)
    field = DirectEstimator(learn_from.x, learn_from.confidence, learn_from.prompt, rng, done).fit(learn_from.correct)
    discovery = discover(field, learn_from, measure_on, rng)
    predicted = _predicted(field, learn_from.confidence, learn_from.correct, measure_on.x, measure_on.confidence)
    y, prompt = measure_on.correct, measure_on.prompt
    return Study(
        questions, train, held, field, discovery,
        tuple(describe(questions, held, regime) for regime in discovery.regimes),
        predicted,
        {name: mean_gap((y - predicted["local"]) ** 2 - (y - predicted[name]) ** 2, prompt) for name in ESTIMATORS[:-1]},
    )  # fmt: skip


def split(prompt: NDArray[np.int64], rng: np.random.Generator) -> tuple[Indices, Indices]:
    """(rows to learn from, rows held out); all answers to a question are on one side."""
    order = rng.permutation(np.unique(prompt))
    size = np.bincount(prompt)[order]
    is_train = np.isin(prompt, order[np.cumsum(size) - size / 2.0 <= TRAIN_FRACTION * prompt.size])
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
        raise NotEnoughData("all answers to learn from have one outcome: give more answers")


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
