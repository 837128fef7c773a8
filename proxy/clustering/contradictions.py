"""What two answers cannot both say: other numbers, units, months, lists, a denial, an opposite word, exchanged arguments."""

from __future__ import annotations

from decimal import Decimal

from hedgerow.lexicon.text.numbers import is_number
from hedgerow.lexicon.text.words import MONTHS
from hedgerow.proxy.clustering.containment import MATCHED
from hedgerow.proxy.clustering.normal import Normal
from hedgerow.proxy.clustering.words import word_lists

Quantities = dict[str, frozenset[Decimal]]


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
    amounts: dict[str, set[Decimal]] = {}
    for token, following in zip(answer.tokens, (*answer.tokens[1:], ""), strict=True):
        if token in numbers:
            unit = word_lists().units.get(following)
            amounts.setdefault(unit.dimension if unit else "", set()).add(
                Decimal(token) * unit.size if unit else Decimal(token)
            )
    return {dimension: frozenset(sizes) for dimension, sizes in amounts.items()}


def same_quantities(a: Normal, b: Normal) -> bool:
    """Whether both answers are amounts and nothing else, and the same amounts, whatever the units."""
    if not (a.numbers and b.numbers) or not all(_is_amount(t) for t in (*a.content, *b.content)):
        return False
    return quantities(a, _all_numbers(a)) == quantities(b, _all_numbers(b))


def _all_numbers(answer: Normal) -> frozenset[str]:
    """Also those that the question gave: "1 hour" is not "1 hour and 2 minutes" because the question speaks of 2 problems."""
    return frozenset(t for t in answer.tokens if is_number(t))


def _is_amount(token: str) -> bool:
    return is_number(token) or token in word_lists().units


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
    if longer > MATCHED:
        shared = len(frozenset(a.items) & frozenset(b.items))
    else:
        shared = sum(any(x <= y or y <= x for y in b.items) for x in a.items)
    return 2 * shared <= longer


def opposites(a: Normal, b: Normal) -> bool:
    """Whether a word of one answer faces its opposite in the other, and neither answer holds both."""
    first, second = frozenset(a.tokens), frozenset(b.tokens)
    only, antonyms = second - first, word_lists().antonyms
    if not only:
        return False
    return any(antonyms[t] & only and not antonyms[t] & first for t in first - second if t in antonyms)
