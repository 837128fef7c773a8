"""Does a request ask for something that can be right or wrong, or for a text, a program or advice?

A logistic regression over the words of an English request (`asked.json`, fitted by `benchmarks/fits/request_gate.py`). It decides where
the patterns of `eligibility` do not. It is never applied to a plain question ("Who ...?", "What is ...?").
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from math import fsum
from pathlib import Path
from typing import Any

from ...lexicon.text.imperatives import instructs
from ...lexicon.text.language import known_language_of
from ...lexicon.text.words import one_of

WEIGHTS = Path(__file__).with_name("asked.json")
LOOKED_AT = 600
"""Characters of a request that are read: half from its beginning and half from its end, where the question usually is."""

_TOKEN = re.compile(r"[a-z]+(?:['-][a-z]+)*|\d+(?:[.,]\d+)*|[^\w\s]")
_CODE = re.compile(r"[{};]|==|\(\)|</|\bdef\b|\bimport\b")
_FORMULA = re.compile(r"[=+^*/]\s*\d|\\|\$")
_ASKED = r"(?:who|whom|whose|when|where|which|what(?:'s)?|how (?:many|much|long|old|far|tall|big|often))"
_START = r"(?:^|[.!?,:\n])"
_END = r"[^\n?]{0,400}\?\s*$"
_QUESTION = re.compile(
    "|".join(
        (
            # at the end, or before "Answer:"
            rf"{_START}\s{{0,9}}(?:(?:and|so|but|then|also)\b,? )?(?:{_ASKED}|{one_of('why is are was were did does do has have had can')})\b"
            r"[^\n?]{0,400}\?(?:\s*+$|[^\S\n]*+\n\s*+(?:answer|a|response|output)\s*+:)",
            r"\b(?:of|in|to|by|under|from) (?:which|what)\b[^\n?]{0,80}\?\s*$",
            r"(?:^|[.!?,\n])[\"”']?\s{0,9}(?:(?:will|would|should|may|might)|how (?:should|will|does|do|did|is|are|was|were)) "
            rf"(?!i\b|you\b|we\b|one\b){_END}",
            rf"{_START}\s{{0,9}}(?:up )?{one_of('in on at to from for by with of under during since until')} {_ASKED}\b{_END}",
            # ends with what it asks, or has no question mark
            r"\b(?:who|whom|what|which|where|when)\?\s*$",
            rf"^(?:(?:in|on|at) )?{_ASKED}\b[^\n?]*$|^do you (?:need|have to)\b",
            # multiple choice, a gap to fill, or an unfinished sentence
            r"\bwhich of (?:these|the following)\b|_{3}",
            rf"\b{one_of('is are was were the a an to of in by as for that called because')}\s*+:?\s*+$",
            r"(?:^|\n)\s{0,9}(?:question|q|query|user)\s*:[^\n]*\?",
            # verbs and nouns that ask for one thing
            rf"^(?:answer|convert|define|count)\b|{_START}\s{{0,9}}(?:calculate|compute|solve)\b",
            r"^(?:give|provide|specify|state|name)\b (?:a|the) [^\n.]{0,30}\b(?:year|day|date|month)\b[^\n.]{0,200}[.?]?\s*$",
            r"\bfacts? (?:about|related to|regarding|concerning)\b",
        )
    )
)
"""A plain question at the end, before "Answer:" or after "Question:", also one that begins with a preposition, ends with what it asks or has no question
mark; a sentence to complete; verbs that ask for one thing; facts."""

_OPENS_A_STATEMENT = one_of(
    "the if in on to at under for from by all most when after according this these that he she it his her their its each as with since because based"
)
_FINITE = one_of("is are was were will would should can could may must has have had be appear appears depend depends")
_UNFINISHED = re.compile(
    rf"(?:^|[.!?] )[\"”')]*\s*(?:{_OPENS_A_STATEMENT}|\w+ing|dr\. \w+)\b[^.!?\n]{{5,400}}\b{_FINITE}\b[^.!?\n]{{0,120}}(?<![\"”'])$"
)
"""An unfinished statement: its completion is right or wrong ("The motion will most likely be")."""

_LAST = re.compile(r"(?<=[.!?])\s+|\n+")
_STOPS = re.compile(r"(?<!\.\.)[.!?\"”')\]]$")
_SPOKEN = re.compile(r"\b(?:i(?!\.e\b)|i'm|my|me|you|your|we|our|us|please|lol)\b")
_LEADS_ON = one_of(
    "with to by of that as for from in on between because except including include includes illustrate illustrates demonstrate demonstrates suggest suggests indicate indicates means "
    "implies reflect reflects require requires represent represents describe describes involve involves exemplifies show shows cause causes produce produces has have had a an the"
)
_LEFT_OPEN = re.compile(rf"(?:\b{_LEADS_ON}\b|(?<!\W)(?>\W*?(?::|\.\.\.)))\W*+$")
"""The text ends with a colon or with a word that cannot end a sentence."""
SHORTEST_STATEMENT = 10
"""Length in characters of the shortest unfinished statement that is recognised."""


def ends(prompt: str) -> str:
    """The beginning and the end of a request, in lower case."""
    text = prompt if len(prompt) <= LOOKED_AT else f"{prompt[: LOOKED_AT // 2]}\n{prompt[-LOOKED_AT // 2 :]}"
    return text.strip().casefold().replace("’", "'")


def wants_a_text(prompt: str) -> bool:
    """Whether an English request asks for a text to be written, so that nothing in the answer could be right or wrong. Runs in linear time.

    >>> wants_a_text("Name two athletes who won medals at the 2020 Olympics."), wants_a_text("Generate five metaphors for a bedroom.")
    (False, True)
    """
    text = ends(prompt)
    if _QUESTION.search(text) or _UNFINISHED.search(text) or _is_to_complete(text) or known_language_of(text) != "en":
        return False
    threshold: float = _fitted()["threshold"]
    return score(text) < threshold


def _is_to_complete(text: str) -> bool:
    """Whether a request ends in the middle of a statement, such as "This passage illustrates"."""
    last = _LAST.split(text)[-1].strip()
    return (
        "\n" not in text
        and len(last) > SHORTEST_STATEMENT
        and _STOPS.search(last) is None
        and _SPOKEN.search(last) is None
        and not instructs(last)
        and _LEFT_OPEN.search(last) is not None
    )


def score(text: str) -> float:
    """Log-odds that a request asks for something that can be right or wrong. `text` comes from `ends`."""
    return total(_fitted()["weights"], features(text))


def total(weights: Mapping[str, float], present: set[str]) -> float:
    """The exact sum of the weights of these features: it must not depend on the order in which a set is iterated."""
    return fsum(weights.get(name, 0.0) for name in present)


def features(text: str) -> set[str]:
    """Features of a request: its words, and the words of its first line in order."""
    line = text.partition("\n")[0]
    tokens, first = _tokens(text), _tokens(line)
    words = [token for token in first if token[0].isalpha()]
    names = {"constant", *tokens, f"open {' '.join(words[:2])}"}
    names |= {f"first {token}" for token in first} | {f"first {one} {other}" for one, other in pairwise(first)}
    names |= {f"{at}: {word}" for at, word in enumerate(words[:3])}
    names |= {f"words {min(len(tokens) // 12, 6)}", f"numbers {min(tokens.count('0'), 5)}"}
    signs = {
        "code": _CODE.search(text), "formula": _FORMULA.search(text), "more lines": "\n" in text,
        "asks first": line.endswith("?"), "asks last": text.endswith("?"),
    }  # fmt: skip
    return names | {name for name, there in signs.items() if there}


def _tokens(text: str) -> list[str]:
    return ["0" if token[0].isdigit() else token for token in _TOKEN.findall(text)]


@cache
def _fitted() -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return raw
