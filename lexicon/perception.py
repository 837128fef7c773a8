"""How confident a text sounds to readers, whether or not it is true. Local, no model call, well under a millisecond a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from calibration import Beta
from lexicon.entries import NO_HEDGE
from lexicon.errors import LexiconError
from lexicon.features import features
from lexicon.loading import load
from lexicon.model import model
from lexicon.spotting import Marked, Span, mark

DOUBT_WEIGHT = 4.0
"""How much more an unsure sentence weighs in the whole: weights are exp(-4 mean). "I am not sure. It was Pinter." sounds unsure."""


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
    """How confident the wording of an English text sounds to readers.

    Parameters
    ----------
    text : str
        At most 500,000 characters.

    Returns
    -------
    Perceived
        A sentence without a hedge or booster is heard as `no-hedge`; one whose only cue is an entry of the lexicon as that
        entry; any other by the fitted model. The whole is the mean over sentences, the unsure ones weighing more.

    Raises
    ------
    TextTooLong
        If the text is over the limit.
    LexiconError
        If there is nothing to read: no letter or digit, or letters of which not one is Latin.

    Examples
    --------
    >>> perceive("It was probably Harold Pinter.").beta.mean < perceive("It was Harold Pinter.").beta.mean
    True
    """
    check_readable(text)
    marked = mark(text)
    read = tuple(Sentence(one.start, one.end, text[one.start : one.end], _beta(one), one.spans) for one in marked)
    return Perceived(_whole(read), read)


def check_readable(text: str) -> None:
    """Refuse a text in which there is nothing to read, or nothing in Latin script."""
    letters = [character for character in text[:10_000] if character.isalpha()]
    if not letters and not any(character.isdigit() for character in text):
        raise LexiconError("there is nothing to read: the text holds no letter and no digit")
    if letters and not any(character < "\u0250" for character in letters):
        raise LexiconError("the text is not in Latin script; perception is fitted on English")


def _beta(sentence: Marked) -> Beta:
    if not sentence.cues:
        return load()[NO_HEDGE].beta
    if len(sentence.spans) == len(sentence.cues) == 1 and (id := sentence.spans[0].hedge):
        return load()[id].beta
    return model().beta(features(sentence.tokens, sentence.cues))


def _whole(read: Sequence[Sentence]) -> Beta:
    """The Betas of the sentences as one: means and concentrations averaged, the unsure ones weighing more."""
    weights = [exp(-DOUBT_WEIGHT * sentence.beta.mean) for sentence in read]
    total = sum(weights)
    mean = sum(w * sentence.beta.mean for w, sentence in zip(weights, read, strict=True)) / total
    concentration = sum(w * sentence.beta.concentration for w, sentence in zip(weights, read, strict=True)) / total
    return Beta.from_mean(mean, concentration)
