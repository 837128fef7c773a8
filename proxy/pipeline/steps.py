"""What a route's requests go through: the parts of its pipeline, made once at the start by `assembly.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hedgerow.calibration import ActiveMap
from hedgerow.calibration.decision import Action
from hedgerow.lexicon import Retriever
from hedgerow.proxy.pipeline.job import Job
from hedgerow.proxy.pipeline.long import LongAnswerPipeline
from hedgerow.proxy.pipeline.sampling.sharing import Sharing
from hedgerow.proxy.protocols import Clusterer, ConfidenceSignal, Guard, Rewriter, Upstream
from hedgerow.proxy.types import Usage

Spent = Callable[[Usage], None]
"""Told of tokens spent on comparing answers or on asking about them."""


class Grader(Protocol):
    """Judges answers when they have been given."""

    @property
    def model(self) -> str | None:
        """Who judges, for the record."""
        ...

    def takes(self) -> bool:
        """Whether the next answer is to be judged."""
        ...

    async def grade(self, job: Job, answer: str) -> float | None:
        """1 right, 0 wrong, None where it cannot tell."""
        ...


@dataclass(frozen=True, slots=True)
class RoutePipeline:
    """What a route's requests go through; made once at the start by `assembly.py`.

    Attributes:
        equivalence, signal: made for one request; told of the tokens that they spend.
        active_map: the calibration map for a model, as the registry has it now.
        decide: what to do at a calibrated mean.
        stronger: the upstream that is asked when the decision is to escalate.
        rewriters: makes the rewriters for one request, in the order they are tried.
        by_sentence: what long answers go through; None where the route words them as one.
        grader: judges a share of the answers afterwards.
        sharing: equal requests draw once.
        needs_logprobs: whether the signal asks the upstream for log-probabilities.
    """

    upstream: Upstream
    equivalence: Callable[[Job, Spent], Clusterer]
    signal: Callable[[Job, Spent], ConfidenceSignal]
    active_map: Callable[[str], ActiveMap]
    decide: Callable[[float], Action]
    retriever: Retriever
    rewriters: Callable[[Job], Sequence[Rewriter]]
    guard: Guard
    sharing: Sharing
    stronger: Upstream | None = None
    by_sentence: LongAnswerPipeline | None = None
    grader: Grader | None = None
    needs_logprobs: bool = False
