"""Finds the epistemic markers of an English text, with the standardised names that MIC counts.

MIC: marker internal confidence. The grammar of cues (cues.py) finds them, with a shorter word list
(`data/perception/markers.json`) and a test of the words around each (marker_context.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ...calibration.metrics.markers import NO_MARKER
from ..hedges.loading import DATA
from ..text.language import function_words
from ..text.sentences import sentence_spans
from ..text.words import Token, tokenize, word_set
from .around import BE, SUBJECT
from .cues import BARE, Cue, Vocabulary, find_cues, vocabulary
from .marker_context import counts
from .not_knowing import LACKED, LACKING, NOT_KNOWING, not_knowing
from .spotting import check_length

GAP = 3
"""Number of words after a cue within which the next may begin to form one marker, with only glue between them."""
_OWN = frozenset({"think", "know", "guess", "suspect", "bet", "recall"})
_VERBS = word_set(
    "think believe assume suppose imagine presume reckon figure surmise expect know guess suspect gather bet recall remember"
)
_GLUE = word_set("to be been a an also even very well")
"""Words that may connect two cues into one marker: "could be a possibility"."""
_LEADING = (
    BE
    | SUBJECT
    | word_set("it there that this these which a an the seem seems seemed will would to of so and but or my here as")
)
"""Words before a marker that are not part of its name: "it is likely" is "likely"."""
_LEMMAS = {"seems": "seem", "seemed": "seem", "seeming": "seem", "appears": "appear", "appeared": "appear", "appearing": "appear", "suggests": "suggest", "suggested": "suggest",
           "indicates": "indicate", "indicated": "indicate", "suggesting": "suggest", "indicating": "indicate", "rumoured": "rumored", "sceptical": "skeptical", "doubts": "doubt", "hypothesised": "hypothesized",
           "theorised": "theorized"}  # fmt: skip
_I = word_set("i am will have would had")
"""Capitalised in any sentence: "I'm", "I'll"."""
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker in a text.

    Attributes
    ----------
    start, end : int
        Offsets into the text, `text[start:end]`.
    name : str
        Standardised: "I'm fairly sure" and "fairly sure" are both "fairly sure".
    """

    start: int
    end: int
    name: str


def find_markers(text: str) -> tuple[Marker, ...]:
    """The epistemic markers of a text, in order, without overlap.

    Parameters
    ----------
    text : str
        English, at most 500,000 characters.

    Raises
    ------
    TextTooLong
        If the text is over the limit.

    Examples
    --------
    >>> [marker.name for marker in find_markers("I'm fairly sure it was Rome, but it may have been Athens.")]
    ['fairly sure', 'may']
    >>> find_markers("You may begin as soon as possible.")
    ()
    """
    check_length(text)
    return tuple(marker for start, end in sentence_spans(text) for marker in _of_sentence(text, start, end))


def marker_of(text: str) -> str | None:
    """The name of the only marker of a sentence; `NO_MARKER` if it has none, None if it has several.

    Examples
    --------
    >>> marker_of("It was Rome."), marker_of("Perhaps it was Rome."), marker_of("Perhaps it was, but I'm not sure.")
    ('<no_hedge>', 'perhaps', None)
    """
    markers = find_markers(text)
    return NO_MARKER if not markers else markers[0].name if len(markers) == 1 else None


def standard(phrase: str) -> str:
    """The standardised name of a marker that was already extracted.

    Examples
    --------
    >>> standard("I am fairly sure that"), standard("it's Likely"), standard("")
    ('fairly sure', 'likely', '<no_hedge>')
    """
    if phrase.strip().lower() in {"", NO_MARKER}:
        return NO_MARKER
    check_length(phrase)
    markers = [of for start, end in sentence_spans(phrase) for of in _of_sentence(phrase, start, end, is_phrase=True)]
    if len(markers) == 1:
        return markers[0].name
    words = [token.word for token in tokenize(phrase)]
    return _name(words[:-1] if words[-1:] == ["that"] else words)


def _of_sentence(text: str, start: int, end: int, *, is_phrase: bool = False) -> Iterator[Marker]:
    if not _may_hold(_WORD.findall(text[start:end].lower())):
        return
    tokens = tokenize(text, start, end)
    words = [token.word for token in tokens]
    for marker in _merged(words, _epistemic(tokens, words, is_phrase)):
        yield Marker(tokens[marker.first].start, tokens[marker.last].end, marker.name)


def _may_hold(parts: Sequence[str]) -> bool:
    """A quick test whether a sentence may have a marker; most have none.

    `parts` are its words, split at apostrophes and hyphens.
    """
    return not _signs().isdisjoint(parts) or not (LACKING.isdisjoint(parts) or LACKED.isdisjoint(parts))


@dataclass(frozen=True, slots=True)
class _Found:
    """A range of tokens and the name of the marker there."""

    first: int
    last: int
    name: str


def _epistemic(tokens: Sequence[Token], words: Sequence[str], is_phrase: bool) -> list[_Found]:
    """The cues that are markers, and the phrases for not knowing, in order.

    For a marker that was already extracted, all of its cues.
    """
    bare = is_phrase and len(words) <= BARE + 1 and all(word.isalpha() or word == "." for word in words)
    cues = [
        cue
        for cue in find_cues(tokens, _book())
        if cue.base not in {"asked", "either"} and (bare or (counts(words, cue) and not _is_title(tokens, cue)))
    ]
    markers = [_Found(cue.first, cue.last, _name_of(words, cue)) for cue in cues]
    taken = {index for of in markers for index in range(of.first, of.last + 1)}
    for first, last in not_knowing(words):
        if taken.isdisjoint(range(first, last + 1)):
            markers.append(_Found(first, last, _name_within(words, first, last)))
    return sorted(markers, key=lambda of: of.first)


def _is_title(tokens: Sequence[Token], cue: Cue) -> bool:
    """Whether the cue is in a title: "Seems Like Old Times", "Call Me Maybe", "Because I Don't Know What To Do"."""
    if _is_named(tokens, cue):
        return True
    opens = cue.first > 0 and tokens[cue.first - 1].word in {'"', "“", "*", "_"}
    if opens and all(token.capital for token in tokens[cue.first : cue.first + 3]):
        return True
    around = (*tokens[max(0, cue.first - 2) : cue.first], *tokens[cue.last + 1 : cue.last + 3])
    titled = [token.capital and token.word not in _I for token in around]
    return len(around) == 4 and sum(titled) >= 3 and all(token.capital for token in (*around, tokens[cue.last]))


def _is_named(tokens: Sequence[Token], cue: Cue) -> bool:
    """Whether the cue is capitalised after a capitalised word, as in "Kevin (Probably) Saves the World"."""
    in_brackets = cue.first > 1 and tokens[cue.first - 1].word == "("
    before = tokens[cue.first - 2 if in_brackets else cue.first - 1] if cue.first else None
    if before is None or not before.capital or not tokens[cue.first].capital:
        return False
    return tokens[cue.first].word not in _I and (
        not in_brackets or any(t.capital for t in tokens[cue.last + 2 : cue.last + 3])
    )


def _merged(words: Sequence[str], found: Sequence[_Found]) -> Iterator[_Found]:
    """Markers with only glue between them merged into one: "could potentially", "could be wrong"."""
    groups: list[list[_Found]] = []
    for of in found:
        last = groups[-1][-1].last if groups else -GAP - 1
        if of.first - last <= GAP and _GLUE.issuperset(words[last + 1 : of.first]):
            groups[-1].append(of)
        else:
            groups.append([of])
    for group in groups:
        first, last = group[0].first, group[-1].last
        yield group[0] if len(group) == 1 else _Found(first, last, _name_within(words, first, last))


def _name_of(words: Sequence[str], cue: Cue) -> str:
    """The name of one cue: "I do not think" for a verb in the first person, else its words."""
    head = words[cue.last]
    if cue.base in _OWN and head in _VERBS and words[cue.first] not in {"best", "educated", "wild"}:
        owner = "my" if "my" in words[max(0, cue.first - 2) : cue.first] else "I"
        return f"{owner} {'do not ' if cue.symbol.startswith('neg') else ''}{head}"
    return _name_within(words, cue.first, cue.last, whole=cue.base == "idiom")


def _name_within(words: Sequence[str], first: int, last: int, *, whole: bool = False) -> str:
    """The name of a range of words.

    It has only words of the vocabulary, so that a name reveals nothing else of its text.
    """
    return _name([word for word in words[first : last + 1] if word in _sayable()], whole=whole)


def _name(words: Sequence[str], *, whole: bool = False) -> str:
    """The words without introductory ones, verbs in one form; fixed phrases unchanged."""
    first = 0
    while not whole and first < len(words) - 1 and words[first] in _LEADING:
        first += 1
    name = " ".join("I" if word == "i" else _LEMMAS.get(word, word) for word in words[first:])
    return name.replace("can not", "cannot")


@cache
def _book() -> Vocabulary:
    """The words that may be markers, with the values and modifiers of the vocabulary."""
    raw = _raw()
    shipped = vocabulary()
    values = {base: (plain, negated) for base, plain, negated in shipped.bases.values()}
    bases = {word: (base, *_valued(values[base])) for base, words in raw["words"].items() for word in words.split()}
    idioms: dict[str, list[tuple[tuple[str, ...], float | str | None]]] = {}
    known = {words: value for entries in shipped.idioms.values() for words, value in entries}
    for phrase in raw["idioms"]:
        words = tuple(phrase.split())
        idioms.setdefault(words[0], []).append((words, known.get(words, 0.0)))
    longest_first = {word: tuple(sorted(entries, key=lambda entry: -len(entry[0]))) for word, entries in idioms.items()}
    return replace(
        shipped, bases=bases, idioms=longest_first, quantified=word_set(raw["quantified"]), subjects={}, followers={}
    )


def _valued(values: tuple[float | None, float | None]) -> tuple[float, float]:
    """Both states of a word count as a cue here; the words around it decide."""
    plain, negated = values
    return (0.0 if plain is None else plain, 0.0 if negated is None else negated)


@cache
def _sayable() -> frozenset[str]:
    book = _book()
    idiomatic = {word for entries in book.idioms.values() for phrase, _ in entries for word in phrase}
    groups = (
        book.bases,
        book.quantified,
        book.negations,
        book.factors,
        book.quantities,
        book.glue,
        idiomatic,
        NOT_KNOWING,
    )
    return frozenset().union(*groups)


@cache
def _raw() -> Any:
    return json.loads((DATA / "perception" / "markers.json").read_text(encoding="utf-8"))


@cache
def _signs() -> frozenset[str]:
    """Words of which any sentence with a cue has one: the cues, and the rarest word of each idiom without them."""
    raw = _raw()
    singles = word_set(f"{' '.join(raw['words'].values())} {raw['quantified']}")
    phrases = [words for entries in _book().idioms.values() for words, value in entries if not isinstance(value, str)]
    rarest = {max(words, key=_rarity) for words in phrases if singles.isdisjoint(words)}
    parts = {part for word in singles | rarest for part in _WORD.findall(word)}
    return frozenset(parts | {"afaik", "iirc", "imo", "imho"})


def _rarity(word: str) -> tuple[bool, int]:
    return word not in function_words("en"), len(word)
