"""Words of a text: tokens with offsets, contractions expanded, abbreviations, months.

Contractions are expanded ("I'm" is "i" and "am", "can't" is "can" and "not"), so that short and long forms read the
same; each part has the offsets of the whole word.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(r"50-50|\d+(?:[.,]\d+)*%?|[^\W\d_]+(?:['’][^\W\d_]+)*(?:-[^\W\d_]+)*|\S")
_PARTS: dict[str, tuple[str, ...]] = {
    "won't": ("will", "not"), "can't": ("can", "not"), "cannot": ("can", "not"), "shan't": ("shall", "not"),
    "ain't": ("is", "not"), "dunno": ("do", "not", "know"), "let's": ("let", "us"), "don't": ("do", "not"),
    "gonna": ("going", "to"), "i'm": ("i", "am"), "im": ("i", "am"), "dont": ("do", "not"), "imho": ("in", "my", "opinion"),
    "imo": ("in", "my", "opinion"), "afaik": ("as", "far", "as", "i", "know"), "iirc": ("if", "i", "recall", "correctly"),
}  # fmt: skip
_ENDINGS = (("n't", "not"), ("'re", "are"), ("'m", "am"), ("'ll", "will"), ("'ve", "have"), ("'d", "would"))
_PRONOUNS = frozenset(["it", "that", "there", "here", "what", "who", "he", "she", "this", "where", "how"])
_APOSTROPHES = str.maketrans("’‘ʼ", "'''")
ABBREVIATIONS = frozenset(
    [
        "dr",
        "mr",
        "mrs",
        "ms",
        "mme",
        "prof",
        "sr",
        "jr",
        "vs",
        "etc",
        "e.g",
        "i.e",
        "no",
        "nr",
        "vol",
        "fig",
        "approx",
        "s",
        "p",
        "pp",
        "ca",
        "cf",
        "al",
        "inc",
        "ltd",
        "co",
        "corp",
        "dept",
        "est",
        "gen",
        "col",
        "gov",
        "sen",
        "rep",
        "lt",
        "sgt",
        "capt",
        "rev",
        "hon",
        "st",
        "mt",
        "ft",
        "ave",
        "u.s",
        "u.k",
        "a.m",
        "p.m",
        "jan",
        "feb",
        "mar",
        "apr",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
        "bzw",
        "usw",
        "z.b",
        "d.h",
        "m",
        "sra",
        "ud",
    ]
)
"""Words whose full stop does not end a sentence, in the supported languages."""
MONTHS = {
    name: number
    for number, name in enumerate(
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ],
        start=1,
    )
}
MONTH_PATTERN = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?|januar|februar|märz?|mai|juni|juli|okt(?:ober)?|dez(?:ember)?|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|"
    r"novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
"""The months in the supported languages, in English also abbreviated."""


def word_set(words: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split())


def one_of(words: str) -> str:
    """A pattern for one of these words.

    >>> one_of("may might")
    '(?:may|might)'
    """
    return f"(?:{'|'.join(map(re.escape, words.split()))})"


def straight(text: str) -> str:
    """The text with straight apostrophes; offsets stay the same."""
    return text.translate(_APOSTROPHES)


class Token(NamedTuple):
    """A word, number or mark in lower case; `text[start:end]` is the original before contractions were expanded."""

    word: str
    start: int
    end: int
    capital: bool


def open_contraction(word: str) -> tuple[str, ...]:
    """The words that a lower-case word stands for, without a possessive "'s"; the word itself if it is no contraction.

    >>> open_contraction("isn't"), open_contraction("it's"), open_contraction("anna's")
    (('is', 'not'), ('it', 'is'), ('anna',))
    """
    if known := _PARTS.get(word):
        return known
    for ending, full in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            return (word.removesuffix(ending), full)
    if word.endswith("'s"):
        head = word.removesuffix("'s")
        return (head, "is") if head in _PRONOUNS else (head,)
    return (word,)


def tokenize(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Words, numbers and marks of `text[start:end]`; offsets are relative to the whole `text`.

    Examples
    --------
    >>> [token.word for token in tokenize("I'm not 100% sure, but it's Paris.")]
    ['i', 'am', 'not', '100%', 'sure', ',', 'but', 'it', 'is', 'paris', '.']
    """
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        written, (first, last) = match.group(), match.span()
        word, capital = written.lower(), written[0].isupper()
        if "'" in word or "’" in word or word in _PARTS:
            parts = open_contraction(word.replace("’", "'"))
            tokens += [Token(part, first, last, capital) for part in parts]
        else:
            tokens.append(Token(word, first, last, capital))
    return tokens
