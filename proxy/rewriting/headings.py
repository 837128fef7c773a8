"""Tells an answer in a line of its own from a heading."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...lexicon.text.sentences import Piece
from ...lexicon.text.words import word_set

_LOOKED_AT = 1_000
"""Characters of a question that are read."""
_ASKS_FOR_A_NAME = re.compile(
    r"\b(?:who|whom|whose|what|which|where|when|how (?:many|much|old|tall|long|far))\b", re.IGNORECASE
)
_SPEAKS_OF_IT = re.compile(r"(?:It|He|She|They|This|These|His|Her|Its|Their)\b")
_HEADINGS = word_set(
    "introduction summary overview background answer conclusion explanation definition history biography details"
)
_LONGEST_NAME = 6
"""Number of words of a name or an amount that may stand in a line of its own."""


def is_answer_above(parts: Sequence[Piece], index: int, question: str) -> bool:
    """Whether a line without a full stop is the answer, of which the text below goes on to speak.

    Example: "Canberra" above "It was founded in 1913.", where a name is asked for. A line with words of the question, or
    one like "Summary", is a heading.
    """
    line, below = parts[index].text, "".join(part.text for part in parts[index + 1 : index + 3])
    text = below.lstrip()
    words = set(re.findall(r"[a-z]{3,}", line.lower()))
    return (
        len(line.split()) <= _LONGEST_NAME
        and not line.startswith("#")
        and not words & {*_HEADINGS, *re.findall(r"[a-z]{3,}", question[:_LOOKED_AT].lower())}
        and _ASKS_FOR_A_NAME.search(question[:_LOOKED_AT]) is not None
        and "\n" in below[: len(below) - len(text)]
        and _SPEAKS_OF_IT.match(text) is not None
    )
