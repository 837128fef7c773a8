"""Answers as readers graded them blind (tests/data/blind.jsonl): shares by kind, and how many texts are still the ones that were graded.

Each row has a question of a kind, an answer in the manner of a chat model, the confidence in it or in each of its claims, the text of the local way, and
the grade of a reader who had seen neither rules nor code and graded it shuffled with the version before (`before`). A, a careful editor would sign it; B,
right but stiff; C, odd or in the wrong place; D, worse than doing nothing; of answers left alone OK, rightly plain; WEAK, a light hedge would have been right;
MISS, sounds sure at .45 or less. Nothing was mended for a set before it was read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import ROOT
from benchmarks.evidence.holding_out import Estimate
from hedgerow.calibration.metrics import wilson_interval

FILE = ROOT / "tests" / "data" / "blind.jsonl"
CHANGED, LEFT = ("A", "B", "C", "D"), ("OK", "WEAK", "MISS")
GOOD = ("A", "B", "OK")
Row = dict[str, Any]


def load() -> list[Row]:
    """All graded answers, sets in the order in which they were read."""
    return [json.loads(line) for line in FILE.read_bytes().splitlines()]


def share(count: int, of: int) -> Estimate:
    """A share with its Wilson interval."""
    if not of:
        return Estimate(float("nan"), 0.0, 1.0, 0)
    low, high = wilson_interval(np.array([count / of]), np.array([float(of)]))
    return Estimate(count / of, float(low[0]), float(high[0]), of)


def good(rows: Sequence[Row], key: str = "grade") -> Estimate:
    """The share of answers that are good: well worded, or rightly left alone."""
    return share(sum(row[key] in GOOD for row in rows), len(rows))


def of_changed(rows: Sequence[Row], grade: str, key: str = "grade") -> Estimate:
    """The share of a grade among the texts that were changed."""
    marks = [row[key] for row in rows if row[key] in CHANGED]
    return share(marks.count(grade), len(marks))


def table(rows: Sequence[Row], heading: str, group: Callable[[Row], str]) -> str:
    """One line a group, and one for all: counts of each grade, the share that is good, and the same of the version before."""
    groups = list(dict.fromkeys(map(group, rows)))
    lines = [_line(name, [row for row in rows if group(row) == name]) for name in groups]
    head = f"| {heading} | answers | {' | '.join((*CHANGED, *LEFT))} | good | good before |\n|---|{'--:|' * 10}"
    return "\n".join([head, *lines, _line("**all**", rows)])


def _line(name: str, rows: Sequence[Row]) -> str:
    counts = Counter(row["grade"] for row in rows)
    cells = [str(counts[grade]) for grade in (*CHANGED, *LEFT)]
    return f"| {name} | {len(rows)} | {' | '.join(cells)} | {good(rows).value:.0%} | {good(rows, 'before').value:.0%} |"
