"""The words of an answer that answer the question: each word with the probability that it is part of the short answer.

"Mickey Mouse was first drawn in 1927 by Ub Iwerks, an animator": asked who, it is Iwerks; asked when, 1927. A logistic of what kind of word it
is (name, year, month, other number, plain) under what is asked, and of where it stands. Fitted on right answers in full sentences and the
short answers that people gave (`benchmarks/fits/core_words.py`, `core_words.json`). The kinds of questions are those of English; of others
every kind of word counts as it does under "what".
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, log1p
from pathlib import Path

from hedgerow.lexicon.text.language import negations as negations_of
from hedgerow.lexicon.text.numbers import SCALES, SMALL, TENS, is_number
from hedgerow.lexicon.text.words import MONTHS, open_contraction, word_set
from hedgerow.proxy.clustering.declining import declines
from hedgerow.proxy.clustering.stems import fold, stem
from hedgerow.proxy.clustering.words import word_lists

WEIGHTS = Path(__file__).with_name("core_words.json")
LOOKED_AT = 1500
"""Characters of an answer that are looked at."""
PIECE = 4
"""Length of the character n-grams by which words are compared; the start of a word counts as a character."""
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['’][^\W_]+)*")
_SPELLED_NUMBER = re.compile(r"(?<=\d),(?=\d{3})|(?<=\d)(?:st|nd|rd|th)$")
"""What of a number is spelling: commas between thousands, the ending of an ordinal."""
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_OF_BOTH = re.compile(
    r"\W*(?:are|is|were|was|do|does|did|have|has|can)\b.*\b(?:both|same)\b", re.IGNORECASE | re.DOTALL
)
_RUNS_ON = re.compile(r"\s+\w")
_BOTH, _CONTRAST = word_set("both same"), word_set("but while whilst whereas neither")
_ASKED = (
    ("when", r"\b(?:when|(?:what|which) (?:year|date|day|decade|month|time))\b"),
    ("many", r"\b(?:how (?:many|much|old|long|far|tall|big|high|often)|(?:what|which) (?:\w+ )?(?:age|number|season|episode|percentage|population))\b"),
    ("who", r"\bwho(?:m|se)?\b"),
    ("where", r"\b(?:where|(?:what|which) (?:city|country|state|county|place|town|continent|river))\b"),
)  # fmt: skip
_YEAR = re.compile(r"1\d{3}|20\d\d")
_IS = word_set("is was are were be been being became called named known")
_NUMBER_WORDS = SMALL.keys() | TENS.keys() | SCALES.keys()
Figures = Mapping[str, float]
Letters = frozenset[str]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    Attributes:
        stem, folded, written: its stem, its lower-case letters, and as it is written.
        start, end: offsets into the text.
    """

    stem: str
    folded: str
    written: str
    start: int
    end: int

    @property
    def telling(self) -> bool:
        """Whether the word has a meaning of its own (is not a function word)."""
        return self.folded not in word_lists().fillers and self.folded not in word_lists().articles


@dataclass(frozen=True, slots=True)
class Asked:
    """A question.

    Attributes:
        stems: of its words.
        kind: what it asks for: "when", "many", "who", "where" or "what".
        options: where it asks for one of several ("France or Spain?"), the stems of the names in it.
        of_both: whether it asks if something is so of both ("Are both of them plants?", "Are they in the same country?").
    """

    stems: frozenset[str]
    kind: str
    options: frozenset[str]
    of_both: bool


@dataclass(frozen=True, slots=True)
class Core:
    """What an answer says, by the stems of its words.

    Attributes:
        words: all of them.
        letters: the pieces of all of them.
        weights: those that may answer, with the probability that they do; those of the question only where there is no other.
        names, numbers: those of `weights` that are written with a capital, or with a digit or as a number word beyond "one"; none where all are the
            question's.
        asked_number: a number or a date is asked for.
        denies: an odd number of negations stands in it.
        declines: it gives no answer ("I could not find any information on it").
        says: True or False where it begins with a yes or a no; asked whether something is so of both, also where it says it of both, or contrasts them.
        choice: the name in it that comes first of those that the question offers, "" without one.
    """

    words: frozenset[str]
    letters: Letters
    weights: Mapping[str, float]
    names: frozenset[str]
    numbers: frozenset[str]
    choice: str
    asked_number: bool
    denies: bool
    declines: bool
    says: bool | None

    def held_by(self, other: Core) -> float:
        """How much of what answers stands in another answer, in [0, 1]; a word that does not, counts by its letters that do."""
        return sum(weight * other.holds(word) for word, weight in self.weights.items()) / sum(self.weights.values())

    def holds(self, word: str) -> float:
        """Whether a word stands in the answer; else the share of its pieces that do."""
        if word in self.words:
            return 1.0
        wanted = pieces(word)
        return len(wanted & self.letters) / len(wanted)


def read_asked(question: str) -> Asked:
    """Read a question once for all its answers."""
    found = list(words_of(question))
    kind = next((kind for kind, pattern in _ASKED if re.search(pattern, question, re.IGNORECASE)), "what")
    names = frozenset(word.stem for word in found[1:] if word.written[0].isupper() and word.telling)
    return Asked(
        stems=frozenset(word.stem for word in found),
        kind=kind,
        options=names if _CHOICE.search(question) else frozenset(),
        of_both=_OF_BOTH.match(question) is not None,
    )


def read_core(answer: str, asked: Asked) -> Core:
    """Read an answer; one without a letter or digit holds the empty word.

    >>> core = read_core("It was first drawn in 1927 by Ub Iwerks.", read_asked("Who first drew Mickey Mouse?"))
    >>> sorted(core.weights, key=core.weights.__getitem__)[-2:]
    ['iwerk', 'ub']
    """
    text = answer[:LOOKED_AT]
    found = list(words_of(text))
    weights: dict[str, float] = {}
    for word, figures in own_words(text, found, asked):
        weights[word.stem] = max(weights.get(word.stem, 0.0), _probability(figures))
    own = [word for word in found if word.stem in weights]
    numbers = frozenset(word.stem for word in own if _is_numeral(word))
    names = frozenset(word.stem for word in own if word.written[0].isupper()) - numbers
    return Core(
        words=frozenset(word.stem for word in found),
        letters=frozenset().union(*(pieces(word.stem) for word in found)),
        weights=weights or {word.stem: 1.0 for word in found if word.telling} or {word.stem: 1.0 for word in found} or {"": 1.0},
        names=names,
        numbers=numbers,
        choice=next((word.stem for word in found if word.stem in asked.options), ""),
        asked_number=asked.kind in ("when", "many"),
        denies=_negations(found) % 2 == 1,
        declines=declines(text),
        says=_yes_or_no(text, found, asked),
    )  # fmt: skip


def words_of(text: str) -> Iterator[Word]:
    """The words of a text, in order."""
    for match in _WORD.finditer(text):
        folded = fold(match.group())
        yield Word(_stem(folded.removesuffix("'s")), folded, match.group(), match.start(), match.end())


def _stem(word: str) -> str:
    """A word's stem; a number has one spelling ("1,286" and "1286", "30th" and "30", "eight" and "8")."""
    if word[:1].isdigit():
        return _SPELLED_NUMBER.sub("", word)
    value = SMALL.get(word, TENS.get(word))
    return stem(word) if value is None else str(value)


def pieces(word: str) -> Letters:
    """A word's runs of letters; a number is one piece."""
    if is_number(word):
        return frozenset((word,))
    marked = f"^{word}"
    return frozenset(marked[i : i + PIECE] for i in range(max(1, len(marked) - PIECE + 1)))


def own_words(text: str, found: list[Word], asked: Asked) -> Iterator[tuple[Word, Figures]]:
    """The words of an answer that are not the question's and say something, each with the figures that the logistic weighs."""
    own = [i for i, word in enumerate(found) if word.telling and word.stem not in asked.stems]
    counts = Counter(found[i].stem for i in own)
    names = {i for i in own if found[i].written[0].isupper()}
    many, aside = log1p(len(own)), _asides(text, found)
    for i in own:
        word, before = found[i], [found[j].folded for j in (i - 1, i - 2) if j >= 0]
        yield (
            word,
            {
                f"{_kind(word)}:{asked.kind}": 1.0,
                "aside": float(i in aside),
                "by": float(before[:1] == ["by"]),
                "is": float(not _IS.isdisjoint(before)),
                "end": float(text[word.end : word.end + 1] in (".", ",")),
                "first": float(i == 0),
                "run": float(i in names and not names.isdisjoint((i - 1, i + 1))),
                "again": float(counts[word.stem] > 1),
                "words": many,
                "late": i / len(found),
            },
        )


def _kind(word: Word) -> str:
    if any(map(str.isdigit, word.written)):
        return "year" if _YEAR.fullmatch(word.written) else "number"
    if word.folded in MONTHS:
        return "month"
    if word.folded in _NUMBER_WORDS:
        return "number"
    return "name" if word.written[0].isupper() else "plain"


def _negations(found: list[Word]) -> int:
    negating = negations_of("en")
    return sum(part in negating for word in found for part in open_contraction(word.folded.replace("’", "'")))


def _yes_or_no(text: str, found: list[Word], asked: Asked) -> bool | None:
    """What an answer says, set apart by a mark: "No Country for Old Men" and "No one" do not say no."""
    first = found[0].folded if found else ""
    if first in word_lists().yes | word_lists().no and _RUNS_ON.match(text, found[0].end) is None:
        return first in word_lists().yes
    if not asked.of_both:
        return None
    said = {word.folded for word in found}
    if not _CONTRAST.isdisjoint(said) or _negations(found):
        return False
    return None if _BOTH.isdisjoint(said) else True


def _is_numeral(word: Word) -> bool:
    """Whether a word is written with a digit, or is a number word that is nothing else ("one" and "first" are)."""
    return any(map(str.isdigit, word.written)) or SMALL.get(word.folded, TENS.get(word.folded, 0)) > 1


def _asides(text: str, found: list[Word]) -> set[int]:
    """Indices of the words that stand in brackets."""
    inside, depth, position = set(), 0, 0
    for i, word in enumerate(found):
        between = text[position : word.start]
        depth += between.count("(") - between.count(")")
        position = word.end
        if depth > 0:
            inside.add(i)
    return inside


def _probability(figures: Figures) -> float:
    weights = _weights()
    return 1.0 / (1.0 + exp(-weights["constant"] - sum(weights.get(name, 0.0) * x for name, x in figures.items())))


@cache
def _weights() -> Mapping[str, float]:
    fitted: dict[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))["words"]
    return fitted
