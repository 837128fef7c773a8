"""The numeric rule: the last number of the answer equals the gold answer, within a tolerance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from ...lexicon.text.numbers import is_number, plain_numbers, read_numbers, spell, with_scales
from ..clustering.units import spell_units
from .grade import Grade

TOLERANCE = 1e-6
"""Relative tolerance; it allows for rounded output, not for wrong calculations."""
_TOKEN = re.compile(r"(?:(?<![\w)])-)?(?:\d[\d,]*(?:\.\d+)?|\.\d+)|[a-z]+|-")
_QUOTIENT = re.compile(r"(?<![\d/.])(-?)(?:(\d+) )?(\d{1,15})/(\d{1,15})(?![\d/]|\.\d)")


def numeric_grade(
    question: str, answer: str, golds: Sequence[str], wrong: Sequence[str] = (), tolerance: float = TOLERANCE
) -> Grade:
    """Grade by the rule: right if the last number is a right one, because worked answers end with their result.

    >>> numeric_grade("", "3 + 4 = 7 left, so seven.", ["#### 7"]).correct, numeric_grade("", "1,250 km", ["1251"]).correct
    (1.0, 0.0)
    """
    right = [number for number in map(last_number, golds) if number is not None]
    if not right:
        return Grade(None, "numeric", "gold_without_number")
    last = last_number(answer)
    if last is None:
        return Grade(0.0, "numeric", "no_number")
    near = any(abs(last - number) <= tolerance * max(1.0, abs(number)) for number in right)
    return Grade(float(near), "numeric", "equal" if near else "different")


def last_number(text: str) -> float | None:
    """The last number of a text: in digits or words, with sign, exponent or scale, or as a fraction.

    >>> last_number("−5"), last_number("1.5 × 10^3"), last_number("it is 1/2"), last_number("$1.5M"), last_number("minus five"), last_number("5 m")
    (-5.0, 1500.0, 0.5, 1500000.0, -5.0, 5.0)
    """
    text = with_scales(_QUOTIENT.sub(_value, spell_units(plain_numbers(text)).lower()))
    numbers = [token for token in read_numbers(_TOKEN.findall(text)) if is_number(token)]
    return float(numbers[-1]) if numbers else None


def _value(match: re.Match[str]) -> str:
    """A fraction as a decimal; a quotient by zero stays as it is."""
    sign, whole, over, under = match[1], int(match[2] or 0), int(match[3]), int(match[4])
    return f"{sign}{spell(whole + Decimal(over) / Decimal(under))}" if under else match[0]
