"""Word an answer at its confidence. Every reworded text is made here: the pipeline passes the confidence that it measured, `hedgerow rewrite`
one that it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...calibration import Beta
from ...lexicon import Match
from ...lexicon.reading.reading import Reading
from ..computing import aside, compute
from ..outcomes import Reason, Status, Uncovered
from ..rewriting.distances import distance
from ..rewriting.local import LOCAL
from ..rewriting.policy import Claimed
from ..types import BYTES_A_TOKEN, Promised, Rewording, RewriteRequest, Standing
from .editing import LAST_ANSWERS, Tried, claimed, edited, keeping
from .job import Job, last_messages
from .promised import promised, rule, worded_at
from .result import Confidence, Run
from .steps import (
    LongAnswerPipeline,
    RouteWording,
    decide,
    ending,
    left_alone,
    retrieve,
    retrieve_words,
)

LARGE = 1_000
"""Texts of at least this many characters are handled by a worker thread instead of the event loop."""
_LEFT_ALONE = frozenset({Reason.MACHINE_READ, Reason.LOGPROBS, Reason.CITATIONS, Reason.NOT_MEASURED})
"""Reasons to serve an answer unchanged before the decision step."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured confidence in an answer.

    Attributes:
        confidence: of the whole answer.
        long: the parts that word it sentence by sentence; None if it is worded like a short answer.
        sentences: one a sentence (None: the sentence is not hedged); None if they are not known.
        is_given: whether the confidence of a long answer is known although those of its sentences are not.
    """

    confidence: Confidence
    long: LongAnswerPipeline | None = None
    sentences: tuple[Beta | None, ...] | None = None
    is_given: bool = False


async def word(run: Run, wording: RouteWording, measured: Measured, reading: Reading, *, may_replace: bool) -> None:
    """Decide, retrieve, rewrite. If the client is already reading the draft (`may_replace` is false), a sentence is added to it.

    Raises:
        StepFailed: a step could not be done.
    """
    confidence = measured.confidence
    language = reading.language
    run.learn(confidence=confidence, language=language)
    standing = wording.standing(confidence.map_id, confidence.signal)
    if standing is not None:
        run.learn(promised=Promised(None, reason=standing.reason or Uncovered.FAILED, language=language))
    await _worded(run, wording, measured, reading, standing, may_replace=may_replace)
    if standing is not None:
        decided = run.result.reason not in _LEFT_ALONE
        run.learn(promised=promised(standing, run.result, language, decided=decided, may_replace=may_replace))


async def _worded(
    run: Run,
    wording: RouteWording,
    measured: Measured,
    reading: Reading,
    standing: Standing | None,
    *,
    may_replace: bool,
) -> None:
    """Decide, and word the answer by the editor or locally, with or without a valid certificate."""
    job, long = run.job, measured.long
    is_unmeasured = long is not None and measured.sentences is None
    if is_unmeasured and not measured.is_given:
        return run.end(Status.PLAIN, Reason.NOT_MEASURED)

    with run.step("decide"):
        if (reason := left_alone(run, may_replace=may_replace)) is not None:
            return run.end(Status.PLAIN, reason)
        ruling = rule(standing, job.route.promises, measured.confidence.calibrated.mean, wording.decide)
        target = worded_at(standing, measured.confidence, job.route.rewriting.word_at)
        if not await decide(run, wording, ruling.action, may_replace=may_replace):
            return None

    request = RewriteRequest(
        job.question,
        reading.text,
        target,
        (),
        language=run.result.language,
        must_hedge=ruling.must_hedge,
        said=ending(job.last_answer),
    )
    with run.step("rewrite"):
        claims = await aside(len(reading.text), LARGE, claimed, run, reading.text, measured.sentences or ())
        tried = await edited(job, wording, request, reading, claims, may_replace=may_replace)
    if tried.rewording is not None and not fits(run, tried.rewording.text):
        tried = Tried(None, Reason.MACHINE_READ, tried.rewording.usage)
    if tried.rewording is not None:
        run.learn(hedges=tried.hedges)
        return run.reworded(tried.rewording)
    with keeping(run, tried):
        return await _worded_locally(run, wording, request, reading, claims, may_replace=may_replace)


async def _worded_locally(
    run: Run,
    wording: RouteWording,
    request: RewriteRequest,
    reading: Reading,
    claims: Sequence[Claimed],
    *,
    may_replace: bool,
) -> None:
    """Retrieve, and reword without a model."""
    if request.language not in run.job.route.rewriting.languages:
        return run.end(Status.UNHEDGED, Reason.UNKNOWN_LANGUAGE)

    with run.step("retrieve"):
        look_up = retrieve_words if request.must_hedge else retrieve
        request = replace(request, hedges=look_up(run, wording.retriever, request.target))
        run.learn(hedges=request.hedges)

    await wording.turns.wait()
    with run.step("rewrite"):
        last = last_messages(run.job.chat, "assistant", LAST_ANSWERS)
        done = await compute(partial(wording.local.word, request, reading, claims, last, may_replace=may_replace))
        if not fits(run, done.text) and (stops := [stop.lower() for stop in stops_of(run.job)]):
            allowed = tuple(h for h in wording.local.hedges if not any(stop in h.phrase.lower() for stop in stops))
            local = replace(wording.local, hedges=allowed)
            done = await compute(partial(local.word, request, reading, claims, last, may_replace=may_replace))
        if not fits(run, done.text):
            return run.end(Status.PLAIN, Reason.MACHINE_READ)
        if (
            done.text != reading.text
            and wording.entails
            and not await compute(wording.entails, reading.text, done.text)
        ):
            done = Rewording(
                reading.text, "unhedged", Reason.NOT_ENTAILED, None, None, (f"{LOCAL}:{Reason.NOT_ENTAILED}",)
            )
        run.learn(hedges=_with_used(request.hedges, done, wording, request.target))
        return run.reworded(done)


def stops_of(job: Job) -> list[str]:
    """The stop sequences of a request."""
    named = job.body.get("stop") or job.body.get("stop_sequences")
    listed = named if isinstance(named, list) else [named]
    return [stop for stop in listed if isinstance(stop, str) and stop]


def fits(run: Run, text: str) -> bool:
    """Whether the request allows a wording: no words of ours hold a stop sequence or go beyond its limit of tokens."""
    result, draft = run.result, run.result.draft or ""
    if text == draft:
        return True
    if any(text.count(stop) > draft.count(stop) for stop in stops_of(run.job)):
        return False
    limits = (run.job.chat.get("max_completion_tokens"), run.job.chat.get("max_tokens"))
    limit = next((limit for limit in limits if isinstance(limit, int)), None)
    if limit is None:
        return True
    said = result.drawn.usage_of(result.draft_index).completion or len(draft) // BYTES_A_TOKEN
    cut_off = result.drawn.samples[result.draft_index].finish_reason == "length"
    return not cut_off and said + (len(text) - len(draft)) / BYTES_A_TOKEN <= limit


def _with_used(hedges: tuple[Match, ...], done: Rewording, wording: RouteWording, target: Beta) -> tuple[Match, ...]:
    """The retrieved hedges with the one that was used, which the form of a sentence may have chosen beyond them."""
    used = next((hedge for hedge in wording.local.hedges if hedge.id == done.hedge), None)
    if used is None or any(match.hedge.id == used.id for match in hedges):
        return hedges
    return (*hedges, Match(used, distance(used.beta, target)))
