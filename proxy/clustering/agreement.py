"""Agreement of two answers, at least one of them a sentence: a logistic regression on the words they share.

The features tell how much of one answer's answering words the other contains. Clustering by meaning separates sentences
that give the same answer but differ in detail. Fitted on pairs of answers that people judged: two right answers to a
question agree, a right and a wrong one do not (`benchmarks/fits/core_words.py`, `core_words.json`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import exp, log1p
from pathlib import Path

from ...lexicon.text.language import negations as negations_of
from ...lexicon.text.numbers import SCALES, SMALL, TENS, is_number
from ...lexicon.text.words import MONTHS, open_contraction, word_set
from .declining import declines
from .rules import SHORT
from .tokens import fold, stem, word_lists

# For each word of an answer, the probability that it is part of the short answer to the question.
#
# Of "Mickey Mouse was first drawn in 1927 by Ub Iwerks, an animator", the question who gives Iwerks, the question when
# gives 1927. A logistic regression on the kind of word (name, year, month, other number, plain) for the kind of
# question, and on its position. Fitted on right answers in full sentences with the short answers that people gave
# (`benchmarks/fits/core_words.py`, `core_words.json`). Kinds of questions are recognised in English only; in other
# languages every question counts as "what".

WEIGHTS = Path(__file__).with_name("core_words.json")
LOOKED_AT = 1500
"""Number of characters of an answer that are read."""
PIECE = 4
"""Length of the character n-grams that words are compared by; the start of a word counts as a character."""
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['’][^\W_]+)*")
_SPELLED_NUMBER = re.compile(r"(?<=\d),(?=\d{3})|(?<=\d)(?:st|nd|rd|th)$")
"""Parts of a number that are only spelling: commas between thousands, the ending of an ordinal."""
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
class AnswerWord:
    """A word of a text.

    Attributes:
        stem, folded, written: its stem, folded to plain lower case, and as written.
        start, end: offsets into the text.
    """

    stem: str
    folded: str
    written: str
    start: int
    end: int

    @property
    def telling(self) -> bool:
        """Whether the word has a meaning of its own, that is, is not a function word."""
        return self.folded not in word_lists().fillers and self.folded not in word_lists().articles


@dataclass(frozen=True, slots=True)
class AskedWords:
    """A question.

    Attributes:
        stems: of its words.
        kind: what it asks for: "when", "many", "who", "where" or "what".
        options: the stems of its names if it asks to choose one ("France or Spain?"), else empty.
        of_both: whether it asks if something holds for both ("Are both of them plants?").
    """

    stems: frozenset[str]
    kind: str
    options: frozenset[str]
    of_both: bool


@dataclass(frozen=True, slots=True)
class Core:
    """The content of an answer, as stems of its words.

    Attributes:
        words: all of them.
        letters: the character n-grams of all words.
        weights: the words that may answer, with the probability that they do; words of the question only if there
            are no others.
        names, numbers: those of `weights` written with a capital; with a digit or as a number word above "one". Empty
            where all words are in the question.
        asked_number: the question asks for a number or a date.
        denies: it has an odd number of negations.
        declines: it gives no answer ("I could not find any information on it").
        says: True or False if it begins with a yes or a no; if the question asks about both, also True if the answer
            says "both" or the like, False if it contrasts them or has a negation.
        choice: the first name in it of those that the question offers; "" if there is none.
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
        """The weighted share of this answer's answering words that another answer contains, in [0, 1].

        A word that it does not contain counts by the share of its n-grams that it does.
        """
        return sum(weight * other.holds(word) for word, weight in self.weights.items()) / sum(self.weights.values())

    def holds(self, word: str) -> float:
        """1 if the answer contains a word; else the share of the word's n-grams that it contains."""
        if word in self.words:
            return 1.0
        wanted = pieces(word)
        return len(wanted & self.letters) / len(wanted)


def read_asked(question: str) -> AskedWords:
    """Read a question once for all its answers."""
    tokens = list(words_of(question))
    kind = next((kind for kind, pattern in _ASKED if re.search(pattern, question, re.IGNORECASE)), "what")
    names = frozenset(word.stem for word in tokens[1:] if word.written[0].isupper() and word.telling)
    return AskedWords(
        stems=frozenset(word.stem for word in tokens),
        kind=kind,
        options=names if _CHOICE.search(question) else frozenset(),
        of_both=_OF_BOTH.match(question) is not None,
    )


def read_core(answer: str, asked: AskedWords) -> Core:
    """Read an answer; one without letters or digits gets the empty word.

    >>> core = read_core("It was first drawn in 1927 by Ub Iwerks.", read_asked("Who first drew Mickey Mouse?"))
    >>> sorted(core.weights, key=core.weights.__getitem__)[-2:]
    ['iwerk', 'ub']
    """
    text = answer[:LOOKED_AT]
    tokens = list(words_of(text))
    weights: dict[str, float] = {}
    for word, figures in own_words(text, tokens, asked):
        weights[word.stem] = max(weights.get(word.stem, 0.0), _probability(figures))
    own = [word for word in tokens if word.stem in weights]
    numbers = frozenset(word.stem for word in own if _is_numeral(word))
    names = frozenset(word.stem for word in own if word.written[0].isupper()) - numbers
    return Core(
        words=frozenset(word.stem for word in tokens),
        letters=frozenset().union(*(pieces(word.stem) for word in tokens)),
        weights=weights or {word.stem: 1.0 for word in tokens if word.telling} or {word.stem: 1.0 for word in tokens} or {"": 1.0},
        names=names,
        numbers=numbers,
        choice=next((word.stem for word in tokens if word.stem in asked.options), ""),
        asked_number=asked.kind in ("when", "many"),
        denies=_negations(tokens) % 2 == 1,
        declines=declines(text),
        says=_yes_or_no(text, tokens, asked),
    )  # fmt: skip


def words_of(text: str) -> Iterator[AnswerWord]:
    """The words of a text, in order."""
    for match in _WORD.finditer(text):
        folded = fold(match.group())
        yield AnswerWord(_stem(folded.removesuffix("'s")), folded, match.group(), match.start(), match.end())


def _stem(word: str) -> str:
    """A word's stem; a number in one spelling ("1,286" and "1286", "30th" and "30", "eight" and "8")."""
    if word[:1].isdigit():
        return _SPELLED_NUMBER.sub("", word)
    value = SMALL.get(word, TENS.get(word))
    return stem(word) if value is None else str(value)


def pieces(word: str) -> Letters:
    """A word's character n-grams; a number is one piece."""
    if is_number(word):
        return frozenset((word,))
    marked = f"^{word}"
    return frozenset(marked[i : i + PIECE] for i in range(max(1, len(marked) - PIECE + 1)))


def own_words(text: str, tokens: list[AnswerWord], asked: AskedWords) -> Iterator[tuple[AnswerWord, Figures]]:
    """The content words of an answer that are not in the question, each with its features for the regression."""
    own = [i for i, word in enumerate(tokens) if word.telling and word.stem not in asked.stems]
    counts = Counter(tokens[i].stem for i in own)
    names = {i for i in own if tokens[i].written[0].isupper()}
    many, aside = log1p(len(own)), _asides(text, tokens)
    for i in own:
        word, before = tokens[i], [tokens[j].folded for j in (i - 1, i - 2) if j >= 0]
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
                "late": i / len(tokens),
            },
        )


def _kind(word: AnswerWord) -> str:
    if any(map(str.isdigit, word.written)):
        return "year" if _YEAR.fullmatch(word.written) else "number"
    if word.folded in MONTHS:
        return "month"
    if word.folded in _NUMBER_WORDS:
        return "number"
    return "name" if word.written[0].isupper() else "plain"


def _negations(tokens: list[AnswerWord]) -> int:
    negating = negations_of("en")
    return sum(part in negating for word in tokens for part in open_contraction(word.folded.replace("’", "'")))


def _yes_or_no(text: str, tokens: list[AnswerWord], asked: AskedWords) -> bool | None:
    """Yes (True), no (False) or None; the word must be set off, so that "No Country for Old Men" is not a no."""
    first = tokens[0].folded if tokens else ""
    if first in word_lists().yes | word_lists().no and _RUNS_ON.match(text, tokens[0].end) is None:
        return first in word_lists().yes
    if not asked.of_both:
        return None
    folded = {word.folded for word in tokens}
    if not _CONTRAST.isdisjoint(folded) or _negations(tokens):
        return False
    return None if _BOTH.isdisjoint(folded) else True


def _is_numeral(word: AnswerWord) -> bool:
    """Whether a word has a digit or is a number word above one; "one" and "first" have other meanings."""
    return any(map(str.isdigit, word.written)) or SMALL.get(word.folded, TENS.get(word.folded, 0)) > 1


def _asides(text: str, tokens: list[AnswerWord]) -> set[int]:
    """Indices of the words in brackets."""
    inside, depth, position = set(), 0, 0
    for i, word in enumerate(tokens):
        between = text[position : word.start]
        depth += between.count("(") - between.count(")")
        position = word.end
        if depth > 0:
            inside.add(i)
    return inside


def _probability(figures: Figures) -> float:
    weights = _word_weights()
    return 1.0 / (1.0 + exp(-weights["constant"] - sum(weights.get(name, 0.0) * x for name, x in figures.items())))


@cache
def _word_weights() -> Mapping[str, float]:
    fitted: dict[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))["words"]
    return fitted


SAME_WORDS = 0.75
"""Two sentences that share at least this part of their words are the same, unless only one of them has a negation."""


@dataclass(frozen=True, slots=True)
class AgreementFeatures:
    """The features of two answers.

    Attributes:
        least, most: the share of one answer's answering words that the other contains, in [0, 1], and the reverse; the
            smaller and the larger. If the question offers names to choose from: 1 if both choose the same, else 0.
            1 if both say yes or both no; 0 if only one of them gives no answer.
        numbers_clash, names_clash: both have numbers (names) that the question does not have, and share none.
        number_missing: the question asks for a number or a date, and one of the two gives none.
    """

    least: float
    most: float
    numbers_clash: float
    names_clash: float
    number_missing: float


def agreement(question: str, answer: str, others: Sequence[str]) -> list[float]:
    """For each other answer, the probability in [0, 1] that it says the same as `answer`; symmetric."""
    asked = read_asked(question)
    core = read_core(answer, asked)
    return [probability(core, read_core(other, asked)) for other in others]


def agreeing(question: str, group: Sequence[str], apart: Sequence[str]) -> float:
    """The expected number of answers in `apart` that say the same as a group.

    Each counts by its mean probability over the group, so that the wording of the group's representative matters
    little. Two short answers in different clusters never agree.
    """
    asked = read_asked(question)
    cores = {answer: read_core(answer, asked) for answer in {*group, *apart}}
    sentences = {answer for answer in cores if is_sentence(answer)}
    pairs = Counter((a, b) for a in group for b in apart if a in sentences or b in sentences)
    return sum(n * probability(cores[a], cores[b]) for (a, b), n in pairs.items()) / len(group)


def is_sentence(answer: str) -> bool:
    """Whether an answer has more words than a short one."""
    return len(answer[:LOOKED_AT].split(None, SHORT)) > SHORT


def probability(a: Core, b: Core) -> float:
    """Probability in [0, 1] that people would judge two answers to a question to say the same."""
    weights, figures = _weights(), asdict(features(a, b))
    return 1.0 / (1.0 + exp(-weights["constant"] - sum(weights[name] * value for name, value in figures.items())))


def features(a: Core, b: Core) -> AgreementFeatures:
    """The features of two answers."""
    if a.declines != b.declines or contradict(a, b):
        shares = [0.0, 0.0]
    elif a.says is not None and b.says is not None:
        return AgreementFeatures(least=1.0, most=1.0, numbers_clash=0.0, names_clash=0.0, number_missing=0.0)
    elif a.choice and b.choice:
        shares = [float(a.choice == b.choice)] * 2
    else:
        shares = [a.held_by(b), b.held_by(a)]
    return AgreementFeatures(
        least=min(shares),
        most=max(shares),
        numbers_clash=_clash(a, b, a.numbers, b.numbers),
        names_clash=_clash(a, b, a.names, b.names),
        number_missing=float(a.asked_number and bool(a.numbers) != bool(b.numbers)),
    )


def contradict(a: Core, b: Core) -> bool:
    """Whether one says yes and the other no, or they have the same words but only one has a negation."""
    if a.says is not None and b.says is not None:
        return a.says != b.says
    return a.denies != b.denies and len(a.words & b.words) >= SAME_WORDS * len(a.words | b.words)


def _clash(a: Core, b: Core, of_a: frozenset[str], of_b: frozenset[str]) -> float:
    return float(bool(of_a and of_b) and of_a.isdisjoint(b.words) and of_b.isdisjoint(a.words))


@cache
def _weights() -> Mapping[str, float]:
    fitted: dict[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))["pairs"]
    return fitted
