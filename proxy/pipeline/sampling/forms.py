"""The form of a sampling call: which fields the route sets, and which of them are dropped if an upstream refuses them.

The last resort is the client's own call, unchanged. The accepted form is remembered for each model, so that the search is made once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from ...errors import ProxyError, UpstreamRejected
from ...strict_json import loads
from ...types import Json
from ...upstreams.dialects.table import DIALECTS
from ..job import Job, asks_for_logprobs
from .shape import Shape

SHORT = "Reply with the answer alone, in as few words as possible."
"""Instruction for short samples."""
REFUSALS = (400, 422)
"""HTTP statuses by which upstreams refuse the form of a request."""
READ_OF_A_REFUSAL = 4_000
"""Bytes of an error message that are searched for the names of refused fields."""
_STREAMED = ("stream", "stream_options")
_MOST_MODELS = 1_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """How a sampling call differs from the client's own call.

    Attributes:
        ours: fields in which the route's value replaces the client's.
        streamed: whether it keeps the client's request for a stream.
    """

    ours: frozenset[str]
    streamed: bool = False


class Accepted:
    """The forms of calls that the models of one route have accepted or refused."""

    def __init__(self) -> None:
        self._forms: dict[tuple[object, ...], Form] = {}
        self._counted: dict[tuple[object, ...], bool] = {}
        self._taken: dict[tuple[object, ...], None] = {}

    def form(self, job: Job) -> Form | None:
        """The accepted form of calls like this one; None if no other than the first choice is known."""
        return self._forms.get(_kind(job))

    def learn(self, job: Job, form: Form) -> None:
        """Use this form from now on."""
        _keep(self._forms, _kind(job), form)

    def is_taken(self, job: Job, shape: Shape) -> bool:
        """Whether the model has answered a sampling call for a request of this shape."""
        return (*_kind(job), shape) in self._taken

    def learn_taken(self, job: Job, shape: Shape) -> None:
        """Record that the model has answered a sampling call for a request of this shape."""
        if not self.is_taken(job, shape):
            _keep(self._taken, (*_kind(job), shape), None)

    def counts(self, job: Job) -> bool:
        """Whether to request the token usage of a stream for which the client did not: yes, until the model refuses to tell it."""
        return self._counted.get(_kind(job), True)

    def surely_counts(self, job: Job) -> bool:
        """Whether the model has answered such a stream: then it refuses a request for another reason."""
        return self._counted.get(_kind(job), False)

    def learn_counted(self, job: Job, *, counts: bool) -> None:
        """Record that a stream was accepted with a request for its token usage; or refused with it, and accepted without."""
        if self._counted.get(_kind(job)) is not counts:
            _keep(self._counted, _kind(job), counts)


def _keep(known: dict[tuple[object, ...], T], kind: tuple[object, ...], value: T) -> None:
    """Store a value for a kind of call; beyond the limit the oldest entry is dropped."""
    if len(known) >= _MOST_MODELS:
        del known[next(iter(known))]
    known[kind] = value


def _kind(job: Job) -> tuple[object, ...]:
    """What an upstream's refusals depend on: path, model, group member, and the sampling fields that the client itself set."""
    own = tuple(name for name in ("temperature", "top_p", "top_k", "stream") if job.body.get(name) is not None)
    return job.path, job.model, job.answered_by, own


def first_choice(job: Job, *, honours_n: bool, logprobs: bool) -> Form:
    """The form to use while nothing is known about the model."""
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
    """Simpler forms to try after a refused one, the most promising first and the client's own call last. Forms with temperature 0 are left
    out: they draw the same answer every time.
    """
    if "temperature" not in form.ours and _says_greedy(refusal):
        return
    streams = bool(job.body.get("stream"))
    blamed = blames(refusal, (*form.ours, "stream"))
    less = [Form(form.ours, streams)] if "stream" in blamed else []
    less += [Form(form.ours - blamed, form.streamed)] if blamed else []
    less += [Form(form.ours - {"n"}), Form(frozenset()), Form(frozenset(), streams)]
    for candidate in dict.fromkeys(less):
        if candidate != form and ("temperature" in candidate.ours or job.body.get("temperature") != 0):
            yield candidate


def _says_greedy(refusal: UpstreamRejected) -> bool:
    """Whether an upstream refuses `n` because all answers would be equal: vLLM, if the model's own configuration sets temperature 0."""
    return b"greedy" in refusal.raw_body[:READ_OF_A_REFUSAL]


def blames(refusal: UpstreamRejected, names: tuple[str, ...]) -> frozenset[str]:
    """The fields among `names` that an upstream's error message mentions."""
    message = refusal.raw_body[:READ_OF_A_REFUSAL].decode("utf-8", "replace")
    return frozenset(name for name in names if re.search(rf"(?<![\w.]){name}(?![\w.]\w)", message))


def blames_the_client(refusal: UpstreamRejected, job: Job) -> bool:
    """Whether an upstream names as the cause a field in which our call is the client's, such as messages that are too long."""
    try:
        field = re.split(r"[.\[]", loads(refusal.raw_body)["error"]["param"])[0]
    except (ValueError, KeyError, TypeError):  # names none
        return False
    ours = sampling_body(job, first_choice(job, honours_n=True, logprobs=True))
    return field in job.body and ours.get(field) == job.body[field]


def is_refusal(error: ProxyError) -> bool:
    """Whether an upstream refused the form of the request."""
    return isinstance(error, UpstreamRejected) and error.status in REFUSALS


def own_body(job: Job, *, logprobs: bool = False, streamed: bool = False) -> Json:
    """The client's own request, for one answer from the route's model; without a stream unless `streamed`."""
    left_out = ("n",) if streamed else ("n", *_STREAMED)
    kept = {key: value for key, value in job.body.items() if key not in left_out}
    own = kept | ({"model": job.route.model} if job.route.model else {})
    return DIALECTS[job.path].with_logprobs(own) if logprobs and not asks_for_logprobs(job.chat) else own


def sampling_body(job: Job, form: Form) -> Json:
    """The client's request as a sampling call for one answer: its own fields, the route's model, and the route's sampling fields that are in
    `form`.
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
