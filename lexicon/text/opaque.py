"""Text that a rewrite must not change: numbers, dates, addresses, code, maths, quotations, citations, list formatting."""

from __future__ import annotations

import re
from collections import Counter

from .words import MONTH_PATTERN as _MONTH

_INLINE = re.compile(
    r"`[^`]*`|\"[^\"]*\"|“[^“”]*”|«[^«»]*»|„[^„“”]*[“”]|\([^()]*\)|\[[^\[\]]*\]|https?://\S+|\$[^$\s\d][^$]*\$"
)
"""Spans inside a sentence that are not part of its grammar.

No alternative reads past its own opening mark, so nested marks take no extra time.
"""
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("code", re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.DOTALL)),
    ("maths", re.compile(r"\$\$.+?\$\$|\\\[[^\\]*+(?:\\[^\[\]][^\\]*+)*+\\\]|\\\([^\\]*+(?:\\[^()][^\\]*+)*+\\\)|\$(?=[^\s\d])[^$\n]+(?<=\S)\$(?!\d)", re.DOTALL)),
    ("url", re.compile(r"(?:https?|ftp)://[^\s<>)\]]*[^\s<>)\].,;:!?]|\bwww\.[^\s<>)\]]+[^\s<>)\].,;:!?]")),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+\b")),
    ("quotation", re.compile(r"\"[^\"\n]+\"|“[^“”\n]+”|«[^«»\n]+»|„[^„“”\n]+[“”]")),
    ("citation", re.compile(r"\[\^?\d+(?:\s*[,–-]\s*\d+)*\]|\([A-Z][\w'’-]+(?: (?:et al\.|(?:and|&) [A-Z][\w'’-]+))?,? \d{4}[a-z]?\)")),
    ("date", re.compile(rf"\b(?:\d{{1,2}}(?:st|nd|rd|th|\.)? (?:de )?{_MONTH}(?:,? (?:de )?\d{{4}})?|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|"
                        rf"{_MONTH} (?:de )?\d{{4}}|\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}})\b", re.IGNORECASE)),
    ("number", re.compile(
        r"(?<![\w.])[-−±~≈]?[$€£¥]?\d+(?:[.,:/×^]\d+)*(?:e[+-]?\d+)?(?:\s?(?:%|‰|°[CFK]?|percent\b|(?:[kKMGTµnpcm]?(?:m|g|s|b|B|Hz|W|V|A|J|Pa|l|L|t|K|N)|"
        r"mph|km/h|mi|ft|in|lbs?|oz|hours?|minutes?|seconds?|days?|weeks?|months?|years?|miles?|feet|inches|pounds?|dollars?|euros?|degrees?|"
        r"thousand|million|billion|trillion)\b)|(?:st|nd|rd|th|s)\b)?[⁰¹²³⁴⁵⁶⁷⁸⁹]*|[½¼¾⅓⅔]", )),
)  # fmt: skip
_WORDS = frozenset({"date", "number"})
"""Kinds that are words of their sentence: a rewrite keeps them, but may stand beside them."""
_MARKER = re.compile(r"[ \t]*(?:[-*+•–](?=\s)|\d{1,3}[.)](?=\s)|#{1,6}(?=\s)|>|\|.*\|[ \t]*$|$)?")


def masked(text: str) -> str:
    """The text with each quotation, bracket, code or address replaced by a placeholder name of equal length."""
    return _INLINE.sub(lambda match: "Q" * len(match.group()), text)


def opaque_spans(text: str) -> list[tuple[int, int]]:
    """Offsets of code, formulas, addresses, quotations and citations, in order of their kinds; they may overlap.

    >>> [text[a:b] for text in ['Run `ls`, see "It" [2].'] for a, b in opaque_spans(text)]
    ['`ls`', '"It"', '[2]']
    """
    return [match.span() for kind, pattern in _KINDS if kind not in _WORDS for match in pattern.finditer(text)]


def protected(text: str) -> dict[str, Counter[str]]:
    """Every protected span by kind, as multisets; a number inside a quotation counts only as part of the quotation."""
    spans: dict[str, Counter[str]] = {}
    for kind, pattern in _KINDS:
        spans[kind] = Counter(re.sub(r"\s+", " ", match.group()) for match in pattern.finditer(text))
        text = pattern.sub(" ", text)
    return spans


def structure(text: str) -> list[str]:
    """The form of each non-blank line: its marker with its indent, a table row, or plain."""
    lines = (line for line in text.splitlines() if line.strip())
    return [match.group().rstrip() for line in lines if (match := _MARKER.match(line)) is not None]
