"""The reading set's grades in figures: only those of texts that are still what is served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.evidence.holding_out import Estimate
from benchmarks.fits import reading
from hedgerow.calibration.metrics import wilson_interval

GRADES = "ABCD"
LEFT = "left alone"
STALE = "not graded"


def now(rows: Sequence[reading.Row], results: Sequence[reading.Result]) -> list[reading.Row]:
    """The rows with the texts of now: `mark` is the grade, that the answer is left alone, or that its text is not the one that was graded."""
    worded = [reading.updated(row, result) for row, result in zip(rows, results, strict=True)]
    return [row | {"mark": LEFT if row["text"] is None else row.get("grade", STALE)} for row in worded]


def share(count: int, of: int) -> Estimate:
    """A share with its Wilson interval."""
    if not of:
        return Estimate(float("nan"), 0.0, 1.0, 0)
    low, high = wilson_interval(np.array([count / of]), np.array([float(of)]))
    return Estimate(count / of, float(low[0]), float(high[0]), of)


def graded(rows: Sequence[reading.Row], grade: str, mark: str = "mark") -> Estimate:
    """The share of a grade among the texts that were changed and graded."""
    marks = [row[mark] for row in rows if row.get(mark) in tuple(GRADES)]
    return share(marks.count(grade), len(marks))


def table(rows: Sequence[reading.Row], heading: str, group: Callable[[reading.Row], str], mark: str = "mark") -> str:
    """One line a group, and one for all: answers, how many are changed, and of those the grades in per cent."""
    groups = list(dict.fromkeys(map(group, rows)))
    lines = [_line(name, [row[mark] for row in rows if group(row) == name]) for name in groups]
    head = f"| {heading} | answers | changed | A % | B % | C % | D % |\n|---|--:|--:|--:|--:|--:|--:|"
    return "\n".join([head, *lines, _line("**all**", [row[mark] for row in rows])])


def _line(name: str, marks: Sequence[str]) -> str:
    counts = Counter(marks)
    known = sum(counts[grade] for grade in GRADES)
    shares = [f"{100 * counts[grade] / known:.0f}" if known else "" for grade in GRADES]
    changed = len(marks) - counts[LEFT]
    open_ = f" ({counts[STALE]} not graded)" if counts[STALE] else ""
    return f"| {name} | {len(marks)} | {changed} ({changed / len(marks):.0%}){open_} | " + " | ".join(shares) + " |"
