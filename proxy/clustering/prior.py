"""A weak prior for undecided pairs from embeddings and shared words, for routes without a judge.

A logistic regression on two numbers: the cosine of the two answers, each preceded by its question, and how much of the
shorter answer's content is in the longer one. Embeddings alone are worse than chance on minimal pairs, so the rules'
vetoes come first and cannot be overruled here. Weights and threshold: prior.json, made by benchmarks/fits/prior.py.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from math import exp
from pathlib import Path
from typing import Any

from ..computing import compute
from ..upstreams.asking import ClustererFactory, RouteContext
from .clusterer import Pair, judged
from .embeddings import Encoder, OnnxEncoder, TorchEncoder
from .normal import Question, normalise, read_question
from .rules import Judgement
from .tokens import stem

WEIGHTS = Path(__file__).with_name("prior.json")


class EmbeddingPrior:
    """Judges undecided pairs by embeddings and shared words."""

    name = "prior"

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    async def judge(self, question: str, answers: Sequence[str], pairs: Sequence[Pair]) -> list[Judgement]:
        """Encode the answers once, in a worker thread, and judge each pair."""
        return await compute(self.weigh, question, answers, pairs)

    def weigh(self, question: str, answers: Sequence[str], pairs: Sequence[Pair]) -> list[Judgement]:
        """Blocking version of `judge`."""
        weights = _weights()
        used = sorted({i for pair in pairs for i in pair})
        row = {i: n for n, i in enumerate(used)}
        vectors = self._encoder([in_context(question, answers[i]) for i in used])
        asked = read_question(question)
        stems = {i: content_stems(asked, answers[i]) for i in used}
        judgements = []
        for a, b in pairs:
            cosine = float(vectors[row[a]] @ vectors[row[b]])
            logit = weights["bias"] + weights["cosine"] * cosine + weights["overlap"] * overlap(stems[a], stems[b])
            probability = 1.0 / (1.0 + exp(-logit))
            judgements.append(Judgement(probability >= weights["threshold"], self.name, 0.5 * probability))
        return judgements


def in_context(question: str, answer: str) -> str:
    """An answer preceded by its question, as the encoder reads it."""
    return f"{question.rstrip('?')}? {answer}" if question else answer


def content_stems(question: Question | str, answer: str) -> frozenset[str]:
    """The stems of an answer's content."""
    return frozenset(stem(t) for t in normalise(answer, question).content)


def overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Share of the shorter answer's stems that are in the other, in [0, 1]."""
    return len(a & b) / max(1, min(len(a), len(b)))


@cache
def _weights() -> dict[str, Any]:
    weights: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return weights


def build(context: RouteContext) -> ClustererFactory:
    """A function that makes the judge with the shipped encoder, or the one named in `judge.model`."""
    model = context.route.judge.model
    return judged(EmbeddingPrior(OnnxEncoder() if model is None else TorchEncoder(model)), context)
