"""Support of the claims of an answer by a language model that is asked about all of them in one call.

A subclass says what the model is asked, what its reply may be, and which figures follow from it. Here these are weighed
with the words; if the model cannot be asked, the words alone decide, or the step fails.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import anyio

from ...lexicon.text.claims import Claim
from ..computing import compute
from ..errors import StepFailed
from ..outcomes import Reason
from ..strict_json import loads
from ..types import ClaimSupport
from ..upstreams.asking import Prompting, RouteContext, SupporterFactory
from .support import SentenceSupport, features, probability, unread, weights_of

Ask = Callable[[str], Awaitable[str]]
Verdict = TypeVar("Verdict")
BUDGET_S = 20.0
MAX_CLAIM_CHARS = 600
_OPENING, _CLOSING = re.compile(r"\[\s*\""), re.compile(r"\"\s*\]")
"""Start and end of a JSON list of texts.

Searched separately: one pattern for the whole list takes quadratic time on a reply of many brackets.
"""


class SupportByCall(SentenceSupport, ABC, Generic[Verdict]):
    """Support of claims by one call to a language model, combined with shared words by a logistic regression.

    If the call fails, is late or returns something else, claims get their support by words alone, and `ClaimSupport.by`
    says why.

    Args:
        ask: sends a prompt to the model.
        budget_s: seconds for its reply.
        strict: whether a failing judge fails the step instead.
        told: called with why the call failed, or None.
    """

    by: ClassVar[str]
    """What `ClaimSupport.by` says of a claim that the model judged."""
    weights: ClassVar[Path]
    """The fitted weights."""
    names: ClassVar[tuple[str, ...]]
    """The features that they weigh, in order: those of words first."""
    most: ClassVar[int]
    """Maximum number of claims in a call; an answer with more is measured by shared words."""

    def __init__(
        self,
        ask: Ask,
        *,
        budget_s: float = BUDGET_S,
        strict: bool = False,
        told: Callable[[str | None], None] = lambda _: None,
    ) -> None:
        self._ask, self._budget_s, self._strict, self._told = ask, budget_s, strict, told

    async def measure_claims(
        self, question: str, claims: Sequence[Claim], others: Sequence[str], answer: str | None = None
    ) -> list[ClaimSupport]:
        """The support of each claim, and which of the other answers state it. Words are compared in a worker thread.

        Raises:
            StepFailed: `too_few_samples` if there is only one answer; with a strict judge, its own reasons.
        """
        texts = [claim.text for claim in claims]
        by_words = await super().measure_claims(question, claims, others, answer)
        try:
            verdicts = await self._verdicts(question, [claim.statement for claim in claims], others)
        except StepFailed as failure:
            if self._strict:
                raise
            self._told(str(failure))
            return [unread(words, failure.reason) for words in by_words]
        self._told(None)
        weights, words = weights_of(self.weights, self.names), await compute(features, question, texts, others, answer)
        return [
            ClaimSupport(probability(weights, (*astuple(of_claim), *beside)), self._borne_out(verdict, alone), self.by)
            for of_claim, beside, verdict, alone in zip(words, self._columns(verdicts), verdicts, by_words, strict=True)
        ]

    async def _verdicts(self, question: str, claims: Sequence[str], others: Sequence[str]) -> Sequence[Verdict]:
        """The model's verdict on each claim.

        Raises:
            StepFailed: the call failed or was late, or the reply cannot be parsed.
        """
        if len(claims) > self.most:
            why = f"the answer has {len(claims)} claims; a judge is asked about at most {self.most}"
            raise StepFailed("confidence", Reason.JUDGE_OVERLOADED, why)
        with anyio.move_on_after(self._budget_s):
            return self._read(await self._ask(self._prompt(question, claims, others)), len(claims), len(others))
        raise StepFailed("confidence", Reason.JUDGE_LATE, f"no reply within {self._budget_s:g} s")

    @abstractmethod
    def _prompt(self, question: str, claims: Sequence[str], others: Sequence[str]) -> str:
        """What the model is asked."""

    @abstractmethod
    def _read(self, reply: str, claims: int, others: int) -> list[Verdict]:
        """The verdict on each claim.

        Raises:
            StepFailed: `judge_nonsense` if the reply has another form.
        """

    @abstractmethod
    def _columns(self, verdicts: Sequence[Verdict]) -> list[tuple[float, ...]]:
        """For each claim the figures that stand behind those of words in `names`."""

    def _borne_out(self, verdict: Verdict, by_words: ClaimSupport) -> tuple[bool | None, ...]:
        """Which of the other answers state a claim; by default what the words say of it."""
        del verdict
        return by_words.borne_out


def factory(
    kind: type[SupportByCall[Any]], context: RouteContext, upstream: str | None = None, model: str | None = None
) -> SupporterFactory:
    """A function that makes the support for each request.

    The model is asked once per long answer, at temperature 0. None: the route's own upstream, the model of the request.
    """
    judge, options = context.route.judge, {"temperature": 0.0}
    prompting = Prompting(context.upstream(upstream), "confidence", Reason.MODEL_UNREACHABLE, model, options)
    return lambda asker, spent: kind(
        prompting.text(asker, spent), budget_s=judge.budget_s, strict=judge.strict, told=context.judged
    )


def in_marks(kind: str, texts: Sequence[str], longest: int) -> str:
    """Numbered texts between marks; longer ones are cut, and marks inside them are broken up."""
    return "\n".join(
        f"<{kind} {number}>\n{text[:longest].replace(f'</{kind}', f'< /{kind}')}\n</{kind} {number}>"
        for number, text in enumerate(texts, start=1)
    )


def claims_in_prompt(claims: Sequence[str]) -> str:
    """Numbered claims between marks."""
    return in_marks("claim", claims, MAX_CLAIM_CHARS)


def question_in_prompt(question: str) -> str:
    """The question with marks inside it broken up."""
    return question.replace("</question", "< /question")


def texts_in(reply: str, count: int) -> list[str]:
    """The one JSON list of `count` texts in a reply.

    Raises:
        StepFailed: `judge_nonsense` if there is none.
    """
    try:
        texts = loads(_list_in(reply))
    except ValueError:
        texts = None
    if not isinstance(texts, list) or len(texts) != count or not all(isinstance(text, str) for text in texts):
        raise nonsense(f"is not a list of {count} texts")
    return texts


def nonsense(why: str) -> StepFailed:
    """The failure of a reply that has another form; `why` continues "the judge's reply"."""
    return StepFailed("confidence", Reason.JUDGE_NONSENSE, f"the judge's reply {why}")


def _list_in(reply: str) -> str:
    """The text from the first start of a list to the last end of one; "" if either is missing."""
    opening, ends = _OPENING.search(reply), [match.end() for match in _CLOSING.finditer(reply)]
    return reply[opening.start() : ends[-1]] if opening and ends else ""
