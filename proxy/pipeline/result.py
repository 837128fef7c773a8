"""The result of a request: one frozen value, which the run of the pipeline replaces after each step.

Everything shown about a request is derived from its `Result`: the answer, its `hedgerow` field and headers, audit row, log line, span and page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...calibration import Beta
from ...lexicon import Match
from ..outcomes import Reason, Status
from ..spending.prices import Prices, total
from ..types import (
    EDITOR,
    NO_TOKENS,
    ClaimConfidence,
    Clustering,
    Completion,
    Json,
    Promised,
    Rewording,
    Sample,
    Usage,
    WordedSentence,
)
from ..upstreams.answers import sample_of, usage_of
from .job import Job

if TYPE_CHECKING:
    from ...calibration.maps.local import Place
    from ..errors import ProxyError

Source = Literal["upstream", "shared", "cache"]
Reply = tuple[Json, Json]
"""A completion object, and one of its choices."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The answers of one request, in the order they came.

    Attributes:
        choices: pairs of a completion object and one of its choices.
        samples: the choices as samples, index by index.
        compared: indices of the samples that can be compared: with text or a refusal, and not cut off by an upstream error.
        spent: tokens of all answers.
        source: "shared" or "cache" where an equal request drew them.
    """

    choices: tuple[Reply, ...] = ()
    samples: tuple[Sample, ...] = ()
    compared: tuple[int, ...] = ()
    spent: Usage = NO_TOKENS
    source: Source = "upstream"

    def plus(self, answer: Json) -> Drawn:
        """A copy that also holds the answers of this completion object."""
        new = tuple(map(sample_of, answer["choices"]))
        more = (i for i, sample in enumerate(new, len(self.samples)) if sample.is_comparable)
        choices = (*self.choices, *((answer, choice) for choice in answer["choices"]))
        return Drawn(choices, self.samples + new, (*self.compared, *more), self.spent + usage_of(answer), self.source)

    def usage_of(self, index: int) -> Usage:
        """Tokens of one answer."""
        envelope, _ = self.choices[index]
        return usage_of(envelope).of_one(len(envelope["choices"]))

    def calls(self, own: int) -> tuple[Usage, ...]:
        """Tokens of each call, except those of the answer with the index `own`."""
        spent: list[Usage] = []
        for index, (envelope, _) in enumerate(self.choices):
            if index and envelope is self.choices[index - 1][0]:
                continue  # another choice of the same call
            usage, several = usage_of(envelope), len(envelope["choices"]) > 1
            if envelope is not self.choices[own][0]:
                spent.append(usage)
            elif several:
                spent.append(usage - usage.of_one(len(envelope["choices"])))
        return tuple(spent)

    @property
    def texts(self) -> list[str]:
        """The texts that are compared."""
        return [self.samples[i].text for i in self.compared]


NOTHING_DRAWN = Drawn()


@dataclass(frozen=True, slots=True)
class Confidence:
    """How sure the draft is.

    Attributes:
        signal: the signal that measured it; long answers have their own.
        raw, calibrated: before and after the map. For a long answer the mean over its claims: the expected share of right claims.
        if_right, if_wrong: Faithfulness Divergence of the calibrated Beta, in nats, if the answer proves right and if it proves wrong.
        map_id: version of the map; None for the identity map: the confidence is uncalibrated.
        warnings: reasons to doubt the map.
        interval: lower and upper end of the interval of the calibrated mean; None if the map has none, and for long answers.
        place: position of the question in a map that depends on questions; None for other maps.
    """

    signal: str
    raw: Beta
    calibrated: Beta
    if_right: float
    if_wrong: float
    map_id: str | None = None
    warnings: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class ChoiceConfidence:
    """The confidence in one of several choices that the client asked for.

    Attributes:
        index: its place among the choices.
        calibrated: its confidence.
        agreeing: number of choices with the same meaning, including this one.
    """

    index: int
    calibrated: Beta
    agreeing: int


class _Known(NamedTuple):
    """The fields of a `Result`, filled step by step.

    Attributes:
        reason: a code of `Reason`, or the upstream's own code.
        detail: a sentence for the operator.
        clustering: a partition of the compared answers (its index i is `drawn.samples[drawn.compared[i]]`).
        claims: the claims of a long draft, or the fields of a JSON answer, each with its confidence.
        held_against: indices of the samples with which claims were compared, in the order of `ClaimConfidence.borne_out`.
        each: if the client asked for several choices, the confidence in each choice that could be measured.
        language: of the draft, once it is worded; None if it is not supported.
        promised: the promises that cover the answer; None if its route makes none or it has no confidence.
        hedges: the retrieved hedges, nearest first.
        escalated: the stronger model's completion, if it was asked.
        reply: the policy's text in place of the answer, if any.
        served: the text that the client already has: in shadow, the upstream's own answer.
        served_agrees: whether `served` means the same as the draft.
        perceived: perceived confidence of the final text, if nothing was reworded.
        own: perceived confidence of the draft before any rewording.
        cause: what the network said, if a call of the upstream failed; for operators.
        relayed: tokens of an answer that was passed through, if they are counted for a named key's limits or for a budget.
        asked: tokens of each judge call.
        lost: number of calls that were sent and of whose tokens nothing is known. With one, or if `relayed` is `cut` short, the request counts
            as at least what was reserved for it.
        costs: dollars by purpose, with the keys of `spent`; None if a call has no price. Empty until the work has ended.
        timings_ms: milliseconds of each step, in order; the run keeps filling it.
        begun_ns: start of each step in nanoseconds since 1970; the run keeps filling it.
    """

    job: Job
    status: Status = Status.FAILED
    reason: str | None = None
    detail: str | None = None
    drawn: Drawn = NOTHING_DRAWN
    clustering: Clustering | None = None
    confidence: Confidence | None = None
    claims: tuple[ClaimConfidence, ...] = ()
    held_against: tuple[int, ...] = ()
    each: tuple[ChoiceConfidence, ...] = ()
    language: str | None = None
    promised: Promised | None = None
    hedges: tuple[Match, ...] = ()
    rewording: Rewording | None = None
    escalated: Json | None = None
    reply: str | None = None
    served: str | None = None
    served_agrees: bool | None = None
    perceived: Beta | None = None
    own: Beta | None = None
    cause: str | None = None
    relayed: Usage = NO_TOKENS
    asked: tuple[Usage, ...] = ()
    lost: int = 0
    cut: bool = False
    costs: Mapping[str, float | None] = {}
    timings_ms: Mapping[str, float] = {}
    begun_ns: Mapping[str, int] = {}


class Result(_Known):
    """The result of a job: the known fields, and values derived from them."""

    @property
    def signal(self) -> str:
        """Name of the signal that measures the confidence."""
        return self.confidence.signal if self.confidence else self.job.route.signal

    @property
    def draft_index(self) -> int:
        """Index of the choice that is the draft: the representative of the largest cluster; before clustering, the first choice."""
        return 0 if self.clustering is None else self.drawn.compared[self.clustering.draft_index]

    @property
    def draft(self) -> str | None:
        """The plain answer; None if none arrived."""
        return self.drawn.samples[self.draft_index].text if self.drawn.samples else None

    @property
    def text(self) -> str | None:
        """The text that the client reads: the policy's reply, the stronger model's answer, the rewording or the draft."""
        if self.reply is not None:
            return self.reply
        if self.escalated is not None:
            return sample_of(self.escalated["choices"][0]).text
        return self.rewording.text if self.rewording else self.draft

    @property
    def whole_text(self) -> str | None:
        """The text that the client reads, with what stands around the draft."""
        is_own = self.reply is not None or self.escalated is not None or self.text is None
        return self.text if is_own else self.drawn.samples[self.draft_index].around(self.text or "")

    @property
    def perceived_confidence(self) -> Beta | None:
        """Perceived confidence of the final text; None if the text does not come from the draft or cannot be read."""
        return self.rewording.perceived if self.rewording else self.perceived

    @cached_property
    def spent(self) -> dict[str, tuple[Usage, ...]]:
        """Tokens of each call, by purpose. Samples that another request drew are not counted."""
        drawn, own = self.drawn, self.draft_index
        answer = (drawn.usage_of(own),) if drawn.choices else ()
        samples = drawn.calls(own) if drawn.choices and drawn.source == "upstream" else ()
        rewritten = self.rewording.usage if self.rewording else NO_TOKENS
        if self.each:  # the client asked for all choices
            answer, samples = (drawn.spent,), ()
        return {
            "answer": answer,
            "samples": samples,
            "judge": self.asked,
            "rewrite": (rewritten,) if rewritten.total or rewritten.model else (),
            "escalation": (usage_of(self.escalated),) if self.escalated else (),
        }

    @property
    def paid(self) -> dict[str, tuple[Usage, ...]]:
        """`spent` without an answer that another request drew, which costs this one nothing."""
        return self.spent if self.drawn.source == "upstream" else self.spent | {"answer": ()}

    @cached_property
    def usage(self) -> dict[str, Usage]:
        """Tokens spent, by purpose."""
        return {purpose: sum(calls, NO_TOKENS) for purpose, calls in self.spent.items()}

    @property
    def cost(self) -> tuple[float | None, float | None]:
        """Dollars for the answer, and for everything that calibration added; None where unknown."""
        costs = dict(self.costs)
        return costs.pop("answer", None), total(list(costs.values())) if costs else None

    @property
    def total_usage(self) -> Usage:
        """All tokens spent."""
        return sum(self.usage.values(), NO_TOKENS)

    def ended(self, status: Status, reason: str | None, detail: str | None = None) -> Result:
        """A copy with this status and reason."""
        return self._replace(status=status, reason=reason, detail=detail)


class Run:
    """The processing of one job: its newest result, replaced whenever more is known.

    Attributes:
        job: the request.
        step_name: the step under way, or the last one.
        came: the answer that the client already has, if it counts as one of the samples (shadow).
    """

    def __init__(self, job: Job, served: str | None = None, watch: Callable[[], None] = lambda: None) -> None:
        self.job, self.step_name = job, "sample"
        self.came: Json | None = None
        self._served, self._watch = served, watch
        self._timings_ms: dict[str, float] = {}
        self._begun_ns: dict[str, int] = {}
        # Made on first use: a request that is passed through needs the final result only.
        self._result: Result | None = None

    @property
    def result(self) -> Result:
        """The result so far, also if the work was interrupted."""
        if self._result is None:
            self._result = Result(self.job, served=self._served, timings_ms=self._timings_ms, begun_ns=self._begun_ns)
        return self._result

    def take(self, job: Job) -> None:
        """Start again with a more complete job."""
        self.job, self._result = job, None

    def pass_on(self, reason: str) -> Result:
        """End with the upstream's answer unchanged."""
        self._result = Result(self.job, Status.PASSED, reason)
        return self._result

    def learn(self, **known: Any) -> None:
        """Set fields of the result."""
        self._result = self.result._replace(**known)

    def end(self, status: Status, reason: str | None, detail: str | None = None) -> None:
        """Set status, reason and detail of the result."""
        self._result = self.result.ended(status, reason, detail)

    def fail(self, error: ProxyError, status: Status = Status.FAILED, detail: str | None = None) -> None:
        """End with an error, and with what caused it below."""
        self._result = self.result.ended(status, error.code, detail)._replace(cause=error.cause)

    def reworded(self, rewording: Rewording) -> None:
        """Store the rewording; its status becomes the status of the result."""
        self.learn(rewording=rewording)
        self.end(Status(rewording.status), rewording.reason)

    def arrived(self, answer: Json) -> None:
        """Add a completion object to the drawn answers."""
        self.learn(drawn=self.result.drawn.plus(answer))
        if isinstance(answer, Completion):
            self.answered(answer.upstream, answer.model)

    def answered(self, upstream: str, model: str) -> None:
        """Record which member of a group has answered, and as which model; `upstream` is "" if no group was asked."""
        if upstream and upstream != self.job.answered_by:
            self.job = self.job._replace(answered_by=upstream, answered_model=model)
            if self._result is not None:
                self.learn(job=self.job)

    def drawn_from(self, source: Source) -> None:
        """Record who drew the answers."""
        self.learn(drawn=replace(self.result.drawn, source=source))

    def spend(self, usage: Usage) -> None:
        """Record the tokens of a judge call."""
        self.learn(asked=(*self.result.asked, usage))

    def lose(self) -> None:
        """Record that the tokens of a call that was sent are not known."""
        self.learn(lost=self.result.lost + 1)

    def price(self, prices: Prices) -> None:
        """Record the cost of all calls."""
        self.learn(costs=prices.costs(self.result.paid, self.job.answering_model))

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step, which may be entered several times, and call the watcher at its end."""
        self.step_name = name
        self._begun_ns.setdefault(name, time.time_ns())
        start = time.perf_counter()
        try:
            yield
        finally:
            self._timings_ms[name] = self._timings_ms.get(name, 0.0) + (time.perf_counter() - start) * 1e3
            self._watch()


def beta_figures(beta: Beta | None) -> Json | None:
    """A Beta as a JSON object."""
    if beta is None:
        return None
    return {"alpha": round(beta.alpha, 9), "beta": round(beta.beta, 9), "mean": round(beta.mean, 6)}


def sentence_figures(sentence: WordedSentence, before: int = 0) -> Json:
    """One sentence of a long answer as a JSON object; `before` characters stand before the answer."""
    return {
        "start": before + sentence.start,
        "end": before + sentence.end,
        "confidence": None if sentence.target is None else round(sentence.target.mean, 6),
        "status": sentence.status,
        "hedge": sentence.hedge,
    }


def claim_figures(claim: ClaimConfidence) -> Json:
    """One claim of a long answer for the client: raw and calibrated confidence, and how many other answers support or contradict it."""
    return {
        "text": claim.text,
        "context": claim.context or None,
        "sentence": claim.sentence,
        "confidence": round(claim.calibrated.mean, 6),
        "raw": round(claim.raw.mean, 6),
        "said_by": claim.borne_out.count(True),
        "contradicted_by": claim.borne_out.count(False),
        "by": claim.by,
    } | ({} if claim.asked is None else {"asked": claim.asked})


def field_figures(claim: ClaimConfidence) -> Json:
    """One field of a JSON answer for the client: raw and calibrated confidence, and how many other answers agree or differ."""
    return {
        "confidence": round(claim.calibrated.mean, 6),
        "raw": beta_figures(claim.raw),
        "agree": claim.borne_out.count(True),
        "differ": claim.borne_out.count(False),
    }


def claim_row(claim: ClaimConfidence) -> Json:
    """One claim of a long answer for the audit, without its text."""
    return {
        "start": claim.start,
        "end": claim.end,
        "sentence": claim.sentence,
        "raw": [claim.raw.alpha, claim.raw.beta],
        "calibrated": [claim.calibrated.alpha, claim.calibrated.beta],
        "borne_out": list(claim.borne_out),
        "by": claim.by,
    } | {name: value for name, value in (("path", claim.path), ("asked", claim.asked)) if value is not None}


def edited_outcome(result: Result) -> str | None:
    """What became of an answer on a route with an editor, for the counter; None if no wording was due."""
    if (rewording := result.rewording) is None:
        return None
    if rewording.rewriter == EDITOR:
        return "marked" if rewording.status == "hedged" else "left"
    if rewording.reason == Reason.NO_HEDGE_NEEDED:
        return "not_needed"
    refusals = (attempt.partition(":") for attempt in rewording.attempts)
    return next((reason for name, _, reason in refusals if name == EDITOR), "not_asked")
