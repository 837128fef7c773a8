"""Features of a question and its answer without a model: lengths, numbers, and their shared words."""

from __future__ import annotations

import re
from math import log1p

PLAIN = (
    "length of the question", "numbers in the question", "largest number in the question", "sentences of the question",
    "length of the answer", "number of the answer", "whether the answer is numeric", "whether the answer's number stands in the question",
    "share of the answer's words that stand in the question", "capitalised words of the question",
)  # fmt: skip
"""Names of the features, in their order."""
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_WORD = re.compile(r"\w+")
_END = re.compile(r"[.?!]")
MOST_CHARS = 4000
"""Maximum number of characters of a question or an answer that are read."""
_MOST_DIGITS = 15


def plain_features(question: str, answer: str) -> tuple[float, ...]:
    """Ten numbers in the order of `PLAIN`; sizes as ln(1 + size), shares in [0, 1].

    Examples
    --------
    >>> [round(value, 2) for value in plain_features("What is 2 and 3?", "5")]
    [2.83, 1.1, 1.39, 0.69, 0.69, 1.79, 1.0, 0.0, 0.0, 0.0]
    """
    question, answer = question[:MOST_CHARS], answer[:MOST_CHARS]
    asked, given = _numbers(question), _numbers(answer)
    words = _WORD.findall(question)
    known, answer_words = {word.lower() for word in words}, [word.lower() for word in _WORD.findall(answer)]
    return (
        log1p(len(question)),
        log1p(len(asked)),
        log1p(max(asked, default=0.0)),
        log1p(len(_END.findall(question))),
        log1p(len(answer)),
        log1p(given[0]) if given else 0.0,
        float(bool(given)),
        float(bool(given) and given[0] in asked),
        sum(word in known for word in answer_words) / max(1, len(answer_words)),
        sum(word[0].isupper() for word in words[1:]) / max(1, len(words) - 1),
    )


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")[:_MOST_DIGITS]) for number in _NUMBER.findall(text)]
