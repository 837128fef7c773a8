"""Contradictions that can be seen, and what they are called.

A veto is certain: it holds whatever a judge might say. So it looks only at what people agree on: numbers, dates, units,
negation, opposite words, the order of arguments, and names that share no head. Saying less is no contradiction.
"""

from __future__ import annotations

from hedgerow.lexicon.text.numbers import is_number
from hedgerow.proxy.clustering.normal import Normal
from hedgerow.proxy.clustering.words import ANTONYMS, FILLERS, MONTHS, NEGATIONS, PASSIVE, RELATIONS, UNITS

Quantities = dict[str, frozenset[float]]


def contradiction(a: Normal, b: Normal, swapped: bool | None) -> str | None:
    """The first contradiction between two answers, by name; None where none can be seen.

    `swapped` is what `reversed_arguments` says of them.
    """
    if a.yes is not None and b.yes is not None and a.yes != b.yes:
        return "negation"
    if a.numbers and b.numbers and (reason := _numbers(a, b)):
        return reason
    if a.negated != b.negated and not (a.yes is not None and a.yes == b.yes):
        return "negation"
    if _different_months(a, b):
        return "date"
    if a.items and b.items and _different_items(a, b):
        return "list"
    if swapped is not None:
        return "order" if swapped else None
    return "antonym" if opposites(a, b) else None


def quantities(answer: Normal, numbers: frozenset[str]) -> Quantities:
    """Amounts of these numbers by dimension, each in the base unit of its dimension; plain numbers under ""."""
    out: dict[str, set[float]] = {}
    tokens = answer.tokens
    for i, token in enumerate(tokens):
        if token in numbers:
            unit = UNITS.get(tokens[i + 1]) if i + 1 < len(tokens) else None
            dimension, size = (unit[1], unit[2]) if unit else ("", 1.0)
            out.setdefault(dimension, set()).add(float(f"{float(token) * size:.12g}"))
    return {dimension: frozenset(amounts) for dimension, amounts in out.items()}


def same_quantities(a: Normal, b: Normal) -> bool:
    """Whether both answers are amounts and nothing else, and the same amounts, whatever the units."""
    if not (a.numbers and b.numbers) or not all(_is_amount(t) for t in (*a.content, *b.content)):
        return False
    return quantities(a, _all_numbers(a)) == quantities(b, _all_numbers(b))


def _all_numbers(answer: Normal) -> frozenset[str]:
    """Also those that the question gave: "1 hour" is not "1 hour and 2 minutes" because the question speaks of 2 problems."""
    return frozenset(t for t in answer.tokens if is_number(t))


def _is_amount(token: str) -> bool:
    return is_number(token) or token in UNITS


def _numbers(a: Normal, b: Normal) -> str | None:
    """Numbers differ where neither answer's are among the other's; units differ where one dimension faces another."""
    first, second = quantities(a, a.numbers), quantities(b, b.numbers)
    shared = first.keys() & second.keys() - {""}
    if shared:
        return None if all(first[d] <= second[d] or second[d] <= first[d] for d in shared) else "number"
    if not (a.numbers <= b.numbers or b.numbers <= a.numbers):
        return "number"
    clash = "" not in first and "" not in second and not first.keys() & second.keys()
    return "unit" if clash else None


def _different_months(a: Normal, b: Normal) -> bool:
    first, second = (frozenset(t for t in x.tokens if t in MONTHS) for x in (a, b))
    return bool(first and second) and not (first <= second or second <= first)


def _different_items(a: Normal, b: Normal) -> bool:
    """Whether two lists of answers share no more than half of the longer one."""
    longer = max(len(a.items), len(b.items))
    shared = sum(any(x <= y or y <= x for y in b.items) for x in a.items)
    return 2 * shared <= longer


def opposites(a: Normal, b: Normal) -> bool:
    """Whether a word of one answer faces its opposite in the other, and neither answer holds both."""
    first, second = frozenset(a.tokens), frozenset(b.tokens)
    only = second - first
    if not only:
        return False
    return any(ANTONYMS[t] & only and not ANTONYMS[t] & first for t in first - second if t in ANTONYMS)


def reversed_arguments(a: Normal, b: Normal) -> bool | None:
    """Whether one answer says of x and y what the other says of y and x; None where they cannot be laid side by side.

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
    if (a.items and b.items) or not (_is_relation(a) or _is_relation(b) or len(words_a) > 3):
        return None
    return _passive(a) == _passive(b)


Comparison = tuple[str, frozenset[str], frozenset[str]]


def _comparison(answer: Normal) -> Comparison | None:
    """(comparative, left, right) of "left is <comparative> than right"; "before" and "after" compare alike."""
    tokens = answer.tokens
    if "than" in tokens:
        at = tokens.index("than")
        left, right = tokens[: at - 1], tokens[at + 1 :]
        word = tokens[at - 1] if at else ""
    else:
        at = next((i for i, t in enumerate(tokens) if t in ("before", "after")), 0)
        left, right, word = tokens[:at], tokens[at + 1 :], tokens[at] if at else ""
    sides = [frozenset(t for t in side if t not in FILLERS and t not in NEGATIONS) for side in (left, right)]
    return (word, sides[0], sides[1]) if word and all(sides) else None


def _compare_comparisons(first: Comparison, second: Comparison) -> bool | None:
    straight = bool(first[1] & second[1]) and bool(first[2] & second[2])
    crossed = bool(first[1] & second[2]) and bool(first[2] & second[1])
    if straight == crossed:
        return None
    if first[0] == second[0]:
        return crossed
    return straight if second[0] in ANTONYMS.get(first[0], ()) else None


def _ordered_words(answer: Normal) -> list[str]:
    return [t for t in answer.tokens if t not in FILLERS and not is_number(t) and t not in MONTHS]


def _is_relation(answer: Normal) -> bool:
    return any(t in RELATIONS or t in PASSIVE or t.endswith("ed") for t in answer.tokens)


def _passive(answer: Normal) -> bool:
    return "by" in answer.tokens and any(t in PASSIVE for t in answer.tokens)
