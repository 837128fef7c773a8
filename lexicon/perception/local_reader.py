"""Reads how confident a text sounds, whether or not it is true: local, without a model call, under 1 ms per sentence."""

from __future__ import annotations

import re
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


_SHARE = r"(?<![\d.])(?:(?P<percent>\d{1,3}(?:\.\d+)?)\s?(?:%|per ?cent\b)|(?P<part>\d{1,3}(?:\.\d+)?)\s?(?:/|out of|in)\s?(?P<whole>10{1,2})\b|(?P<decimal>0?\.\d+|[01]\.0+))"
_ABOUT = r"(?:about |around |only |roughly |maybe |perhaps |just |at |some |a ){0,4}+"
_OF_THE_ANSWER = r"(?:it (?:is|was)\b(?! \w{1,20}ing\b)|(?:of (?:this|it|that) being|(?:this|it|that|my answer|I)(?: is| am|'m)?) (?:right|correct|true|accurate)\b)"
"""What a chance of the answer is a chance of; any other is what the answer tells ("a 30 % chance that it will rain")."""
_STATED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<!not )(?<!n't )(?<!not even )(?<!n't even ){_SHARE}\s(?:sure|certain|confident|positive)\b",
        rf"{_SHARE}\s(?:confidence|certainty)\b",
        rf"\b(?:confidence|certainty)(?: level| score| rating)?(?: here| in this)?(?:\s(?:is|of)|\s?[:=])\s?\W?{_ABOUT}{_SHARE}",
        rf"\b(?:a|an|the)\s{_ABOUT}{_SHARE}\s(?:chance|probability|likelihood)(?=\s(?:that )?{_OF_THE_ANSWER}|\W*$)",
        rf"\b(?:probability|likelihood|chance)s?(?:\s(?:that )?{_OF_THE_ANSWER}[^.;]{{0,80}}?)?(?:\s(?:is|are|being)|\s?[:=])\s{_ABOUT}{_SHARE}",
        rf"\bit(?:'s| is| was)\s{_ABOUT}{_SHARE}\s(?:likely|probable|certain)\b",
        r"\bodds (?:are|of)\s(?P<part>\d{1,4})\s?(?:to|:|-)\s?(?P<against>\d{1,4})\b(?! against)",
        r"\b(?:confidence|certainty)(?: level)?\s?[:=]\s?\W?(?P<word>very low|low|medium|moderate|high|very high)\b",
    )
)
"""Confidence that a sentence states of its own claim, as a number or on a scale; chances that are its content ("a 30 % chance of rain") are not."""
_SCALE = {"very low": 0.1, "low": 0.25, "medium": 0.5, "moderate": 0.5, "high": 0.8, "very high": 0.92}


def stated(sentence: str) -> float | None:
    """The confidence that a sentence states in a number or on a scale, in [0, 1]; None where it states none.

    >>> stated("I'm only 20% sure it is Paris."), stated("Confidence: 2/10"), stated("The odds are 1 to 9."), stated("20 % of people are sure.")
    (0.2, 0.2, 0.1, None)
    """
    found = next((match for pattern in _STATED if (match := pattern.search(sentence))), None)
    if found is None:
        return None
    by = {name: value for name, value in found.groupdict().items() if value is not None}
    if "word" in by:
        return _SCALE[by["word"].lower()]
    numbers = {name: float(value) for name, value in by.items()}
    if "percent" in numbers:
        value = numbers["percent"] / 100
    elif "decimal" in numbers:
        value = numbers["decimal"]
    else:
        value = numbers["part"] / max(1.0, numbers.get("whole", numbers["part"] + numbers.get("against", 0.0)))
    return value if value <= 1.0 else None


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
        entry; any other by the fitted model. One that states a number of its own ("20 % sure") reads as that number. The whole is the weighted mean over sentences; unsure ones weigh more.

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
    english = language == "en"
    own = own if own is not None and own.language == language else None
    beta_of = partial(_beta if language == "en" else _beta_of_spans, plain=_plain(language, own))
    read = tuple(
        Sentence(
            m.start,
            m.end,
            sentence := text[m.start : m.end],
            (english and _stated_beta(sentence)) or beta_of(m),
            m.spans,
        )
        for m in mark(text, language, own)
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


def _stated_beta(sentence: str) -> Beta | None:
    value = stated(sentence) if any(map(str.isdigit, sentence)) or ":" in sentence or "=" in sentence else None
    if value is None:
        return None
    mean = min(max(value, 0.01), 0.99)
    return Beta.from_mean(mean, model().concentration(mean))


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
