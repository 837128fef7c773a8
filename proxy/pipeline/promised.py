"""Promises of a route: its certificate decides what is served, and answers that were served as decided are covered by its promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...calibration import Beta
from ..config import Promises
from ..outcomes import Status, Uncovered
from ..types import Promised, Standing
from .result import Confidence, Result

if TYPE_CHECKING:
    from ...calibration.decision import Action
    from ...calibration.promises.certificate import Certificate

_SERVED_AS: dict[str, Status] = {"plain": Status.PLAIN, "abstain": Status.ABSTAINED}


@dataclass(frozen=True, slots=True)
class Ruling:
    """What to do with an answer.

    Attributes:
        action: what to serve.
        must_hedge: whether it must carry a hedge, however confident it is.
    """

    action: Action
    must_hedge: bool = False


def rule(
    standing: Standing | None, promises: Promises | None, mean: float, by_policy: Callable[[float], Action]
) -> Ruling:
    """What to do at a calibrated mean: the certificate's decision; without a valid one, the route's fallback; without promises, its policy."""
    if standing is None or promises is None:
        return Ruling(by_policy(mean))
    if (certificate := standing.certificate) is not None:
        actions: dict[str, Action] = {"plain": "answer", "hedge": "hedge", "abstain": "escalate"}
        return Ruling(actions[certificate.decide(mean)], must_hedge=certificate.thresholds.plain is not None)
    if promises.without == "abstain":
        return Ruling("escalate")
    action = by_policy(mean)
    if promises.without == "hedge":
        return Ruling("hedge" if action == "answer" else action, must_hedge=True)
    return Ruling(action)


def worded_at(standing: Standing | None, confidence: Confidence, word_at: str) -> Beta:
    """The confidence at which an answer is worded: the calibrated one, lowered if a certificate or the route's `word_at` requires it."""
    calibrated = confidence.calibrated
    mean = calibrated.mean
    if standing is not None and standing.certificate is not None:
        mean = standing.certificate.word_at(mean)
    if word_at == "lower" and confidence.interval is not None:
        mean = min(mean, confidence.interval[0])
    return calibrated if mean == calibrated.mean else Beta.from_mean(mean, calibrated.concentration)


def promised(standing: Standing, result: Result, language: str | None, *, decided: bool, may_replace: bool) -> Promised:
    """The promises that cover an answer as it was served, and the reason if not all do.

    Args:
        decided: whether the certificate decided: False for an answer that is served unchanged at any confidence.
    """
    certificate, confidence = standing.certificate, result.confidence
    if certificate is None or confidence is None:
        return Promised(None, (), standing.reason, language)
    mean = confidence.calibrated.mean
    reason = _missed(certificate, result, mean, may_replace=may_replace) if decided else Uncovered.NOT_DECIDED
    covering = certificate.covering(mean)
    if reason is Uncovered.NOT_WORDED:  # promises on answers hold, those on their wording do not
        covering = tuple(promise for promise in covering if promise.wish.subject == "answered")
    elif reason is not None:
        covering = ()
    reason = reason or (None if covering else Uncovered.OTHER_ANSWERS)
    return Promised(certificate.id, tuple((p.wish.text, p.wish.sentence) for p in covering), reason, language)


def _missed(certificate: Certificate, result: Result, mean: float, *, may_replace: bool) -> Uncovered | None:
    """The reason why an answer was not served as the certificate decided; None if it was."""
    decision = certificate.decide(mean)
    if result.status in (Status.DEGRADED, Status.FAILED):
        return Uncovered.FAILED
    if result.status == Status.ESCALATED:
        return Uncovered.ESCALATED
    if decision == "abstain" and not may_replace:
        return Uncovered.NOT_REPLACED
    words_alone = certificate.thresholds.plain is None and result.status == Status.PLAIN
    if decision == "hedge":
        return None if result.status == Status.HEDGED or words_alone else Uncovered.NOT_WORDED
    return None if result.status == _SERVED_AS[decision] else Uncovered.FAILED


def promised_or_why(result: Result) -> Promised:
    """The promises that cover an answer of a route with promises, also if no decision was reached."""
    return result.promised or Promised(None, reason=Uncovered.NOT_MEASURED)
