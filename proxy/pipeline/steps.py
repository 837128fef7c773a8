"""The parts of a route's pipeline, made once, and the steps that short and long answers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...calibration import ActiveMap, Beta, faithfulness_divergence
from ...calibration.decision import Action
from ...calibration.fitted import interval
from ...lexicon import Match, spot
from ..config import Policy
from ..errors import ProxyError, StepFailed
from ..outcomes import Reason, Status
from ..protocols import Call, Clusterer, ConfidenceSignal, Guard, Supporter, Upstream
from ..rewriting import Choice, LocalRewriter, Reader, perceived_confidence
from ..rewriting.editor import RouteEditor
from ..rewriting.wordings import RETRIEVED
from ..spending.prices import NO_PRICES, Prices
from ..types import Clustering, Standing, Usage
from ..upstreams.group import one_answer
from ..upstreams.thoughts import RESULT_MARK
from .job import Job, asks_for_logprobs
from .machine_read import closes_a_task, is_machine_read
from .placing import Placer
from .result import Confidence, Run
from .sampling.forms import Accepted
from .sampling.sharing import Sharing
from .turns import Turns

if TYPE_CHECKING:
    from ...calibration.maps.local import Place
    from ..grading.online import RouteGrader

Spent = Callable[[Usage], None]
"""Callback that receives the token usage of judge calls."""
LAST_ANSWER_CHARS = 500
"""Characters at the beginning of the last answer that are searched for its hedge."""


@dataclass(frozen=True, slots=True)
class LongAnswerPipeline:
    """The parts for long answers, in place of the signal, map and rewriter of short ones.

    Attributes:
        minimum: an answer with this many statements is long.
        support: makes, for one request, what measures how far the other answers support a claim.
        active_map: the calibration map of a model, fitted for the signal of long answers.
    """

    minimum: int
    support: Callable[[Job, Spent], Supporter]
    active_map: Callable[[str], ActiveMap]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteWording:
    """The parts of a route that word an answer at a confidence (`hedgerow.proxy.pipeline.wording`). Only an editor calls an upstream.

    Attributes:
        decide: the action at a calibrated mean, on routes without promises.
        standing: the certificate that covers answers with this map and signal; None if the route promises nothing.
        stronger: the upstream that is asked when the decision is to escalate.
        local: words answers without a model.
        entails: whether a model finds that draft and rewrite say the same; None if none is asked.
        by_sentence: the parts for long answers; None if the route words them like short ones.
        reader: measures perceived confidence; entries of the route's own lexicon have their own Betas.
        editor: the model that marks answers; None if they are worded locally.
        turns: awaited before each piece of work that blocks the event loop for a millisecond or more.
    """

    decide: Callable[[float], Action]
    retriever: Choice
    local: LocalRewriter
    entails: Callable[[str, str], bool] | None = None
    guard: Guard
    standing: Callable[[str | None, str], Standing | None] = lambda _map_id, _signal: None
    stronger: Upstream | None = None
    by_sentence: LongAnswerPipeline | None = None
    reader: Reader = perceived_confidence
    editor: RouteEditor | None = None
    turns: Turns = field(default_factory=Turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePipeline(RouteWording):
    """All parts of a route's pipeline; made once at the start by `hedgerow.proxy.services.factories`.

    Attributes:
        equivalence, signal: make these parts for one request; the second argument receives their token usage.
        active_map: the current calibration map of a model.
        field_map: the same for the fields of JSON answers.
        grader: grades a share of the answers afterwards.
        sharing: lets equal requests share their samples.
        needs_logprobs: whether the signal asks the upstream for log-probabilities.
        placer: evaluates maps that depend on the question.
        prices: prices of the models.
        accepted: the forms of sampling calls that the upstream is known to accept.
    """

    upstream: Upstream
    equivalence: Callable[[Job, Spent], Clusterer]
    signal: Callable[[Job, Spent], ConfidenceSignal]
    active_map: Callable[[str], ActiveMap]
    field_map: Callable[[str], ActiveMap]
    sharing: Sharing
    grader: RouteGrader | None = None
    needs_logprobs: bool = False
    placer: Placer = field(default_factory=Placer)
    prices: Prices = NO_PRICES
    accepted: Accepted = field(default_factory=Accepted)

    def of_one_answer(self) -> RoutePipeline:
        """The pipeline for one answer: if the upstream is a group, all calls go to one member."""
        settled = one_answer(self.upstream)
        return self if settled is self.upstream else replace(self, upstream=settled)


async def group(run: Run, clusterer: Clusterer, *, may_replace: bool) -> Clustering:
    """Group the answers by meaning. In shadow mode the served answer is one of them, or, where an equal request drew them, is compared
    without counting in any cluster.

    If the first answer is the draft (drawn in full beside short samples, stored by the upstream, or already being read), its cluster comes
    first whatever its size: the confidence is about the text that is read.

    Raises:
        StepFailed: too few answers have text, or a judge could not be asked.
    """
    drawn, sampling, question = run.result.drawn, run.job.route.sampling, run.job.question
    is_first = run.came is not None and drawn.source == "upstream" and 0 in drawn.compared
    texts, served = drawn.texts, None if is_first else run.result.served
    if len(texts) < sampling.min_n:
        missing = f"{len(texts)} of {sampling.n} answers have text; {sampling.min_n} are needed"
        raise StepFailed("sample", Reason.TOO_FEW_SAMPLES, missing)
    clustering = await clusterer.cluster(question, texts if served is None else [*texts, served])
    home = next(cluster for cluster in clustering.clusters if len(texts) in cluster) if served is not None else ()
    agrees = None if may_replace else 0 in clustering.largest
    if served is not None:
        without = (tuple(i for i in cluster if i != len(texts)) for cluster in clustering.clusters)
        ordered = tuple(sorted(filter(None, without), key=lambda cluster: (-len(cluster), cluster[0])))
        draft = clustering.draft if clustering.draft in ordered[0] else None
        clustering = Clustering(ordered, clustering.decided_by, draft)
    if run.job.draws_draft_first or not may_replace:
        clusters = sorted(clustering.clusters, key=lambda cluster: 0 not in cluster)
        clustering = Clustering(tuple(clusters), clustering.decided_by, draft=0)
    else:
        clustering = _complete_draft(clustering, [drawn.samples[i].finish_reason == "length" for i in drawn.compared])
    agrees = 0 in clustering.largest if is_first else agrees
    run.learn(clustering=clustering, served_agrees=clustering.largest[0] in home if home else agrees)
    return clustering


def _complete_draft(clustering: Clustering, cut_off: Sequence[bool]) -> Clustering:
    """The same partition; if the draft was cut off and its cluster has a complete answer, that becomes the draft."""
    if not cut_off[clustering.draft_index]:
        return clustering
    complete = next((i for i in clustering.largest if not cut_off[i]), None)
    return clustering if complete is None else replace(clustering, draft=complete)


def calibrated(signal: str, raw: Beta, active: ActiveMap, place: Place | None = None) -> Confidence:
    """The calibrated confidence with its interval; `place` is the question's position in a map that depends on questions."""
    confidence = confident(signal, raw, active.map.apply(raw), active)
    if place is not None and place.known:  # maps that depend on the question have no interval
        return replace(confidence, place=place)
    return replace(confidence, interval=interval(active.fitted, raw.mean, confidence.calibrated.mean), place=place)


def confident(signal: str, raw: Beta, beta: Beta, active: ActiveMap) -> Confidence:
    """A confidence before and after a map, with its divergence for either outcome."""
    right, wrong = (float(faithfulness_divergence(beta.alpha, beta.beta, y)) for y in (1, 0))
    return Confidence(signal, raw, beta, right, wrong, active.version, active.warnings)


def left_alone(run: Run, *, may_replace: bool) -> Reason | None:
    """The reason why an answer is served unchanged at any confidence; None if it may be worded."""
    sample = run.result.drawn.samples[run.result.draft_index]
    is_marked = sample.before.rstrip().endswith(RESULT_MARK) or (not may_replace and bool(sample.after.strip()))
    if is_marked or is_machine_read(run.job.chat, run.result.draft or ""):
        return Reason.MACHINE_READ
    if closes_a_task(run.job.chat, run.result.draft or ""):
        return Reason.NO_ASSERTION
    return _described(run, may_replace=may_replace)


def too_long(run: Run) -> Reason | None:
    """`too_long` if an answer is longer than the route compares; else None."""
    limit = run.job.route.rewriting.max_chars
    return Reason.TOO_LONG if any(len(text) > limit for text in run.result.drawn.texts) else None


async def decide(run: Run, wording: RouteWording, action: Action, *, may_replace: bool) -> bool:
    """Whether the draft is to be hedged; otherwise the run ends here. An answer that the client is already reading (`may_replace` is false)
    cannot be replaced and is hedged instead.

    Raises:
        StepFailed: the stronger model did not answer; the plain draft is better than nothing.
    """
    policy = run.job.route.policy or Policy()
    if action == "answer":
        run.end(Status.PLAIN, Reason.SURE_ENOUGH)
        return False
    if action == "hedge" or not may_replace:
        return True
    if action == "abstain" or wording.stronger is None:
        reply(run, policy.refusal, Reason.NOT_SURE_ENOUGH)
    else:
        await escalate(run, wording.stronger, policy.escalate_model, Reason.NOT_SURE_ENOUGH)
    return False


def reply(run: Run, words: str, reason: Reason) -> None:
    """Reply with the policy's text in place of the answer."""
    run.learn(reply=words)
    run.end(Status.ABSTAINED, reason)


async def escalate(run: Run, stronger: Upstream, model: str | None, reason: Reason) -> None:
    """Replace our answer with a stronger model's answer to the client's request.

    Raises:
        StepFailed: it could not be asked; the plain draft is better than nothing.
    """
    body = {key: value for key, value in run.job.body.items() if key not in ("stream", "stream_options")}
    if name := model or run.job.model:
        body["model"] = name
    try:
        call = Call(run.job.path, body, run.job.headers, on_lost=run.lose, id=run.job.id)
        run.learn(escalated=await stronger.complete(call))
    except ProxyError as error:
        raise StepFailed("decide", Reason.ESCALATION_FAILED, error.code) from error
    run.end(Status.ESCALATED, reason)


def _described(run: Run, *, may_replace: bool) -> Reason | None:
    """The reason not to reword an answer whose companions describe its exact words (log-probabilities, annotations); else None."""
    if asks_for_logprobs(run.job.chat):
        return Reason.LOGPROBS
    choices = run.result.drawn.choices
    message = choices[run.result.draft_index][1].get("message") if choices and may_replace else None
    return Reason.CITATIONS if isinstance(message, dict) and message.get("annotations") else None


def retrieve(run: Run, retriever: Choice, target: Beta) -> tuple[Match, ...]:
    """The nearest hedges; the hedge of the conversation's last answer is used only if no other is about as near."""
    return retriever.nearest(target, RETRIEVED, hedges_in(run.job.last_answer))


def retrieve_words(run: Run, retriever: Choice, target: Beta) -> tuple[Match, ...]:
    """The nearest hedges that are not empty, for a draft that must be hedged."""
    nearest = retriever.nearest(target, RETRIEVED + 1)
    return tuple(match for match in nearest if not match.hedge.is_plain)


def hedges_in(answer: str) -> frozenset[str]:
    """The hedges near the beginning of an answer; readers dislike the same phrase twice."""
    return frozenset(span.hedge for span in spot(answer[:LAST_ANSWER_CHARS]) if span.hedge is not None)


def ending(answer: str) -> str:
    """The end of an answer, where a closing hedge sentence would be."""
    return answer[-LAST_ANSWER_CHARS:]
