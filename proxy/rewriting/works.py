"""Recognises English titles of works, whose first word keeps its capital inside a sentence."""

from __future__ import annotations

import re

_TITLE_OF_A_WORK = re.compile(
    r"(?:The|An?)(?: (?:of|the|and|in|to|for|on|a|an|at|with))*(?: [A-Z\d][\w'’-]*(?: (?:of|the|and|in|to|for|on|a|an|at|with))*){1,7}"
)
_ASKS_FOR_A_WORK = re.compile(
    r"\b(?:books?|novels?|films?|movies?|songs?|albums?|shows?|series|plays?|musicals?|operas?|poems?|paintings?|games?|stor(?:y|ies)|magazines?|newspapers?|sitcoms?|episodes?)\b",
    re.IGNORECASE,
)
_SMALL_IN_TITLES = r"(?: (?:of|the|and|in|to|for|on|a|an|at|with|from|not))*"
_OPENS_WITH_A_WORK = re.compile(
    r"[*_]*(?:No|Nobody|Nothing|My|Our|Your|His|Her|Their|All|Every|Some|Few|Many|One|Two|Three|This|That|These|Those)"
    rf"(?:{_SMALL_IN_TITLES} [A-Z][\w'’-]*){{2,8}}"
)
"""Perhaps the title of a work: "No Country for Old Men won", but also "No Nobel Prize was awarded"."""
_IS_OF_A_WORK = re.compile(
    r"\b(?:was|were) (?:\w+ly )?(?:released|published|recorded|composed|filmed|performed|sung|(?:directed|written) by)\b|\b(?:premiered|starring|stars|starred|Oscar|Oscars|Grammy|Academy Award)\b"
)


def begins_with_title(text: str, question: str = "") -> bool:
    """Whether an answer is the title of a work that the question asks for, or begins with a title.

    >>> begins_with_title("The Lightning Thief", "Which book is it?"), begins_with_title("All Night Long was released in 1983.")
    (True, True)
    >>> begins_with_title("No Nobel Peace Prize was awarded.")
    False
    """
    if _TITLE_OF_A_WORK.fullmatch(text.strip('*_.!"“” ')) and _ASKS_FOR_A_WORK.search(question):
        return True
    return _OPENS_WITH_A_WORK.match(text) is not None and (
        _ASKS_FOR_A_WORK.search(f"{question} {text}") is not None or _IS_OF_A_WORK.search(text) is not None
    )
