"""Word an answer at a given confidence: the pipeline's gates and steps without sampling and measuring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...calibration import Beta
from ...calibration.registry import UNCALIBRATED
from ...lexicon.reading.local import read
from ...lexicon.reading.reading import Reading
from ...lexicon.text.sentences import sentences
from ..computing import compute
from ..errors import InputError
from ..outcomes import Reason, Status
from ..types import CLAIM_SIGNAL
from .claims import claims_if_long
from .eligibility import draft_reason, json_in, skip_reason
from .fields import is_structured
from .result import Run
from .run import run_until_deadline
from .steps import RouteWording, calibrated, too_long
from .wording import Measured, word


@dataclass(frozen=True, slots=True)
class Given:
    """Calibrated confidences.

    Attributes:
        answer: in the whole answer.
        sentences: in each of `sentences(answer)`, None for one that is left alone; None for all: they are not known, and a long answer stays plain.
    """

    answer: Beta
    sentences: tuple[Beta | None, ...] | None = None


async def word_given(run: Run, wording: RouteWording, answer: str, given: Given) -> None:
    """Word an answer as the proxy would at this confidence; the outcome is in `run.result`.

    Checks that need several answers (whether they can be compared) are not made here.
    """
    run.arrived({"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]})
    await run_until_deadline(run, _word(run, wording, answer, given), wording.reader)


async def _word(run: Run, wording: RouteWording, answer: str, given: Given) -> None:
    if (reason := skip_reason(run.job) or too_long(run)) is not None:
        return run.end(Status.PASSED, reason)
    if json_in(answer) is not None and is_structured(run):
        return run.end(Status.PLAIN, Reason.STRUCTURED_OUTPUT)
    if (reason := draft_reason(run.result.drawn.samples[0])) is not None:
        return run.end(Status.PASSED, reason)
    if not answer.strip():
        return run.end(Status.PASSED, Reason.NO_TEXT)
    draft = run.result.draft or answer
    if draft != answer:  # its sentences are others
        given = replace(given, sentences=None)
    reading = await compute(read, draft, run.job.question)
    return await word(run, wording, await _measured(run, wording, reading, given), reading, may_replace=True)


async def _measured(run: Run, wording: RouteWording, reading: Reading, given: Given) -> Measured:
    long = wording.by_sentence
    if long is None or await compute(claims_if_long, reading, long.minimum) is None:
        return Measured(calibrated(run.job.route.signal, given.answer, UNCALIBRATED), None, given.sentences)
    return Measured(calibrated(CLAIM_SIGNAL, given.answer, UNCALIBRATED), long, given.sentences, is_given=True)


def in_sentences(answer: str, claims: Sequence[tuple[str, Beta]]) -> tuple[Beta | None, ...]:
    """One confidence a sentence: the lowest of the claims in it; None for a sentence without claims. A table cell is in no sentence.

    >>> in_sentences("It is in Rome. It is old.", [("It is old", Beta(6, 4))])
    (None, Beta(alpha=6, beta=4))

    Raises:
        InputError: a claim does not stand in the answer.
    """
    texts = list(sentences(answer))
    confidences: dict[int, Beta] = {}
    for claim, beta in claims:
        words = claim.strip()
        if not words or words not in answer:
            raise InputError(f"the claim {claim!r} does not stand in the answer; copy its words from there")
        place = next((i for i, text in enumerate(texts) if words in text), None)
        if place is not None:
            confidences[place] = min((confidences.get(place, beta), beta), key=lambda each: each.mean)
    return tuple(confidences.get(i) for i in range(len(texts)))
