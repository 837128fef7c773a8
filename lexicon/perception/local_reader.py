"""Reads how confident a text sounds, whether or not it is true: local, without a model call, under 1 ms per sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import exp

from ...calibration import Beta
from ..errors import LexiconError
from ..hedges.entries import NO_HEDGE
from ..hedges.loading import load
from .model import features, model
from .own import Own
from .spotting import Marked, Span, mark
from .translated import check_language, languages

DOUBT_WEIGHT = 4.0
"""Extra weight of unsure sentences in the whole: weights are exp(-4 mean).

"I am not sure. It was Pinter." sounds unsure.
"""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with the confidence that readers perceive in it.

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
    """The confidence that readers perceive in a text, as a whole and per sentence."""

    beta: Beta
    sentences: tuple[Sentence, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        """Every hedge and booster of the text, in order."""
        return tuple(span for sentence in self.sentences for span in sentence.spans)


def perceive(text: str, language: str = "en", own: Own | None = None) -> Perceived:
    """How confident the wording of a text sounds to readers.

    Parameters
    ----------
    text : str
        At most 500,000 characters.
    language : str
        Language of the text, one of `languages()`. The model is fitted on English; in other languages only the wordings
        of their lexicons are recognised, with the Betas of the English entries that they translate.
    own : Own, optional
        Entries of a custom lexicon (`Own.of(lexicon)`); its wordings are read at their own Betas, in texts of its language.

    Returns
    -------
    Perceived
        A sentence without a hedge or booster reads as `no-hedge`; one whose only cue is an entry of the lexicon as that
        entry; any other by the fitted model. The whole is the weighted mean over sentences; unsure ones weigh more.

    Raises
    ------
    TextTooLong
        If the text is over the limit.
    LexiconError
        If there is nothing to read: no letter or digit, or no Latin letter. If the language is not supported: its hedges
        would be missed and read as plain assertions.

    Examples
    --------
    >>> perceive("It was probably Harold Pinter.").beta.mean < perceive("It was Harold Pinter.").beta.mean
    True
    """
    check_language(language)
    check_readable(text)
    own = own if own is not None and own.language == language else None
    beta_of = partial(_beta if language == "en" else _beta_of_spans, plain=_plain(language, own))
    read = tuple(
        Sentence(m.start, m.end, text[m.start : m.end], beta_of(m), m.spans) for m in mark(text, language, own)
    )
    return Perceived(_together([sentence.beta for sentence in read]), read)


def check_readable(text: str) -> None:
    """Raise an error for a text without anything to read, or without Latin letters."""
    letters = [character for character in text[:10_000] if character.isalpha()]
    if not letters and not any(character.isdigit() for character in text):
        raise LexiconError("there is nothing to read: the text has no letter and no digit")
    if letters and not any(character < "\u0250" for character in letters):
        raise LexiconError(f"the text is not in Latin script; only texts in {', '.join(languages())} can be read")


def _plain(language: str, own: Own | None) -> Beta:
    return own.plain if own else load(language=language)[NO_HEDGE].beta


def _beta(sentence: Marked, plain: Beta) -> Beta:
    if sentence.own:
        beside = (model().beta(features(sentence.tokens, sentence.cues)),) if sentence.cues else ()
        return _together((*sentence.own, *beside))
    if not sentence.cues:
        return plain
    if len(sentence.spans) == len(sentence.cues) == 1 and (id := sentence.spans[0].hedge):
        return load()[id].beta
    return model().beta(features(sentence.tokens, sentence.cues))


def _beta_of_spans(sentence: Marked, plain: Beta) -> Beta:
    return _together([span.beta for span in sentence.spans]) if sentence.spans else plain


def _together(betas: Sequence[Beta]) -> Beta:
    """The weighted mean of several Betas, by mean and concentration; unsure ones weigh more. A single one is unchanged."""
    if len(betas) == 1:
        return betas[0]
    weights = [exp(-DOUBT_WEIGHT * beta.mean) for beta in betas]
    total = sum(weights)
    mean = sum(w * beta.mean for w, beta in zip(weights, betas, strict=True)) / total
    concentration = sum(w * beta.concentration for w, beta in zip(weights, betas, strict=True)) / total
    return Beta.from_mean(mean, concentration)
