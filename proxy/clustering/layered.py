"""Equivalence in steps: rules first, a judge for the pairs that they leave undecided, one partition out of both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

import anyio.to_thread

from hedgerow.proxy.clustering.normal import Normal, normalise
from hedgerow.proxy.clustering.partition import Judgement, partition
from hedgerow.proxy.clustering.rules import compare, is_quick
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.types import Clustering

Pair = tuple[int, int]


class Judge(Protocol):
    """Decides what the rules could not."""

    name: str

    async def judge(self, question: str, answers: Sequence[str], pairs: Sequence[Pair]) -> list[Judgement]:
        """One judgement a pair, in order. `answers` holds one answer of each normal form, `pairs` index it.

        Raises:
            StepFailed: where it could not judge; the reason is a stable word.
        """
        ...


class LayeredEquivalence:
    """Rules, then a judge on undecided pairs, then complete linkage.

    Args:
        judge: asked once per question, only where the rules left a pair undecided.
        strict: a failing judge fails the step; otherwise its pairs count as different and the count says
            "judge_failed:<reason>".
    """

    def __init__(self, judge: Judge, *, strict: bool = False) -> None:
        self._judge = judge
        self._strict = strict

    async def cluster(self, question: str, answers: Sequence[str]) -> Clustering:
        """Partition the answers by rules and judge."""
        if is_quick(question, answers):
            normals, judged = _by_rules(question, answers)
        else:
            normals, judged = await anyio.to_thread.run_sync(_by_rules, question, answers)
        undecided = [pair for pair, judgement in judged.items() if judgement.same is None]
        if undecided:
            judged |= await self._ask(question, {n.key: a for n, a in zip(normals, answers, strict=True)}, undecided)
        return partition([n.key for n in normals], lambda a, b: judged[a, b])

    async def _ask(
        self, question: str, texts: dict[str, str], undecided: list[tuple[str, str]]
    ) -> dict[tuple[str, str], Judgement]:
        """Ask the judge about pairs of keys, in an order that does not depend on that of the samples."""
        keys = sorted(texts)
        index = {key: i for i, key in enumerate(keys)}
        pairs = [(index[a], index[b]) for a, b in undecided]
        try:
            found = await self._judge.judge(question, [texts[key] for key in keys], pairs)
        except StepFailed as failure:
            if self._strict:
                raise
            found = [Judgement(None, f"judge_failed:{failure.reason}")] * len(pairs)
        return dict(zip(undecided, found, strict=True))


def _by_rules(question: str, answers: Sequence[str]) -> tuple[list[Normal], dict[tuple[str, str], Judgement]]:
    """Normal forms in order, and what the rules say of each pair of distinct ones, smaller key first."""
    normals = [normalise(answer, question) for answer in answers]
    by_key = {n.key: n for n in normals}
    return normals, {(a, b): compare(by_key[a], by_key[b]) for a, b in combinations(sorted(by_key), 2)}
