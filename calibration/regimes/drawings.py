"""Questions with all their sampled answers, and the data after 1, 2, ... answers in one order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from .discovery import Indices
from .vectors import Vectors

Draft = Literal["largest", "first"]


@dataclass(frozen=True, slots=True)
class Drawings:
    """N sampled answers to each of n questions.

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
        """The drawings of some of the questions."""
        return Drawings(
            self.x[rows], self.cluster[rows], self.right[rows], self.plain[rows], self.tokens[rows], self.prompt[rows]
        )


@dataclass(frozen=True, slots=True)
class Paths:
    """The data after 1, 2, ... N answers: number agreeing with the draft, the draft's outcome and features, tokens."""

    x: Vectors
    agreeing: FloatArray
    right: FloatArray
    plain: FloatArray
    tokens: FloatArray
    prompt: Indices

    @property
    def budget(self) -> int:
        """N, the number of answers."""
        return int(self.agreeing.shape[1])

    def take(self, rows: NDArray[np.bool_]) -> Paths:
        """Some of the questions."""
        return Paths(
            self.x[rows], self.agreeing[rows], self.right[rows], self.plain[rows], self.tokens[rows], self.prompt[rows]
        )


def paths(drawings: Drawings, rng: np.random.Generator, draft: Draft = "largest") -> Paths:
    """The paths in a random order.

    The draft is the first answer of the largest group so far, or the first answer of all.
    """
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
    """Highest wording probability and mean token probability of the answers that agree with the draft, after each answer."""
    seen = np.empty_like(tokens)
    leader = np.take_along_axis(cluster, lead, 1)
    for n in range(cluster.shape[1]):
        agrees = cluster[:, : n + 1] == leader[:, n : n + 1]
        seen[:, n, 0] = np.where(agrees, tokens[:, : n + 1, 0], -np.inf).max(axis=1)
        seen[:, n, 1] = np.where(agrees, tokens[:, : n + 1, 1], 0.0).sum(axis=1) / agrees.sum(axis=1)
    return seen
