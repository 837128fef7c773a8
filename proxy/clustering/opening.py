"""The opening of a long answer, which may contain the short answer: first sentences, and clauses beside a denial."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...lexicon.text.sentences import sentences
from .normal import Normal, Question, normalise

SHORT = 8
"""Number of words up to which an answer is short."""
OPENING, OPENING_CHARS = 3, 1000
"""Number of sentences, and of characters, that usually answer the question (docs/evidence/long.md)."""
CLAUSES = 12
"""Number of clauses of an opening that are read."""
_CLAUSE = re.compile(r"[,;:]\s|\s(?:but|however|although|though|because|which|when)\s|\s(?=without\s)", re.IGNORECASE)

_CITED_YEAR = re.compile(r"(?<!\d)((?:1[5-9]|20)\d\d)\d{1,2}(?=[.,]?(?:\s|$))")


@dataclass(frozen=True, slots=True)
class Read:
    """An answer in normal form, as a whole and by its first sentences and clauses.

    `opening` is empty for a short answer and for a single sentence without a denial.
    """

    whole: Normal
    opening: tuple[Normal, ...]


def read(answer: str, asked: Question) -> Read:
    """Read an answer once, for comparisons with others."""
    whole = normalise(answer, asked)
    return Read(whole, _opening(answer, whole, asked))


def _opening(answer: str, whole: Normal, asked: Question) -> tuple[Normal, ...]:
    if len(answer.split(None, SHORT + 1)) <= SHORT:
        return ()
    text = answer[:OPENING_CHARS]
    if asked.asks_when:  # a source number directly after a year: "in 19791."
        text = _CITED_YEAR.sub(r"\1", text)
    first = sentences(text)[:OPENING] or (text,)
    if len(first) == 1 and not whole.negations and text == answer:
        return ()
    read = [normalise(sentence, asked) for sentence in first]
    clauses = [c for sentence, text in zip(read, first, strict=True) if sentence.negations for c in _clauses(text)]
    return (*read, *(clause for text in clauses[:CLAUSES] if not (clause := normalise(text, asked)).negations))


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence with a denial in one of them: "I have no data of today, but he was born in Rome"."""
    return [clause for clause in _CLAUSE.split(sentence) if clause.strip()]
