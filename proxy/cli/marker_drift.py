"""Whether a model's own hedges keep their meaning, for `hedgerow markers --audit`: the table of the dashboard, in words and in JSON."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from hedgerow.calibration.metrics import Interval
from hedgerow.proxy.audit.engine import Engine, transaction
from hedgerow.proxy.audit.queries import Period
from hedgerow.proxy.cli.showing import show
from hedgerow.proxy.monitoring.markers import MIN_ANSWERS, MarkerDrift, drift_of_markers
from hedgerow.proxy.types import Json


def read_drift(engine: Engine, since: float) -> list[MarkerDrift]:
    """The most frequent markers since a moment, beside as long a stretch before it.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        return drift_of_markers(connection, Period(since, time.time()))


def in_json(row: MarkerDrift) -> Json:
    """One marker on one route; `change` is null where the stretch before has too few answers."""
    figures = {"mic": row.mic, "earlier": row.earlier, "change": row.change}
    return {
        "route": row.route,
        "marker": row.marker,
        "answers": row.answers,
        "answers_before": row.before,
        "drifts": row.drifts,
        **{name: None if of is None else of.estimate for name, of in figures.items()},
        **{f"{name}_interval": None if of is None else [of.low, of.high] for name, of in figures.items()},
    }


def print_drift(console: Console, rows: Sequence[MarkerDrift]) -> None:
    """The table; a change whose interval leaves out 0 has a star."""
    if not rows:
        console.print(
            f"\nno marker has {MIN_ANSWERS} answers in this stretch: whether they keep their meaning is not known"
        )
        return
    console.print(
        "\ndoes it still mean the same? mean raw confidence of the answers whose draft bore a marker", soft_wrap=True
    )
    table = Table("route", "marker", "answers", "MIC", "then", "MIC then", "change", box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            row.route, row.marker, f"{row.answers:,}", _figure(row.mic, ""), f"{row.before:,}", _figure(row.earlier, ""),
            _figure(row.change, "+") + (" *" if row.drifts else ""),
        )  # fmt: skip
    show(table, console)
    console.print(
        f"then: as long a stretch before this one; a marker needs {MIN_ANSWERS} answers in each. ± 95 %; *: a change of more than that, as one in twenty is by chance",
        soft_wrap=True,
    )


def _figure(of: Interval | None, sign: str) -> str:
    return "–" if of is None else f"{of.estimate:{sign}.2f} ± {(of.high - of.low) / 2:.2f}"
