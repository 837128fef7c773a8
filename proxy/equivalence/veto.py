"""Contradictions that can be seen: differing numbers, negation, names with different heads."""

from __future__ import annotations

from proxy.equivalence.normal import Normal

NEGATIONS = frozenset({"no", "not", "never", "none", "neither", "nor", "cannot", "without", "nobody", "nothing"})


def negated(answer: Normal) -> bool:
    """Whether an odd number of negations stands in the answer."""
    return sum(token in NEGATIONS or token.endswith("n't") for token in answer.tokens) % 2 == 1


def contradiction(a: Normal, b: Normal) -> str | None:
    """The first contradiction between two answers, by name; None where none can be seen."""
    if not (a.numbers <= b.numbers or b.numbers <= a.numbers):
        return "number"
    if negated(a) != negated(b):
        return "negation"
    return None
