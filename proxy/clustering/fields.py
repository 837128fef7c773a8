"""Agreement of JSON answers field by field: which other answers have the same value at the same path.

An answer for a program cannot carry a hedge, but each field can have a confidence: the share of answers that agree on
it. Objects are compared by key, arrays by content (the order of a list of names means nothing), numbers up to the
digits that both give, short texts by the clustering rules. Longer texts agree as far as they have the same names and
numbers; a text without either is not measured.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from .rules import judge_pair
from .stems import fold
from .support import agreement_with

MOST_FIELDS = 500
"""Maximum number of fields that are measured."""
PROSE = 12
"""A text with at least this many words is prose: no two are equal."""
MATCHED_ELEMENTS = 100
"""Array length up to which elements are matched by content; longer arrays are compared by position."""
_MISSING = object()

Path = tuple[str | int, ...]


def path_name(path: Path) -> str:
    """The JSONPath of a field.

    >>> path_name(("rivers", 0, "length km")), path_name(())
    ("$.rivers[0]['length km']", '$')
    """
    parts = [
        f"[{step}]" if isinstance(step, int) else f".{step}" if step.isidentifier() else f"[{step!r}]" for step in path
    ]
    return "$" + "".join(parts)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The fields of an answer: every value without inner values, including empty objects and arrays."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    empty = True
    for step, part in steps:
        empty = False
        yield from leaves(part, (*path, step))
    if empty:
        yield path, value


def representative(answers: Sequence[Any]) -> int:
    """Index of the answer that shares most field values with the others; the first on ties."""
    keyed = [Counter(_keys(answer)) for answer in answers]
    total: Counter[tuple[str, str]] = Counter()
    for keys in keyed:
        total.update(set(keys))
    shares = [sum(total[key] for key in keys) / max(1, len(keys)) for keys in keyed]
    return shares.index(max(shares))


def agreement(question: str, draft: Any, others: Sequence[Any]) -> dict[Path, list[float]]:
    """How far each other answer agrees with each field of a draft, in [0, 1].

    A field that cannot be measured is left out.

    Parameters
    ----------
    question: the user's message; its words do not count in a text.
    draft, others: decoded JSON; at least one other.
    """
    places = [path for path, _ in leaves(draft)][:MOST_FIELDS]
    wanted: dict[Path, list[float] | None] = {path: [] for path in places}
    for other in others:
        _compare(question, draft, other, (), wanted)
    return {path: shares for path, shares in wanted.items() if shares is not None}


def _compare(question: str, draft: Any, other: Any, path: Path, agreements: dict[Path, list[float] | None]) -> None:
    """Add the agreement of one other answer to each field below a path."""
    if isinstance(draft, dict) and draft:
        same = other if isinstance(other, dict) else {}
        for key, part in draft.items():
            _compare(question, part, same.get(key, _MISSING), (*path, key), agreements)
    elif isinstance(draft, list) and draft:
        elements = _matched(draft, other if isinstance(other, list) else [])
        for index, (part, match) in enumerate(zip(draft, elements, strict=True)):
            _compare(question, part, match, (*path, index), agreements)
    elif (shares := agreements.get(path)) is not None:
        share = _same(question, draft, other)
        if share is None:
            agreements[path] = None
        else:
            shares.append(share)


def _same(question: str, a: Any, b: Any) -> float | None:
    """How far two values agree, in [0, 1]; None where the first cannot be measured, whatever the second is."""
    if isinstance(a, str):
        if len(a.split()) < PROSE:
            return float(isinstance(b, str) and (a == b or judge_pair(question, a, b).same is True))
        graded = agreement_with(question, a, [b if isinstance(b, str) else ""])
        return None if graded is None else graded[0]
    if isinstance(a, bool) or isinstance(b, bool) or a is None or not isinstance(a, int | float):
        return float(type(a) is type(b) and a == b)
    return float(isinstance(b, int | float) and _same_number(a, b))


def _same_number(a: float, b: float) -> bool:
    """Whether two numbers are equal up to rounding; integers on both sides must be equal.

    >>> _same_number(48.8566, 48.86), _same_number(1998, 1999), _same_number(20, 19.99), _same_number(0.3, 0.1 + 0.2)
    (True, False, True, True)
    """
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b
    digits = min(_decimals(a), _decimals(b))
    return math.isclose(round(a, digits), round(b, digits), rel_tol=1e-12)


def _decimals(number: float) -> int:
    """Digits after the decimal point as written; 15, the precision of a float, if written with an exponent."""
    if isinstance(number, int):
        return 0
    written = repr(number)
    return 15 if "e" in written else len(written.partition(".")[2].rstrip("0"))


def _matched(draft: list[Any], other: list[Any]) -> list[Any]:
    """For each element, the element of the other array with most in common; `_MISSING` if none is left.

    Each is used at most once.
    """
    if max(len(draft), len(other)) > MATCHED_ELEMENTS:
        return [other[i] if i < len(other) else _MISSING for i in range(len(draft))]
    mine, theirs = [Counter(_keys(part)) for part in draft], [Counter(_keys(part)) for part in other]
    likeness = sorted(
        ((mine[i] & theirs[k]).total(), -abs(i - k), i, k) for i in range(len(mine)) for k in range(len(theirs))
    )
    pairs: dict[int, int] = {}
    for common, _, i, k in reversed(likeness):
        if common and i not in pairs and k not in pairs.values():
            pairs[i] = k
    free = [k for k in range(len(other)) if k not in pairs.values()]
    for i in range(len(draft)):  # elements with nothing in common may still mean the same in other words
        if i not in pairs and free:
            pairs[i] = free.pop(0)
    return [other[pairs[i]] if i in pairs else _MISSING for i in range(len(draft))]


def _keys(value: Any) -> Iterator[tuple[str, str]]:
    """The fields of a value, as (path without array indices, value as written in lower case)."""
    for path, leaf in leaves(value):
        written = fold(leaf) if isinstance(leaf, str) else repr(leaf)
        yield ".".join(step for step in path if isinstance(step, str)), written
