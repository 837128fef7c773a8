"""Whether hedges keep their meaning, for `hedgerow markers --audit`: the dashboard's table of the model's own and of served hedges, as text and JSON."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ....calibration.metrics import Interval
from ...audit.engine import Engine, transaction
from ...audit.queries import Period, labelled
from ...monitoring.markers import (
    MIN_ANSWERS,
    MIN_STEP,
    STEPS,
    MarkerDrift,
    Step,
    drift_of_markers,
)
from ...types import Json
from ..shared.showing import show

_BARS = "▁▂▃▄▅▆▇█"


def read_drift(engine: Engine, since: float, route: str | None = None) -> list[MarkerDrift]:
    """The most frequent markers since a time, compared with a period of the same length before.

    Raises:
        StoreError: the store cannot be read.
    """
    period = Period(since, time.time())
    with transaction(engine, "snapshot") as connection:
        return drift_of_markers(connection, period, labelled(connection, period, route), route)


def in_json(row: MarkerDrift) -> Json:
    """One marker on one route; `change` is null if the previous period has too few answers."""
    figures = {"mic": row.mic, "earlier": row.earlier, "change": row.change, "right": row.right}
    return {
        "words": row.words,
        "route": row.route,
        "marker": row.marker,
        "answers": row.answers,
        "answers_before": row.before,
        "drifts": row.drifts,
        "people": row.people,
        "graded": row.graded,
        **{name: None if of is None else of.estimate for name, of in figures.items()},
        **{f"{name}_interval": None if of is None else [of.low, of.high] for name, of in figures.items()},
        "curve": [
            {
                "since": step.since,
                "until": step.until,
                "answers": step.answers,
                "mic": step.mic and step.mic.estimate,
                "mic_interval": step.mic and [step.mic.low, step.mic.high],
            }
            for step in row.curve
        ],
    }


def print_drift(console: Console, rows: Sequence[MarkerDrift]) -> None:
    """Print the table; a change whose interval excludes 0 has a star."""
    if not rows:
        console.print()
        console.print(
            f"no marker has {MIN_ANSWERS} answers in this stretch: whether they keep their meaning is not known"
        )
        return
    console.print()
    console.print(
        "does it still mean the same? mean raw confidence (MIC) of the answers that bore a marker, in the model's own words and as served",
        soft_wrap=True,
    )
    for words in dict.fromkeys(row.words for row in rows):
        table = Table(words, "route", "answers", "MIC", "right", "people read", "then", "MIC then", "change", box=None, pad_edge=False)  # fmt: skip
        for row in rows:
            if row.words == words:
                table.add_row(
                    row.marker, row.route, f"{row.answers:,}", _figure(row.mic, ""), _right(row),
                    "–" if row.people is None else f"{row.people:.2f}", f"{row.before:,}", _figure(row.earlier, ""),
                    _figure(row.change, "+") + (" *" if row.drifts else ""),
                )  # fmt: skip
        show(table, console)
    console.print(
        f"then: as long a stretch before this one; a marker needs {MIN_ANSWERS} answers in each. ± 95 %; *: a change of more than that, as one in twenty is by chance",
        soft_wrap=True,
    )
    if any(row.curve for row in rows):
        _print_curves(console, rows)


def _print_curves(console: Console, rows: Sequence[MarkerDrift]) -> None:
    console.print()
    console.print(
        f"MIC over time, then | now: {_BARS[0]} near 0, {_BARS[-1]} near 1, · fewer than {MIN_STEP} answers",
        soft_wrap=True,
    )
    for row in rows:
        console.print(f"{_bars(row.curve)}  {row.marker} ({row.route}, {row.words})", soft_wrap=True)


def _bars(curve: Sequence[Step]) -> str:
    """Both periods, one bar a step."""
    said = [
        "·" if step.mic is None else _BARS[min(int(step.mic.estimate * len(_BARS)), len(_BARS) - 1)] for step in curve
    ]
    return "".join((*said[:STEPS], "|", *said[STEPS:])) if said else ""


def _right(row: MarkerDrift) -> str:
    return (
        "–"
        if row.right is None
        else f"{row.right.estimate:.2f} ({row.right.low:.2f} to {row.right.high:.2f}) of {row.graded}"
    )


def _figure(of: Interval | None, sign: str) -> str:
    return "–" if of is None else f"{of.estimate:{sign}.2f} ± {(of.high - of.low) / 2:.2f}"
