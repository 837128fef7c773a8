"""What became of a request: one frozen value, and the run of the pipeline that replaces it step by step.

Everything that is shown of a request is derived from a `Result`: the answer, its extra field and headers, row, line, span and page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match
from hedgerow.proxy.outcomes import Status
from hedgerow.proxy.pipeline.job import Job
from hedgerow.proxy.spending.prices import Prices, total
from hedgerow.proxy.types import (
    NO_TOKENS,
    ClaimConfidence,
    Clustering,
    Completion,
    Drawing,
    Json,
    Promised,
    Rewording,
    Sample,
    Usage,
    WordedSentence,
)
from hedgerow.proxy.upstreams.answers import sample_of, usage_of

if TYPE_CHECKING:
    from hedgerow.calibration.maps.local import Place
    from hedgerow.proxy.pipeline.placing import Embeddings

Source = Literal["upstream", "shared", "cache"]
Reply = tuple[Json, Json]
"""A completion object, and one of its choices."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The answers of one request, in the order they came.

    Attributes:
        choices: each with the completion object that it stands in.
        samples: the choices as samples, index by index.
        compared: indices of the samples that have something to compare, text or a refusal, and that no error of the upstream's cut off.
        spent: tokens of all answers.
        source: "shared" or "cache" where an equal request drew them.
    """

    choices: tuple[Reply, ...] = ()
    samples: tuple[Sample, ...] = ()
    compared: tuple[int, ...] = ()
    spent: Usage = NO_TOKENS
    source: Source = "upstream"

    def plus(self, answer: Json) -> Drawn:
        """These answers and those of one more completion object."""
        samples = (*self.samples, *map(sample_of, answer["choices"]))
        compared = tuple(i for i, sample in enumerate(samples) if sample.is_comparable)
        choices = (*self.choices, *((answer, choice) for choice in answer["choices"]))
        return Drawn(choices, samples, compared, self.spent + usage_of(answer), self.source)

    def usage_of(self, index: int) -> Usage:
        """Tokens of one answer."""
        envelope, _ = self.choices[index]
        return usage_of(envelope).of_one(len(envelope["choices"]))

    def calls(self, own: int) -> tuple[Usage, ...]:
        """Tokens of each call, without those of the answer with the index `own`."""
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
        signal: what it was measured by; long answers have a signal of their own.
        raw, calibrated: before and after the map. Of a long answer, the mean over its claims: the share of them that should be right.
        if_right, if_wrong: Faithfulness Divergence of the calibrated Beta should the answer prove right, and should it prove wrong; nats.
        map_id: version of the map; None for the identity: the confidence is uncalibrated.
        warnings: doubts about the map.
        interval: both ends of the interval of the calibrated mean; None where the map has none, and for long answers.
        place: where the question lies in a map that reads questions; None for other maps.
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
        agreeing: how many of the choices mean the same, itself among them.
    """

    index: int
    calibrated: Beta
    agreeing: int


class _Known(NamedTuple):
    """What is known of a job, as far as it has come.

    Attributes:
        reason: a code of `Reason`, or an upstream's own.
        detail: a sentence for the operator.
        drawing: how many answers were drawn by worth; None on routes that draw otherwise, and where another request drew them.
        clustering: a partition of the compared answers (its index i is `drawn.samples[drawn.compared[i]]`).
        claims: of a long answer, what its draft claims and how sure each claim is.
        held_against: indices of the samples that the claims' `borne_out` speaks of, in its order.
        each: where the client asked for several choices, the confidence in each that could be measured.
        language: of the draft, once it is worded; None where it is not among the languages that can be taken apart.
        promised: what is promised of the answer; None where its route promises nothing, or it has no confidence.
        hedges: the retrieved hedges, nearest first.
        escalated: the stronger model's completion, where it was asked.
        reply: what the policy says in place of the answer, where it does.
        served: what the client reads already: in shadow, the upstream's own answer.
        served_agrees: whether that means the same as the draft.
        perceived: perceived confidence of the final words, where nothing was reworded.
        own: perceived confidence of the draft's own words, before any rewording.
        own_marker: the standardised name of their one epistemic marker, `<no_hedge>` or `<several>`; None where they are not English.
        relayed: tokens of an answer that was sent on as it came, where they are counted: for a named key's limits or for a budget.
        asked: tokens of each call that compared answers or asked about them.
        costs: dollars by purpose, as `spent` has them; None where one of the calls has no price. Empty until the work has ended.
        timings_ms: milliseconds of each step, in the order of the steps; the run goes on filling it.
        begun_ns: when each step began, nanoseconds since 1970; likewise.
    """

    job: Job
    status: Status = Status.FAILED
    reason: str | None = None
    detail: str | None = None
    drawn: Drawn = NOTHING_DRAWN
    drawing: Drawing | None = None
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
    own_marker: str | None = None
    relayed: Usage = NO_TOKENS
    asked: tuple[Usage, ...] = ()
    costs: Mapping[str, float | None] = {}
    timings_ms: Mapping[str, float] = {}
    begun_ns: Mapping[str, int] = {}


class Result(_Known):
    """What became of a job: what is known of it, and what follows from that."""

    @property
    def signal(self) -> str:
        """What the confidence is measured by."""
        return self.confidence.signal if self.confidence else self.job.route.signal

    @property
    def draft_index(self) -> int:
        """The choice that holds the draft: the representative of the largest cluster; before clustering, the first of all."""
        return 0 if self.clustering is None else self.drawn.compared[self.clustering.draft_index]

    @property
    def draft(self) -> str | None:
        """The plain answer; None where none came."""
        return self.drawn.samples[self.draft_index].text if self.drawn.samples else None

    @property
    def text(self) -> str | None:
        """What the client reads: the rewording, what the policy says, the stronger model's answer, or the draft."""
        if self.reply is not None:
            return self.reply
        if self.escalated is not None:
            return sample_of(self.escalated["choices"][0]).text
        return self.rewording.text if self.rewording else self.draft

    @property
    def perceived_confidence(self) -> Beta | None:
        """How sure the final words sound; None where they are not of the draft, or cannot be read."""
        return self.rewording.perceived if self.rewording else self.perceived

    @cached_property
    def spent(self) -> dict[str, tuple[Usage, ...]]:
        """Tokens of each call, by purpose. Whoever shares answers that another request drew has not paid for the samples."""
        drawn, own = self.drawn, self.draft_index
        answer = (drawn.usage_of(own),) if drawn.choices else ()
        samples = drawn.calls(own) if drawn.choices and drawn.source == "upstream" else ()
        rewritten = self.rewording.usage if self.rewording else NO_TOKENS
        if self.each:  # all choices are the client's
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
        """The same but for an answer that another request drew: it costs this one nothing."""
        return self.spent if self.drawn.source == "upstream" else self.spent | {"answer": ()}

    @cached_property
    def usage(self) -> dict[str, Usage]:
        """Tokens spent, by purpose."""
        return {purpose: sum(calls, NO_TOKENS) for purpose, calls in self.spent.items()}

    @property
    def cost(self) -> tuple[float | None, float | None]:
        """Dollars for the answer, and for everything that its calibration took besides; None where that is not known."""
        costs = dict(self.costs)
        return costs.pop("answer", None), total(list(costs.values())) if costs else None

    @property
    def total_usage(self) -> Usage:
        """All tokens spent."""
        return sum(self.usage.values(), NO_TOKENS)

    def ended(self, status: Status, reason: str | None, detail: str | None = None) -> Result:
        """The same with another ending."""
        return self._replace(status=status, reason=reason, detail=detail)


class Run:
    """One job on its way: the newest result, replaced whenever more is known.

    Attributes:
        job: the request.
        step_name: the step under way, or the last one.
        embedded: embeddings of the question, as far as maps have asked for them.
    """

    def __init__(self, job: Job, served: str | None = None, watch: Callable[[], None] = lambda: None) -> None:
        self.job = job
        self.step_name = "sample"
        self.embedded: Embeddings = {}
        self._served, self._watch = served, watch
        self._timings_ms: dict[str, float] = {}
        self._begun_ns: dict[str, int] = {}
        # Made when it is asked for: a request that is passed on needs its last one only.
        self._result: Result | None = None

    @property
    def result(self) -> Result:
        """What is known so far, also where the work was interrupted."""
        if self._result is None:
            self._result = Result(self.job, served=self._served, timings_ms=self._timings_ms, begun_ns=self._begun_ns)
        return self._result

    def take(self, job: Job) -> None:
        """Begin anew with a job of which more is known."""
        self.job, self._result, self.embedded = job, None, {}

    def pass_on(self, reason: str) -> Result:
        """Decide that the client gets the upstream's answer untouched."""
        self._result = Result(self.job, Status.PASSED, reason)
        return self._result

    def learn(self, **known: Any) -> None:
        """Take over what has become known."""
        self._result = self.result._replace(**known)

    def end(self, status: Status, reason: str | None, detail: str | None = None) -> None:
        """Decide what the client gets."""
        self._result = self.result.ended(status, reason, detail)

    def reworded(self, rewording: Rewording) -> None:
        """Take over the end of the rewriting step, which decides what the client gets."""
        self.learn(rewording=rewording)
        self.end(Status(rewording.status), rewording.reason)

    def arrived(self, answer: Json) -> None:
        """Keep a completion object that was drawn."""
        self.learn(drawn=self.result.drawn.plus(answer))
        if isinstance(answer, Completion):
            self.answered(answer.upstream, answer.model)

    def answered(self, upstream: str, model: str) -> None:
        """Say which member of a group has answered, and as which model; nothing where no group was asked."""
        if upstream and upstream != self.job.answered_by:
            self.job = self.job._replace(answered_by=upstream, answered_model=model)
            if self._result is not None:
                self.learn(job=self.job)

    def drawn_from(self, source: Source) -> None:
        """Say who drew the answers."""
        self.learn(drawn=replace(self.result.drawn, source=source))

    def spend(self, usage: Usage) -> None:
        """Count the tokens of a call that compared answers or asked about them."""
        self.learn(asked=(*self.result.asked, usage))

    def price(self, prices: Prices) -> None:
        """Say what the calls have cost."""
        self.learn(costs=prices.costs(self.result.paid, self.job.answering_model))

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step, in one piece or in several, and call the watcher at its end."""
        self.step_name = name
        self._begun_ns.setdefault(name, time.time_ns())
        start = time.perf_counter()
        try:
            yield
        finally:
            self._timings_ms[name] = self._timings_ms.get(name, 0.0) + (time.perf_counter() - start) * 1e3
            self._watch()


def drawing_figures(result: Result) -> Json:
    """What the field and the audit say of drawing by worth; nothing where it was not done."""
    drawing = result.drawing
    if drawing is None:
        return {}
    figures = {"drawn": len(result.drawn.choices), "of": drawing.of, "price": drawing.price, "full": drawing.full}
    return {"drawing": figures | {"propensity": drawing.propensity, "fallback": drawing.fallback}}


def beta_figures(beta: Beta | None) -> Json | None:
    """A Beta as JSON."""
    if beta is None:
        return None
    return {"alpha": round(beta.alpha, 9), "beta": round(beta.beta, 9), "mean": round(beta.mean, 6)}


def sentence_figures(sentence: WordedSentence) -> Json:
    """One sentence of a long answer as JSON."""
    return {
        "start": sentence.start,
        "end": sentence.end,
        "confidence": None if sentence.target is None else round(sentence.target.mean, 6),
        "status": sentence.status,
        "hedge": sentence.hedge,
    }


def claim_figures(claim: ClaimConfidence) -> Json:
    """One claim of a long answer as the client gets it: raw and calibrated confidence, and how many other answers say so or contradict it."""
    return {
        "text": claim.text,
        "context": claim.context or None,
        "sentence": claim.sentence,
        "confidence": round(claim.calibrated.mean, 6),
        "raw": round(claim.raw.mean, 6),
        "said_by": claim.borne_out.count(True),
        "contradicted_by": claim.borne_out.count(False),
        "by": claim.by,
    }


def field_figures(claim: ClaimConfidence) -> Json:
    """One field of a JSON answer as the client gets it: raw and calibrated confidence, and how many other answers agree."""
    return {
        "confidence": round(claim.calibrated.mean, 6),
        "raw": beta_figures(claim.raw),
        "agree": claim.borne_out.count(True),
        "differ": claim.borne_out.count(False),
    }


def claim_row(claim: ClaimConfidence) -> Json:
    """One claim of a long answer as the audit keeps it, without its words."""
    return {
        "start": claim.start,
        "end": claim.end,
        "sentence": claim.sentence,
        "raw": [claim.raw.alpha, claim.raw.beta],
        "calibrated": [claim.calibrated.alpha, claim.calibrated.beta],
        "borne_out": list(claim.borne_out),
        "by": claim.by,
    } | ({} if claim.path is None else {"path": claim.path})
