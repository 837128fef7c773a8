"""The claims of a long answer for the pages: each with its support by every other answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..clustering.passages import Passages
from ..pipeline.result import Result, claim_row
from ..types import READERS, Json


@dataclass(frozen=True, slots=True)
class Bearing:
    """The relation of one other answer to a claim.

    Attributes:
        answer: its number among the answers drawn, from 1.
        says: whether it supports the claim (True), contradicts it (False), or does neither (None).
        passage: its passage about the claim; "" without one, None if its text was not kept.
    """

    answer: int
    says: bool | None
    passage: str | None


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim.

    Attributes:
        number: its place among the claims of the answer, from 0.
        text: None if it was not kept.
        mean, raw: means of the calibrated and the raw confidence.
        by_words: whether which answers state it is known from their words, without a judge that read them.
        correct: the current verdict.
    """

    number: int
    text: str | None
    mean: float
    raw: float
    bearings: tuple[Bearing, ...]
    by_words: bool
    correct: float | None = None

    @property
    def said_by(self) -> int:
        """Number of other answers that support it."""
        return sum(bearing.says is True for bearing in self.bearings)

    @property
    def contradicted_by(self) -> int:
        """Number of other answers that contradict it."""
        return sum(bearing.says is False for bearing in self.bearings)


@dataclass(frozen=True, slots=True)
class Claims:
    """The data on an answer's claims; split into views in a worker thread when it is shown.

    Attributes:
        rows: as in the audit.
        words: None if they were not kept.
        held_against: indices of the answers to which `borne_out` refers.
        samples: texts of all answers; None if they were not kept.
        verdicts: the current ones, by claim.
    """

    rows: Sequence[Json] = ()
    words: Sequence[str] | None = None
    held_against: Sequence[int] = ()
    samples: Sequence[str | None] | None = None
    verdicts: Mapping[int, float] | None = None

    def views(self) -> tuple[ClaimView, ...]:
        """Each claim, in order."""
        known = self.samples is not None and self.words is not None and self.rows
        passages = Passages([self._text(i) for i in self.held_against]) if known else None
        return tuple(self._view(number, row, passages) for number, row in enumerate(self.rows))

    def _text(self, sample: int) -> str:
        return (self.samples or ())[sample] or "" if sample < len(self.samples or ()) else ""

    def _view(self, number: int, row: Json, passages: Passages | None) -> ClaimView:
        text = self.words[number] if self.words is not None else None
        quoted = passages.of(text) if passages is not None and text is not None else [None] * len(row["borne_out"])
        bearings = (
            Bearing(sample + 1, says, quote)
            for sample, says, quote in zip(self.held_against, row["borne_out"], quoted, strict=False)
        )
        (alpha, beta), (raw_alpha, raw_beta) = row["calibrated"], row["raw"]
        correct = (self.verdicts or {}).get(number)
        mean, raw = alpha / (alpha + beta), raw_alpha / (raw_alpha + raw_beta)
        by_words = row.get("by") not in READERS
        return ClaimView(number, text, mean, raw, tuple(bearings), by_words, correct)


NO_CLAIMS = Claims()


def of_result(result: Result) -> Claims:
    """The claims of a request in progress."""
    if not result.claims:
        return NO_CLAIMS
    samples = [sample.text for sample in result.drawn.samples]
    rows, words = [claim_row(claim) for claim in result.claims], [claim.statement for claim in result.claims]
    return Claims(rows, words, result.held_against, samples)


def of_row(row: Json, texts: Json) -> Claims:
    """The claims of an audit row, with the texts that may be shown."""
    verdicts = {verdict["claim"]: verdict["correct"] for verdict in row.get("claim_verdicts", ()) if verdict["current"]}
    held_against = (row["story"] or {}).get("held_against", ())
    return Claims(row.get("claims") or (), texts.get("claims"), held_against, texts.get("samples"), verdicts)
