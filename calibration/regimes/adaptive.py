"""Learns an adaptive map from questions with all their answers: each prefix in random order is a training state.

All reported figures are on questions that the fold's map was not fitted on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from ..errors import NotEnoughData
from ..fitted import FittedMap
from ..fitting import described
from ..maps.adaptive import AdaptiveMap, fixed_at
from ..maps.base import Learned
from ..maps.counts import LEAST_ALONE
from ..maps.local import packed
from .discovery import Indices, MeanGap, mean_gap
from .drawings import Draft, Drawings, Paths, paths
from .local import neighbourhood
from .reading import FOLDS
from .states import States, judged, learn_states

LEAST = 100
"""Fewest labelled questions."""
PRICES = tuple(np.geomspace(0.0005, 0.05, 17).tolist())
STEPS = FOLDS + 1
"""How often `done` is called."""

Done = Callable[[], None]


@dataclass(frozen=True, slots=True)
class AdaptiveFit:
    """An adaptive map with its evaluation on held-out questions.

    Attributes
    ----------
    gain : MeanGap
        Brier score with the context minus that of the counts alone, mean over numbers of answers; below 0 = the context
        helps.
    states : States
        The held-out states that all figures are computed from.
    """

    fitted: FittedMap
    map: AdaptiveMap
    gain: MeanGap
    states: States


def fit_adaptive(
    drawings: Drawings,
    *,
    samples: float = 3.0,
    draft: Draft = "largest",
    signal: str = "",
    model: str = "",
    encoder: str = "",
    seed: int = 0,
    done: Done = lambda: None,
) -> AdaptiveFit:
    """Learn an adaptive map, and measure it by cross-validation over questions.

    Parameters
    ----------
    samples : float
        Target for the mean number of answers drawn at the map's default price.
    draft : "largest" or "first"
        Which answer the confidence is in.

    Raises
    ------
    NotEnoughData
        If there are too few questions or answers, or outcomes of one kind alone.
    """
    _require_enough(drawings)
    n, budget = drawings.cluster.shape
    rng = np.random.default_rng(seed)
    tokens = bool(np.isfinite(drawings.tokens).all())
    seen = paths(drawings, rng, draft)
    names, place = np.unique(seen.prompt, return_inverse=True)
    fold = (rng.permutation(names.size) % FOLDS)[place]
    made = learn_states(seen, rng, tokens=tokens)
    done()
    states = _held_out_states(seen, fold, rng, tokens, done)
    gain = _gain(states)
    fixed = tuple(states.brier(np.full(n, j + 1), alone=True) for j in range(budget))
    alone = not gain.high < 0.0
    policy = tuple(_cost(states, price, alone=alone) for price in PRICES)
    anchors, reach, least = neighbourhood(drawings.x, drawings.prompt, rng)
    made = replace(
        made, encoder=encoder, anchors=packed(anchors.at), anchor_counts=packed(anchors.count), reach=reach, least_mass=least,
        gain=(gain.mean, gain.low, gain.high), fixed=fixed, policy=policy, price=_price(policy, fixed, samples),
    )  # fmt: skip
    return AdaptiveFit(_described(made, seen, gain, signal, model), made, gain, states)


def _require_enough(drawings: Drawings) -> None:
    budget, questions = drawings.cluster.shape[1], np.unique(drawings.prompt).size
    if budget < LEAST_ALONE + 1:
        raise NotEnoughData(f"{budget} answers to each question: an adaptive map needs at least {LEAST_ALONE + 1}")
    if questions < LEAST:
        raise NotEnoughData(f"{questions} different questions: an adaptive map needs at least {LEAST}")


def _held_out_states(seen: Paths, fold: Indices, rng: np.random.Generator, tokens: bool, done: Done) -> States:
    """All questions in every state, judged by a map that was learned without the question's fold."""
    parts = []
    for held in range(FOLDS):
        trial = learn_states(seen.take(fold != held), rng, tokens=tokens)
        parts.append(judged(trial, seen.take(fold == held)))
        done()
    return States(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(States)))


def _gain(states: States) -> MeanGap:
    """Brier score with the context minus that of the counts alone; questions without an outcome do not count."""
    known = np.isfinite(states.right).any(axis=1)
    full, alone, right = states.full[known], states.alone[known], states.right[known]
    return mean_gap(np.nanmean((full - right) ** 2 - (alone - right) ** 2, axis=1), states.prompt[known])


def _cost(states: States, price: float, *, alone: bool) -> tuple[float, float, float]:
    sizes = states.drawn(price, alone=alone)
    return price, float(sizes.mean()), states.brier(sizes, alone=alone)


def _price(policy: Sequence[tuple[float, float, float]], fixed: Sequence[float], samples: float) -> float:
    """The lowest price that costs at most this many answers.

    Among those no worse than a fixed number of answers at the same cost, if there are any.
    """
    paying = [row for row in policy if row[2] <= fixed_at(fixed, row[1])] or policy
    return min((price for price, cost, _ in paying if cost <= samples), default=paying[-1][0])


def _described(made: AdaptiveMap, seen: Paths, gain: MeanGap, signal: str, model: str) -> FittedMap:
    known = np.isfinite(seen.right[:, -1])
    agreeing = seen.agreeing[known, -1]
    columns = np.maximum(agreeing, 1e-6), np.maximum(made.budget - agreeing, 1e-6), seen.right[known, -1]
    fitted = described(Learned(made), columns, signal, model)
    cost = next(row for row in made.policy if row[0] == made.price)
    verb = "helps" if made.helps else "does not help beyond noise: the counts alone serve"
    notes = (
        f"the question {verb}: held-out Brier score {gain.mean:+.4f} ({gain.low:+.4f} to {gain.high:+.4f}), mean over 1 to {made.budget} answers",
        f"at price {made.price:.2g}: {cost[1]:.2f} answers a question, held-out Brier score {cost[2]:.4f}; "
        f"all {made.budget}, counts alone: {made.fixed[-1]:.4f}",
    )
    return replace(fitted, provenance=replace(fitted.provenance, notes=notes))
