"""Hedges and boosters in a text, as spans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from calibration import Beta
from lexicon.entries import Hedge
from lexicon.loading import load

BOOSTER_MEAN = 0.85


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text that says how sure the speaker is.

    Attributes
    ----------
    start, end : int
        Offsets into the text, `text[start:end]`.
    text : str
    kind : {"hedge", "booster"}
        hedge: lowers the confidence that a reader hears against a plain assertion; booster: stresses it.
    beta : Beta
        What readers hear in these words alone.
    hedge : str or None
        Id of the lexicon entry, where the words are one.
    """

    start: int
    end: int
    text: str
    kind: Literal["hedge", "booster"]
    beta: Beta
    hedge: str | None


@cache
def _pattern() -> tuple[re.Pattern[str], dict[str, Hedge]]:
    found: dict[str, Hedge] = {}
    for hedge in load():
        if hedge.phrase:
            for phrase in {
                hedge.phrase,
                hedge.phrase.replace("I am ", "I'm "),
                hedge.phrase.replace(" do not ", " don't "),
            }:
                found[phrase.casefold()] = hedge
    words = sorted(found, key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, words)) + r")(?!\w)", re.IGNORECASE), found


def spot(text: str) -> tuple[Span, ...]:
    """Hedges and boosters in a text, in order, without overlap."""
    pattern, found = _pattern()
    spans = []
    for match in pattern.finditer(text.replace("’", "'")):
        hedge = found[match.group().casefold()]
        kind: Literal["hedge", "booster"] = "booster" if hedge.beta.mean >= BOOSTER_MEAN else "hedge"
        spans.append(Span(match.start(), match.end(), text[match.start() : match.end()], kind, hedge.beta, hedge.id))
    return tuple(spans)
