"""The sampling step: draws the answers of a request, in order or in parallel.

One call with `n` draws all answers if the upstream honours it; otherwise parallel calls draw the rest. Fields of a sampling call that an
upstream refuses are left out of the next one, down to the client's own call (`forms`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count

import structlog

from ....calibration import Beta
from ...errors import Overloaded, ProxyError, UpstreamRejected
from ...outcomes import Reason
from ...protocols import Upstream
from ...types import Json
from ...upstreams.group import asked_at, one_answer
from ..eligibility import answer_reason, comes_alone, turn_reason
from ..job import Job
from ..result import Drawn, Run
from ..steps import RoutePipeline
from .early_stopping import draw_in_batches, until_settled
from .forms import (
    Accepted,
    Form,
    blames,
    blames_the_client,
    first_choice,
    is_refusal,
    lesser,
    own_body,
    sampling_body,
)
from .shape import shape_of
from .sharing import Arrived, key_of

log = structlog.get_logger(__name__)

HEAD_START_S = 0.2
"""Seconds by which the first of several calls precedes the others, if the model has already accepted a request of this shape."""

First = Callable[[], Awaitable[Json]]
"""Draws the answer that becomes the draft, separately from the others."""


async def draw_own(job: Job, upstream: Upstream, *, logprobs: bool = False) -> Json:
    """Draw the answer to the client's own request, without a stream. If the upstream refuses that, the request is sent unchanged: some models
    answer in streams only.

    Raises:
        ProxyError: it could not be drawn.
    """
    try:
        answer = await upstream.complete(job.call(own_body(job, logprobs=logprobs)))
    except UpstreamRejected as refusal:
        if not is_refusal(refusal) or not (logprobs or job.body.get("stream")):
            raise
        return await draw_own_as_it_came(job, upstream, refusal)
    answer["choices"] = answer["choices"][:1]
    return answer


async def draw_answers(run: Run, pipeline: RoutePipeline, serving: Awaitable[Json] | None) -> Reason | None:
    """Draw the answers of a run, besides the one that the client has or is being served, if any. Returns the reason if the first needs no
    others: where it may be a step of an agent, they wait for it. Equal requests share their answers, unless one is being served.

    Raises:
        ProxyError: no answer could be drawn.
    """
    job, sampling, first = run.job, run.job.route.sampling, _first(run, pipeline, serving)
    reason: Reason | None = None
    if comes_alone(job.chat):
        reason = await _Drawing(job, pipeline, run.arrived).if_needed(first)
    elif serving is None and (sampling.share or sampling.cache is not None):

        def for_everybody(arrived: Arrived) -> Awaitable[None]:
            return _Drawing(job, pipeline, arrived).all(first, serving)

        sharing, member = pipeline.sharing, asked_at(pipeline.upstream, settled=True)
        key = key_of(job, member, hides_keys=sharing.hides_keys)
        run.drawn_from(await sharing.draw(key, for_everybody, run.arrived))
    else:
        await _Drawing(job, pipeline, run.arrived).all(first, serving)
    return reason


def _first(run: Run, pipeline: RoutePipeline, serving: Awaitable[Json] | None) -> First | None:
    """What draws the first answer separately: the one that the client has or is being served, which a deadline must not cancel, or the
    client's own if it is the draft.
    """
    job, came = run.job, run.came
    if serving is not None:
        return lambda: asyncio.shield(serving)
    if came is not None:

        async def given() -> Json:
            return came

        return given
    if job.draws_draft_first:
        return partial(draw_own, job, pipeline.upstream, logprobs=pipeline.needs_logprobs)
    return None


class _Drawing:
    """Draws the answers to one request; `arrived` receives each completion object."""

    def __init__(self, job: Job, pipeline: RoutePipeline, arrived: Arrived) -> None:
        self._job, self._pipeline, self._arrived = job, pipeline, arrived
        self._asking = _Asking(job, pipeline.upstream, pipeline.accepted, logprobs=pipeline.needs_logprobs)
        self._drawn, self._unread = Drawn(), deque[Json]()

    def _take(self, answer: Json) -> None:
        self._unread.append(answer)
        self._asking.has_draft = self._job.mode != "shadow"  # where nobody waits
        self._arrived(answer)

    def _so_far(self) -> Drawn:
        """The answers so far, parsed on demand: most requests never need them."""
        while self._unread:
            self._drawn = self._drawn.plus(self._unread.popleft())
        return self._drawn

    async def take_first(self, first: First) -> None:
        """Draw the separate first answer."""
        self._take(await first())

    async def more(self, n: int) -> None:
        """Draw `n` answers."""
        await _draw(self._asking, n, self._take, with_own=not self._so_far().choices)

    async def all(self, first: First | None, serving: Awaitable[Json] | None) -> None:
        """Draw as many answers as the route wants; the first one separately if `first` is given."""
        n = self._job.route.sampling.n
        if first is None:
            await self.rest(n)
        elif self._job.route.sampling.stop_early and serving is None:
            await self.take_first(first)
            await self.rest(n - 1)
        elif serving is None and self._job.body.get("stream") and not self._asking.is_taken:
            await self.take_first(first)  # the upstream may refuse the client's own call or the sampling call
            await self.more(n - 1)
        else:
            await self._beside(first, n - 1)

    async def if_needed(self, first: First | None) -> Reason | None:
        """Draw as many answers as the route wants if the first is to be compared; else returns the reason."""
        await self.take_first(first or self._asking.first)
        drawn = self._so_far()
        reason = answer_reason(drawn.samples, [choice for _, choice in drawn.choices])
        if reason is Reason.TOOL_CALLS and self._job.route.tool_calls == "measure":
            reason = None
        elif reason is None:
            reason = turn_reason(self._job, drawn.samples[0])
        if reason is None:
            await self.rest(self._job.route.sampling.n - 1)
        return reason

    async def rest(self, n: int) -> None:
        """Draw `n` answers, or fewer on routes that stop early."""
        sampling = self._job.route.sampling
        if not sampling.stop_early:
            return await self.more(n)
        wanted = until_settled(sampling, _calibrated_mean(self._job, self._pipeline))
        return await draw_in_batches(self._job, self.more, self._so_far, wanted)

    async def _beside(self, first: First, n: int) -> None:
        """Draw the first answer and `n` others in parallel; it keeps its first place whenever it arrives.

        Raises:
            ProxyError: the first did not arrive, or no other could be drawn.
        """
        others: list[Json] = []
        failures: list[
            ProxyError
        ] = []  # raised after the task group: inside it, they would cancel the wait for the first answer
        has_come = asyncio.Event()

        async def draw_others() -> None:
            try:
                await _draw(self._asking, n, others.append, with_own=False, own_taken=has_come.wait)
            except ProxyError as error:
                failures.append(error)

        try:
            async with asyncio.TaskGroup() as group:
                beside = group.create_task(draw_others())
                try:
                    await self.take_first(first)
                    has_come.set()
                except ProxyError as error:
                    failures.insert(0, error)
                    beside.cancel()
            while others and has_come.is_set():
                self._take(others.pop(0))
        finally:
            for _ in others:  # they are paid for, whether anybody reads them or not
                if self._job.on_lost is not None:
                    self._job.on_lost()
        if failures:
            raise failures[0]


def _calibrated_mean(job: Job, pipeline: RoutePipeline) -> Callable[[Beta], float]:
    """The calibrated mean of a share of agreeing answers; uncalibrated if the route's map is for another signal."""
    if job.route.signal != "semantic":
        return lambda share: share.mean
    active = pipeline.active_map(job.model).map
    return lambda share: active.apply(share).mean


class _Asking:
    """Makes the sampling calls of one request.

    Attributes:
        accepted: the forms of calls that the route's models are known to accept.
        numbers: one for each sampling call, so that each has its own idempotency key.
        has_draft: whether the client's answer is there, so that the others must not keep it waiting.
    """

    def __init__(self, job: Job, upstream: Upstream, accepted: Accepted, *, logprobs: bool) -> None:
        self.job, self.upstream, self.accepted = job, upstream, accepted
        self._logprobs, self.has_draft = logprobs, False
        self._numbers: Iterator[int] = count(1)
        self._shape = shape_of(job.body)

    @property
    def here(self) -> Job:
        """The request as sent to the group member that is asked now: members accept different forms."""
        member = asked_at(self.upstream)
        return self.job._replace(answered_by=member) if member else self.job

    @property
    def form(self) -> Form:
        """The form of the next sampling call."""
        first = first_choice(self.job, honours_n=self.upstream.honours_n, logprobs=self._logprobs)
        return self.accepted.form(self.here) or first

    @property
    def is_taken(self) -> bool:
        """Whether the model has already answered a sampling call for a request of this shape."""
        return self.accepted.is_taken(self.here, self._shape)

    async def first(self) -> Json:
        """Draw the first answer where tools are offered. An upstream that refuses this receives the client's own call.

        Raises:
            ProxyError: it did not arrive.
        """
        try:
            return await self.several(self.form, 1)
        except UpstreamRejected as refusal:
            if not is_refusal(refusal):
                raise
            return await draw_own_as_it_came(self.job, self.upstream, refusal)

    async def several(self, form: Form, n: int) -> Json:
        """Draw up to `n` answers with one call.

        Raises:
            ProxyError: none arrived.
        """
        body = sampling_body(self.job, form) | ({"n": n} if n > 1 else {})
        call = replace(self.job.call(body, next(self._numbers)), has_draft=lambda: self.has_draft)
        answer = await self.upstream.complete(call)
        self.accepted.learn_taken(self.here, self._shape)
        answer["choices"] = answer["choices"][:n]
        return answer


async def draw(
    job: Job,
    upstream: Upstream,
    n: int,
    arrived: Arrived,
    *,
    accepted: Accepted | None = None,
    logprobs: bool = False,
) -> None:
    """Draw `n` answers; each completion object goes to `arrived` as it comes.

    Args:
        job: the request.
        upstream: the upstream to call.
        n: how many.
        arrived: receives each completion object.
        accepted: the forms of calls that the route's models are known to accept.
        logprobs: whether the signal needs log-probabilities.

    Raises:
        ProxyError: no answer could be drawn, or the upstream accepts only the client's own call. If some answers arrived, the caller
            decides whether they are enough.
    """
    asking = _Asking(job, one_answer(upstream), accepted or Accepted(), logprobs=logprobs)
    await _draw(asking, n, arrived, with_own=False)


async def _draw(
    asking: _Asking,
    n: int,
    arrived: Arrived,
    *,
    with_own: bool,
    own_taken: Callable[[], Awaitable[object]] | None = None,
) -> None:
    """See `draw`.

    Args:
        asking: makes the sampling calls.
        n: how many.
        arrived: receives each completion object.
        with_own: whether to send the client's own call after a refused sampling call. If that is refused too, the client gets the error.
        own_taken: waits until the client's own call, which runs in parallel, is accepted. Simpler forms are tried only then: an upstream that
            refuses the unchanged request refuses every form.
    """
    form = asking.form
    try:
        return await _draw_as(asking, form, n, arrived)
    except UpstreamRejected as refusal:
        own = Form(frozenset(), bool(asking.job.body.get("stream")))
        if not is_refusal(refusal) or form == own:
            raise
        _log_refusal(asking, form, refusal)
        if with_own:
            arrived(await draw_own_as_it_came(asking.job, asking.upstream, refusal))
            n -= 1
        if own_taken is not None:
            await own_taken()
        for less in lesser(asking.job, form, refusal) if n else ():
            try:
                await _draw_as(asking, less, n, arrived)
            except UpstreamRejected as again:
                if not is_refusal(again):
                    raise
            else:
                return asking.accepted.learn(asking.here, less)
        if n:
            raise


async def draw_own_as_it_came(job: Job, upstream: Upstream, refusal: UpstreamRejected) -> Json:
    """Draw the answer to the client's own call, streamed if the client asked for a stream, after another form of it was refused.

    Raises:
        ProxyError: it could not be drawn: the `refusal`, if it is about what the client itself asked, or if the stream ends with an error.
    """
    if blames_the_client(refusal, job):
        raise refusal
    try:
        answer = await upstream.complete(job.call(own_body(job, streamed=True)))
    except UpstreamRejected as again:
        raise refusal if again.event and not blames(refusal, ("stream",)) else again from None
    answer["choices"] = answer["choices"][:1]
    return answer


def _log_refusal(asking: _Asking, form: Form, refusal: UpstreamRejected) -> None:
    route = asking.job.route
    ours = ", ".join(sorted(form.ours))
    log.warning(
        "upstream_refuses",
        id=asking.job.id,
        route=route.name,
        upstream=route.upstream,
        status=refusal.status,
        fields=ours,
    )


async def _draw_as(asking: _Asking, form: Form, n: int, arrived: Arrived) -> None:
    missing = n
    if "n" in form.ours and n > 1:
        answer = await asking.several(form, n)
        arrived(answer)
        missing -= len(answer["choices"])
        if missing:
            route = asking.job.route
            log.warning(
                "upstream_ignores_n",
                id=asking.job.id,
                route=route.name,
                upstream=route.upstream,
                asked=n,
                came=n - missing,
            )
    if missing > 0:
        await _draw_in_parallel(asking, form, missing, arrived, tolerate_all=missing < n)


async def _draw_in_parallel(asking: _Asking, form: Form, n: int, arrived: Arrived, *, tolerate_all: bool) -> None:
    """Make `n` calls for one answer each. The others start shortly after the first, or, if the model has not yet accepted this shape, once it
    has finished: a model that refuses is called once. The upstream limits parallel calls. Failures are raised only if no answer arrived.
    """
    failures: list[ProxyError] = []

    async def one() -> None:
        try:
            answer = await asking.several(form, 1)
        except ProxyError as failure:
            failures.append(failure)
        else:
            arrived(answer)

    async with asyncio.TaskGroup() as group:
        first = group.create_task(one())
        if n > 1 and not tolerate_all:
            await asyncio.wait({first}, timeout=HEAD_START_S if asking.is_taken else None)
        refused = any(map(is_refusal, failures))
        for _ in range(0 if refused else n - 1):
            group.create_task(one())
    if (refused or len(failures) == n) and not tolerate_all:
        # the most useful error for the client: a refusal, then a full queue, then a broken connection
        raise min(failures, key=lambda f: (not isinstance(f, UpstreamRejected), not isinstance(f, Overloaded)))
    if failures:
        log.warning(
            "samples_lost", id=asking.job.id, route=asking.job.route.name, lost=len(failures), code=failures[0].code
        )
