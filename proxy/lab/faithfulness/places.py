"""Places inside other places: an answer that names a city and one that names its country do not contradict each other."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

PLACES = Path(__file__).with_name("places.json")
MOST_WORDS = 20
"""Number of words of an answer that are searched for a place."""
LONGEST = 4
"""Number of words of the longest place name."""
_WORD = re.compile(r"[^\W_]+")


def nested(question: str, a: str, b: str) -> bool:
    """Whether two answers differ only in that one names a place inside the other's place, by a small gazetteer.

    Places in the question are ignored. Of an answer with a city and its country, the city counts.

    Examples
    --------
    >>> born = "Where was Barack Obama born?"
    >>> nested(born, "Barack Obama was born in Honolulu.", "Hawaii"), nested(born, "Honolulu", "Kenya"), nested(born, "Paris", "Italy")
    (True, False, False)
    """
    asked = {word.lower() for word in _WORD.findall(question[:500])}
    first, second = _place(a, asked), _place(b, asked)
    if (
        first is None
        or second is None
        or first[0] == second[0]
        or (first[1] and second[1] and not first[1] & second[1])
    ):
        return False
    return second[0] in _around(first[0]) or first[0] in _around(second[0])


def _place(answer: str, asked: set[str]) -> tuple[str, frozenset[str]] | None:
    """The innermost place in an answer, and its other names and numbers; None without a place, and for several unrelated places."""
    words = _WORD.findall(answer[:400])
    if len(words) > MOST_WORDS:
        return None
    places: set[str] = set()
    left: set[str] = set()
    at = 0
    while at < len(words):
        size = next((n for n in range(LONGEST, 0, -1) if _named(words[at : at + n])), 0)
        if size:
            places.add(_named(words[at : at + size]))
        elif at and (words[at][0].isupper() or words[at][0].isdigit()):
            left.add(words[at].lower())
        at += size or 1
    places -= {place for inner in places for place in _around(inner)} | asked
    return (places.pop(), frozenset(left - asked)) if len(places) == 1 else None


def _named(words: list[str]) -> str:
    """The place of a name; "" if it is not a place."""
    _, also, places = _gazetteer()
    name = " ".join(words).lower()
    name = also.get(name, name)
    return name if name in places and (words[0][0].isupper() or len(words) > 1) else ""


def _around(place: str) -> list[str]:
    """The places that contain a place, nearest first."""
    around: list[str] = []
    within = _gazetteer()[0]
    while (place := within.get(place, "")) and place not in around:
        around.append(place)
    return around


@cache
def _gazetteer() -> tuple[dict[str, str], dict[str, str], frozenset[str]]:
    """The containing place of each place, alternative names, and all places."""
    raw = json.loads(PLACES.read_text(encoding="utf-8"))
    within = {place: outer for outer, places in raw["within"].items() for place in places.split(", ")}
    return within, raw["also"], frozenset(within) | frozenset(raw["within"])
