"""The normal form of an answer: what is left when spelling, wrapping and word order that carry no meaning are gone.

Two answers with the same key are certainly the same. Everything finer works on the other fields. An answer is read once, in time
linear in its length; the rules then compare sets and tuples only. Nothing is kept between calls.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from hedgerow.lexicon.text.english import AUXILIARIES
from hedgerow.lexicon.text.language import language_of
from hedgerow.lexicon.text.language import negations as negations_of
from hedgerow.lexicon.text.numbers import is_number, read_numbers
from hedgerow.lexicon.text.words import MONTHS, open_contraction
from hedgerow.proxy.clustering.words import CURRENCIES, MONTH_SHORT, word_lists

_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "’": "'", "‘": "'", "–": "-", "—": "-", "−": "-"}
)
_SUPERSCRIPTS = re.compile(r"(?<=[^\W\d_])[⁰¹²³⁴-⁹]+|(?<=[.\s\"”])[⁰¹²³⁴-⁹]+|\[\d+\]|<br\s*/?>")
_WRAPPER = re.compile(
    r"^(?:(?:sure|ok|okay|well|so|hmm)[,.!:]\s+)?"
    r"(?:(?:the |my )?(?:final |correct |short |best |right )?(?:answer|guess|response)(?: is\b|\s*[:=]|'s\b| would be\b)|[aq]\s*:)\s*(?:that\s+)?"
)
_OPENER = re.compile(
    r"^(?:it|this|that|he|she|they|there)(?:'s| is| was| are| were)\s+(?:called\s+|known as\s+)?(?!not\b|no\b|n't)"
)
# "the bigger one", "the first one which": a pronoun, no number; "the number one" and "the player one" count
_PRONOUN = re.compile(
    r"\b((?:the|this|that) (?!(?:numb|chapt|quart|play|tow)er\b)(?:[a-z]+(?:er|est)|first|second|third|last|next|same|other|only|right|wrong|left|"
    r"big|small|large|little|long|short|old|new|young|good|bad|red|blue|green|black|white)) one"
    r"(?=\s*(?:$|[.,;:!?)]|(?:that|which|who|with|in|on|of|is|was|are|were)\b))"
)
_DOTS = re.compile(r"\b([a-z])\.(?=\s?[a-z]\b|\s|$|,)")
_ISO_DATE = re.compile(r"\b(\d{4})-(\d\d?)-(\d\d?)(?:[t ]\d\d:\d\d(?::\d\d)?z?)?\b")
_SLASH_DATE = re.compile(r"\b(\d\d?)/(\d\d?)/(\d{4})\b")
_YEAR_SPAN = re.compile(r"\b(1\d|20)(\d\d)\s*[-/]\s*(\d\d)\b(?![-/.,]?\d)")
_DECADE = re.compile(r"\b(\d{3}0)'?s\b")
_CIRCA = re.compile(r"\b(?:c|ca|circa)\b\.?\s*(?=\d)")
_FRACTION = re.compile(r"\b(?:(\d{1,15})\s+)?(\d{1,2})[/⁄](2|3|4|5|6|8|10|16)\b(?![/⁄])")
_TOKEN = re.compile(
    r"x\d{3}0|(?<![\w.)])-?\.?\d[\d,]*(?:\.\d+)?|\d[\d,]*(?:\.\d+)?|°[cf]\b|[^\W\d_]+(?:'[^\W\d_]+)*|[%°$€£¥₱₹&=<>+*/,;:()-]"
)
_RUN_TOGETHER = re.compile(r"\b(?:by|in|on|at|is|was|were|from|and|for|with|to|of|the)(?=[A-Z][a-z])")
_OWNER = re.compile(r"([^\W\d_]+)'s\s+[a-z]")
_ASKS_WHO = re.compile(r"\s*who(?:m|se)?\b", re.IGNORECASE)
_ASKS_WHEN = re.compile(r"\s*(?:when|(?:[io]n )?(?:what|which) (?:year|date|day))\b", re.IGNORECASE)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_NUMBER_OF_LETTER = re.compile(r"(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)")


@dataclass(frozen=True, slots=True)
class Normal:
    """An answer in normal form.

    Attributes:
        key: words and numbers in order, as one string, without articles and punctuation; equal keys mean the same. Empty
            only where the answer holds no letter, digit or symbol at all.
        tokens: the key's parts.
        content: tokens that say something: no fillers, none of the question's own words unless nothing else is left.
        numbers: the numbers in it; those that the question gave only where it has no others.
        items: the content of each item where the answer is a list of two or more, else empty.
        heads: the content tokens that the rest describes: each the last of a phrase that no "of" opens.
        alias: the agreed name of what the answer names, where it is known by several; else "".
        yes: the answer's direction where it is a yes or a no (also spelled out against a yes/no question), else None.
        negated: an odd number of negations stands in it.
        owners: words that something else belongs to ("Dorothy" in "Dorothy's dog"); an answer's last word owns nothing.
        negations: how many negations stand in it.
        is_name: it is written as a name ("Paul Bäumer"), or the question asks for one.
    """

    key: str
    tokens: tuple[str, ...]
    content: tuple[str, ...]
    numbers: frozenset[str]
    items: tuple[frozenset[str], ...]
    heads: frozenset[str]
    alias: str
    yes: bool | None
    negated: bool
    owners: frozenset[str]
    negations: int
    is_name: bool = False


def fold(text: str) -> str:
    """Compatibility form, no case, no accents, plain quotes and dashes.

    >>> fold("Röntgen’s ＦＯＯ")
    "rontgen's foo"
    """
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", _SUPERSCRIPTS.sub("", text).translate(_LETTERS)).casefold()
    return "".join(c for c in decomposed.translate(_LETTERS) if not unicodedata.combining(c))


def stem(word: str) -> str:
    """A word without the endings of number and of the commonest derivations; numbers stay.

    >>> stem("chromosomes"), stem("rusting"), stem("zoroastrianism"), stem("regulation"), stem("regulates"), stem("bus")
    ('chromosom', 'rust', 'zoroastrian', 'regulat', 'regulat', 'bus')
    """
    if len(word) < 5 or is_number(word):
        return word[:-1] if len(word) == 4 and word.endswith("s") and word[2] not in "su" else word
    for ending, left in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= left:
            return word[: -len(ending)] if ending != "s" or word[-2] not in "su" else word
    return word


_ENDINGS = (
    *((ending, 5) for ending in ["ement", "ment", "ance", "ence", "ion"]),
    *(
        (ending, 4)
        for ending in [
            "ically",
            "isms",
            "ists",
            "ers",
            "ing",
            "ism",
            "ist",
            "ies",
            "ed",
            "er",
            "es",
            "ly",
            "al",
            "on",
            "a",
            "e",
            "s",
            "y",
        ]
    ),
)
"""Endings with the letters that must be left: those of nouns made from verbs need a longer word ("station" is not "state")."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the rules need to know of a question; read it once and pass it to `normalise` for every answer.

    Attributes:
        words: stems of its words, without those that say nothing.
        numbers: the numbers in it.
        denials: what it denies, each a negating word with the word before or behind it.
        asks_who: it asks for a person.
        asks_when: it asks for a date.
        closed: it asks for a yes or a no, and not for one of two ("France or Spain?").
    """

    words: frozenset[str]
    numbers: frozenset[str]
    denials: frozenset[tuple[str, str]]
    asks_who: bool
    asks_when: bool
    closed: bool


def read_question(question: str) -> Question:
    """Read a question for `normalise`."""
    tokens = tokenise(question)
    words = question.casefold().split()
    return Question(
        words=frozenset(stem(t) for t in tokens if t not in word_lists().fillers and t not in _SEPARATORS),
        numbers=frozenset(t for t in tokens if is_number(t)),
        denials=frozenset() if words[:1] and words[0] in AUXILIARIES else frozenset(_denials(_telling(tokens))),
        asks_who=_ASKS_WHO.match(question) is not None,
        asks_when=_ASKS_WHEN.match(question) is not None,
        closed=bool(words) and words[0] in AUXILIARIES and "or" not in words and language_of(question) == "en",
    )


def normalise(answer: str, question: Question | str = "") -> Normal:
    """Bring an answer to a question into normal form.

    >>> normalise("The answer is: **Twenty-one** apples.").key
    '21 apples'
    >>> normalise("July 4th, 1776").key == normalise("1776-07-04").key
    True
    """
    asked = read_question(question) if isinstance(question, str) else question
    marked = tokenise(answer)
    tokens = _telling(marked)
    content = _content(tokens, asked.words)
    numbers = frozenset(t for t in tokens if is_number(t))
    negations = count_negations(tokens)
    if negations and asked.denials:
        negations -= _echoed_denials(tokens, asked.denials)
    return Normal(
        key=" ".join(tokens) or answer.strip(),
        tokens=tokens,
        content=content,
        numbers=numbers - asked.numbers or numbers,
        items=_items(marked, asked.words),
        heads=_heads(marked, frozenset(content), asked.words),
        alias=word_lists().aliases.get(" ".join(tokens), ""),
        yes=_direction(marked, tokens, asked),
        negated=negations % 2 == 1,
        owners=frozenset(_OWNER.findall(fold(answer))) if "'s" in answer or "’s" in answer else frozenset(),
        negations=negations,
        is_name=asked.asks_who or all(word[:1].isupper() for word in answer.split()),
    )


def _telling(marked: Iterable[str]) -> tuple[str, ...]:
    """The tokens without articles and separators."""
    return tuple(t for t in marked if t not in word_lists().articles and t not in _SEPARATORS)


def _denials(tokens: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each negating word with each of its neighbours."""
    negating = negations_of("en")
    return [pair for pair in pairwise(tokens) if not negating.isdisjoint(pair)]


def _echoed_denials(tokens: tuple[str, ...], denied: frozenset[tuple[str, str]]) -> int:
    """How many negating words are the question's, or negate one that is: "You'll Never Walk Alone" denies nothing of when it was released."""
    negating = negations_of("en")
    around = zip(pairwise(("", *tokens)), pairwise((*tokens, "")), strict=True)
    return sum(
        before in denied or behind in denied or before[0] in negating or behind[1] in negating
        for before, behind in around
        if behind[0] in negating
    )


_SEPARATORS = frozenset(",;:()&/-=<>+*")


def tokenise(answer: str) -> list[str]:
    """Folded words, numbers in one spelling, and the signs that separate items."""
    text = fold(_RUN_TOGETHER.sub(r"\g<0> ", answer)).strip(" \t\n\r*_`\"'#>.“”")
    text = _WRAPPER.sub("", text).strip(" \t\n*_`\"'.:“”")
    text = _PRONOUN.sub(r"\1", _OPENER.sub("", text))
    text = text.rpartition("=")[2].strip() or text
    text = _DOTS.sub(r"\1 ", text) if "." in text else text
    if any(c.isdigit() for c in text):
        text = _digits(text)
    words = [w for token in _TOKEN.findall(text) for w in _split(token)]
    return _units(_letters(_months(read_numbers(words))))


def _digits(text: str) -> str:
    """Dates, spans of years and ordinals in figures, each in the one way that the tokens read."""
    text = _ISO_DATE.sub(lambda m: _date(m[1], int(m[2]), int(m[3])) or m[0], text)
    text = _SLASH_DATE.sub(lambda m: _slash_date(int(m[1]), int(m[2]), m[3]) or m[0], text)
    text = _YEAR_SPAN.sub(lambda m: f"{m[1]}{m[2]} - {m[1]}{m[3]}", text)
    text = _FRACTION.sub(_fraction, _CIRCA.sub("", text))
    text = _NUMBER_OF_LETTER.sub(" ", _ORDINAL.sub("", _DECADE.sub(r"decade\1", text)))
    return text.replace("decade ", "x")


def _fraction(match: re.Match[str]) -> str:
    """A proper fraction as a decimal, to four places; anything else with a slash stays as it is."""
    units, over, under = int(match[1] or 0), int(match[2]), int(match[3])
    return f"{round(units + over / under, 4)}" if over < under else match[0]


def _date(year: str, month: int, day: int) -> str | None:
    return f"{_MONTH_NAMES[month - 1]} {day} {year}" if 1 <= month <= 12 and 1 <= day <= 31 else None


def _slash_date(first: int, second: int, year: str) -> str | None:
    """A date with slashes, where only one order of day and month is possible."""
    if first > 12 or first == second:
        return _date(year, second, first)
    return _date(year, first, second) if second > 12 else None


_MONTH_NAMES = tuple(MONTHS)


def _split(token: str) -> tuple[str, ...]:
    """Possessives and contractions in their parts."""
    if "'" not in token:
        return (token,)
    parts = open_contraction(token)
    return parts if parts != (token,) else (token.replace("'", ""),)


def _months(tokens: list[str]) -> list[str]:
    """Short names of months spelled out where a number stands beside them."""
    out = list(tokens)
    for i, token in enumerate(tokens):
        beside = (i > 0 and is_number(tokens[i - 1])) or (i + 1 < len(tokens) and is_number(tokens[i + 1]))
        if token in MONTH_SHORT and beside:
            out[i] = MONTH_SHORT[token]
        elif token == "cannot":  # noqa: S105
            out[i] = "not"
    return out


def _letters(tokens: list[str]) -> list[str]:
    """Runs of single letters joined: "u s a" and "U.S.A." are "usa", "J. K." is "jk"."""
    joined: list[str] = []
    run = ""
    for token in tokens:
        if len(token) == 1 and token.isalpha() and token.isascii() and (token != "s" or run == "u"):  # noqa: S105
            run += token
            if run == "us":
                joined.append(run)
                run = ""
            continue
        if run:
            joined.append(run)
            run = ""
        joined.append(token)
    return [*joined, run] if run else joined


def _units(tokens: list[str]) -> list[str]:
    """Units after a number in their one spelling; currency signs behind their number."""
    units = word_lists().units
    out: list[str] = []
    sign = ""
    for at, token in enumerate(tokens):
        if token in ("degree", "degrees", "°") and not word_lists().degrees.isdisjoint(tokens[at + 1 : at + 2]):
            continue
        if token in CURRENCIES:
            if out and is_number(out[-1]) and not sign:
                out.append(units[token].name)
            else:
                sign = token
            continue
        out.append(units[token].name if token in units and out and is_number(out[-1]) else token)
        if sign and is_number(token):
            out.append(units[sign].name)
            sign = ""
    return out


def count_negations(tokens: Iterable[str]) -> int:
    """How many of the words negate."""
    negating = negations_of("en")
    return sum(t in negating for t in tokens)


def _content(tokens: tuple[str, ...], asked: frozenset[str]) -> tuple[str, ...]:
    telling = tuple(t for t in tokens if t not in word_lists().fillers)
    own = tuple(t for t in telling if stem(t) not in asked)
    return own or telling or tokens


def _items(marked: list[str], asked: frozenset[str]) -> tuple[frozenset[str], ...]:
    """The items of "x, y and z"; nothing where the parts are alternatives ("x or y"), a place and its country, or a date."""
    if not any(t in ("and", "&", ";") for t in marked):
        return ()
    parts: list[list[str]] = [[]]
    for token in marked:
        if token in (",", ";", "and", "&"):
            parts.append([])
        elif token == "(":  # noqa: S105
            break
        elif token not in word_lists().fillers and token not in _SEPARATORS and stem(token) not in asked:
            parts[-1].append(token)
    items = tuple(frozenset(part) for part in parts if part)
    return items if len(items) > 1 else ()


_PHRASE_ENDS = frozenset({"during", "near", "since", "than", "or"})


def _heads(marked: list[str], content: frozenset[str], asked: frozenset[str]) -> frozenset[str]:
    """The last content token of each phrase; what follows "of" only describes. Words that say nothing end a phrase."""
    heads: set[str] = set()
    last, opened_by = "", ""
    for token in marked:
        if token in content:
            last = token
        elif token not in word_lists().articles and (
            token in _SEPARATORS or token in word_lists().fillers or token in _PHRASE_ENDS or stem(token) in asked
        ):
            if last and opened_by != "of":
                heads.add(last)
            last, opened_by = "", token
    if last and (opened_by != "of" or not heads):
        heads.add(last)
    return frozenset(heads)


def _direction(marked: list[str], tokens: tuple[str, ...], asked: Question) -> bool | None:
    """Yes or no: said outright, or spelled out against a question that asks for it."""
    if not tokens:
        return None
    first = next((t for t in tokens if t not in word_lists().fillers), tokens[0])
    outright = len(tokens) == 1 or (len(marked) > 1 and marked[1] in _SEPARATORS) or asked.closed
    if outright and (first in word_lists().yes or first in word_lists().no):
        return first in word_lists().yes
    if not asked.closed or not any(stem(t) in asked.words for t in tokens):
        return None
    return count_negations(tokens) % 2 == 0
