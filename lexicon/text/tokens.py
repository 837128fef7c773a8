"""Words and sentences of a text, with their offsets.

Contractions are taken apart ("I'm" is "i" and "am", "can't" is "can" and "not"), so that what is written short and what is
written out read the same; each part keeps the offsets of the whole word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"50-50|\d+(?:[.,]\d+)*%?|[^\W\d_]+(?:['’][^\W\d_]+)*(?:-[^\W\d_]+)*|\S")
_PARTS: dict[str, tuple[str, ...]] = {
    "won't": ("will", "not"), "can't": ("can", "not"), "cannot": ("can", "not"), "shan't": ("shall", "not"),
    "ain't": ("is", "not"), "dunno": ("do", "not", "know"), "let's": ("let", "us"), "don't": ("do", "not"),
    "gonna": ("going", "to"), "i'm": ("i", "am"), "im": ("i", "am"), "dont": ("do", "not"), "imho": ("in", "my", "opinion"),
    "imo": ("in", "my", "opinion"), "afaik": ("as", "far", "as", "i", "know"), "iirc": ("if", "i", "recall", "correctly"),
}  # fmt: skip
_ENDINGS = (("n't", "not"), ("'re", "are"), ("'m", "am"), ("'ll", "will"), ("'ve", "have"), ("'d", "would"))
_PRONOUNS = frozenset(["it", "that", "there", "here", "what", "who", "he", "she", "this", "where", "how"])
_ABBREVIATIONS = frozenset([
    "dr", "mr", "mrs", "ms", "prof", "st", "sr", "jr", "vs", "etc", "e.g", "i.e", "no", "vol", "fig", "approx",
    "ca", "cf", "al", "inc", "ltd", "co", "corp", "dept", "est", "gen", "gov", "lt", "sgt", "capt", "rev",
    "hon", "u.s", "u.k", "a.m", "p.m",
])  # fmt: skip
_BREAK = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?=\s)|[。！？]|\n\s*\n|\n(?=\s*(?:[-*•#]|\d+[.)]\s))")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or mark in lower case, `text[start:end]` before contractions were taken apart."""

    word: str
    start: int
    end: int
    capital: bool


def _parts(word: str) -> tuple[str, ...]:
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
    """Words, numbers and marks of `text[start:end]`; offsets count from the start of `text`.

    Examples
    --------
    >>> [token.word for token in tokenize("I'm not 100% sure, but it's Paris.")]
    ['i', 'am', 'not', '100%', 'sure', ',', 'but', 'it', 'is', 'paris', '.']
    """
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        found = match.group()
        lower = found.lower().replace("’", "'")
        for part in _parts(lower) if "'" in lower or lower in _PARTS else (lower,):
            tokens.append(Token(part, match.start(), match.end(), found[0].isupper()))
    return tokens


def sentences(text: str) -> list[tuple[int, int]]:
    """Offsets of the sentences of a text, in order, without the white space around them.

    A full stop ends a sentence where white space follows, unless it closes an abbreviation or an initial.

    Examples
    --------
    >>> text = "Dr. Who, I think. Not sure!"
    >>> [text[a:b] for a, b in sentences(text)]
    ['Dr. Who, I think.', 'Not sure!']
    """
    found: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.group() == "." and _abbreviated(text, start, match.start()):
            continue
        _append(found, text, start, match.end())
        start = match.end()
    _append(found, text, start, len(text))
    return found


def _abbreviated(text: str, start: int, stop: int) -> bool:
    """Whether the full stop at `stop` closes an abbreviation, an initial or the number of a list entry."""
    head = text[max(start, stop - 12) : stop]
    word = head.rsplit(None, 1)[-1].lstrip("([\"'“") if head.strip() else ""
    if word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word not in "I"):
        return True
    return word.isdigit() and not text[start : stop - len(word)].strip()


def _append(found: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    """Add a stretch without the white space at its ends, unless nothing is left that could be read."""
    piece = text[start:end]
    if not any(character.isalnum() for character in piece):
        return
    left = start + len(piece) - len(piece.lstrip())
    found.append((left, start + len(piece.rstrip())))
