"""Finds cues: words of a sentence that express the speaker's confidence, together with their modifiers.

"not at all sure" is one cue of the class *sure*, negated and strengthened; "a very good chance" is one of the class
*chance*. A cue has a coarse value on the logit scale of confidence, computed by rules from a hand-set vocabulary
(`data/perception/vocabulary.json`); the confidence that people perceive in it is learned on top (model.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..hedges.loading import DATA
from ..text.words import Token

REACH = 4
"""Number of words before a cue's head that may modify it: "not at all very sure"."""

BARE = 3
"""A text of at most so many words is a phrase quoted on its own."""

FREQUENCY = frozenset({"always", "often", "sometimes", "rarely", "never"})
"""Classes of words for frequency and not confidence, unless quoted alone or before "happen(s)"."""

HAPPEN = (["happen"], ["happens"], ["occur"], ["occurs"])

DETERMINERS = frozenset({"the", "his", "her", "their", "its"})

NAMEABLE = frozenset(
    ["chance", "confidence", "certainty", "doubt", "guess", "unsure", "surprise", "seem", "modal", "impossible", "unlikely",
     "possible", "sure"]
)  # fmt: skip
"""Classes that with a determiner can be the subject of the sentence."""

GOVERNING = frozenset({"doubt", "unlikely", "think", "impossible"})
"""Classes that reverse the cue after them if their value is low."""

TAKING = frozenset({"take", "takes", "taken", "taking", "took"})

DEFAULT_QUANTITY = {"confidence": 2.0, "certainty": 3.0}
"""Value of a noun of degree without a quantity ("with confidence"); other nouns count as "some"."""


BOOSTER = 2.5
"""Composed value in logits from which a cue is a booster: "sure", "certainly", "beyond doubt", not "almost certain"."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The hand-set words by role, built once from the data file."""

    negations: frozenset[str]
    factors: Mapping[str, tuple[str, float]]
    quantities: Mapping[str, tuple[str, float]]
    quantified: frozenset[str]
    bases: Mapping[str, tuple[str, float | None, float | None]]
    subjects: Mapping[str, frozenset[str]]
    followers: Mapping[str, frozenset[str]]
    idioms: Mapping[str, tuple[tuple[tuple[str, ...], float | str | None], ...]]
    glue: frozenset[str]

    def knows(self, word: str) -> bool:
        """Whether the word may be part of a feature."""
        return word in self.glue or self.cues(word)

    def cues(self, word: str) -> bool:
        """Whether the word itself expresses confidence."""
        return word in self.bases or word in self.quantified or word in self.negations or word in self.factors


@cache
def vocabulary() -> Vocabulary:
    """The English vocabulary."""
    raw: dict[str, Any] = json.loads((DATA / "perception" / "vocabulary.json").read_text(encoding="utf-8"))
    idioms: dict[str, list[tuple[tuple[str, ...], float | str | None]]] = {}
    for phrase, value in raw["idioms"].items():
        words = tuple(phrase.split())
        idioms.setdefault(words[0], []).append((words, value))
    return Vocabulary(
        negations=frozenset(raw["negations"].split()),
        factors={w: (name, factor) for name, (factor, words) in raw["factors"].items() for w in words.split()},
        quantities={w: (name, value) for name, (value, words) in raw["quantities"].items() for w in words.split()},
        quantified=frozenset(raw["quantified"].split()),
        bases={w: (name, plain, negated) for name, (plain, negated, words) in raw["bases"].items() for w in words.split()},
        subjects={name: frozenset(words.split()) for name, words in raw["subjects"].items()},
        followers={name: frozenset(words.split()) for name, words in raw["followers"].items()},
        idioms={first: tuple(sorted(entries, key=lambda entry: -len(entry[0]))) for first, entries in idioms.items()},
        glue=frozenset(raw["glue"].split()) | {word for phrase in raw["idioms"] for word in phrase.split()},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cue:
    """A hedge or booster with its modifiers.

    Attributes
    ----------
    first, last : int
        Indices of its first and last token in the sentence.
    value : float
        Coarse position, logits; a plain assertion stands at about 3.
    symbol : str
        Class with its modifiers, e.g. "neg.full.sure".
    base : str
        Class alone, e.g. "sure".
    """

    first: int
    last: int
    value: float
    symbol: str
    base: str


@dataclass(slots=True)
class _Modifiers:
    """The modifiers before a head, collected from right to left."""

    first: int
    negated: bool = False
    outer: str | None = None
    factor: str | None = None
    strength: float = 1.0
    quantity: tuple[str, float] | None = None


def find_cues(tokens: Sequence[Token], book: Vocabulary | None = None) -> list[Cue]:
    """The cues of a sentence, in order, without overlap.

    `book` has the words that count; None: the shipped vocabulary.
    """
    words = [token.word for token in tokens]
    book = book or vocabulary()
    idioms = _Idioms.of(words, book)
    cues: list[Cue] = []
    free = 0
    bare = sum(map(str.isalpha, words)) <= BARE
    for index in _heads(words, idioms, book):
        if index < free:
            continue
        cue = _idiom_cue(words, index, free, idioms, book) if index in idioms.starting else None
        cue = cue or _cue(tokens, words, index, free, bare, idioms, book)
        if cue is not None and (bare or not (_is_frequency(words, cue) or _is_named(words, cue))):
            cues.append(cue)
            free = cue.last + 1
    if not cues and words[-1:] == ["?"]:
        return [Cue(len(words) - 1, len(words) - 1, -0.5, "asked", "asked")]
    return _governed(words, cues)


def _heads(words: Sequence[str], idioms: _Idioms, book: Vocabulary) -> list[int]:
    """Indices of the words that may be a cue on their own or begin an idiom; a text has few of them."""
    bases, quantified, starting = book.bases, book.quantified, idioms.starting
    return [
        index
        for index, word in enumerate(words)
        if word in bases or word in quantified or word == "either" or index in starting
    ]


def _is_frequency(words: Sequence[str], cue: Cue) -> bool:
    """Whether the cue is about frequency and not confidence."""
    return cue.base in FREQUENCY and words[cue.last + 1 : cue.last + 2] not in HAPPEN


def _is_named(words: Sequence[str], cue: Cue) -> bool:
    """Whether the cue is the topic of the sentence: "the certainty of death", "the doubts of the clerk"."""
    before = words[cue.first - 1] if cue.first else ""
    return cue.base in NAMEABLE and (
        before in DETERMINERS or (words[cue.first] in DETERMINERS and cue.last > cue.first)
    )


def _governed(words: Sequence[str], cues: list[Cue]) -> list[Cue]:
    """Merge doubt about a doubtful cue into one cue near the middle: "I doubt it is unlikely"."""
    done: list[Cue] = []
    for cue in cues:
        over = done[-1] if done else None
        if over and over.base in GOVERNING and max(over.value, cue.value) <= -1.0:
            between = words[over.last + 1 : cue.first]
            if len(between) <= REACH and not {",", "but", ";", "and"}.intersection(between):
                value = -0.4 * cue.value
                done[-1] = Cue(over.first, cue.last, value, f"{over.symbol}>{cue.symbol}", "governed")
                continue
        done.append(cue)
    return done


@dataclass(frozen=True, slots=True)
class _Idioms:
    """The fixed phrases of a sentence.

    Attributes
    ----------
    starting : mapping of int
        By the index of their first word: (index after the last, value, phrase).
    parts : mapping of int
        Indices of words of the phrases that play a part ("neg", "full"): (part, index of the phrase's first word).
    """

    starting: Mapping[int, tuple[int, float | str | None, str]]
    parts: Mapping[int, tuple[str, int]]

    @classmethod
    def of(cls, words: Sequence[str], book: Vocabulary) -> _Idioms:
        """The longest match, from the left."""
        starting: dict[int, tuple[int, float | str | None, str]] = {}
        parts: dict[int, tuple[str, int]] = {}
        known, spoken, free = book.idioms, tuple(words), 0
        for index in [index for index, word in enumerate(words) if word in known]:
            if index < free:
                continue
            for phrase, value in known[words[index]]:
                stop = index + len(phrase)
                if spoken[index:stop] == phrase:
                    starting[index] = (stop, value, " ".join(phrase))
                    if isinstance(value, str):
                        parts |= dict.fromkeys(range(index, stop), (value, index))
                    free = stop
                    break
        return cls(starting, parts)


def _idiom_cue(
    words: Sequence[str], index: int, free: int, idioms: _Idioms, book: Vocabulary
) -> Cue | None:  # fmt: skip
    stop, value, phrase = idioms.starting[index]
    if not isinstance(value, int | float):
        return None
    if phrase.endswith("of salt") and TAKING.isdisjoint(words[max(0, index - 6) : index]):
        return None  # "add a pinch of salt", not "take that with a pinch of salt"
    modifiers = _modifiers(words, index, free, idioms, book)
    if modifiers.negated and value > 0.75:
        value = -1.0
    elif modifiers.strength > 1:
        value *= modifiers.strength
    prefix = "neg." if modifiers.negated else ""
    return Cue(modifiers.first, stop - 1, float(value), f"{prefix}{phrase}", "idiom")


def _cue(
    tokens: Sequence[Token], words: Sequence[str], index: int, free: int, bare: bool,
    idioms: _Idioms, book: Vocabulary,
) -> Cue | None:  # fmt: skip
    word = words[index]
    if word == "either" and "or" in words[index + 1 : index + 12]:
        return Cue(index, index, 0.0, "either", "either")
    if word in book.quantified:
        if tokens[index].capital and index and not bare:
            return None  # a name: "the Chance family"
        return _degree(words, index, free, idioms, book)
    if word not in book.bases or _is_month(tokens, index):
        return None
    base, plain, negated = book.bases[word]
    if base in book.subjects and not bare and not book.subjects[base].intersection(words[max(free, index - 4) : index]):
        return None
    after = book.followers.get(word) or book.followers.get(base)
    if (
        after
        and not after.intersection(words[index + 1 : index + 2])
        and words[index - 1 : index] != ["it"]
        and not bare
    ):
        return None
    modifiers = _modifiers(words, index, free, idioms, book)
    value = negated if modifiers.negated else plain
    if value is None:
        return None
    last = index
    if (idiom := idioms.starting.get(index + 1)) and idiom[1] == "full":
        last, modifiers.outer = idiom[0] - 1, "full"
    names = ("neg" if modifiers.negated else "", modifiers.outer or "", modifiers.factor or "", base)
    return Cue(modifiers.first, last, value * _strength(modifiers), ".".join(filter(None, names)), base)


def _strength(modifiers: _Modifiers) -> float:
    """How much the modifiers stretch the value of a head; 1 changes nothing.

    Under negation a degree weakens ("not entirely sure" is more confident than "not sure"), unless it is outside the
    negation ("really not sure", "not sure at all").
    """
    if not modifiers.negated:
        return modifiers.strength
    if modifiers.outer:
        return 1.8
    return 0.7 if modifiers.factor == "full" else 1.0


def _degree(
    words: Sequence[str], index: int, free: int, idioms: _Idioms, book: Vocabulary
) -> Cue:  # fmt: skip
    """A noun of degree with its quantity before it ("a very good chance") or after it ("the chances are slim")."""
    modifiers = _modifiers(words, index, free, idioms, book)
    last, quantity = index, modifiers.quantity
    if quantity is None and words[index + 1 : index + 2] in (["are"], ["is"]):
        for at in range(index + 2, min(index + 4, len(words))):
            if words[at] in book.quantities:
                last, quantity = at, book.quantities[words[at]]
    if modifiers.negated and (quantity is None or quantity[0] in {"some", "none"}):
        quantity = ("none", -4.0)
    name, value = quantity or ("bare", DEFAULT_QUANTITY.get(words[index], -0.5))
    if modifiers.negated and name not in {"none", "tiny", "small"}:
        name, value = f"neg.{name}", -1.5
    if name == "none" and modifiers.outer:
        name, value = f"{modifiers.outer}.none", value * 0.8
    noun = words[index] if words[index] in DEFAULT_QUANTITY else "chance"
    symbol = f"{modifiers.factor}.{name}.{noun}" if modifiers.factor else f"{name}.{noun}"
    return Cue(modifiers.first, last, value * modifiers.strength, symbol, noun)


def _modifiers(
    words: Sequence[str], head: int, free: int, idioms: _Idioms, book: Vocabulary
) -> _Modifiers:  # fmt: skip
    """Negation, degree and quantity before the head, back to the last cue or the first other word."""
    gathered = _Modifiers(first=head)
    index = head - 1
    skipped = 0
    while index >= max(free, head - REACH - 1):
        word = words[index]
        role, start = idioms.parts.get(index, (None, index))
        if role == "neg" or (role is None and word in book.negations):
            gathered.negated = not gathered.negated
            if word == "no":
                gathered.quantity = gathered.quantity or book.quantities["no"]
        elif role == "full":
            gathered.outer = "full"
        elif word in book.quantities and gathered.quantity is None and words[head] in book.quantified:
            if word not in {"a", "the"} or gathered.factor is None:
                gathered.quantity = book.quantities[word]
        elif word in book.factors:
            name, factor = book.factors[word]
            if gathered.negated:
                gathered.outer = name
            else:
                gathered.factor, gathered.strength = name, gathered.strength * factor
        elif skipped < 2 and word in {"be", "have", "do", "am", "is", "that", "the", "a", "an", "of", "any"}:
            skipped += 1
            index -= 1
            continue
        else:
            break
        gathered.first = start
        index = start - 1
    if gathered.quantity and gathered.quantity[0] == "some" and gathered.negated:
        gathered.quantity = None
    return gathered


def _is_month(tokens: Sequence[Token], index: int) -> bool:
    """Whether "May" is the month: next to a number, or with a capital inside a sentence."""
    if tokens[index].word != "may" or not tokens[index].capital:
        return False
    near = tokens[max(0, index - 1) : index + 2]
    return index > 0 or any(token.word[0].isdigit() for token in near)
