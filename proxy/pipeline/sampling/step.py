"""The sampling step of one request: how many answers are drawn, in which order, beside what.

`sampling.py` below knows how to draw; here stands when to stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.pipeline.eligibility import answer_reason, offers_tools
from hedgerow.proxy.pipeline.job import Flow, Job
from hedgerow.proxy.pipeline.sampling.calls import Arrived, draw, draw_own
from hedgerow.proxy.pipeline.sampling.early_stopping import draw_until_settled
from hedgerow.proxy.pipeline.sampling.sharing import key_of
from hedgerow.proxy.pipeline.sampling.stopping import CalibratedMean
from hedgerow.proxy.pipeline.steps import RoutePipeline
from hedgerow.proxy.types import Json, Usage
from hedgerow.proxy.upstreams.answers import sample_of, usage_of


async def draw_answers(job: Job, steps: RoutePipeline, flow: Flow, serving: Awaitable[Json] | None) -> None:
    """Draw the answers into the flow, beside the one that is being served if there is one.

    Where tools are on offer one answer comes first: a tool call needs no others.

    Raises:
        ProxyError: no answer could be drawn.
    """
    await _draw(job, steps, flow, serving)
    flow.compared = tuple(i for i, sample in enumerate(flow.samples) if sample.text.strip() or sample.refusal)


async def _draw(job: Job, steps: RoutePipeline, flow: Flow, serving: Awaitable[Json] | None) -> None:
    if offers_tools(job.body):
        await _draw_first(job, steps, flow, serving)
        if answer_reason(flow.samples, [choice for _, choice in flow.choices]) is None:
            await _draw_rest(job, steps, flow, job.route.sampling.n - 1)
    elif serving is not None:
        await _draw_beside(job, steps, serving, lambda answer: _take(flow, answer))
    elif job.route.sampling.share or job.route.sampling.cache is not None:
        flow.samples_from = await steps.sharing.draw(
            key_of(job), lambda arrived: _draw_for_all(job, steps, arrived), lambda answer: _take(flow, answer)
        )
        if flow.samples_from != "upstream":
            flow.sample_usage = Usage()  # whoever drew them has paid
    else:
        await _draw_rest(job, steps, flow, job.route.sampling.n)


async def _draw_for_all(job: Job, steps: RoutePipeline, arrived: Arrived) -> None:
    """Draw on behalf of everybody who asks the same; the flow is only there to decide when to stop."""
    flow = Flow(job)
    await _draw_rest(job, steps, flow, job.route.sampling.n, arrived)


async def _draw_first(job: Job, steps: RoutePipeline, flow: Flow, serving: Awaitable[Json] | None) -> None:
    if serving is not None:
        _take(flow, await serving)
    elif job.route.sampling.probe == "short":
        _take(flow, await draw_own(job, steps.upstream, logprobs=steps.needs_logprobs))
    else:
        await draw(job, steps.upstream, 1, lambda answer: _take(flow, answer), logprobs=steps.needs_logprobs)


async def _draw_rest(job: Job, steps: RoutePipeline, flow: Flow, n: int, told: Arrived = lambda _: None) -> None:
    """Draw into the flow; `told` hears of each completion as well. Where samples are short, the draft comes first, by a call of its own."""

    def arrived(answer: Json) -> None:
        _take(flow, answer)
        told(answer)

    async def more(count: int) -> None:
        await draw(job, steps.upstream, count, arrived, logprobs=steps.needs_logprobs)

    sampling = job.route.sampling
    if sampling.probe == "short" and not flow.answers:
        draft = draw_own(job, steps.upstream, logprobs=steps.needs_logprobs)
        if not sampling.stop_early:
            return await _draw_beside(job, steps, draft, arrived)
        arrived(await draft)
    if sampling.stop_early:
        await draw_until_settled(job, more, lambda: [s for s in flow.samples if s.text.strip()], _mean(job, steps))
    else:
        await more(n)
    return None


def _take(flow: Flow, answer: Json) -> None:
    """Keep a completion with its choices and its cost. Of the first call one choice is the answer and the others are samples; upstreams
    do not say how long each is, so the answer is taken for an average one.
    """
    usage = usage_of(answer)
    if not flow.answers:
        flow.answer_usage = Usage(usage.prompt, round(usage.completion / len(answer["choices"])))
        usage = Usage(0, usage.completion - flow.answer_usage.completion)
    flow.sample_usage += usage
    flow.answers.append(answer)
    flow.choices.extend((answer, choice) for choice in answer["choices"])
    flow.samples = tuple(sample_of(choice) for _, choice in flow.choices)


async def _draw_beside(job: Job, steps: RoutePipeline, first: Awaitable[Json], arrived: Arrived) -> None:
    """Draw the other answers beside one that is on its way already (it is being served, or drawn for itself) and counts as the first.

    Raises:
        ProxyError: the first did not come, or no other could be drawn.
    """
    drawn: list[Json] = []
    failures: list[ProxyError] = []  # told after the group, which would wrap them and end the wait for the first answer

    async def others() -> None:
        try:
            await draw(job, steps.upstream, job.route.sampling.n - 1, drawn.append, logprobs=steps.needs_logprobs)
        except ProxyError as error:
            failures.append(error)

    async with asyncio.TaskGroup() as group:
        beside = group.create_task(others())
        try:
            arrived(await first)
        except ProxyError as error:
            failures.insert(0, error)
            beside.cancel()
            drawn = []
    for answer in drawn:
        arrived(answer)
    if failures:
        raise failures[0]


def _mean(job: Job, steps: RoutePipeline) -> CalibratedMean:
    """What a share of agreeing answers comes to: through the map where the map is one of shares, else as it is."""
    if job.route.signal != "semantic":
        return lambda share: share.mean
    active = steps.active_map(job.model).map
    return lambda share: active.apply(share).mean
