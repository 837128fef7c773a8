"""The words of a band: among the lexicon's hedges of a band the nearest to the target (1-Wasserstein), and not the one that was just used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from ...calibration import Beta
from ...lexicon import FrameKind, Hedge
from ...lexicon.hedges.written import Closing
from .distances import distance
from .policy import BANDS, Band, band_of

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
