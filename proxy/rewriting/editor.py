"""Rewriters that ask a model: the paper's retrieval-guided editor and its two baselines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hedgerow.proxy.rewriting import prompts
from hedgerow.proxy.types import Rewrite, RewriteRequest, Usage

Ask = Callable[[str, str], Awaitable[tuple[str, Usage]]]
"""Asks a model: (system, user) -> (its answer, tokens spent). Raises StepFailed where the model cannot be asked."""


@dataclass(frozen=True)
class EditorRewriter:
    """The paper's rewriter (RALC 4.2): the model sees the answer, the target and the retrieved hedges."""

    ask: Ask
    name: str = field(default="llm", init=False)

    async def rewrite(self, request: RewriteRequest) -> Rewrite:
        """One call; the answer only."""
        text, usage = await self.ask(prompts.EDITOR, prompts.editor_task(request))
        return Rewrite(prompts.answer_only(text), None, usage)


@dataclass(frozen=True)
class DirectBetaRewriter:
    """The baseline without retrieval: the model is told the Beta and left to find words for it."""

    ask: Ask
    name: str = field(default="direct_beta", init=False)

    async def rewrite(self, request: RewriteRequest) -> Rewrite:
        """One call; the answer only."""
        text, usage = await self.ask(prompts.DIRECT_BETA, prompts.direct_beta_task(request))
        return Rewrite(prompts.answer_only(text), None, usage)


@dataclass(frozen=True)
class HedgedQaRewriter:
    """The baseline without a signal: the model answers anew and is asked to show its own uncertainty."""

    ask: Ask
    name: str = field(default="hedged_qa", init=False)

    async def rewrite(self, request: RewriteRequest) -> Rewrite:
        """One call; the answer only. The draft is not shown, so its facts are not kept: for comparison only."""
        text, usage = await self.ask(prompts.HEDGED_QA, request.question)
        return Rewrite(prompts.answer_only(text), None, usage)
