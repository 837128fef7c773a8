"""The words of a band, in a sentence and beside the answer: among the lexicon's hedges of a band the nearest to the target (1-Wasserstein), and not the one that was just used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from ...calibration import Beta
from ...lexicon import FrameKind, Hedge
from ...lexicon.hedges.offered import Closing, Written
from ...lexicon.reading.reading import Reading
from .distances import distance
from .edits import Note
from .policy import BANDS, Band, Remark, band_of

OUT_OF_BAND = 0.12
"""Distance added to a hedge of another band: it is used where a route's own lexicon has none that is nearer."""
ABOUT_AS_NEAR = 0.1
"""W1 below which two phrases of one band are equally good: readers of one phrase differ by more, and people tire of one formula."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A hedge in one of its forms."""

    hedge: Hedge
    kind: FrameKind
    text: str


def phrase_for(
    hedges: Iterable[Hedge],
    target: Beta,
    band: Band,
    kinds: Sequence[FrameKind],
    avoid: Sequence[str] = (),
    seed: str = "",
    bands: Mapping[Band, float] = BANDS,
) -> Phrase | None:
    """A phrase of the band, or near it, in one of these forms; None where the lexicon has none.

    Args:
        hedges: those that the route may write.
        target: the confidence that the words should convey.
        kinds: the forms that the sentence takes, best first.
        avoid: ids of hedges of the last answers, the newest last; one of them is used only if the band has no other, and then the oldest.
        seed: a text by which equally good phrases are drawn: the same answer always gets the same words.
    """
    fitting = [
        (
            distance(hedge.beta, target)
            + 0.02 * kinds.index(kind)
            + OUT_OF_BAND * (band_of(hedge.beta.mean, bands) != band),
            Phrase(hedge, kind, frame.text),
        )
        for hedge in hedges
        if not hedge.is_plain and band_of(hedge.beta.mean, bands) != "plain"
        for kind in kinds
        if (frame := next((frame for frame in hedge.frames if frame.kind == kind), None)) is not None
    ]
    fresh = [each for each in fitting if each[1].hedge.id not in avoid] or _oldest(fitting, avoid)
    best = min((cost for cost, _ in fresh), default=0.0)
    near = [phrase for cost, phrase in fresh if cost <= best + ABOUT_AS_NEAR]
    return min(near, key=lambda phrase: crc32(f"{seed}|{phrase.text}".encode()), default=None)


def _oldest(fitting: Sequence[tuple[float, Phrase]], avoid: Sequence[str]) -> list[tuple[float, Phrase]]:
    """The phrases that were used longest ago."""
    last_used = {hedge: place for place, hedge in enumerate(avoid)}
    oldest = min((last_used[phrase.hedge.id] for _, phrase in fitting), default=0)
    return [each for each in fitting if last_used[each[1].hedge.id] == oldest]


def sentence_for(
    sentences: Iterable[Closing],
    target: Beta,
    band: Band,
    said: str = "",
    seed: str = "",
    bands: Mapping[Band, float] = BANDS,
) -> Closing | None:
    """A sentence of the band that stands apart from the answer; one that does not occur in `said`, the last answers, if there is one."""
    fitting = [each for each in sentences if band_of(each.beta.mean, bands) == band]
    fresh = [each for each in fitting if each.text not in said] or fitting
    best = min((distance(each.beta, target) for each in fresh), default=0.0)
    near = [each for each in fresh if distance(each.beta, target) <= best + ABOUT_AS_NEAR]
    return min(near, key=lambda each: crc32(f"{seed}|{each.text}".encode()), default=None)


@dataclass(frozen=True, slots=True)
class Voice:
    """The words that a route may use, and those of the last answers.

    Attributes:
        hedges: entries of the lexicon that may be written.
        written: sentences of the language that stand apart.
        avoid: ids of hedges in the last answers, the newest last.
        said: the last answers, whose sentences about themselves are not repeated.
    """

    hedges: Sequence[Hedge]
    written: Written
    avoid: Sequence[str] = ()
    said: str = ""
    bands: Mapping[Band, float] = field(default_factory=lambda: BANDS)


def note_of(reading: Reading, remark: Remark, voice: Voice) -> Note | None:
    """A sentence about the answer: after it where it names what is in doubt, else before it."""
    seed = reading.text[:200]
    names = list(dict.fromkeys(_names(reading, remark)))
    if remark.about and not names:
        return None
    if names and voice.written.points:
        chosen = sentence_for(voice.written.points, remark.target, remark.band, voice.said, seed, voice.bands)
        if chosen is not None:
            return Note(chosen.text.replace("{points}", _listed(names)), "end", chosen.hedge)
    chosen = sentence_for(voice.written.starts, remark.target, remark.band, voice.said, seed, voice.bands)
    if chosen is not None:
        return Note(chosen.text, "start", chosen.hedge)
    chosen = sentence_for(voice.written.closings, remark.target, remark.band, voice.said, seed, voice.bands)
    return None if chosen is None else Note(chosen.text, "end", chosen.hedge)


_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
MOST_QUOTED = 7
"""Words of an item without number and head by which a remark names it."""
_NUMBERED = re.compile(r"(?:\A|\n)[ \t]*(\d{1,3})[.)]\s[*_]*\Z")
_HEAD = re.compile(r"[*_]*([^.:!?\n*_]{2,50})[*_]*\s?(?::|[-–—]\s)")


def _names(reading: Reading, remark: Remark) -> Iterator[str]:
    """What a remark names: numbers of points, heads of items, names of cells."""
    for about in remark.about:
        if isinstance(about, str):
            yield f"the figures for {about}"
            continue
        number = _NUMBERED.search(reading.text[max(0, about.start - 12) : about.start])
        head = _HEAD.match(reading.text, about.start, about.end)
        if number is not None:
            yield f"point {number[1]}"
        elif head is not None:
            yield f"what I say about {head[1].strip()}"
        else:
            words = _EMPHASIS.sub("", reading.words_of(about)).rstrip(" .").split()
            yield f"“{' '.join(words[:MOST_QUOTED])}{' …' * (len(words) > MOST_QUOTED)}”"


def _listed(names: Sequence[str]) -> str:
    """Join names as a person would: "points 1 and 4, and ..."."""
    points = [name.removeprefix("point ") for name in names if name.startswith("point ")]
    others = [name for name in names if not name.startswith("point ")]
    numbers = [f"point{'s' * (len(points) > 1)} {_and(points)}"] if points else []
    return _and([*numbers, *others])


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
