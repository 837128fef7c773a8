"""Places that lie in one another: an answer that names the city and one that names its country do not contradict."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

PLACES = Path(__file__).with_name("places.json")
MOST_WORDS = 8
"""Words of an answer that can be the name of a place."""
_WORD = re.compile(r"[^\W\d_]+")
_AROUND = frozenset({"the", "in", "at", "city", "of", "it", "is", "was", "he", "she", "they", "were", "born", "near"})


def nested(a: str, b: str) -> bool:
    """Whether two answers name places of which one lies in the other, as far as a small gazetteer tells.

    Examples
    --------
    >>> nested("Honolulu", "Hawaii"), nested("Honolulu.", "in the United States"), nested("Paris", "Rome"), nested("Paris", "Italy")
    (True, True, False, False)
    """
    first, second = _place(a), _place(b)
    if first is None or second is None or first == second:
        return False
    return second in _around(first) or first in _around(second)


def _place(answer: str) -> str | None:
    words = _WORD.findall(answer[:200])
    name = " ".join(word.lower() for word in words if word.lower() not in _AROUND)
    name = _gazetteer()[1].get(name, name)
    return name if len(words) <= MOST_WORDS and name in _gazetteer()[2] else None


def _around(place: str) -> list[str]:
    """The places that a place lies in, nearest first."""
    found: list[str] = []
    within = _gazetteer()[0]
    while (place := within.get(place, "")) and place not in found:
        found.append(place)
    return found


@cache
def _gazetteer() -> tuple[dict[str, str], dict[str, str], frozenset[str]]:
    """What each place lies in, other names of places, and all places."""
    raw = json.loads(PLACES.read_text(encoding="utf-8"))
    within = {place: outer for outer, places in raw["within"].items() for place in places.split(", ")}
    return within, raw["also"], frozenset(within) | frozenset(raw["within"])
