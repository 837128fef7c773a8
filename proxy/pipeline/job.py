"""A request as the pipeline handles it: read from the client's JSON, checked, with its own id."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple

from ..config import Mode, Route
from ..errors import BadRequest
from ..outcomes import Reason
from ..protocols import Call
from ..types import Json, Key
from ..upstreams.dialects.table import DIALECTS
from ..upstreams.egress import IDEMPOTENCY

_words: list[str] = []
"""Random 64-bit words drawn in advance, in hex."""


def _random_word() -> str:
    """64 random bits in hex. They are drawn in bulk: each system call releases the interpreter lock, which costs more than the bits."""
    try:
        return _words.pop()  # `pop` is atomic: event loops in several threads share the list
    except IndexError:
        bulk = os.urandom(8 * 512).hex()
        word, *further = (bulk[start : start + 16] for start in range(0, len(bulk), 16))
        _words.extend(further)
        return word


def new_id() -> str:
    """A new audit id: it sorts by time and cannot be guessed."""
    return f"hr_{time.time_ns() // 1_000_000:011x}{_random_word()}"


class Job(NamedTuple):
    """A request on its way to an answer. A named tuple: making one takes a tenth of the time of a frozen dataclass, and every request needs several.

    Attributes:
        id: the audit id.
        path: relative to `/v1`, e.g. "/chat/completions".
        body: the request object as the client sent it.
        chat: the body as a chat request, whatever the endpoint's format.
        headers: the client's headers with lower-case names, without its idempotency key: no two calls for one request may carry the same.
        started: when the request came in, on the clock of `time.perf_counter`.
        target: path and query as the client sent them, relative to `/v1`.
        idempotency_key: the client's `Idempotency-Key`, if it sent one.
        deployment: the model that the path names (Azure).
        on_retry: callback for each refused call that is retried.
        over_budget: whether a soft budget is exhausted, so that fewer answers are drawn.
        key: the named key of the request, which is removed from its headers; None without one.
        answered_by: the member of a group that has answered; "" where no group was asked, or none has yet.
        answered_model: the model that this member was asked for, if it differs from the client's.
        arm: the mode that a split route drew at random; None for other routes.
        converted: whether the upstream is called as chat whatever the path: then it accepts `n` and stores nothing.
        question: the user's last message, or the prompt, as plain text.
        last_answer: the assistant's message before it; its phrase is not repeated if another is about as near.
        mode: the mode that the client asked for, else the route's.
    """

    id: str
    route: Route
    path: str
    body: Json
    headers: Mapping[str, str]
    started: float
    chat: Json = {}  # noqa: RUF012
    question: str = ""
    last_answer: str = ""
    mode: Mode | None = "on"
    target: str = ""
    idempotency_key: str | None = None
    deployment: str | None = None
    on_retry: Callable[[], None] | None = None
    on_lost: Callable[[], None] | None = None
    converted: bool = False
    key: Key | None = None
    answered_by: str = ""
    answered_model: str = ""
    arm: Mode | None = None
    over_budget: bool = False

    def routed(self, route: Route, mode: Mode, body: Json, *, converted: bool = False) -> Job:
        """The request once its body is read and its route is known. The question is not read for a route that is off."""
        job = self._replace(route=route, body=body, mode=mode, converted=converted)
        if mode == "off":
            return job
        headers = {name: value for name, value in self.headers.items() if name != IDEMPOTENCY}
        chat = DIALECTS[self.path].as_chat(body)
        return job._replace(
            headers=headers,
            chat=chat,
            question=last_message(chat, "user"),
            last_answer=last_message(chat, "assistant"),
            idempotency_key=self.headers.get(IDEMPOTENCY),
        )

    def drawing_fewer(self, samples: int) -> Job:
        """The request over a soft budget, with `n` answers to draw; 0 halves the route's number."""
        sampling = self.route.sampling
        n = min(sampling.n, max(sampling.min_n, samples or sampling.n // 2))
        route = self.route.model_copy(update={"sampling": sampling.model_copy(update={"n": n})})
        return self._replace(route=route, over_budget=True)

    def call(self, body: Json, number: int = 0) -> Call:
        """A call for an answer to this request. Number 0 is the client's own call. Each number has its own idempotency key, which is the same
        again when the client repeats its request.
        """
        headers = self.headers
        if (key := self.idempotency_key) is not None:
            own = key if number == 0 else hashlib.sha256(f"{key}\n{number}".encode()).hexdigest()
            headers = {**headers, IDEMPOTENCY: own}
        return Call(self.path, body, headers, None, self.target, self.on_retry, self.on_lost, self.id)

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return self.route.model or str(self.body.get("model") or self.deployment or "")

    @property
    def answering_model(self) -> str:
        """The model that has answered: the requested one, unless the member of a group that answered has its own."""
        return self.answered_model or self.model

    @property
    def draws_draft_first(self) -> bool:
        """Whether the draft is the answer to the client's own request: samples are short, the upstream stores that answer under its id, or
        its log-probabilities are requested.
        """
        short = self.route.sampling.probe == "short"
        stored = not self.converted and self.body.get("store") is True
        return short or self.is_kept or stored or asks_for_logprobs(self.chat)

    @property
    def is_kept(self) -> bool:
        """Whether the upstream stores the answer, so that the client may refer to it."""
        return not self.converted and DIALECTS[self.path].keeps(self.body)

    @property
    def user(self) -> str | None:
        """The client's own name for its user, where it gives one."""
        return user_of(self.body)

    @property
    def wants_usage(self) -> bool:
        """Whether a stream must report token usage: streams of completions do on request, other streams always."""
        if not DIALECTS[self.path].several:
            return True
        options = self.body.get("stream_options")
        return isinstance(options, dict) and bool(options.get("include_usage"))


def user_of(body: Json) -> str | None:
    """The client's own name for its user: `safety_identifier`, `user` as it was called before, or `metadata.user_id`."""
    for field in ("safety_identifier", "user"):
        if (name := body.get(field)) and isinstance(name, str):
            return name
    metadata = body.get("metadata")
    name = metadata.get("user_id") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and name else None


def asks_for_logprobs(chat: Json) -> bool:
    """Whether log-probabilities are requested; for plain completions `logprobs: 0` requests those of the chosen tokens."""
    asked = chat.get("logprobs")
    return asked is not None and asked is not False


def job_of(route: Route, path: str, body: Json, headers: Mapping[str, str]) -> Job:
    """The job of a checked request for calibrated text."""
    return Job(new_id(), route, path, body, headers, time.perf_counter()).routed(route, "on", body)


class Unread(BadRequest):
    """A request body that cannot be read here but that an upstream may accept."""

    code = Reason.UNREADABLE_REQUEST


def check(path: str, body: Json, max_messages: int) -> None:
    """Check the fields of a text request that the pipeline relies on. The upstream judges everything else.

    Raises:
        BadRequest: messages / prompt, model, n or stream are missing or have a wrong type, or no answer is asked for.
    """
    field = DIALECTS[path].prompt
    if field is not None and field not in body:
        raise BadRequest(f"`{field}` is missing", param=field, code="missing_field")
    if field == "messages":
        _check_messages(body["messages"], max_messages)
    for name, kinds, words in (
        ("model", (str,), "a string"),
        ("stream", (bool,), "true or false"),
        ("n", (int,), "a whole number"),
    ):
        value = body.get(name)
        if name == "n" and isinstance(value, float) and value.is_integer():
            continue
        if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
            raise BadRequest(f"`{name}` must be {words}", param=name, code="invalid_type")
    if (n := body.get("n")) is not None and n < 1:
        raise BadRequest(f"`n` is {n}; it must be at least 1", param="n")


def _check_messages(messages: object, limit: int) -> None:
    if not isinstance(messages, list):
        raise BadRequest("`messages` must be a list", param="messages", code="invalid_type")
    if not messages:
        raise BadRequest("`messages` must hold at least one message", param="messages", code="empty_messages")
    if len(messages) > limit:
        message = f"`messages` holds {len(messages)} messages; at most {limit} are allowed"
        raise BadRequest(message, param="messages", code="too_many_messages")
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            wrong, wanted = f"messages[{index}]", "an object"
        elif not isinstance(message.get("role"), str):
            wrong, wanted = f"messages[{index}].role", "a string"
        elif isinstance(message.get("content"), dict):
            raise Unread(f"`messages[{index}].content` is an object")
        elif not isinstance(message.get("content"), str | list | None):
            wrong, wanted = f"messages[{index}].content", "a string or a list of parts"
        else:
            continue
        raise BadRequest(f"`{wrong}` must be {wanted}", param=wrong, code="invalid_type")


def last_message(body: Json, role: str) -> str:
    """The last chat message of a role as plain text; "" where there is none."""
    return next(iter(last_messages(body, role, 1)), "")


def last_messages(body: Json, role: str, count: int) -> list[str]:
    """The last chat messages of a role as plain text, the newest first."""
    of_role = (message for message in reversed(body.get("messages") or ()) if message["role"] == role)
    return [words_of(message.get("content")) for message in islice(of_role, count)]


def words_of(content: object) -> str:
    """The text of a message's content: a string, or the texts of its parts, one a line."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
