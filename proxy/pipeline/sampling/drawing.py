"""The sampling step: which answers are drawn, in which order, beside what, and how they are asked for.

`n` answers come at once where the upstream honours it, topped up with parallel calls where it does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from hedgerow.proxy.errors import Overloaded, ProxyError, UpstreamRejected
from hedgerow.proxy.pipeline.eligibility import answer_reason, offers_tools
from hedgerow.proxy.pipeline.job import Job
from hedgerow.proxy.pipeline.result import Drawn, Run
from hedgerow.proxy.pipeline.sampling.early_stopping import CalibratedMean, draw_until_settled
from hedgerow.proxy.pipeline.sampling.sharing import Arrived, key_of
from hedgerow.proxy.pipeline.steps import RoutePipeline
from hedgerow.proxy.protocols import Call, Upstream
from hedgerow.proxy.types import Json

log = structlog.get_logger(__name__)

SHORT = "Reply with the answer alone, in as few words as possible."
"""What samples are asked for where the route wants them short."""

First = Callable[[], Awaitable[Json]]
"""Gets the answer that is drawn apart from the others, and is the draft."""


def own_body(job: Job, *, logprobs: bool) -> Json:
    """The client's request as it stands, for one whole answer from the route's model."""
    kept = {key: value for key, value in job.body.items() if key not in ("stream", "stream_options", "n")}
    changed: Json = {"model": job.model} if job.model else {}
    if logprobs:
        changed["logprobs"] = True if job.path == "/chat/completions" else 0
    return kept | changed


def sampling_body(job: Job, *, logprobs: bool) -> Json:
    """The client's request as a sampling call: its own fields, with the route's model and sampling in place of the client's."""
    body, sampling = own_body(job, logprobs=logprobs), job.route.sampling
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        body["top_p"] = sampling.top_p
    if isinstance(body.get("seed"), int):
        del body["seed"]  # one seed for all answers would make them one answer
    return shortened(job.path, body) if sampling.probe == "short" else body


def shortened(path: str, body: Json) -> Json:
    """The request with the wish for a short answer at the end of the user's last message: a system message there is not understood by every
    model. A plain completion is a text to be continued, so nothing is added to it.
    """
    if path != "/chat/completions":
        return body
    messages = list(body["messages"])
    last = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=None)
    if last is None:
        return body
    content = messages[last].get("content")
    if isinstance(content, list):
        content = [*content, {"type": "text", "text": SHORT}]
    else:
        content = f"{content or ''}\n\n{SHORT}".lstrip()
    messages[last] = messages[last] | {"content": content}
    return body | {"messages": messages}


async def draw_own(job: Job, upstream: Upstream, *, logprobs: bool = False) -> Json:
    """The answer to the client's own request, which is the draft where samples are short.

    Raises:
        ProxyError: it could not be drawn.
    """
    answer = await upstream.complete(Call(job.path, own_body(job, logprobs=logprobs), job.headers))
    answer["choices"] = answer["choices"][:1]
    return answer


async def draw_answers(run: Run, pipeline: RoutePipeline, serving: Awaitable[Json] | None) -> None:
    """Draw the answers of a run, beside the one that is being served if there is one.

    Where tools are offered one answer comes first: a tool call needs no others. Equal requests draw once, but not beside an answer that
    is served.

    Raises:
        ProxyError: no answer could be drawn.
    """
    job, sampling, first = run.job, run.job.route.sampling, _first(run.job, pipeline, serving)
    drawing = _Drawing(job, pipeline, run.arrived)
    if offers_tools(job.body):
        await (drawing.more(1) if first is None else drawing.take_first(first))
        drawn = run.result.drawn
        if answer_reason(drawn.samples, [choice for _, choice in drawn.choices]) is None:
            await drawing.rest(sampling.n - 1)
    elif serving is None and (sampling.share or sampling.cache is not None):

        def for_everybody(arrived: Arrived) -> Awaitable[None]:
            return _Drawing(job, pipeline, arrived).all(first, serving)

        run.drawn_from(await pipeline.sharing.draw(key_of(job), for_everybody, run.arrived))
    else:
        await drawing.all(first, serving)


def _first(job: Job, pipeline: RoutePipeline, serving: Awaitable[Json] | None) -> First | None:
    """What is drawn apart: the answer that is being served, or a full one where samples are short. A deadline must not cancel the former."""
    if serving is not None:
        return lambda: asyncio.shield(serving)
    if job.route.sampling.probe == "short":
        return partial(draw_own, job, pipeline.upstream, logprobs=pipeline.needs_logprobs)
    return None


class _Drawing:
    """The answers to one request as they come; `arrived` receives each completion object."""

    def __init__(self, job: Job, pipeline: RoutePipeline, arrived: Arrived) -> None:
        self._job, self._pipeline, self._arrived = job, pipeline, arrived
        self._drawn = Drawn()

    def _take(self, answer: Json) -> None:
        self._drawn = self._drawn.plus(answer)
        self._arrived(answer)

    async def take_first(self, first: First) -> None:
        """Draw the answer that comes apart."""
        self._take(await first())

    async def more(self, n: int) -> None:
        """Draw `n` answers."""
        await draw(self._job, self._pipeline.upstream, n, self._take, logprobs=self._pipeline.needs_logprobs)

    async def all(self, first: First | None, serving: Awaitable[Json] | None) -> None:
        """Draw as many answers as the route wants, the first of them apart where there is one."""
        n = self._job.route.sampling.n
        if first is None:
            await self.rest(n)
        elif self._job.route.sampling.stop_early and serving is None:
            await self.take_first(first)
            await self.rest(n - 1)
        else:
            await self._beside(first, n - 1)

    async def rest(self, n: int) -> None:
        """Draw `n` answers, or fewer where more would hardly move the confidence."""
        if not self._job.route.sampling.stop_early:
            return await self.more(n)
        mean = _calibrated_mean(self._job, self._pipeline)
        return await draw_until_settled(self._job, self.more, lambda: self._drawn, mean)

    async def _beside(self, first: First, n: int) -> None:
        """Draw `n` answers beside the first one, which counts as the first whenever it comes.

        Raises:
            ProxyError: the first did not come, or no other could be drawn.
        """
        others: list[Json] = []
        failures: list[
            ProxyError
        ] = []  # raised after the group, which would wrap them and end the wait for the first answer

        async def draw_others() -> None:
            try:
                await draw(self._job, self._pipeline.upstream, n, others.append, logprobs=self._pipeline.needs_logprobs)
            except ProxyError as error:
                failures.append(error)

        async with asyncio.TaskGroup() as group:
            beside = group.create_task(draw_others())
            try:
                await self.take_first(first)
            except ProxyError as error:
                failures.insert(0, error)
                beside.cancel()
                others = []
        for answer in others:
            self._take(answer)
        if failures:
            raise failures[0]


def _calibrated_mean(job: Job, pipeline: RoutePipeline) -> CalibratedMean:
    """What a share of agreeing answers comes to: through the map where the map is one of shares, else as it is."""
    if job.route.signal != "semantic":
        return lambda share: share.mean
    active = pipeline.active_map(job.model).map
    return lambda share: active.apply(share).mean


async def draw(job: Job, upstream: Upstream, n: int, arrived: Arrived, *, logprobs: bool = False) -> None:
    """Draw `n` answers; each completion object goes to `arrived` as it comes.

    Raises:
        ProxyError: no answer could be drawn at all. Where some came, the shortfall is the caller's to judge.
    """
    body = sampling_body(job, logprobs=logprobs)
    missing = n
    if upstream.honours_n and n > 1:
        missing -= await _draw_at_once(job, upstream, body, n, arrived)
    if missing > 0:
        await _draw_in_parallel(job, upstream, body, missing, arrived, tolerate_all=missing < n)


async def _draw_at_once(job: Job, upstream: Upstream, body: Json, n: int, arrived: Arrived) -> int:
    """One call for all; how many came. An upstream that refuses `n` as such is asked again, answer by answer."""
    try:
        answer = await upstream.complete(Call(job.path, body | {"n": n}, job.headers))
    except UpstreamRejected as refusal:
        if refusal.status not in (400, 422):
            raise
        log.warning("upstream_refuses_n", route=job.route.name, upstream=job.route.upstream, status=refusal.status)
        return 0
    answer["choices"] = answer["choices"][:n]
    arrived(answer)
    came = len(answer["choices"])
    if came < n:
        log.warning("upstream_ignores_n", route=job.route.name, upstream=job.route.upstream, asked=n, came=came)
    return came


async def _draw_in_parallel(
    job: Job, upstream: Upstream, body: Json, n: int, arrived: Arrived, *, tolerate_all: bool
) -> None:
    """`n` calls for one answer each; the upstream bounds how many run at once. Failures count only when nothing came."""
    failures: list[ProxyError] = []

    async def one() -> None:
        try:
            answer = await upstream.complete(Call(job.path, body, job.headers))
        except ProxyError as failure:
            failures.append(failure)
        else:
            answer["choices"] = answer["choices"][:1]
            arrived(answer)

    async with asyncio.TaskGroup() as group:
        for _ in range(n):
            group.create_task(one())
    if len(failures) == n and not tolerate_all:
        # what the client can act on comes first: a refusal over a full queue over a broken connection
        raise min(failures, key=lambda f: (not isinstance(f, UpstreamRejected), not isinstance(f, Overloaded)))
    if failures:
        log.warning("samples_lost", route=job.route.name, lost=len(failures), code=failures[0].code)
