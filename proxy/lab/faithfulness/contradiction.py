"""Which other answers contradict an assertion, decided by rules and words.

A different meaning is not always a contradiction: "Honolulu" and "Hawaii" differ but do not contradict each other. A refusal, and an answer
that adds detail or is less precise, contradict nothing (Yona, Aharoni & Geva 2024, equation 2 and appendix B).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...clustering.rules import Judgement, judge_pair
from ...clustering.support import agreement_with, disputed
from .assertions import Assertion, Unread, assertions
from .places import nested

SHARED = 0.5
"""If one answer contains at least this share of the other's names and numbers, words show no contradiction."""
LONG = 8
"""An answer of at least this many words is a sentence, in which "not" may deny something else."""
_ADDS = frozenset({"veto:list", "veto:qualifier"})
"""Reasons for a difference that mean one answer only contains more than the other."""

Table = list[tuple[bool, ...]]
"""For each assertion, whether each of the other answers contradicts it."""


def by_words(question: str, asserted: Sequence[Assertion], others: Sequence[str]) -> Table:
    """Decide by the rules, and by names and numbers if they do not decide."""
    if asserted and asserted[0].of_several:
        return disputed(question, [one.text for one in asserted], others)
    return [_each(question, one.text, others, _by_names) for one in asserted]


def _by_names(question: str, text: str, others: Sequence[str]) -> list[bool]:
    """For each other answer: whether neither contains half of the other's names and numbers."""
    return [not _shares(question, text, other) for other in others]


def _each(
    question: str, text: str, others: Sequence[str], decide: Callable[[str, str, Sequence[str]], list[bool]]
) -> tuple[bool, ...]:
    """Whether each other answer contradicts the answer as a whole; `decide` decides pairs that the rules do not, each once."""
    decided: dict[str, bool | None] = {}
    for other in others:
        if other not in decided:
            decided[other] = _by_rules(question, text, other)
    open_ = [other for other, contradicts in decided.items() if contradicts is None]
    if open_:
        decided |= zip(open_, decide(question, text, open_), strict=True)
    return tuple(bool(decided[other]) for other in others)


def _by_rules(question: str, text: str, other: str) -> bool | None:
    said = said_in(other, question)
    if said is None:
        return False
    judgement = judge_pair(question, text, said)
    if judgement.same or nested(question, text, said):
        return False
    return None if judgement.same is None or _leaves_open(judgement, text, said) else True


def _leaves_open(judgement: Judgement, text: str, other: str) -> bool:
    """Whether two answers that do not mean the same may still both be right."""
    if judgement.decided_by in _ADDS:
        return True
    return judgement.decided_by == "veto:negation" and max(len(text.split()), len(other.split())) > LONG


def said_in(answer: str, question: str) -> str | None:
    """An answer without its words of confidence; None for a punt; unchanged if it cannot be read."""
    try:
        asserted = assertions(answer, question)
    except Unread:
        return answer
    if not asserted:
        return None
    return answer if asserted[0].of_several else asserted[0].text


def _shares(question: str, a: str, b: str) -> bool:
    """Whether one answer contains half of the other's names and numbers."""
    return any(share is not None and share >= SHARED for share in _shared(question, a, b))


def _shared(question: str, a: str, b: str) -> tuple[float | None, float | None]:
    """In both directions, the share of one answer's names and numbers that the other contains; None if it has none."""
    ab, ba = agreement_with(question, a, [b]), agreement_with(question, b, [a])
    return (None if ab is None else ab[0]), (None if ba is None else ba[0])
