"""Drawing answers: `n` at once where the upstream honours it, topped up with parallel calls where it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from hedgerow.proxy.errors import Overloaded, ProxyError, UpstreamRejected
from hedgerow.proxy.pipeline.job import Job
from hedgerow.proxy.protocols import Call, Upstream
from hedgerow.proxy.types import Json

log = structlog.get_logger(__name__)

Arrived = Callable[[Json], None]
"""Told of each completion object as it comes, so that what has arrived is not lost when a later call fails."""


SHORT = "Reply with the answer alone, in as few words as possible."
"""What samples are told where the route wants them short."""


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
