"""P(True): the model is asked whether its own answer is right; the signal is the probability of "True"."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from math import exp
from typing import Any

from ...calibration import Beta
from ..errors import StepFailed
from ..outcomes import Reason
from ..types import Clustering, Json, Sample
from ..upstreams.asking import Prompting, RouteContext, SignalFactory, user

Ask = Callable[[str], Awaitable[Json]]
"""Sends a prompt to the model with OPTIONS and returns the completion object."""
OPTIONS: Json = {"temperature": 0.0, "max_tokens": 1, "logprobs": True, "top_logprobs": 10}
IDEAS = 10
"""Largest number of other answers shown to the model beside the draft."""

PROMPT = """Question: {question}

Several answers were considered:
{ideas}

Proposed answer: {draft}

Is the proposed answer correct? Reply with one word, True or False."""


class PTrueSignal:
    """P(True) / (P(True) + P(False)) of the next token (Kadavath et al. 2022).

    Each sampled answer counts as one observation.
    """

    name = "p_true"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Ask the model once.

        Raises:
            StepFailed: `no_logprobs` if the upstream returns none, `no_verdict` if neither word is among the likely tokens.
        """
        ideas = "\n".join(dict.fromkeys(sample.text.strip() for sample in samples[:IDEAS]))
        draft = samples[clustering.draft_index].text.strip()
        answer = await self._ask(PROMPT.format(question=question, ideas=ideas, draft=draft))
        return Beta.from_mean(probability(answer), len(samples))


def probability(answer: Json) -> float:
    """The share of "True" in the first token's probability of "True" and "False", in [0, 1]."""
    mass = {"true": 0.0, "false": 0.0}
    for token, logprob in _candidates(answer):
        word = token.strip().strip(".\"'").casefold()
        if word in mass:
            mass[word] += exp(min(logprob, 0.0))
    total = sum(mass.values())
    if total <= 0.0:
        raise StepFailed("signal", Reason.NO_VERDICT, "neither True nor False is among the likely words")
    return mass["true"] / total


def _candidates(answer: Json) -> list[tuple[str, float]]:
    """The likely first tokens with log-probabilities; only the generated one if there are no alternatives."""
    logprobs = answer["choices"][0].get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    first: Any = content[0] if isinstance(content, list) and content else None
    if not isinstance(first, dict):
        raise StepFailed("signal", Reason.NO_LOGPROBS, "the upstream gave no token log-probabilities")
    candidates = [token for token in first.get("top_logprobs") or [first] if isinstance(token, dict)]
    return [
        (token["token"], float(token["logprob"]))
        for token in candidates
        if isinstance(token.get("token"), str) and isinstance(token.get("logprob"), int | float)
    ]


def build(context: RouteContext) -> SignalFactory:
    """A function that makes the signal for each request; it asks the route's own upstream once."""
    prompting = Prompting(context.upstream(), "signal", Reason.MODEL_UNREACHABLE, None, OPTIONS)
    return lambda asker, spent: PTrueSignal(lambda prompt: prompting.complete(asker, spent, user(prompt)))
