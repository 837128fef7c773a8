"""The frames of hedges that are words of confidence, and the hedges of a language by their distance from a target."""

from __future__ import annotations

import re
from functools import lru_cache

from ...calibration import Beta
from ...lexicon import Frame, Hedge, Lexicon, Match, load, offered
from .distances import distance

DENIAL = re.compile(
    r"\b(?:doubt|doubtful|not|surprised|unlikely|improbable|inconceivable|remotely|barely|whether|"
    r"(?:little|slight|small|slim|remote|low|outside|no|any|tiny|faint) (?:chance|probability|possibility)|slight)\b"
)
KEPT_INSIDE = frozenset(
    {"clearly", "absolutely", "definitively", "obviously", "potentially", "likely", "assuredly", "plausibly"}
)
"""Adverbs that inside a sentence rarely express the speaker's confidence ("clearly visible", "the likely cause").

They are inserted and removed only at the start of a sentence.
"""


@lru_cache(maxsize=8)
def lexicon_of(language: str) -> Lexicon:
    """The shipped hedges of a language."""
    return load(language=language)


def nearest_foreign(language: str, target: Beta, k: int) -> tuple[Match, ...]:
    """The k nearest hedges of a language other than English; each has only about a dozen, so all are compared."""
    hedges = offered(lexicon_of(language)).hedges
    return tuple(sorted((Match(h, distance(h.beta, target)) for h in hedges), key=lambda match: match.distance)[:k])


def capitalise(text: str) -> str:
    """The text with its first letter in upper case, after any leading markup and brackets."""
    match = re.match(r"^[*_(\[¿¡]*", text)
    start = match.end() if match else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def denies(frame: Frame) -> bool:
    """Whether the frame denies the answer instead of hedging it ("it is unlikely that ...", "probably not ...").

    In a draft these words are part of the content, so they are neither inserted nor removed.
    """
    if frame.kind not in ("clause", "fragment"):
        return False
    opening = frame.text.partition("{")[0].rstrip(" ,:")
    return bool(DENIAL.search(opening)) and not opening.endswith(("but", "aber", "mais", "pero"))


def usable(hedge: Hedge) -> tuple[Frame, ...]:
    """The frames of a hedge that do not deny the answer."""
    return tuple(frame for frame in hedge.frames if not denies(frame))
