"""What is marked, and how plainly, at a calibrated confidence. No grammar: `realise` and the editor find the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import Literal

from ...calibration import Beta
from ...lexicon.reading.reading import Act, Reading, Sentence
from ..outcomes import Reason

Band = Literal["plain", "light", "doubt", "front"]
"""How an answer is to sound.

plain: as it is. light: with a light hedge ("probably", "I think"). doubt: with a plain doubt, preferably first ("I'm not sure, but"). front: with the doubt
said up front, in words of its own ("I don't really know this; my best guess is").
"""
BANDS: Mapping[Band, float] = MappingProxyType({"plain": 0.8, "light": 0.45, "doubt": 0.2, "front": 0.0})
"""The lower ends of the bands, each included; the upper end is the next one's lower end, excluded."""


def band_of(mean: float, bands: Mapping[Band, float] = BANDS) -> Band:
    """The band of a calibrated mean in [0, 1]: the one with the highest lower end that the mean reaches.

    >>> band_of(0.8), band_of(0.45), band_of(0.2), band_of(0.199)
    ('plain', 'light', 'doubt', 'front')
    """
    reached = [band for band, lower in bands.items() if mean >= lower]
    return max(reached, key=lambda band: bands[band], default="front")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim of the answer, `text[start:end]`, with its calibrated confidence; `name` says what it is about where it stands in a table, `asked` whether
    the question asks for it, if that is known.
    """

    start: int
    end: int
    beta: Beta
    name: str = ""
    asked: bool | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """One sentence is to sound as sure as `target`, in its own words."""

    sentence: Sentence
    band: Band
    target: Beta


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence of its own about the answer.

    Attributes:
        about: the sentences that it names, and names of table cells; () for the whole answer.
    """

    band: Band
    target: Beta
    about: tuple[Sentence | str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be marked; `reason` says why nothing is."""

    marks: tuple[Mark, ...] = ()
    remark: Remark | None = None
    reason: Reason | None = None

    def __bool__(self) -> bool:
        return bool(self.marks) or self.remark is not None


LOW = 0.25
"""Calibrated mean up to which a route's `policy.low_confidence` decides."""
MOST_MARKS = 2
"""Largest number of sentences of an answer that are marked."""
FEW = 3
"""Number of statements up to which an answer is marked in the sentence that answers; a longer one is marked as a whole."""
BELOW_THE_REST = 0.15
"""How far below the mean of the other claims one must lie to be marked alone."""


def plan(
    reading: Reading,
    whole: Beta,
    claims: Sequence[Claimed] = (),
    bands: Mapping[Band, float] = BANDS,
    *,
    must_mark: bool = False,
) -> Plan:
    """What to mark in an answer.

    Args:
        reading: the answer.
        whole: calibrated confidence in the answer.
        claims: calibrated confidences of its claims, where they were measured.
        bands: lower ends of the bands.
        must_mark: whether even a sure answer is marked lightly (promises ask for it).
    """
    stating = [sentence for sentence in reading.sentences if may_be_marked(reading, sentence)]
    is_told = bool(stating) or tells_otherwise(reading)
    if reading.declines or not (is_told or claims):
        return Plan(reason=Reason.NO_ASSERTION)
    if claims and (marked := _of_claims(reading, claims, bands)) is not None:
        return marked
    band = band_of(whole.mean, bands)
    if band == "plain" and not must_mark:
        return Plan(reason=Reason.NO_HEDGE_NEEDED)
    band = "light" if band == "plain" else band
    if not is_told:
        return Plan(reason=Reason.NO_ASSERTION)
    lowest = min(claims, key=lambda claim: claim.beta.mean, default=None)
    least_sure = None if lowest is None else _sentence_of(reading, lowest)
    if lowest is not None and least_sure is not None and least_sure in stating and least_sure.block == "prose":
        band = band_of(lowest.beta.mean, bands)
        return Plan((Mark(least_sure, "light" if band == "plain" else band, lowest.beta),))
    prose = [sentence for sentence in stating if sentence.block == "prose"]
    if not prose or len(stating) > FEW or _is_table(reading):
        return Plan(remark=Remark(band, whole)) if band != "light" else Plan(reason=Reason.NO_FRAME)
    return Plan((Mark(max(prose, key=lambda sentence: (sentence.answers, -sentence.index)), band, whole),))


SURE_ENOUGH = ((0.5, 0.5), (0.2, 0.8), (0.0, 0.95))
"""Probabilities that the request asks for a claim, each with the probability from which a sentence then counts as one (chosen on the part `fitted` of
tests/data/acts.jsonl, by folds).
"""


def may_be_marked(reading: Reading, sentence: Sentence) -> bool:
    """Whether a sentence states, in the answer's own voice, what can be right or wrong."""
    needed = next(states for seeks, states in SURE_ENOUGH if reading.seeks >= seeks)
    return sentence.states >= needed and sentence.block in ("prose", "item")


def _is_table(reading: Reading) -> bool:
    """Whether the answer is a table: prose beside it tells of the table."""
    return sum(sentence.block == "row" for sentence in reading.sentences) > 1


def tells_otherwise(reading: Reading) -> bool:
    """Whether a list of names, a table or a calculation is the answer to a request for a claim, though none of its parts states anything."""
    listed = sum(
        sentence.block == "row" or (sentence.block == "item" and sentence.act == "presents")
        for sentence in reading.sentences
    )
    worked_out = any(sentence.act == "computes" for sentence in reading.sentences)
    return reading.seeks >= SURE_ENOUGH[0][0] and (listed > 1 or worked_out)


def _of_claims(reading: Reading, claims: Sequence[Claimed], bands: Mapping[Band, float]) -> Plan | None:
    """The plan for claims of different confidence; None where they are about equally sure, so that the whole answer is marked."""
    low = sorted((claim for claim in claims if band_of(claim.beta.mean, bands) != "plain"), key=lambda c: c.beta.mean)
    if not low:
        return Plan(reason=Reason.NO_HEDGE_NEEDED)
    if len(claims) > 1 and all(not _stands_out(claim, claims) for claim in low):
        return None
    marks: dict[int, Mark] = {}
    named: list[tuple[Sentence | str, Beta]] = []
    for claim in low:
        sentence = _sentence_of(reading, claim)
        if sentence is None:
            named += [(name, claim.beta)] if (name := claim.name or _row_of(reading, claim)) else []
        elif (
            sentence.index in marks
            or not _stands_out(claim, claims)
            or (is_unmarked(sentence) and sentence.block != "item")
        ):
            continue
        elif sentence.block == "prose" and len(marks) < MOST_MARKS:
            marks[sentence.index] = Mark(sentence, band_of(claim.beta.mean, bands), claim.beta)
        elif sentence.block == "item" and all(sentence is not about for about, _ in named):
            named.append((sentence, claim.beta))
    doubtful = [(about, beta) for about, beta in named if band_of(beta.mean, bands) in ("doubt", "front")][:MOST_NAMED]
    remark = (
        Remark(band_of(doubtful[0][1].mean, bands), doubtful[0][1], tuple(about for about, _ in doubtful))
        if doubtful
        else None
    )
    chosen = Plan(tuple(marks[index] for index in sorted(marks)), remark)
    return chosen or Plan(reason=Reason.NO_ASSERTION)


UNMARKED: frozenset[Act] = frozenset({"asks", "declines", "presents", "speaks", "invents", "instructs", "advises"})
"""Acts that take no mark, unless the sentence may state something all the same."""
UNCLAIMED = 0.2
"""Probability of stating something below which a sentence is never marked."""
MOST_NAMED = 3
"""Largest number of things that a remark names."""


def is_unmarked(sentence: Sentence) -> bool:
    """Whether a sentence is never marked, whatever the confidence of a claim in it."""
    return sentence.act in UNMARKED and sentence.states < UNCLAIMED


def _stands_out(claim: Claimed, claims: Sequence[Claimed]) -> bool:
    """Whether a claim is clearly less sure than the others; a single claim always is."""
    others = [other.beta.mean for other in claims if other is not claim]
    return not others or claim.beta.mean <= fmean(others) - BELOW_THE_REST


def _row_of(reading: Reading, claim: Claimed) -> str:
    """The first cell of the row that a claim stands in; "" in no row."""
    row = next((s for s in reading.sentences if s.covers(claim.start, claim.end) and s.block == "row"), None)
    return "" if row is None else reading.words_of(row).strip("| ").partition("|")[0].strip("* ")


def _sentence_of(reading: Reading, claim: Claimed) -> Sentence | None:
    """The sentence or item that holds a claim; None for one in a table."""
    return next((s for s in reading.sentences if s.covers(claim.start, claim.end) and s.block != "row"), None)
