"""Support of the claims of an answer by a language model that is asked about all of them in one call.

A subclass says what the model is asked, what its reply may be, and how that is weighed. Here is what happens if it
cannot be asked: the words alone decide, or the step fails.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Generic, TypeVar

import anyio

from hedgerow.lexicon.text.claims import Claim
from hedgerow.proxy.clustering.support import SentenceSupport, unread
from hedgerow.proxy.computing import compute
from hedgerow.proxy.config.routes import Judge
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.types import ClaimSupport
from hedgerow.proxy.upstreams.asking import Prompting, RouteContext

Ask = Callable[[str], Awaitable[str]]
Verdict = TypeVar("Verdict")
BUDGET_S = 20.0
MAX_CLAIM_CHARS = 600
_OPENING, _CLOSING = re.compile(r"\[\s*\""), re.compile(r"\"\s*\]")
"""Start and end of a JSON list of texts.

Searched separately: one pattern for the whole list takes quadratic time on a reply of many brackets.
"""


class SupportByCall(SentenceSupport, ABC, Generic[Verdict]):
    """Support of claims by one call to a language model, combined with shared words.

    If the call fails, is late or returns something else, claims get their support by words alone, and `ClaimSupport.by`
    says why.

    Args:
        ask: sends a prompt to the model.
        budget_s: seconds for its reply.
        strict: whether a failing judge fails the step instead.
    """

    most: ClassVar[int]
    """Maximum number of claims in a call; an answer with more is measured by shared words."""

    def __init__(self, ask: Ask, *, budget_s: float = BUDGET_S, strict: bool = False) -> None:
        self._ask, self._budget_s, self._strict = ask, budget_s, strict

    async def measure_claims(
        self, question: str, claims: Sequence[Claim], others: Sequence[str], answer: str | None = None
    ) -> list[ClaimSupport]:
        """The support of each claim, and which of the other answers state it.

        Raises:
            StepFailed: `too_few_samples` if there is only one answer; with a strict judge, its own reasons.
        """
        texts = [claim.text for claim in claims]
        by_words = await super().measure_claims(question, claims, others, answer)
        try:
            verdicts = await self._asked(question, [claim.statement for claim in claims], others)
        except StepFailed as failure:
            if self._strict:
                raise
            return [unread(words, failure.reason) for words in by_words]
        return await compute(self._weighed, question, texts, others, verdicts, by_words, answer)

    async def _asked(self, question: str, claims: Sequence[str], others: Sequence[str]) -> list[Verdict]:
        """The model's verdicts.

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
    def _weighed(
        self,
        question: str,
        texts: Sequence[str],
        others: Sequence[str],
        verdicts: Sequence[Verdict],
        by_words: Sequence[ClaimSupport],
        answer: str | None,
    ) -> list[ClaimSupport]:
        """The support of each claim from the verdicts and the words; runs in a worker thread."""


def asks(context: RouteContext, upstream: str | None, model: str | None) -> Prompting:
    """How a route asks about claims, at temperature 0. None: its own upstream, the model of the request."""
    return Prompting(context.upstream(upstream), "confidence", Reason.JUDGE_UNREACHABLE, model, {"temperature": 0.0})


def budget_of(judge: Judge) -> float:
    """Seconds for the reply: `budget_s` if it is set, else `BUDGET_S`."""
    return judge.budget_s if "budget_s" in judge.model_fields_set else BUDGET_S


def in_marks(kind: str, texts: Sequence[str], longest: int) -> str:
    """Numbered texts between marks; longer ones are cut, and marks inside them are broken up."""
    return "\n".join(
        f"<{kind} {number}>\n{text[:longest].replace(f'</{kind}', f'< /{kind}')}\n</{kind} {number}>"
        for number, text in enumerate(texts, start=1)
    )


def question_in_prompt(question: str) -> str:
    """The question with marks inside it broken up."""
    return question.replace("</question", "< /question")


def texts_in(reply: str, count: int) -> list[str]:
    """The one JSON list of `count` texts in a reply.

    Raises:
        StepFailed: `judge_nonsense` if there is none.
    """
    try:
        texts = json.loads(_list_in(reply))
    except (ValueError, RecursionError):  # not JSON, a number with thousands of digits, or thousands of brackets
        texts = None
    if not isinstance(texts, list) or len(texts) != count or not all(isinstance(text, str) for text in texts):
        raise StepFailed("confidence", Reason.JUDGE_NONSENSE, f"the judge's reply is not a list of {count} texts")
    return texts


def _list_in(reply: str) -> str:
    """The text from the first start of a list to the last end of one; "" if either is missing."""
    opening, ends = _OPENING.search(reply), [match.end() for match in _CLOSING.finditer(reply)]
    return reply[opening.start() : ends[-1]] if opening and ends else ""
