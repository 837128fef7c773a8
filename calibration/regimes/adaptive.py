"""Learning an adaptive map from answers that were drawn in full: every number of answers, in random orders, is a state to learn from.

Everything that is reported was measured on questions that the fold's map did not see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.calibration.fitted import FittedMap
from hedgerow.calibration.fitting import described
from hedgerow.calibration.maps.adaptive import (
    LEAST_ALONE,
    TOKEN_BOUND,
    AdaptiveMap,
    count_columns,
    fixed_at,
    spread_columns,
)
from hedgerow.calibration.maps.base import Learned
from hedgerow.calibration.maps.local import packed, unpacked
from hedgerow.calibration.regimes.discovery import Indices, MeanGap, mean_gap
from hedgerow.calibration.regimes.local import neighbourhood
from hedgerow.calibration.regimes.smoothing import Vectors

LEAST = 100
"""Fewest labelled questions."""
COMPONENTS = 48
"""Principal components of the embeddings; one for eight questions at most."""
FOLDS = 5
PENALTIES = (30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Of the question's log-odds and of the expected share; cross-validation chooses."""
PLAIN_SCALE = 2.0
"""Weight of plain features beside components: there are few of them, and each says more (chosen on half of the questions of one set)."""
STRENGTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0)
PRICES = tuple(np.geomspace(0.0005, 0.05, 17).tolist())
STEPS = FOLDS + 1
"""How often `done` is called."""

Draft = Literal["largest", "first"]
Done = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Drawings:
    """N answers to each of n questions.

    Attributes
    ----------
    x : ndarray, shape (n, d)
        Embeddings of the questions.
    cluster : ndarray, shape (n, N)
        Answers with equal numbers mean the same.
    right : ndarray, shape (n, N)
        0, 1, or NaN where it is not known.
    plain : ndarray, shape (n, N, f)
        Plain features of question and answer.
    tokens : ndarray, shape (n, N, 2)
        Probability of each answer's wording, and mean probability of its tokens; NaN where none were given.
    prompt : ndarray, shape (n,)
        Equal for equal questions.
    """

    x: Vectors
    cluster: NDArray[np.int64]
    right: FloatArray
    plain: FloatArray
    tokens: FloatArray
    prompt: Indices

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Drawings:
        """Some of the questions."""
        return Drawings(
            self.x[rows], self.cluster[rows], self.right[rows], self.plain[rows], self.tokens[rows], self.prompt[rows]
        )


@dataclass(frozen=True, slots=True)
class Paths:
    """What is seen after 1, 2, ... N answers in one order: agreeing with the draft, outcome and features of the draft, tokens of the agreeing."""

    x: Vectors
    agreeing: FloatArray
    right: FloatArray
    plain: FloatArray
    tokens: FloatArray
    prompt: Indices

    @property
    def budget(self) -> int:
        """N."""
        return int(self.agreeing.shape[1])

    def take(self, rows: NDArray[np.bool_]) -> Paths:
        """Some of the questions."""
        return Paths(
            self.x[rows], self.agreeing[rows], self.right[rows], self.plain[rows], self.tokens[rows], self.prompt[rows]
        )


def paths(drawings: Drawings, rng: np.random.Generator, draft: Draft = "largest") -> Paths:
    """The answers in a random order. The draft is the first answer of the largest group so far, or the first answer of all."""
    order = np.argsort(rng.random(drawings.cluster.shape), axis=1)
    cluster = np.take_along_axis(drawings.cluster, order, 1)
    lead, agreeing = np.zeros_like(cluster), np.zeros(cluster.shape)
    for row, numbers in enumerate(cluster.tolist()):
        counts: dict[int, int] = {}
        first: dict[int, int] = {}
        leader = numbers[0]
        for place, number in enumerate(numbers):
            counts[number] = counts.get(number, 0) + 1
            first.setdefault(number, place)
            if draft == "largest" and (counts[number], -first[number]) > (counts[leader], -first[leader]):
                leader = number
            lead[row, place], agreeing[row, place] = first[leader], counts[leader]
    plain = np.take_along_axis(np.take_along_axis(drawings.plain, order[..., None], 1), lead[..., None], 1)
    right = np.take_along_axis(np.take_along_axis(drawings.right, order, 1), lead, 1)
    tokens = _of_agreeing(np.take_along_axis(drawings.tokens, order[..., None], 1), cluster, lead)
    return Paths(drawings.x, agreeing, right, plain, tokens, drawings.prompt)


def _of_agreeing(tokens: FloatArray, cluster: NDArray[np.int64], lead: NDArray[np.int64]) -> FloatArray:
    """The likeliest wording and the mean token of those that agree with the draft, after each answer."""
    seen = np.empty_like(tokens)
    leader = np.take_along_axis(cluster, lead, 1)
    for n in range(cluster.shape[1]):
        agrees = cluster[:, : n + 1] == leader[:, n : n + 1]
        seen[:, n, 0] = np.where(agrees, tokens[:, : n + 1, 0], -np.inf).max(axis=1)
        seen[:, n, 1] = np.where(agrees, tokens[:, : n + 1, 1], 0.0).sum(axis=1) / agrees.sum(axis=1)
    return seen


def ridge_logistic(columns: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Weights of a logistic regression; the first column, the constant, is not penalised."""
    at, penalties = np.zeros(columns.shape[1]), np.full(columns.shape[1], penalty)
    penalties[0] = 1e-6
    for _ in range(15):
        p = special.expit(columns @ at)
        hessian = columns.T @ (columns * (p * (1.0 - p))[:, None]) + np.diag(penalties)
        step = np.linalg.solve(hessian, columns.T @ (p - y) + penalties * at)
        at = at - step
        if np.abs(step).max() < 1e-6:
            break
    return at


def ridge(columns: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """The same by least squares."""
    penalties = np.full(columns.shape[1], penalty)
    penalties[0] = 1e-6
    return np.asarray(np.linalg.solve(columns.T @ columns + np.diag(penalties), columns.T @ y), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Columns that a linear function of embedding and plain features is learned on, and its weights in terms of them."""

    mean: FloatArray
    directions: FloatArray
    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, x: Vectors, plain: FloatArray) -> _Reader:
        mean = x.mean(axis=0).astype(np.float64)
        k = max(1, min(COMPONENTS, len(x) // 8, x.shape[1]))
        _, _, right = np.linalg.svd(x - mean, full_matrices=False)
        spread = ((x - mean) @ right[:k].T).std(axis=0)
        scale = plain.std(axis=0)
        useful = np.where(scale > 1e-9, PLAIN_SCALE / np.maximum(scale, 1e-9), 0.0)
        return cls(mean, right[:k].T / np.maximum(spread, 1e-9), plain.mean(axis=0), useful)

    def columns(self, x: Vectors, plain: FloatArray) -> FloatArray:
        """A constant, components and plain features."""
        return np.hstack([np.ones((len(x), 1)), (x - self.mean) @ self.directions, (plain - self.centre) * self.scale])

    def weights(self, learned: FloatArray) -> tuple[FloatArray, tuple[float, ...]]:
        """Those of the embedding, and those of a constant and of plain features as they are."""
        k = self.directions.shape[1]
        embedding, plain = self.directions @ learned[1 : k + 1], learned[k + 1 :] * self.scale
        constant = learned[0] - self.mean @ embedding - self.centre @ plain
        return embedding, (float(constant), *plain.tolist())


def _cross_fitted(
    columns: FloatArray,
    at: FloatArray,
    y: FloatArray,
    fold: Indices,
    learn: Callable[[FloatArray, FloatArray, float], FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Weights at the penalty that predicts best out of fold, and the out-of-fold values at `at`, shape (n, N).

    `columns` are (2 n, p), `at` (n, N, p), `y` (2 n,); the loss is the squared error of outcomes, through the sigmoid where `learn` is logistic.
    """
    both, link = np.tile(fold, 2), special.expit if learn is ridge_logistic else np.positive
    known = np.isfinite(y)
    losses, values = [], []
    for penalty in PENALTIES:
        out = np.empty(at.shape[:2])
        for held in range(FOLDS):
            rows = (both != held) & known
            out[fold == held] = at[fold == held] @ learn(columns[rows], y[rows], penalty)
        predicted = np.concatenate([out[:, 0], out[:, -1]])[known]
        losses.append(float(np.mean((link(predicted) - y[known]) ** 2)))
        values.append(out)
    best = int(np.argmin(losses))
    return learn(columns[known], y[known], PENALTIES[best]), values[best]


def learn_states(seen: Paths, rng: np.random.Generator, *, tokens: bool) -> AdaptiveMap:
    """The map without provenance, neighbourhood or figures; it is taken to help.

    Raises
    ------
    NotEnoughData
        If there are too few questions, or all answers are right or wrong.
    """
    names, place = np.unique(seen.prompt, return_inverse=True)
    settled = seen.right[np.isfinite(seen.right)]
    if settled.size == 0 or settled.min() == settled.max():
        raise NotEnoughData("an adaptive map is learned from right and wrong answers: these are all of one kind")
    fold = (rng.permutation(names.size) % FOLDS)[place]
    n, budget = seen.agreeing.shape
    reader = _Reader.of(seen.x, seen.plain[:, 0])
    at = np.stack([reader.columns(seen.x, seen.plain[:, j]) for j in range(budget)], axis=1)
    ends = np.concatenate([at[:, 0], at[:, -1]])
    lean, lean_out = _cross_fitted(
        ends, at, np.concatenate([seen.right[:, 0], seen.right[:, -1]]), fold, ridge_logistic
    )
    share = seen.agreeing[:, -1] / budget
    agree, agree_out = _cross_fitted(ends, at, np.tile(share, 2), fold, ridge)
    expected, agree_tokens = np.clip(agree_out, 0.05, 0.97), np.empty(0)
    if tokens:
        with_tokens = np.column_stack([np.ones(n), expected[:, 0], seen.tokens[:, 0]])
        agree_tokens = ridge(with_tokens, share, 1.0)
        expected = np.clip(np.dstack([np.ones((n, budget)), expected, seen.tokens]) @ agree_tokens, 0.05, 0.97)
    drawn = np.broadcast_to(np.arange(1.0, budget + 1.0), (n, budget))
    context = np.stack([lean_out, special.logit(expected)], axis=-1)
    if tokens:
        bounded = np.clip(seen.tokens, TOKEN_BOUND, 1.0 - TOKEN_BOUND)
        context = np.concatenate([context, special.logit(bounded)], axis=-1)
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


def _strength(share: FloatArray, agreeing: FloatArray, budget: int) -> float:
    """How many answers the expected share weighs, by the likelihood of the counts (beta-binomial)."""

    def likelihood(strength: float) -> float:
        a, b = strength * share, strength * (1.0 - share)
        return float(np.sum(special.betaln(a + agreeing, b + budget - agreeing) - special.betaln(a, b)))

    return max(STRENGTHS, key=likelihood)


def context_at(made: AdaptiveMap, seen: Paths) -> FloatArray:
    """What the map is context at every state, shape (n, N, 2) or (n, N, 4)."""
    from_x = seen.x @ np.column_stack([unpacked(made.lean)[:, 0], unpacked(made.agree)[:, 0]])
    plain = np.concatenate([np.ones((*seen.plain.shape[:2], 1)), seen.plain], axis=-1)
    lean = from_x[:, :1] + plain @ np.array(made.lean_plain)
    share = np.clip(from_x[:, 1:] + plain @ np.array(made.agree_plain), 0.05, 0.97)
    if not made.tokens:
        return np.stack([lean, special.logit(share)], axis=-1)
    share = np.dstack([np.ones_like(share), share, seen.tokens]) @ np.array(made.agree_tokens)
    bounded = np.clip(seen.tokens, TOKEN_BOUND, 1.0 - TOKEN_BOUND)
    return np.concatenate(
        [np.stack([lean, special.logit(np.clip(share, 0.05, 0.97))], axis=-1), special.logit(bounded)], axis=-1
    )


@dataclass(frozen=True, slots=True)
class States:
    """Held-out questions in every state, as the map that did not see them judges them.

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
        """How many answers are drawn to each question."""
        each = (self.worth_alone if alone else self.worth) > price
        if alone:
            each[:, : LEAST_ALONE - 1] = True
        return np.asarray(np.argmin(each, axis=1) + 1, dtype=np.int64)

    def at(self, sizes: Indices, *, alone: bool) -> tuple[FloatArray, FloatArray]:
        """Confidence and outcome of each question after so many answers."""
        rows = np.arange(sizes.size)
        return (self.alone if alone else self.full)[rows, sizes - 1], self.right[rows, sizes - 1]

    def brier(self, sizes: Indices, *, alone: bool) -> float:
        """Brier score after so many answers, where outcomes are known."""
        p, y = self.at(sizes, alone=alone)
        return float(np.nanmean((p - y) ** 2))


def judged(made: AdaptiveMap, seen: Paths) -> States:
    """States of questions that the map did not see."""
    n, budget = seen.agreeing.shape
    context, drawn = context_at(made, seen), np.broadcast_to(np.arange(1.0, budget + 1.0), (n, budget))
    worth = np.zeros((2, n, budget))
    for j in range(budget - 1):
        for row, known in enumerate((context[:, j], None)):
            worth[row, :, j] = made.worth(seen.agreeing[:, j], j + 1, budget - j - 1, known)[1]
    full, alone = (special.expit(made.log_odds(seen.agreeing, drawn, known)) for known in (context, None))
    return States(full, alone, worth[0], worth[1], seen.right, seen.prompt)


@dataclass(frozen=True, slots=True)
class AdaptiveFit:
    """An adaptive map, and what held-out questions say of it.

    Attributes
    ----------
    gain : MeanGap
        Brier score with what is known beside the counts minus that of the counts alone, mean over numbers of answers; below 0 = it helps.
    states : States
        The held-out judgements that every figure is of.
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
    fitted_at: datetime | None = None,
    done: Done = lambda: None,
) -> AdaptiveFit:
    """Learn an adaptive map, and measure it by cross-validation over questions.

    Parameters
    ----------
    samples : float
        The mean number of answers that the map's own price should cost.
    draft : "largest" or "first"
        Which answer the confidence is in.

    Raises
    ------
    NotEnoughData
        If there are too few questions or answers, or outcomes of one kind alone.
    """
    n, budget = drawings.cluster.shape
    if budget < LEAST_ALONE + 1:
        raise NotEnoughData(f"{budget} answers to each question: an adaptive map needs at least {LEAST_ALONE + 1}")
    questions = np.unique(drawings.prompt).size
    if questions < LEAST:
        raise NotEnoughData(f"{questions} different questions: an adaptive map needs at least {LEAST}")
    rng = np.random.default_rng(seed)
    tokens = bool(np.isfinite(drawings.tokens).all())
    seen = paths(drawings, rng, draft)
    names, place = np.unique(seen.prompt, return_inverse=True)
    fold = (rng.permutation(names.size) % FOLDS)[place]
    made = learn_states(seen, rng, tokens=tokens)
    done()
    parts: list[States] = []
    for held in range(FOLDS):
        trial = learn_states(seen.take(fold != held), rng, tokens=tokens)
        parts.append(judged(trial, seen.take(fold == held)))
        done()
    columns = ("full", "alone", "worth", "worth_alone", "right", "prompt")
    states = States(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))
    lost = (states.full - states.right) ** 2 - (states.alone - states.right) ** 2
    per_question, known = np.nanmean(lost, axis=1), np.isfinite(states.right).any(axis=1)
    gain = mean_gap(per_question[known], states.prompt[known])
    fixed = tuple(states.brier(np.full(n, j + 1), alone=True) for j in range(budget))
    alone = not gain.high < 0.0
    policy = tuple(_cost(states, price, alone=alone) for price in PRICES)
    anchors, reach, least = neighbourhood(drawings.x, drawings.prompt, rng)
    made = replace(
        made, encoder=encoder, anchors=packed(anchors.at), anchor_counts=packed(anchors.count), reach=reach, least_mass=least,
        gain=(gain.mean, gain.low, gain.high), fixed=fixed, policy=policy, price=_price(policy, fixed, samples),
    )  # fmt: skip
    return AdaptiveFit(_described(made, seen, gain, signal, model, fitted_at or datetime.now(UTC)), made, gain, states)


def _cost(states: States, price: float, *, alone: bool) -> tuple[float, float, float]:
    sizes = states.drawn(price, alone=alone)
    return price, float(sizes.mean()), states.brier(sizes, alone=alone)


def _price(policy: Sequence[tuple[float, float, float]], fixed: Sequence[float], samples: float) -> float:
    """The lowest price that costs at most so many answers, of those that are no worse than a fixed number at their cost where there are any."""
    paying = [row for row in policy if row[2] <= fixed_at(fixed, row[1])] or policy
    return min((price for price, cost, _ in paying if cost <= samples), default=paying[-1][0])


def _described(made: AdaptiveMap, seen: Paths, gain: MeanGap, signal: str, model: str, at: datetime) -> FittedMap:
    known = np.isfinite(seen.right[:, -1])
    agreeing = seen.agreeing[known, -1]
    columns = np.maximum(agreeing, 1e-6), np.maximum(made.budget - agreeing, 1e-6), seen.right[known, -1]
    fitted = described(Learned(made), columns, signal, model, at)
    cost = next(row for row in made.policy if row[0] == made.price)
    verb = "helps" if made.helps else "does not help beyond noise: the counts alone serve"
    notes = (
        f"the question {verb}: held-out Brier score {gain.mean:+.4f} ({gain.low:+.4f} to {gain.high:+.4f}), mean over 1 to {made.budget} answers",
        f"at price {made.price:.2g}: {cost[1]:.2f} answers a question, held-out Brier score {cost[2]:.4f}; "
        f"all {made.budget}, counts alone: {made.fixed[-1]:.4f}",
    )
    return replace(fitted, provenance=replace(fitted.provenance, notes=notes))
