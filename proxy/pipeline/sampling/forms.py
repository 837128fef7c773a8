"""The form of a sampling call: which of its fields are ours, and which of these remain where an upstream refuses some.

The client's own call is the last resort: what it takes as the client sent it, an upstream is asked in that form. What was taken is
remembered for each model, so that the search is made once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from hedgerow.proxy.errors import ProxyError, UpstreamRejected
from hedgerow.proxy.pipeline.job import Job, asks_for_logprobs
from hedgerow.proxy.pipeline.sampling.shape import Shape
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.dialects.table import DIALECTS

SHORT = "Reply with the answer alone, in as few words as possible."
"""What samples are asked for where the route wants them short."""
REFUSALS = (400, 422)
"""Statuses by which upstreams say that they do not take a request as it is."""
READ_OF_A_REFUSAL = 4_000
"""Bytes of an error in which the names of refused fields are looked for."""
_STREAMED = ("stream", "stream_options")
_MOST_MODELS = 1_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """How a sampling call differs from the client's own.

    Attributes:
        ours: fields in which the route's value stands in place of the client's.
        streamed: whether it asks for a stream, as the client did.
    """

    ours: frozenset[str]
    streamed: bool = False


class Accepted:
    """The form that each model took last; of one route."""

    def __init__(self) -> None:
        self._forms: dict[tuple[object, ...], Form] = {}
        self._unstreamed: dict[tuple[object, ...], None] = {}
        self._taken: dict[tuple[object, ...], None] = {}

    def form(self, job: Job) -> Form | None:
        """What was taken of calls like this one; None where the first choice is, or nothing is known."""
        return self._forms.get(_kind(job))

    def learn(self, job: Job, form: Form) -> None:
        """Ask for answers in this form from now on."""
        _keep(self._forms, _kind(job), form)

    def is_taken(self, job: Job, shape: Shape) -> bool:
        """Whether the model has answered a sampling call for a request of this shape."""
        return (*_kind(job), shape) in self._taken

    def learn_taken(self, job: Job, shape: Shape) -> None:
        """Take over that it did."""
        if not self.is_taken(job, shape):
            _keep(self._taken, (*_kind(job), shape), None)

    def streams(self, job: Job) -> bool:
        """Whether an answer may be asked for as a stream where the client did not ask so; until it is refused."""
        return _kind(job) not in self._unstreamed

    def learn_refused(self, job: Job, refusal: UpstreamRejected) -> None:
        """Take over that a stream was refused, if that is what the error is about."""
        if _named_in(refusal, _STREAMED):
            _keep(self._unstreamed, _kind(job), None)


def _keep(known: dict[tuple[object, ...], T], kind: tuple[object, ...], value: T) -> None:
    """Remember something of a model; of too many models the first is forgotten."""
    if len(known) >= _MOST_MODELS:
        del known[next(iter(known))]
    known[kind] = value


def _kind(job: Job) -> tuple[object, ...]:
    """What an upstream's refusals depend on: the model, and the client's own sampling fields, which ours would stand beside."""
    own = tuple(name for name in ("temperature", "top_p", "top_k", "stream") if job.body.get(name) is not None)
    return job.path, job.model, job.answered_by, own


def first_choice(job: Job, *, honours_n: bool, logprobs: bool) -> Form:
    """The form in which answers are asked for where nothing is known of the model."""
    sampling = job.route.sampling
    wanted = {
        "n": honours_n and (job.converted or DIALECTS[job.path].several),
        "temperature": sampling.temperature is not None,
        "top_p": sampling.top_p is not None,
        "reasoning_effort": sampling.reasoning_effort is not None,
        "logprobs": logprobs,
    }
    return Form(frozenset(name for name, ours in wanted.items() if ours))


def lesser(job: Job, form: Form, refusal: UpstreamRejected) -> Iterator[Form]:
    """What to try in place of a refused form, the likeliest first and the client's own call last. A form that draws the same answer over
    and over does not do.
    """
    if "temperature" not in form.ours and _says_greedy(refusal):
        return
    streams = bool(job.body.get("stream"))
    blamed = _named_in(refusal, (*form.ours, "stream"))
    less = [Form(form.ours, streams)] if "stream" in blamed else []
    less += [Form(form.ours - blamed, form.streamed)] if blamed else []
    less += [Form(form.ours - {"n"}), Form(frozenset()), Form(frozenset(), streams)]
    for one in dict.fromkeys(less):
        if one != form and ("temperature" in one.ours or job.body.get("temperature") != 0):
            yield one


def _says_greedy(refusal: UpstreamRejected) -> bool:
    """Whether an upstream takes no `n` because all answers would be one: vLLM, where the model's own configuration sets a temperature of 0."""
    return b"greedy" in refusal.raw_body[:READ_OF_A_REFUSAL]


def _named_in(refusal: UpstreamRejected, names: tuple[str, ...]) -> frozenset[str]:
    """Which of the fields an upstream's error names."""
    message = refusal.raw_body[:READ_OF_A_REFUSAL].decode("utf-8", "replace")
    return frozenset(name for name in names if re.search(rf"(?<![\w.]){name}(?![\w.]\w)", message))


def is_refusal(error: ProxyError) -> bool:
    """Whether an upstream does not take the request as it is."""
    return isinstance(error, UpstreamRejected) and error.status in REFUSALS


def own_body(job: Job, *, logprobs: bool = False, streamed: bool = False) -> Json:
    """The client's request as it stands, for one whole answer from the route's model."""
    left_out = ("n",) if streamed else ("n", *_STREAMED)
    kept = {key: value for key, value in job.body.items() if key not in left_out}
    own = kept | ({"model": job.route.model} if job.route.model else {})
    return DIALECTS[job.path].with_logprobs(own) if logprobs and not asks_for_logprobs(job.chat) else own


def sampling_body(job: Job, form: Form) -> Json:
    """The client's request as a sampling call for one answer: its own fields, with the route's model, and the route's sampling as far as the
    form has it.
    """
    dialect, sampling = DIALECTS[job.path], job.route.sampling
    body = dialect.sample(own_body(job, logprobs="logprobs" in form.ours, streamed=form.streamed))
    if "temperature" in form.ours:
        body["temperature"] = sampling.temperature
    if "top_p" in form.ours:
        body["top_p"] = sampling.top_p
    if "reasoning_effort" in form.ours and sampling.reasoning_effort is not None:
        body = dialect.with_effort(body, sampling.reasoning_effort)
    return dialect.shortened(body, SHORT) if sampling.probe == "short" else body
