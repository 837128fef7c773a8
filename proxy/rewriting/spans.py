"""What a rewrite must hand on unchanged: numbers, dates, addresses, code, maths, quotations, citations and list structure."""

from __future__ import annotations

import re
from collections import Counter

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("code", re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.DOTALL)),
    ("maths", re.compile(r"\$\$.+?\$\$|\\\[.+?\\\]|\\\(.+?\\\)|\$(?=[^\s\d])[^$\n]+?(?<=\S)\$(?!\d)", re.DOTALL)),
    ("url", re.compile(r"(?:https?|ftp)://[^\s<>)\]]+[^\s<>)\].,;:!?]|\bwww\.[^\s<>)\]]+[^\s<>)\].,;:!?]")),
    ("email", re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")),
    ("quotation", re.compile(r"\"[^\"\n]+\"|“[^”\n]+”|«[^»\n]+»|„[^“”\n]+[“”]")),
    ("citation", re.compile(r"\[\^?\d+(?:\s*[,–-]\s*\d+)*\]|\((?:[A-Z][\w'’-]+(?: (?:et al\.|and|&) ?[A-Z]?[\w'’-]*)?,? \d{4}[a-z]?)\)")),
    ("number", re.compile(r"[$€£¥]?\d+(?:[.,:/×^-]\d+)*(?:\s?(?:%|°[CF]?|[kKMG]?[Bbm]\b|km\b|cm\b|mm\b|kg\b|mi\b|ft\b|lbs?\b)|st\b|nd\b|rd\b|th\b|s\b)?")),
)  # fmt: skip
_MARKER = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>|\|)(?=[ \t|])", re.MULTILINE)


def protected(text: str) -> dict[str, Counter[str]]:
    """Every protected span by kind, as multisets; a number inside a quotation counts as the quotation only."""
    found: dict[str, Counter[str]] = {"structure": Counter(m.group().strip() for m in _MARKER.finditer(text))}
    for kind, pattern in _KINDS:
        found[kind] = Counter(match.group() for match in pattern.finditer(text))
        text = pattern.sub(" ", text)
    return found


def first_difference(before: str, after: str) -> str | None:
    """The first kind of span in which the texts differ, None where there is none."""
    left, right = protected(before), protected(after)
    return next((kind for kind in left if left[kind] != right[kind]), None)
