"""Learns a local map: compared with the confidence map alone on held-out questions, then fitted on all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..arrays import FloatArray
from ..errors import NotEnoughData
from ..fitted import FittedMap
from ..fitting import described, summarise
from ..maps.base import Learned
from ..maps.local import LocalMap, packed, regime_rows
from .correction import DirectField
from .direct import LEAST, DirectEstimator
from .discovery import Columns, Discovery, Indices, MeanGap, discover, mean_gap
from .features import Centres, find_centres
from .vectors import Vectors, squared_distances

HELD = 0.4
"""Share of the questions held out for the comparison."""
LEAST_HELD = 50
FAR = 0.01
"""Share of questions like the training questions that count as unknown."""
ANCHORS = 256
PER_ANCHOR = 16
"""Fewest questions per anchor."""
REACH = 0.05
"""Kernel width of the mass in units of the anchors' spread.

It is narrow, since embeddings of anything else are near the middle of all.
"""

STEPS = 8
"""How often `done` is called."""

Done = Callable[[], None]
Describe = Callable[[Columns, Discovery], Sequence[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class LocalFit:
    """A local map with its evaluation on held-out answers.

    Attributes
    ----------
    gain : MeanGap
        Brier score of the local map minus that of the Platt map on the held-out answers; below 0 = the local one is better.
    n_held : int
    """

    fitted: FittedMap
    gain: MeanGap
    n_held: int

    @property
    def helps(self) -> bool:
        """Whether the whole interval of the gain is below 0."""
        return self.gain.high < 0.0


def fit_local(
    answers: Columns,
    alpha: FloatArray,
    beta: FloatArray,
    *,
    signal: str = "",
    model: str = "",
    seed: int = 0,
    describe: Describe = lambda held, discovery: [()] * len(discovery.regimes),
    done: Done = lambda: None,
) -> LocalFit:
    """Learn a local map.

    Parameters
    ----------
    answers : Columns
        Embeddings, confidences, outcomes and numbers of questions.
    alpha, beta : ndarray, shape (n,)
        The raw confidences as Betas.
    describe : callable
        Words for the regimes that were found on the held-out answers.

    Raises
    ------
    NotEnoughData
        If there are too few answers or questions.
    """
    rng = np.random.default_rng(seed)
    is_held = _held_out(answers.prompt, rng)
    train, held = answers.take(~is_held), answers.take(is_held)
    trial = _estimator(train, rng, done).fit(train.correct)
    discovery = discover(trial, train, held, rng)
    local, platt = trial.corrected(held.x, held.confidence), trial.fallback.means(held.confidence)
    gain = mean_gap((held.correct - local) ** 2 - (held.correct - platt) ** 2, held.prompt)
    estimator = _estimator(answers, rng, done)
    words = describe(held, discovery)
    regimes = regime_rows([(r.sign, r.centre, w) for r, w in zip(discovery.regimes, words, strict=True)])
    made = replace(
        to_map(estimator.fit(answers.correct), estimator.centres, answers.x, answers.prompt, rng),
        gain=(gain.mean, gain.low, gain.high), regimes=regimes,
    )  # fmt: skip
    fitted = described(Learned(made), (alpha, beta, answers.correct), signal, model)
    notes = (
        f"held-out Brier score, local minus Platt: {gain.mean:+.4f} ({gain.low:+.4f} to {gain.high:+.4f}) on {held.correct.size} answers",
        f"{len(regimes)} regimes",
    )
    figures = _before_and_after(alpha[is_held], beta[is_held], local, held.correct)
    provenance = replace(fitted.provenance, cross_validation=figures, notes=notes)
    return LocalFit(replace(fitted, provenance=provenance), gain, held.correct.size)


def _held_out(prompt: Indices, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mask of the answers held out for the comparison; answers to one question stay together."""
    names = rng.permutation(np.unique(prompt))
    count = int(HELD * names.size)
    is_held = np.isin(prompt, names[:count])
    n_held, asked = int(is_held.sum()), f"{prompt.size} answers to {names.size} different questions"
    if n_held < LEAST_HELD:
        raise NotEnoughData(f"{asked} leave {n_held} to compare maps on: at least {LEAST_HELD} are needed")
    if prompt.size - n_held < LEAST or names.size - count < LEAST // 2:
        raise NotEnoughData(
            f"{asked} leave {prompt.size - n_held} to {names.size - count} to learn from: at least {LEAST} to {LEAST // 2} are needed"
        )
    return is_held


def _estimator(answers: Columns, rng: np.random.Generator, done: Done) -> DirectEstimator:
    return DirectEstimator(answers.x, answers.confidence, answers.prompt, rng, done)


def _before_and_after(
    alpha: FloatArray, beta: FloatArray, local: FloatArray, correct: FloatArray
) -> dict[str, dict[str, float]]:
    concentration = alpha + beta
    moved = np.maximum(local * concentration, 1e-6), np.maximum((1.0 - local) * concentration, 1e-6)
    before, after = summarise(alpha, beta, correct), summarise(*moved, correct)
    return {name: {"before": before[name], "after": after[name]} for name in before if name in after}


def to_map(field: DirectField, centres: Centres, x: Vectors, prompt: Indices, rng: np.random.Generator) -> LocalMap:
    """The field as an immutable map; it contains means of groups of questions, not the questions."""
    dimension = x.shape[1]
    weights, bias, kernels = np.zeros(dimension), field.shift.bias, []
    for features, slopes in field.shift.parts:
        scaled = slopes / features.scale
        bias -= float(features.mean @ scaled)
        if features.centres is None:
            weights = weights + scaled
        else:
            kernels.append((float(features.precision), packed(features.whitening @ scaled)))
    anchors, reach, least = neighbourhood(x, prompt, rng)
    return LocalMap(
        field.fallback,
        field.base,
        dimension=dimension,
        bias=float(bias),
        weights=packed(weights),
        centres=packed(centres.at),
        kernels=tuple(kernels),
        cells=packed(field.shift.cells.reshape(-1, dimension)) if field.shift.effects.size else "",
        effects=packed(field.shift.effects),
        anchors=packed(anchors.at),
        anchor_counts=packed(anchors.count),
        reach=reach,
        least_mass=least,
    )


def neighbourhood(x: Vectors, prompt: Indices, rng: np.random.Generator) -> tuple[Centres, float, float]:
    """Anchors from four fifths of the questions, and the mass that 99 % of the other questions exceed."""
    names, first = np.unique(prompt, return_index=True)
    x = x[first]
    rest = rng.permutation(names.size) < names.size // 5
    anchors = find_centres(x[~rest], max(1, min(ANCHORS, len(x) // PER_ANCHOR)), rng)
    reach = REACH * anchors.spread
    away = squared_distances(x[rest], anchors.at).astype(np.float64)
    masses = special.logsumexp(-away / reach, axis=1, b=anchors.count)
    return anchors, float(reach), float(np.quantile(masses, FAR))
