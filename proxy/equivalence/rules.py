"""Equivalence by rules alone: certain merges, certain splits, and a stated default for the rest."""

from __future__ import annotations

from collections.abc import Sequence

from proxy.equivalence.normal import normalise
from proxy.equivalence.partition import Judgement, partition
from proxy.equivalence.veto import contradiction
from proxy.values import Clustering


def judge_pair(question: str, a: str, b: str) -> Judgement:
    """What the rules say about two answers to a question; `same` is None where they cannot tell."""
    x, y = normalise(a), normalise(b)
    if x.key == y.key:
        return Judgement(True, "normal")
    if reason := contradiction(x, y):
        return Judgement(False, f"veto:{reason}")
    return Judgement(None, "undecided")


def cluster_by_rules(question: str, answers: Sequence[str]) -> Clustering:
    """Partition answers by the rules; undecided pairs stay apart."""
    return partition([normalise(answer).key for answer in answers], lambda a, b: judge_pair(question, a, b))


class RuleEquivalence:
    """Groups answers by rules alone, in well under the time a loop iteration may take."""

    async def cluster(self, question: str, answers: Sequence[str]) -> Clustering:
        """Partition the answers; undecided pairs count as different."""
        return cluster_by_rules(question, answers)
