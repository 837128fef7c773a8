"""Which other answers contradict an assertion, decided in this process by rules and words, or by rules and the shipped judge.

A different meaning is not always a contradiction: "Honolulu" and "Hawaii" differ but do not contradict each other. A refusal, and an answer
that adds detail or is less precise, contradict nothing (Yona, Aharoni & Geva 2024, equation 2 and appendix B).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...clustering.judged_support import read_claims
from ...clustering.local import ENTAILED, LocalJudge, behind, reads
from ...clustering.rules import Judgement, judge_pair
from ...clustering.support import agreement_with, disputed
from .assertions import Assertion, Unread, assertions
from .places import nested

FOLLOWS = 0.7
"""Probability from which one of two answers follows from the other, and they do not contradict. On 3,000 answers that people compared with a
right one (EVOUNA, NQ), rules and judge together say contradiction of 28.3 %, people of 26.4 %, and agree on 91.6 %. That answers without a name in
common contradict whatever the judge says came later: on 1,500 of these answers agreement is 92.4 % with it and without."""
SHARED = 0.5
"""If one answer contains at least this share of the other's names and numbers, words show no contradiction."""
LONG = 8
"""An answer of at least this many words is a sentence, in which "not" may deny something else."""
_ADDS = frozenset({"veto:list", "veto:qualifier"})
"""Reasons for a difference that mean one answer only contains more than the other."""

Table = list[tuple[bool, ...]]
"""For each assertion, whether each of the other answers contradicts it."""
Compare = Callable[[str, Sequence[Assertion], Sequence[str]], Table]
"""(question, assertions of an answer, other answers) -> table."""


def by_words(question: str, asserted: Sequence[Assertion], others: Sequence[str]) -> Table:
    """Decide by the rules, and by names and numbers if they do not decide."""
    if asserted and asserted[0].of_several:
        return disputed(question, [one.text for one in asserted], others)
    return [_each(question, one.text, others, _by_names) for one in asserted]


def _by_names(question: str, text: str, others: Sequence[str]) -> list[bool]:
    """For each other answer: whether neither contains half of the other's names and numbers."""
    return [not _shares(question, text, other) for other in others]


class ByJudge:
    """Decides by the rules, then by the shipped judge, or by words in a language that the judge does not read. Blocks."""

    def __init__(self, judge: LocalJudge) -> None:
        self._judge = judge

    def __call__(self, question: str, asserted: Sequence[Assertion], others: Sequence[str]) -> Table:
        """See `Compare`."""
        texts = [one.text for one in asserted]
        if not all(reads(text, question) for text in (*texts, *others)):
            return by_words(question, asserted, others)
        if asserted and asserted[0].of_several:
            return [tuple(said is False for said in of.by) for of in read_claims(self._judge, question, texts, others)]
        return [_each(question, text, others, self._contradict) for text in texts]

    def _contradict(self, question: str, text: str, others: Sequence[str]) -> list[bool]:
        own = behind(question, text)
        both_ways = [
            pair for other in others for pair in ((own, behind(question, other)), (behind(question, other), own))
        ]
        follows = self._judge.probabilities(both_ways)[:, ENTAILED].reshape(-1, 2).max(axis=1)
        return [
            bool(probability < FOLLOWS) or _names_apart(question, text, other)
            for probability, other in zip(follows, others, strict=True)
        ]


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


def _names_apart(question: str, a: str, b: str) -> bool:
    """Whether both answers have names or numbers, but none in common: the judge finds "Al Capone." entailed by a sentence about somebody else."""
    return all(share == 0.0 for share in _shared(question, a, b))


def _shared(question: str, a: str, b: str) -> tuple[float | None, float | None]:
    """In both directions, the share of one answer's names and numbers that the other contains; None if it has none."""
    ab, ba = agreement_with(question, a, [b]), agreement_with(question, b, [a])
    return (None if ab is None else ab[0]), (None if ba is None else ba[0])
