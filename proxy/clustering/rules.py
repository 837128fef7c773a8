"""Equivalence by rules alone: certain merges, certain splits, and a stated default for the rest."""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from hedgerow.proxy.clustering.containment import acronym, another_thing, says_the_same, stands_in_sentence
from hedgerow.proxy.clustering.normal import Normal, normalise
from hedgerow.proxy.clustering.partition import Judgement, partition
from hedgerow.proxy.clustering.veto import contradiction, reversed_arguments, same_quantities
from hedgerow.proxy.types import Clustering


def judge_pair(question: str, a: str, b: str) -> Judgement:
    """What the rules say about two answers to a question; `same` is None where they cannot tell."""
    return compare(normalise(a, question), normalise(b, question))


def compare(a: Normal, b: Normal) -> Judgement:
    """What the rules say about two answers in normal form."""
    if not a.tokens or not b.tokens:
        return Judgement(a.key == b.key and bool(a.key), "normal")
    if a.key == b.key or same_quantities(a, b) or _joined(a) == _joined(b):
        return Judgement(True, "normal")
    if a.alias and a.alias == b.alias:
        return Judgement(True, "alias")
    swapped = reversed_arguments(a, b)
    if reason := contradiction(a, b, swapped):
        return Judgement(False, f"veto:{reason}")
    if a.yes is not None and a.yes == b.yes:
        return Judgement(True, "normal")
    if sorted(a.content) == sorted(b.content) and _same_choice(a, b):
        return Judgement(True, "normal", 0.95)
    if swapped is False:
        return Judgement(True, "normal", 0.95)
    if acronym(a, b):
        return Judgement(True, "alias", 0.9)
    shorter, longer = sorted((a, b), key=lambda x: (len(x.content), len(x.tokens), x.key))
    if says_the_same(shorter, longer) or (
        len(shorter.content) == len(longer.content) and says_the_same(longer, shorter)
    ):
        return Judgement(True, "containment", 0.5 + 0.4 * len(shorter.content) / len(longer.content))
    if stands_in_sentence(shorter, longer):
        return Judgement(True, "sentence", 0.5)
    if reason := another_thing(shorter, longer):
        return Judgement(False, f"veto:{reason}")
    return Judgement(None, "undecided")


def _joined(answer: Normal) -> str:
    """The words run together: "back-flow", "back flow" and "backflow" are one."""
    return "".join(answer.tokens)


def _same_choice(a: Normal, b: Normal) -> bool:
    """Whether the words that only the question gave differ on one side at most: "Alice won" is not "Bob won"."""
    first, second = frozenset(a.tokens) - frozenset(a.content), frozenset(b.tokens) - frozenset(b.content)
    return not (first - second and second - first)


def cluster_by_rules(question: str, answers: Sequence[str]) -> Clustering:
    """Partition answers by the rules; undecided pairs stay apart."""
    normals = [normalise(answer, question) for answer in answers]
    by_key = {n.key: n for n in normals}
    return partition([n.key for n in normals], lambda a, b: compare(by_key[a], by_key[b]))


INLINE_ANSWERS = 6
INLINE_CHARS = 400
"""Up to so many different answers of so many characters (with the question) take 1-3 ms; what is more may take over 5 ms."""


def is_quick(question: str, answers: Sequence[str]) -> bool:
    """Whether comparing these answers surely keeps the event loop for less than 5 ms."""
    different = set(answers)
    return len(different) <= INLINE_ANSWERS and len(question) + sum(map(len, different)) <= INLINE_CHARS


class RuleEquivalence:
    """Groups answers by rules alone, in a worker thread unless there is little to compare."""

    async def cluster(self, question: str, answers: Sequence[str]) -> Clustering:
        """Partition the answers; undecided pairs count as different."""
        if is_quick(question, answers):
            return cluster_by_rules(question, answers)
        return await anyio.to_thread.run_sync(cluster_by_rules, question, answers)
