"""The word lists of the rules (`words.json`): small, general, and not fitted to any data set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...lexicon.text.words import MONTHS

MONTH_SHORT = {name[:3]: name for name in MONTHS} | {"sept": "september"}
CURRENCIES = frozenset("$€£¥₱₹")
_SETS = ("articles", "fillers", "qualifiers", "kinds", "titles", "yes", "no", "passive", "relations")


class Unit(NamedTuple):
    """A unit of measurement: an amount x is (x + zero) size in the base unit of its dimension."""

    name: str
    dimension: str
    size: Decimal
    zero: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class WordLists:
    """English words by their role in an answer.

    Attributes:
        fillers: have no content in a short answer.
        qualifiers: change which thing a name or noun next to them means.
        kinds: name the kind of thing of a name or number, without further content.
        titles: those of them that stand before a person's name, or are an office.
        relations: stand between two things whose order matters.
        antonyms: the opposites of a word.
        nicknames: the groups of first names that a name belongs to.
        aliases: the canonical name of things with several names.
        units: units of measurement by each of their spellings.
        degrees: the spellings of units that may follow "degrees".
    """

    articles: frozenset[str]
    fillers: frozenset[str]
    qualifiers: frozenset[str]
    kinds: frozenset[str]
    titles: frozenset[str]
    yes: frozenset[str]
    no: frozenset[str]
    passive: frozenset[str]
    relations: frozenset[str]
    antonyms: Mapping[str, frozenset[str]]
    nicknames: Mapping[str, frozenset[int]]
    aliases: Mapping[str, str]
    units: Mapping[str, Unit]
    degrees: frozenset[str]


@cache
def word_lists() -> WordLists:
    """The word lists, read once."""
    raw: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
    antonyms: dict[str, frozenset[str]] = {}
    for a, b in map(str.split, raw["antonyms"]):
        antonyms[a] = antonyms.get(a, frozenset()) | {b}
        antonyms[b] = antonyms.get(b, frozenset()) | {a}
    nicknames: dict[str, frozenset[int]] = {}
    for group, names in enumerate(raw["nicknames"]):
        for name in names.split():
            nicknames[name] = nicknames.get(name, frozenset()) | {group}
    aliases: dict[str, str] = {}
    for names in raw["aliases"]:
        first, *others = names.split(" = ")
        aliases |= {" ".join(w for w in name.split() if w != "the"): first for name in (first, *others)}
    units: dict[str, Unit] = {}
    for dimension, size, *spellings in map(str.split, raw["units"]):
        factor, _, zero = size.partition("+")
        units |= dict.fromkeys(spellings, Unit(spellings[0], dimension, Decimal(factor), Decimal(zero or 0)))
    degrees = frozenset(s for s, unit in units.items() if unit.name in ("celsius", "fahrenheit"))
    sets = {name: frozenset(raw[name].split()) for name in _SETS}
    return WordLists(**sets, antonyms=antonyms, nicknames=nicknames, aliases=aliases, units=units, degrees=degrees)
