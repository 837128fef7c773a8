"""What `fit` and `evaluate` share: reading labelled answers with a progress bar, and reporting the rows left out."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from hedgerow.proxy.cli.common import progress_bar, show_faults, stop, unreadable
from hedgerow.proxy.lab.datasets import UNREADABLE, read_objects, read_rows
from hedgerow.proxy.lab.measuring import SIGNALS, Records, combined, measure_each, measure_file
from hedgerow.proxy.signals.combine import COMBINED, Weights

Clusters = Literal["rules", "exact"]
Signal = Literal["semantic", "token", "consistency", "combined"]


def load_records(
    path: Path, *, signal: Signal, clusters: Clusters, skip_bad: bool, fit_on: float = 1.0
) -> tuple[Records, Weights | None]:
    """The columns of a file of labelled answers, and the weights of a combined signal, fitted on the first share `fit_on` of the rows.

    Ends the command where there is nothing to work on.
    """
    try:
        lines = sum(1 for _ in (read_rows if path.suffix == ".parquet" else read_objects)(path))
        with progress_bar() as progress:
            passes = len(COMBINED) if signal == "combined" else 1
            task = progress.add_task(f"Measuring {path.name}", total=lines * passes)
            if signal == "combined":
                measured = measure_each(path, clusters, lambda: progress.advance(task))
            else:
                measured = {signal: measure_file(path, SIGNALS[signal], clusters, lambda: progress.advance(task))}
    except UNREADABLE as error:
        unreadable(path, error)
    records = next(iter(measured.values()))
    _report_left_out(records, signal, skip_bad)
    if not records.alpha.size:
        stop(f"{path}: no row has a label and the signal {signal}")
    if signal != "combined":
        return records, None
    try:
        return combined(measured, fit_on)
    except ValueError as error:
        stop(f"{path}: the signals cannot be combined: {error}")


def _report_left_out(records: Records, signal: Signal, skip_bad: bool) -> None:
    show_faults([f"line {row.line}: {row.reason}" for row in records.bad])
    if records.bad and not skip_bad:
        stop(f"{len(records.bad)} rows cannot be used; --skip-bad continues without them")
    if records.unsettled:
        typer.echo(f"{records.unsettled} rows without a label are left out", err=True)
    if records.other_signal:
        typer.echo(f"{records.other_signal} rows of another signal than {signal} are left out", err=True)
