"""How confident a text sounds to readers, whether or not it is true."""

from __future__ import annotations

import re
from dataclasses import dataclass

from calibration import Beta
from lexicon.entries import NO_HEDGE
from lexicon.loading import load
from lexicon.spotting import Span, spot


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence and what readers hear in it.

    Attributes
    ----------
    start, end : int
        Offsets into the text.
    text : str
    beta : Beta
        Mean = how confident it sounds, concentration = how much readers agree.
    spans : tuple[Span, ...]
        Hedges and boosters in it; offsets into the whole text.
    """

    start: int
    end: int
    text: str
    beta: Beta
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Perceived:
    """What readers hear in a text: as a whole, and sentence by sentence."""

    beta: Beta
    sentences: tuple[Sentence, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        """Every hedge and booster of the text, in order."""
        return tuple(span for sentence in self.sentences for span in sentence.spans)


def perceive(text: str) -> Perceived:
    """How confident the wording of a text sounds to readers."""
    plain = load()[NO_HEDGE].beta
    spans = spot(text)
    sentences = []
    for match in re.finditer(r"\S.*?(?:[.!?]+(?=\s|$)|$)", text, re.DOTALL):
        inside = tuple(span for span in spans if match.start() <= span.start < match.end())
        beta = min((span.beta for span in inside), key=lambda beta: beta.mean, default=plain)
        sentences.append(Sentence(match.start(), match.end(), match.group(), beta, inside))
    whole = min((sentence.beta for sentence in sentences), key=lambda beta: beta.mean, default=plain)
    return Perceived(whole, tuple(sentences))
