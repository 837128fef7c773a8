"""Ask many questions through a route, several at a time, and store every answer as it arrives: its cost and its row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

from ..config import Route
from ..config import Upstream as UpstreamSettings
from ..errors import ConfigError, ProxyError, UpstreamError
from ..monitoring.figures import dollars
from ..pipeline.job import Job, job_of
from ..pipeline.sampling.drawing import draw
from ..pipeline.sampling.forms import Accepted
from ..protocols import Call, Upstream
from ..services.services import open_upstream
from ..spending.prices import Prices
from ..types import Json, Usage
from ..upstreams.answers import sample_of, usage_of
from .ledger import Ledger
from .questions import Question

PATIENCE = 5
"""Consecutive failures after which the upstream counts as down."""
CHARS_PER_TOKEN = 4
"""Characters per token of English text; used only for the estimate that is shown before anything is spent."""
ANSWER_TOKENS = 50
"""Tokens of an answer; used only for the same estimate."""


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Plan:
    """How questions are asked.

    Attributes:
        model: the model to ask for, if the route does not fix one.
        system: a system message before every question; "" for none.
        logprobs: whether to request log-probabilities.

    Raises:
        ConfigError: the route draws its draft differently from its samples, so that the collected answers would not represent it.
    """

    route: Route
    model: str = ""
    system: str = ""
    logprobs: bool = False

    def __post_init__(self) -> None:
        if self.route.sampling.probe == "short":
            raise ConfigError(
                f"the route {self.route.name!r} draws short samples beside its draft, which are not collected; fit its map to its own traffic "
                "(`hedgerow fit --from-audit`)"
            )

    @property
    def drawn(self) -> Json:
        """How answers are drawn, as stored in every row."""
        sampling = self.route.sampling
        return {
            "upstream": self.route.upstream,
            "model": self.route.model or self.model,
            "n": sampling.n,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "system": self.system,
        }

    def job(self, question: Question) -> Job:
        """A question as a request."""
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": question.text})
        return job_of(self.route, "/chat/completions", {"model": self.model, "messages": messages}, {})


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated cost: calls and tokens.

    Attributes:
        model: the model; "" if not known in advance.
        answers: number of answers, each estimated at `answer_tokens` tokens.
    """

    model: str
    calls: int
    prompt_tokens: int
    answers: int
    answer_tokens: int = ANSWER_TOKENS

    @property
    def tokens(self) -> int:
        """Estimated tokens of the answers."""
        return self.answers * self.answer_tokens

    def in_dollars(self, prices: Prices) -> str:
        """The estimated dollars and the source of the prices, as text; or that the price is unknown."""
        if not self.calls:
            return dollars(0.0)
        if (price := prices.of(self.model)) is None:
            return f"what that costs is not known, {self.model or 'the model'} has no price (prices.models sets one)"
        each = Usage(self.prompt_tokens // self.calls, self.tokens // self.calls)
        return f"about {dollars(self.calls * price.of(each))} by the prices of {price.source}"


def cost(plan: Plan, questions: Iterable[Question], ledger: Ledger, *, at_once: bool) -> Cost:
    """The cost of the remaining questions; `at_once`: one call returns all answers of a question."""
    calls = tokens = answers = 0
    for question in questions:
        missing = max(0, plan.route.sampling.n - len(ledger.answers(question.key)))
        asked = min(missing, 1) if at_once else missing
        calls, answers = calls + asked, answers + missing
        tokens += asked * (len(plan.system) + len(question.text)) // CHARS_PER_TOKEN
    return Cost(plan.route.model or plan.model, calls, tokens, answers)


async def collect(
    plan: Plan,
    questions: Sequence[Question],
    upstream: Upstream,
    ledger: Ledger,
    *,
    concurrency: int = 4,
    on_done: Callable[[], None] = lambda: None,
    on_failure: Callable[[Question, ProxyError], None] = lambda _question, _failure: None,
) -> Outcome:
    """Ask every question that is not in the ledger; failed ones are left for the next run."""
    todo = [question for question in questions if question.key not in ledger.done]
    accepted = Accepted()
    return await work_off(
        todo,
        lambda question: _ask(plan, question, upstream, ledger, accepted),
        concurrency=concurrency,
        on_done=on_done,
        on_failure=on_failure,
    )


async def _ask(plan: Plan, question: Question, upstream: Upstream, ledger: Ledger, accepted: Accepted) -> None:
    """Draw the missing answers to one question; each is stored on arrival.

    Raises:
        ProxyError: not all answers came, or too few of them have text.
    """
    job, n = plan.job(question), plan.route.sampling.n
    missing = n - len(ledger.answers(question.key))
    whole: list[Json] = []

    def arrived(completion: Json) -> None:
        answers = _answers(completion)
        if len(answers) == n:
            whole.extend(answers)  # one call: the row is written directly
        else:
            ledger.keep(question.key, answers)

    if missing > 0:
        await draw(job, upstream, missing, arrived, accepted=accepted, logprobs=plan.logprobs)
    answers = whole or list(ledger.answers(question.key))
    if len(answers) < n:
        raise UpstreamError(f"{len(answers)} of {n} answers came", code="answers_missing")
    if sum(1 for answer in answers if answer["text"].strip()) < plan.route.sampling.min_n:
        if whole:
            ledger.keep(question.key, whole)
        raise UpstreamError(f"fewer than {plan.route.sampling.min_n} of {n} answers have text", code="too_few_samples")
    ledger.finish(question.key, _row(plan, question, answers[:n]))


def _answers(completion: Json) -> list[Json]:
    """The answers of one completion, the first of them with its cost."""
    usage, model = usage_of(completion), completion.get("model")
    answers: list[Json] = []
    for choice in completion["choices"]:
        sample = sample_of(choice)
        answer: Json = {"text": sample.text}
        if sample.logprob_mean is not None:
            answer["logprob_mean"] = round(sample.logprob_mean, 6)
        if sample.finish_reason not in (None, "stop"):
            answer["finish_reason"] = sample.finish_reason
        answers.append(answer)
    answers[0] |= {"usage": [usage.prompt, usage.completion], "model": model if isinstance(model, str) else ""}
    return answers


def _row(plan: Plan, question: Question, answers: Sequence[Json]) -> Json:
    """A row for `hedgerow fit`. Answers without text are counted but not kept, because the proxy does not compare them either."""
    spent = [answer["usage"] for answer in answers if "usage" in answer]
    answered_by = next((answer["model"] for answer in answers if answer.get("model")), "")
    row: Json = {"id": question.id or question.line, "question": question.text, "gold": list(question.gold)}
    row |= {name: list(value) for name in ("wrong", "choices") if (value := getattr(question, name))}
    row |= {"dataset": question.dataset} if question.dataset else {}
    row["samples"] = [_sample(answer) for answer in answers if answer["text"].strip()]
    if len(row["samples"]) < len(answers):
        row["without_text"] = len(answers) - len(row["samples"])
    if not question.gold:
        row["correct"] = None  # filled in by grading
    row["model"] = plan.route.model or plan.model or answered_by
    row["usage"] = {"prompt_tokens": sum(u[0] for u in spent), "completion_tokens": sum(u[1] for u in spent)}
    return row


def _sample(answer: Json) -> Json:
    return {name: value for name, value in answer.items() if name not in ("usage", "model")}


@dataclass(slots=True)
class Outcome:
    """Number of items done and failed, and whether the work stopped early because the upstream is down."""

    done: int = 0
    failed: int = 0
    dead: bool = False


async def work_off(
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[None]],
    *,
    concurrency: int,
    on_done: Callable[[], None] = lambda: None,
    on_failure: Callable[[Item, ProxyError], None] = lambda _item, _failure: None,
) -> Outcome:
    """Process every item. A failed item is reported and left; after `PATIENCE` consecutive failures no further item is started."""
    outcome, waiting, in_a_row = Outcome(), iter(items), 0

    async def worker() -> None:
        nonlocal in_a_row
        for item in waiting:
            try:
                await work(item)
            except ProxyError as failure:
                in_a_row += 1
                outcome.failed += 1
                on_failure(item, failure)
            else:
                in_a_row, outcome.done = 0, outcome.done + 1
            on_done()
            outcome.dead = outcome.dead or in_a_row >= PATIENCE
            if outcome.dead:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())
    return outcome


@asynccontextmanager
async def asked_at(
    name: str, upstreams: Mapping[str, UpstreamSettings], *, per_minute: float | None = None
) -> AsyncIterator[Upstream]:
    """Open one of these upstreams for at most `per_minute` calls a minute, at an even rate; None for no limit.

    Raises:
        ConfigError: a library or a model file is missing or unusable.
    """
    upstream = await open_upstream(name, upstreams)
    try:
        yield cast(Upstream, _Paced(upstream, 60.0 / per_minute)) if per_minute else upstream
    finally:
        await upstream.aclose()


class _Paced:
    """An upstream that is called at an even rate; only `complete` is needed here."""

    def __init__(self, upstream: Upstream, gap_s: float) -> None:
        self.honours_n = upstream.honours_n
        self._upstream, self._gap_s, self._next = upstream, gap_s, 0.0

    async def complete(self, call: Call) -> Json:
        """See `Upstream`; waits for its turn first."""
        now = asyncio.get_running_loop().time()
        turn, self._next = max(now, self._next), max(now, self._next) + self._gap_s
        await asyncio.sleep(turn - now)
        return await self._upstream.complete(call)
