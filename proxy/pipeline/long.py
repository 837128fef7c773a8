"""Long answers: a confidence for each claim, and from these one for each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import structlog

from ...calibration import Beta
from ...lexicon.reading.reading import Reading
from ...lexicon.text.claims import Claim
from ..clustering.support import beta_of
from ..computing import aside, compute
from ..protocols import FindsClaims, Supporter
from ..rewriting import sentences
from ..types import CLAIM_SIGNAL, ClaimConfidence
from .claims import claims_if_long, may_be_long, of_sentences
from .result import Run
from .steps import LongAnswerPipeline, confident
from .wording import LARGE, Measured

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FoundClaims:
    """The claims of a long answer, what measures them, and which of them the question asks for (None: nobody has said)."""

    claims: Sequence[Claim]
    supporter: Supporter
    asked: Sequence[bool | None]


async def found_claims(run: Run, long: LongAnswerPipeline, reading: Reading) -> FoundClaims | None:
    """The claims of a long draft, found by the model that rates them or by words; None for a short draft.

    Raises:
        StepFailed: the model could not be asked, and the judge is strict.
    """
    if not await aside(len(reading.text), LARGE, may_be_long, reading.text, long.minimum):
        return None
    job, supporter = run.job, long.support(run.job, run.spend)
    if isinstance(supporter, FindsClaims):
        found = await supporter.find_claims(job.question, reading.text)
        if found is not None:
            claims, asked, rated = found
            places = [claim.sentence for claim in claims]
            is_long = len(set(places) - {None}) + places.count(None) >= long.minimum
            return FoundClaims(claims, rated, asked) if is_long else None
    by_words = await compute(claims_if_long, reading, long.minimum)
    return None if by_words is None else FoundClaims(by_words, supporter, [None] * len(by_words))


async def measure_long(run: Run, long: LongAnswerPipeline, draft: str, found: FoundClaims) -> Measured:
    """The confidence in each claim, in each sentence that makes one, and in the answer. Without a map for the signal of long answers the
    sentences are not calibrated, unless the route hedges them at their raw confidence.

    Raises:
        StepFailed: a step could not be done; the first of them, where no other answer came.
    """
    job, claims = run.job, found.claims
    with run.step("confidence"):
        drawn, draft_index = run.result.drawn, run.result.draft_index
        held = tuple(i for i in drawn.compared if i != draft_index and drawn.samples[i].text.strip())
        run.learn(held_against=held)
        others = [drawn.samples[i].text for i in held]
        support = await found.supporter.measure_claims(job.question, claims, others)
        if (failure := next((of.by for of in support if ":" in of.by), None)) is not None:
            log.warning("claims_not_judged", route=job.route.name, id=job.id, reason=failure.partition(":")[2])
    with run.step("calibrate"):
        active = long.active_map(job.answering_model)
        raw = [beta_of(of.mean, len(others)) for of in support]
        known = tuple(
            ClaimConfidence(
                claim.text,
                claim.start,
                claim.end,
                claim.sentence,
                beta,
                active.map.apply(beta),
                of.borne_out,
                by=of.by,
                context=claim.context,
                asked=asked,
            )
            for claim, beta, of, asked in zip(claims, raw, support, found.asked, strict=True)
        )
        run.learn(claims=known)
        confidence = confident(CLAIM_SIGNAL, overall(raw), overall([claim.calibrated for claim in known]), active)
        targets = tuple(of_sentences(known, len(sentences(draft))))
    is_known = active.version is not None or job.route.rewriting.hedge_uncalibrated_sentences
    return Measured(confidence, long, targets if is_known else None)


def overall(claims: Sequence[Beta]) -> Beta:
    """The confidence in an answer from the confidences in its claims: the expected share of right claims, with their concentration."""
    return Beta.from_mean(fmean(beta.mean for beta in claims), claims[0].concentration)
