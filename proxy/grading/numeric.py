"""The numeric rule: the last number of the answer equals the gold answer, within a tolerance."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...lexicon.text.numbers import is_number, read_numbers
from .grade import Grade

TOLERANCE = 1e-6
"""Relative tolerance; it allows for rounded output, not for wrong calculations."""
_TOKEN = re.compile(r"-?\d[\d,]*(?:\.\d+)?|[a-z]+|-")


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
    """The last number of a text, in digits or words."""
    numbers = [token for token in read_numbers(_TOKEN.findall(text.lower())) if is_number(token)]
    return float(numbers[-1]) if numbers else None
