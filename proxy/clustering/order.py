"""Whether two answers with the same words differ in word order: who beat whom, what is larger than what."""

from __future__ import annotations

from ...lexicon.text.language import negations
from ...lexicon.text.numbers import is_number
from ...lexicon.text.words import MONTHS
from .normal import Normal
from .words import word_lists

_COPULAS = frozenset({"is", "are", "was", "were"})
Comparison = tuple[str, frozenset[str], frozenset[str]]
_COMPARING = frozenset({"than", "before", "after"})


def reversed_arguments(a: Normal, b: Normal) -> bool | None:
    """Whether one answer says of x and y what the other says of y and x; None where they cannot be compared.

    Understands comparisons ("x is larger than y" = "y is smaller than x") and the passive ("x beat y" = "y was beaten by x").
    """
    first, second = _comparison(a), _comparison(b)
    if first and second:
        return _compare_comparisons(first, second)
    words_a, words_b = _ordered_words(a), _ordered_words(b)
    if (
        words_a != words_b
        and sorted(words_a) == sorted(words_b)
        and all({"from", "to"} <= set(x.tokens) for x in (a, b))
    ):
        return True
    if words_a == words_b or len(words_a) < 3 or sorted(words_a) != sorted(words_b):
        return None
    if a.content == b.content and (echo := _echoed(a)) is not None and echo == _echoed(b):
        return False
    if _turned(words_a, words_b):
        return False
    related = _is_relation(a) or _is_relation(b)
    if (a.items and b.items) or not (related or (len(words_a) > 3 and not (a.items or b.items))):
        return None
    return _passive(a) == _passive(b)


def reordered_numbers(a: Normal, b: Normal) -> bool:
    """Whether two answers have the same numbers in another order, as scores, ratios, readings and points have one.

    Not where each number has moved with the word behind it ("3 boys and 2 girls"), nor in a list ("5 and 7") or a date.
    """
    first, second = ([t for t in x.tokens if is_number(t)] for x in (a, b))
    if len(first) < 2 or first == second or sorted(first) != sorted(second) or not MONTHS.keys().isdisjoint(a.tokens):
        return False
    counted, others = (_counted(x) for x in (a, b))
    if counted and others:
        return counted != others
    return not (a.items or b.items)


def _counted(answer: Normal) -> list[tuple[str, str]]:
    """Each number with the word behind it, sorted; empty where one has none."""
    pairs = [(t, after) for t, after in zip(answer.tokens, (*answer.tokens[1:], ""), strict=True) if is_number(t)]
    return (
        []
        if any(not after or is_number(after) or after in word_lists().fillers for _, after in pairs)
        else sorted(pairs)
    )


def _turned(first: list[str], second: list[str]) -> bool:
    """Whether one is a rotation of the other: "In Rome she met him", "She met him in Rome"."""
    return any(first[at] == second[0] and first[at:] + first[:at] == second for at in range(1, len(first)))


def _comparison(answer: Normal) -> Comparison | None:
    """(comparative, left, right) of "left is <comparative> than right"; "before" and "after" count as comparatives."""
    tokens = answer.tokens
    if _COMPARING.isdisjoint(tokens):
        return None
    if "than" in tokens:
        at = tokens.index("than")
        left, word = tokens[: max(at - 1, 0)], tokens[at - 1] if at else ""
    else:
        at = next(i for i, t in enumerate(tokens) if t in _COMPARING)
        left, word = tokens[:at], tokens[at] if at else ""
    right = tokens[at + 1 :]
    ignored = word_lists().fillers | negations("en")
    sides = [frozenset(side) - ignored for side in (left, right)]
    return (word, sides[0], sides[1]) if word and all(sides) else None


def _compare_comparisons(first: Comparison, second: Comparison) -> bool | None:
    """Whether the two sides of a comparison are swapped.

    One side may have more words in one answer, but not different words on both sides: "Colombia has fewer than
    Australia" says nothing about Canada.
    """
    reversed_ = _changed_places(first, second)
    if reversed_ is not False:
        return reversed_
    sides = (second[2], second[1]) if first[0] != second[0] else second[1:]
    return False if all(a <= b or b <= a for a, b in zip(first[1:], sides, strict=True)) else None


def _changed_places(first: Comparison, second: Comparison) -> bool | None:
    straight = bool(first[1] & second[1]) and bool(first[2] & second[2])
    crossed = bool(first[1] & second[2]) and bool(first[2] & second[1])
    if straight == crossed:
        return None
    if first[0] == second[0]:
        return crossed
    return straight if second[0] in word_lists().antonyms.get(first[0], ()) else None


def _ordered_words(answer: Normal) -> list[str]:
    return [t for t in answer.tokens if t not in word_lists().fillers and not is_number(t) and t not in MONTHS]


def _echoed(answer: Normal) -> tuple[str, ...] | None:
    """The side of "is" that does not repeat the question; None where both sides have new words.

    "Jupiter is the largest planet" and "the largest planet is Jupiter" say the same.
    """
    places = [i for i, token in enumerate(answer.tokens) if token in _COPULAS]
    if len(places) != 1:
        return None
    sides = answer.tokens[: places[0]], answer.tokens[places[0] + 1 :]
    echoes = [side for side in sides if side and set(answer.content).isdisjoint(side)]
    return echoes[0] if len(echoes) == 1 and all(sides) else None


def _is_relation(answer: Normal) -> bool:
    return any(
        t in word_lists().relations or t in word_lists().passive or (t.endswith("ed") and len(t) > 4)
        for t in answer.tokens
    )


def _passive(answer: Normal) -> bool:
    return "by" in answer.tokens and any(t in word_lists().passive for t in answer.tokens)
