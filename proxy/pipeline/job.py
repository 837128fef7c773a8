"""One request on its way down the pipeline: what came in (`Job`), and what became of it (`Flow`)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match
from hedgerow.proxy.config import Route
from hedgerow.proxy.types import Clustering, Json, Rewording, Sample, Usage
from hedgerow.proxy.upstreams.answers import usage_of

Status = Literal["hedged", "plain", "unhedged", "abstained", "escalated", "passed", "degraded", "failed", "cancelled"]
"""What the client got: reworded; left plain because that is what the confidence calls for; left plain because no wording passed the
guard; the route's refusal; a stronger model's answer; not calibrated at all (with a reason); the plain draft because a step failed; an
error; nothing, it had left."""


LONG_SIGNAL = "consistency"
"""What long answers are measured by, whatever a route measures its short ones by: no two long answers are one and the same."""


def _random_words() -> Iterator[str]:
    """Sixty-four random bits after the other, in hex; asked of the system in bulk, because each asking gives other threads the turn."""
    while True:
        bulk = os.urandom(8 * 512).hex()
        for start in range(0, len(bulk), 16):
            yield bulk[start : start + 16]


_words = _random_words()


def new_id() -> str:
    """An audit id: sorts by time, unguessable."""
    return f"hr_{time.time_ns() // 1_000_000:011x}{next(_words)}"


@dataclass(frozen=True, slots=True)
class Job:
    """A request for a calibrated answer.

    Attributes:
        id: the audit id.
        path: "/chat/completions" or "/completions".
        body: the request object as the client sent it.
        headers: the client's headers, lower-case names.
        question: the user's last message as plain text.
        last_answer: the assistant's message before it; its phrase is not repeated if another is about as near.
    """

    id: str
    route: Route
    path: str
    body: Json
    headers: Mapping[str, str]
    question: str
    last_answer: str = ""

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return self.route.model or str(self.body.get("model") or "")


@dataclass(frozen=True, slots=True)
class AppliedMap:
    """The calibration map that was applied. `id` is None for the identity: the confidence is uncalibrated."""

    id: str | None
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Flow:
    """What became of a job. Only `pipeline/run.py` and the edge that answers write here; steps never see it.

    Attributes:
        answers: the upstream's completion objects, in the order they came.
        choices: all their choices, with the completion each stands in.
        samples: the choices as samples, index by index; those without text are left out of `compared`.
        compared: indices into `samples` that were clustered.
        clustering: a partition of `compared` (its index i is `samples[compared[i]]`).
        sentences: raw confidence in each sentence of a long draft; None where the draft is short. `raw` is then their mean.
        samples_from: "upstream", or "shared" / "cache" where an equal request drew them.
        escalated: the stronger model's completion, where it was asked.
        timings_ms: milliseconds per step, in the order of the steps.
        begun_ns: when each step began, nanoseconds since 1970; for traces.
    """

    job: Job
    started: float = field(default_factory=time.perf_counter)
    answers: list[Json] = field(default_factory=list)
    choices: list[tuple[Json, Json]] = field(default_factory=list)
    samples: tuple[Sample, ...] = ()
    compared: tuple[int, ...] = ()
    samples_from: Literal["upstream", "shared", "cache"] = "upstream"
    clustering: Clustering | None = None
    raw: Beta | None = None
    sentences: tuple[Beta | None, ...] | None = None
    calibrated: Beta | None = None
    applied: AppliedMap | None = None
    matches: tuple[Match, ...] = ()
    rewording: Rewording | None = None
    escalated: Json | None = None
    served: str | None = None
    served_agrees: bool | None = None
    status: Status = "failed"
    reason: str | None = None
    detail: str | None = None
    http_status: int | None = None
    answer_usage: Usage = field(default_factory=Usage)
    sample_usage: Usage = field(default_factory=Usage)
    timings_ms: dict[str, float] = field(default_factory=dict)
    begun_ns: dict[str, int] = field(default_factory=dict)

    def spent(self, usage: Usage) -> None:
        """Count tokens that went into comparing answers or asking about them; they stand with those of the samples."""
        self.sample_usage += usage

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step."""
        self.begun_ns[name] = time.time_ns()
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[name] = (time.perf_counter() - start) * 1e3

    @property
    def signal(self) -> str:
        """What the confidence was measured by: long answers have a signal of their own."""
        return self.job.route.signal if self.sentences is None else LONG_SIGNAL

    @property
    def duration_ms(self) -> float:
        """Milliseconds since the request came in."""
        return (time.perf_counter() - self.started) * 1e3

    @property
    def draft_choice(self) -> tuple[Json, Json]:
        """The completion and the choice that hold the draft: the one that speaks for the largest cluster; before clustering, the first of all."""
        if self.clustering is None:
            return self.choices[0]
        return self.choices[self.compared[self.clustering.draft_index]]

    @property
    def draft(self) -> str:
        """The plain answer."""
        if self.clustering is None:
            return self.samples[0].text
        return self.samples[self.compared[self.clustering.draft_index]].text

    @property
    def rewrite_usage(self) -> Usage:
        """Tokens that rewriting spent."""
        return self.rewording.usage if self.rewording else Usage()

    @property
    def usage(self) -> Usage:
        """All tokens spent."""
        return self.answer_usage + self.sample_usage + self.rewrite_usage + self.escalation_usage

    @property
    def escalation_usage(self) -> Usage:
        """Tokens that the stronger model spent."""
        return usage_of(self.escalated) if self.escalated else Usage()
