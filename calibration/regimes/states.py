"""Learns an adaptive map for every number of answers, and evaluates held-out questions with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from ..arrays import FloatArray
from ..errors import NotEnoughData
from ..maps.adaptive import AdaptiveMap
from ..maps.counts import LEAST_ALONE, SHARES, TOKEN_BOUND, count_columns, spread_columns
from ..maps.local import packed, unpacked
from .discovery import Indices
from .drawings import Paths
from .reading import FOLDS, Reader, cross_fitted, ridge, ridge_logistic

STRENGTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0)


def learn_states(seen: Paths, rng: np.random.Generator, *, tokens: bool) -> AdaptiveMap:
    """The map without provenance, neighbourhood or metrics; it is assumed to help.

    Raises
    ------
    NotEnoughData
        If there are too few questions, or all answers are right or wrong.
    """
    names, place = np.unique(seen.prompt, return_inverse=True)
    settled = seen.right[np.isfinite(seen.right)]
    if settled.size == 0 or settled.min() == settled.max():
        raise NotEnoughData("an adaptive map needs right and wrong answers; these are all right or all wrong")
    fold = (rng.permutation(names.size) % FOLDS)[place]
    n, budget = seen.agreeing.shape
    reader = Reader.of(seen.x, seen.plain[:, 0])
    at = np.stack([reader.columns(seen.x, seen.plain[:, j]) for j in range(budget)], axis=1)
    ends = np.concatenate([at[:, 0], at[:, -1]])
    lean, lean_out = cross_fitted(ends, at, np.concatenate([seen.right[:, 0], seen.right[:, -1]]), fold, ridge_logistic)
    share = seen.agreeing[:, -1] / budget
    agree, agree_out = cross_fitted(ends, at, np.tile(share, 2), fold, ridge)
    expected, agree_tokens = np.clip(agree_out, *SHARES), np.empty(0)
    if tokens:
        agree_tokens = ridge(_with_tokens(expected[:, :1], seen.tokens[:, :1])[:, 0], share, 1.0)
        expected = np.clip(_with_tokens(expected, seen.tokens) @ agree_tokens, *SHARES)
    drawn = np.broadcast_to(np.arange(1.0, budget + 1.0), (n, budget))
    context = _context(lean_out, expected, seen.tokens if tokens else None)
    counts, known = count_columns(seen.agreeing, drawn), np.isfinite(seen.right)
    everything = np.concatenate([counts, spread_columns(context, drawn)], axis=-1)
    lean_weights, lean_plain = reader.weights(lean)
    agree_weights, agree_plain = reader.weights(agree)
    average = float(np.clip(share.mean(), 0.05, 0.95))
    return AdaptiveMap(
        alone=tuple(ridge_logistic(counts[known], seen.right[known], budget / 100.0)),
        full=tuple(ridge_logistic(everything[known], seen.right[known], budget / 100.0)),
        budget=budget, tokens=tokens, dimension=seen.x.shape[1],
        lean=packed(lean_weights), agree=packed(agree_weights), lean_plain=lean_plain, agree_plain=agree_plain,
        agree_tokens=tuple(agree_tokens), share=average,
        strength=_strength(expected[:, 0], seen.agreeing[:, -1], budget),
        strength_alone=_strength(np.full(n, average), seen.agreeing[:, -1], budget), gain=(-1.0, -1.0, -1.0),
    )  # fmt: skip


def _with_tokens(share: FloatArray, tokens: FloatArray) -> FloatArray:
    """Columns: intercept, the expected share and both token probabilities, shape (n, N, 4)."""
    return np.dstack([np.ones_like(share), share, tokens])


def _context(lean: FloatArray, share: FloatArray, tokens: FloatArray | None) -> FloatArray:
    """The context beside the counts, as `AdaptiveMap.context` gives it, shape (n, N, 2) or (n, N, 4)."""
    known = [lean[..., None], special.logit(np.clip(share, *SHARES))[..., None]]
    if tokens is not None:
        known.append(special.logit(np.clip(tokens, TOKEN_BOUND, 1.0 - TOKEN_BOUND)))
    return np.concatenate(known, axis=-1)


def _strength(share: FloatArray, agreeing: FloatArray, budget: int) -> float:
    """The weight of the expected share in answers, by maximum likelihood of the counts (beta-binomial)."""

    def likelihood(strength: float) -> float:
        a, b = strength * share, strength * (1.0 - share)
        return float(np.sum(special.betaln(a + agreeing, b + budget - agreeing) - special.betaln(a, b)))

    return max(STRENGTHS, key=likelihood)


def context_at(made: AdaptiveMap, seen: Paths) -> FloatArray:
    """The context that the map uses beside the counts, in every state, shape (n, N, 2) or (n, N, 4)."""
    from_x = seen.x @ np.column_stack([unpacked(made.lean)[:, 0], unpacked(made.agree)[:, 0]])
    plain = np.concatenate([np.ones((*seen.plain.shape[:2], 1)), seen.plain], axis=-1)
    lean = from_x[:, :1] + plain @ np.array(made.lean_plain)
    share = np.clip(from_x[:, 1:] + plain @ np.array(made.agree_plain), *SHARES)
    if made.tokens:
        share = _with_tokens(share, seen.tokens) @ np.array(made.agree_tokens)
    return _context(lean, share, seen.tokens if made.tokens else None)


@dataclass(frozen=True, slots=True)
class States:
    """Held-out questions in every state, as judged by a map that was not fitted on them.

    Attributes
    ----------
    full, alone : ndarray, shape (n, N)
        Confidence with and without what is known beside the counts.
    worth, worth_alone : ndarray, shape (n, N)
        Expected fall of the Brier score for each further answer; 0 after the last.
    right : ndarray, shape (n, N)
    prompt : ndarray, shape (n,)
    """

    full: FloatArray
    alone: FloatArray
    worth: FloatArray
    worth_alone: FloatArray
    right: FloatArray
    prompt: Indices

    def drawn(self, price: float, *, alone: bool) -> Indices:
        """Number of answers drawn for each question."""
        each = (self.worth_alone if alone else self.worth) > price
        if alone:
            each[:, : LEAST_ALONE - 1] = True
        return np.asarray(np.argmin(each, axis=1) + 1, dtype=np.int64)

    def at(self, sizes: Indices, *, alone: bool) -> tuple[FloatArray, FloatArray]:
        """Confidence and outcome of each question after this many answers."""
        rows = np.arange(sizes.size)
        return (self.alone if alone else self.full)[rows, sizes - 1], self.right[rows, sizes - 1]

    def brier(self, sizes: Indices, *, alone: bool) -> float:
        """Brier score after this many answers, on questions with known outcomes."""
        p, y = self.at(sizes, alone=alone)
        return float(np.nanmean((p - y) ** 2))


def judged(made: AdaptiveMap, seen: Paths) -> States:
    """States of questions that the map was not fitted on."""
    n, budget = seen.agreeing.shape
    context, drawn = context_at(made, seen), np.broadcast_to(np.arange(1.0, budget + 1.0), (n, budget))
    worth = np.zeros((2, n, budget))
    for j in range(budget - 1):
        for row, known in enumerate((context[:, j], None)):
            worth[row, :, j] = made.worth(seen.agreeing[:, j], j + 1, budget - j - 1, known)[1]
    full, alone = (special.expit(made.log_odds(seen.agreeing, drawn, known)) for known in (context, None))
    return States(full, alone, worth[0], worth[1], seen.right, seen.prompt)
