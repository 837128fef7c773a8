"""Goals, each with where it stands: a table at the end of a part, and one of all parts in docs/evidence.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.evidence.holding_out import Estimate

HEADER = "| goal | stands at | 95 % interval | n | reached | what would close it |\n|---|---|---|---|---|---|"
SUMMARY_HEADER = "| goal | stands at (95 % interval) | reached | where |\n|---|---|---|---|"
_TABLE = re.compile(rf"^##+ Goals\n\n{re.escape(HEADER)}\n((?:\|.*\|\n?)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal.

    Attributes:
        text: the goal, its number in words ("mean FD after the map <= .45").
        stands: where it stands.
        limit: the number to reach.
        at_least: whether more is better.
        closes: what would close the gap, where there is one.
        spec: how the figures are written.
    """

    text: str
    stands: Estimate
    limit: float
    at_least: bool = False
    closes: str = ""
    spec: str = ".3f"

    @property
    def reached(self) -> bool:
        """Whether the estimate itself is on the right side."""
        return self.stands.value >= self.limit if self.at_least else self.stands.value <= self.limit

    def row(self) -> str:
        """One line of the table."""
        e, spec = self.stands, self.spec
        closes = "" if self.reached else self.closes
        reached = "yes" if self.reached else "**no**"
        return f"| {self.text} | **{e.value:{spec}}** | {e.low:{spec}} to {e.high:{spec}} | {e.n:,} | {reached} | {closes} |"


def table(goals: Sequence[Goal]) -> str:
    """The end of a part."""
    return "\n".join(["### Goals", "", HEADER, *(goal.row() for goal in goals)])


def rows(part: str) -> list[str]:
    """The lines of a part's table of goals; empty where it has none."""
    return [line for table_ in _TABLE.finditer(part) for line in table_.group(1).strip().splitlines()]


def summary_row(row: str, where: str) -> str:
    """A line of a part's table as the summary shows it."""
    text, value, interval, _, reached, _ = (cell.strip() for cell in row.strip("|").split("|"))
    return f"| {text} | {value} ({interval}) | {reached} | {where} |"
