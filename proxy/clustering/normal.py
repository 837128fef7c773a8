"""The normal form of an answer: the answer without spelling, wrapping and word order that carry no meaning.

Two answers with the same key are certainly the same. Finer rules use the other fields. An answer is read once, in time
linear in its length; the rules then only compare sets and tuples. Nothing is kept between calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ...lexicon.text.english import AUXILIARIES
from ...lexicon.text.language import language_of
from ...lexicon.text.language import negations as negations_of
from ...lexicon.text.numbers import is_number
from .tokens import SEPARATORS, Sign, fold, letters_in, prepared, signs_in, stem, tokenise, tokens_of, word_lists

_OWNER = re.compile(r"(?<![^\W\d_])([^\W\d_]++)'s\s++(?=[a-z])")
_ASKS_WHO = re.compile(r"\s*who(?:m|se)?\b(?! or what)", re.IGNORECASE)
_ASKS_WHEN = re.compile(r"\s*(?:when|(?:[io]n )?(?:what|which) (?:year|date|day))\b", re.IGNORECASE)
_OPEN = frozenset({"or", "what", "how", "whose"})
"""Words after which a question that looks like yes/no is not: "Do you know what ...?"."""
_CONTRASTING = frozenset({"but", "while", "whereas", "however", "although", "though", "only"})
"""Words of an answer that says yes to at most a part of the question: "Tea is a drink, while bread is not ..."."""


@dataclass(frozen=True, slots=True)
class Normal:
    """An answer in normal form.

    Attributes:
        key: words and numbers in order, as one string, without articles and punctuation; equal keys mean the same. Empty
            only where the answer holds no letter, digit or symbol at all.
        tokens: the parts of the key.
        content: tokens without fillers and without words of the question, unless nothing else is left.
        numbers: the numbers in it; those of the question only if it has no others.
        items: the content of each item where the answer is a list of two or more, else empty.
        heads: the content tokens that the others describe: the last of each phrase that does not begin with "of".
        alias: the canonical name if the answer is something with several names; else "".
        yes: True or False if the answer is a yes or a no (also a sentence that answers a yes/no question), else None.
        negated: it has an odd number of negations.
        owners: words in the possessive ("Dorothy" in "Dorothy's dog"), except the last word.
        negations: the number of negations in it.
        signs: the signs of formulas and bounds in it, with what they stand between.
        letters: single capitals in it that are no initials: options, grades, vitamins.
        is_name: it is written as a name ("Paul Bäumer"), or the question asks for one.
    """

    key: str
    tokens: tuple[str, ...]
    content: tuple[str, ...]
    numbers: frozenset[str]
    items: tuple[frozenset[str], ...]
    heads: frozenset[str]
    alias: str
    yes: bool | None
    negated: bool
    owners: frozenset[str]
    negations: int
    signs: tuple[Sign, ...] = ()
    letters: frozenset[str] = frozenset()
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What the rules need to know about a question; read it once and pass it to `normalise` for every answer.

    Attributes:
        words: stems of its words, without fillers.
        numbers: the numbers in it.
        denials: what it denies: each negating word paired with the word before it and with the word after it.
        asks_who: it asks for a person.
        asks_when: it asks for a date.
        closed: it asks for a yes or a no, and not for a choice ("France or Spain?").
        signs: those in it, which say nothing in an answer.
        predicate: sets of stems; a sentence that means yes to a closed question has all stems of one of them: the last
            word, with "same" if that is asked; if it asks about both, "both" or all its words.
    """

    words: frozenset[str]
    numbers: frozenset[str]
    denials: frozenset[tuple[str, str]]
    asks_who: bool
    asks_when: bool
    closed: bool
    predicate: tuple[frozenset[str], ...] = ()
    signs: frozenset[Sign] = frozenset()


def read_question(question: str) -> Question:
    """Read a question for `normalise`."""
    tokens = tokenise(question)
    words = question.casefold().split()
    telling = [stem(t) for t in tokens if t not in word_lists().fillers and t not in SEPARATORS]
    return Question(
        words=frozenset(telling),
        numbers=frozenset(t for t in tokens if is_number(t)),
        denials=frozenset() if words[:1] and words[0] in AUXILIARIES else frozenset(_denials(_telling(tokens))),
        asks_who=_ASKS_WHO.match(question) is not None,
        asks_when=_ASKS_WHEN.match(question) is not None,
        closed=bool(words) and words[0] in AUXILIARIES and _OPEN.isdisjoint(words) and language_of(question) == "en",
        predicate=_predicate(telling),
        signs=frozenset(signs_in(prepared(question))),
    )


def _predicate(telling: list[str]) -> tuple[frozenset[str], ...]:
    last = frozenset(telling[-1:])
    if "same" in telling:
        return (last | {"same"},)
    return (frozenset({"both"}), frozenset(telling) - {"both"}) if "both" in telling else (last,)


def normalise(answer: str, question: Question | str = "") -> Normal:
    """Bring an answer to a question into normal form.

    >>> normalise("The answer is: **Twenty-one** apples.").key
    '21 apples'
    >>> normalise("July 4th, 1776").key == normalise("1776-07-04").key
    True
    """
    asked = read_question(question) if isinstance(question, str) else question
    text = prepared(answer)
    marked, signs = tokens_of(text), tuple(sign for sign in signs_in(text) if sign not in asked.signs)
    tokens = _telling(marked)
    content = _content(tokens, asked.words)
    numbers = frozenset(t for t in tokens if is_number(t))
    negations = count_negations(tokens)
    if negations and asked.denials:
        negations -= _echoed_denials(tokens, asked.denials)
    return Normal(
        key=" ".join((*tokens, *map("".join, signs))) or answer.strip(),
        tokens=tokens,
        content=content,
        numbers=numbers - asked.numbers or numbers,
        items=_items(marked, asked.words),
        heads=_heads(marked, frozenset(content), asked.words),
        alias=word_lists().aliases.get(" ".join(tokens), ""),
        yes=_direction(marked, tokens, asked),
        negated=negations % 2 == 1,
        owners=frozenset(_OWNER.findall(fold(answer))) if "'s" in answer or "’s" in answer else frozenset(),
        negations=negations,
        signs=signs,
        letters=letters_in(text),
        is_name=asked.asks_who or all(word[:1].isupper() for word in answer.split()),
    )


def _telling(marked: Iterable[str]) -> tuple[str, ...]:
    """The tokens without articles and separators."""
    return tuple(t for t in marked if t not in word_lists().articles and t not in SEPARATORS)


def _denials(tokens: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each negating word with each of its neighbours."""
    negating = negations_of("en")
    return [pair for pair in pairwise(tokens) if not negating.isdisjoint(pair)]


def _echoed_denials(tokens: tuple[str, ...], denied: frozenset[tuple[str, str]]) -> int:
    """How many negating words repeat the question's, or negate a word of it.

    "You'll Never Walk Alone" denies nothing about when it was released.
    """
    negating = negations_of("en")
    around = zip(pairwise(("", *tokens)), pairwise((*tokens, "")), strict=True)
    return sum(
        before in denied or behind in denied or before[0] in negating or behind[1] in negating
        for before, behind in around
        if behind[0] in negating
    )


def count_negations(tokens: Iterable[str]) -> int:
    """How many of the words negate."""
    negating = negations_of("en")
    return sum(t in negating for t in tokens)


def _content(tokens: tuple[str, ...], asked: frozenset[str]) -> tuple[str, ...]:
    telling = tuple(t for t in tokens if t not in word_lists().fillers)
    own = tuple(t for t in telling if stem(t) not in asked)
    return own or telling or tokens


def _items(marked: list[str], asked: frozenset[str]) -> tuple[frozenset[str], ...]:
    """The items of "x, y and z".

    Empty where the parts are alternatives ("x or y"), a place and its country, or a date.
    """
    if not any(t in ("and", "&", ";") for t in marked):
        return ()
    parts: list[list[str]] = [[]]
    for token in marked:
        if token in (",", ";", "and", "&"):
            parts.append([])
        elif token == "(":  # noqa: S105
            break
        elif token not in word_lists().fillers and token not in SEPARATORS and stem(token) not in asked:
            parts[-1].append(token)
    items = tuple(frozenset(part) for part in parts if part)
    return items if len(items) > 1 else ()


_PHRASE_ENDS = frozenset({"during", "near", "since", "than", "or"})


def _heads(marked: list[str], content: frozenset[str], asked: frozenset[str]) -> frozenset[str]:
    """The last content token of each phrase.

    A phrase after "of" only describes and has none. Words without content end a phrase.
    """
    heads: set[str] = set()
    last, opened_by = "", ""
    for token in marked:
        if token in content:
            last = token
        elif token not in word_lists().articles and (
            token in SEPARATORS or token in word_lists().fillers or token in _PHRASE_ENDS or stem(token) in asked
        ):
            if last and opened_by != "of":
                heads.add(last)
            last, opened_by = "", token
    if last and (opened_by != "of" or not heads):
        heads.add(last)
    return frozenset(heads)


def _direction(marked: list[str], tokens: tuple[str, ...], asked: Question) -> bool | None:
    """Yes (True), no (False) or None: said directly, or by a sentence that answers a yes/no question.

    "I could not find out" is neither.
    """
    if not tokens:
        return None
    first = next((t for t in tokens if t not in word_lists().fillers), tokens[0])
    outright = len(tokens) == 1 or (len(marked) > 1 and marked[1] in SEPARATORS) or asked.closed
    if outright and (first in word_lists().yes or first in word_lists().no):
        return first in word_lists().yes
    spelled = frozenset(map(stem, tokens)) if asked.closed else frozenset()
    if asked.words.isdisjoint(spelled):
        return None
    if count_negations(tokens) % 2:
        return None if "i" in tokens else False
    affirmed = _CONTRASTING.isdisjoint(tokens) and any(part <= spelled for part in asked.predicate)
    return True if affirmed else None
