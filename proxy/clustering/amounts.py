"""Reads amounts (numbers with units) from answers, converts them to base units and compares them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import NamedTuple

from ...lexicon.text.numbers import is_number
from .normal import Normal
from .units import unit_of
from .words import Unit

CONVERTED = Decimal("0.01")
"""Relative tolerance between units of different systems: 5 km are "3.1 miles"."""
DEGREES = Decimal("0.002")
"""The same of temperatures, which are compared from absolute zero."""
_PLAIN = Unit("", "", Decimal(1))


class Amount(NamedTuple):
    """A number with its unit; `size` is in the base unit of the dimension."""

    size: Decimal
    unit: Unit


def amounts(answer: Normal, numbers: frozenset[str]) -> list[Amount]:
    """The amounts of these numbers; "3 hours and 48 minutes" is one amount."""
    result: list[Amount] = []
    last = 0
    for at, (token, following) in enumerate(zip(answer.tokens, (*answer.tokens[1:], ""), strict=True)):
        if token not in numbers:
            continue
        unit = unit_of(following)
        # without a unit keep the number as written: a product is rounded to 28 digits
        amount = Amount((Decimal(token) + unit.zero) * unit.size, unit) if unit else Amount(Decimal(token), _PLAIN)
        if result and set(answer.tokens[last:at]) <= {"and"} and _adds(result[-1], amount):
            result[-1] = Amount(result[-1].size + amount.size, amount.unit)
        else:
            result.append(amount)
        last = at + 2
    return result


def same_amounts(a: Normal, b: Normal) -> bool:
    """Whether both answers consist of amounts only, and these are equal in any units."""
    if not (_is_amounts(a) and _is_amounts(b)):
        return False
    first, second = amounts(a, _all_numbers(a)), amounts(b, _all_numbers(b))
    return among(first, second) and among(second, first)


def gives_amounts(shorter: Normal, longer: Normal) -> bool:
    """Whether the shorter answer consists only of amounts with units, all of which the longer one contains."""
    wanted = amounts(shorter, shorter.numbers) if _is_amounts(shorter) else []
    return all(amount.unit is not _PLAIN for amount in wanted) and among(wanted, amounts(longer, longer.numbers))


def clash(a: Normal, b: Normal) -> str | None:
    """Whether the amounts of two answers contradict each other.

    Numbers do if neither answer's are all among the other's; units do if one dimension stands against another.
    """
    first, second = amounts(a, a.numbers), amounts(b, b.numbers)
    of_first, of_second = ({amount.unit.dimension for amount in found} for found in (first, second))
    shared = of_first & of_second - {""}
    if shared:
        sides = ([[x for x in found if x.unit.dimension == d] for found in (first, second)] for d in shared)
        return None if all(among(x, y) or among(y, x) for x, y in sides) else "number"
    if not (a.numbers <= b.numbers or b.numbers <= a.numbers):
        return "number"
    return "unit" if "" not in of_first | of_second and not of_first & of_second else None


def among(some: Iterable[Amount], others: Iterable[Amount]) -> bool:
    """Whether there are amounts and each equals one of the others; between systems of units, within `CONVERTED`."""
    wanted, every = list(some), sorted(others, key=attrgetter("unit.dimension", "size"))
    exact = {(amount.unit.dimension, amount.size) for amount in every}
    rest = [amount for amount in wanted if (amount.unit.dimension, amount.size) not in exact]
    return bool(wanted) and all(_is_converted(amount, every) for amount in rest)


def _is_converted(amount: Amount, every: Sequence[Amount]) -> bool:
    """Whether one of the amounts, sorted by dimension and size, is nearly equal and in a unit of another system."""
    dimension, near = amount.unit.dimension, 1 - (CONVERTED if not amount.unit.zero else DEGREES)
    low, high = sorted((amount.size * near, amount.size / near))
    first = bisect_left(every, (dimension, low), key=attrgetter("unit.dimension", "size"))
    last = bisect_right(every, (dimension, high), key=attrgetter("unit.dimension", "size"))
    return any(not _is_multiple(amount.unit, other.unit) for other in every[first:last])


def _adds(larger: Amount, part: Amount) -> bool:
    """Whether an amount continues in a smaller unit: "5 feet 11 inches", but not "3.1 miles (5 km)"."""
    smaller = part.unit.dimension == larger.unit.dimension and 0 <= part.size < larger.unit.size
    return smaller and part.unit is not _PLAIN and _is_multiple(larger.unit, part.unit)


def _is_multiple(x: Unit, y: Unit) -> bool:
    """Whether one unit is a multiple of the other in the same system."""
    return max(x.size, y.size) % min(x.size, y.size) == 0


def _is_amounts(answer: Normal) -> bool:
    return bool(answer.numbers) and all(is_number(t) or unit_of(t) is not None for t in answer.content)


def _all_numbers(answer: Normal) -> frozenset[str]:
    """All numbers of an answer, including those in the question.

    "1 hour" is not "1 hour and 2 minutes", even if the question mentions 2 problems.
    """
    return frozenset(t for t in answer.tokens if is_number(t))
