"""What `fit` and `evaluate` share: reading labelled answers with a progress bar, and what is said about rows left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from proxy.cli.common import stop

if TYPE_CHECKING:
    from rich.progress import Progress

    from proxy.ports import ConfidenceSignal, Equivalence
    from proxy.records import Records

Clusters = Literal["rules", "exact"]
Signal = Literal["semantic", "token"]
Map = Literal["platt", "platt-bounded", "temperature", "isotonic", "histogram", "beta", "venn-abers", "identity"]

_SHOWN = 5
"""Bad rows named before the rest is counted."""


def load_records(path: Path, *, signal: Signal, clusters: Clusters, skip_bad: bool) -> Records:
    """The columns of a file of labelled answers; ends the command where there is nothing to work on."""
    import anyio

    from proxy.records import measure, read_rows

    total = _count_lines(path)
    with _progress() as progress:
        task = progress.add_task(f"Measuring {path.name}", total=total)

        async def run() -> Records:
            return await measure(
                read_rows(path),
                equivalence=_equivalence(clusters),
                signal=_signal(signal),
                on_row=lambda: progress.advance(task),
            )

        records = anyio.run(run)
    _say_what_is_missing(records, signal, skip_bad)
    if not records.alpha.size:
        stop(f"{path}: no row with an outcome and the signal {signal}")
    return records


def _count_lines(path: Path) -> int:
    """Lines that are not blank; the place where a file that cannot be read is noticed."""
    from proxy.records import read_rows
    from proxy.records.reading import UNREADABLE

    try:
        return sum(1 for _ in read_rows(path))
    except UNREADABLE as error:
        stop(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


def _say_what_is_missing(records: Records, signal: Signal, skip_bad: bool) -> None:
    for row in records.bad[:_SHOWN]:
        typer.echo(f"line {row.line}: {row.reason}", err=True)
    if len(records.bad) > _SHOWN:
        typer.echo(f"and {len(records.bad) - _SHOWN} more", err=True)
    if records.bad and not skip_bad:
        stop(f"{len(records.bad)} rows cannot be used; --skip-bad goes on without them")
    if records.unsettled:
        typer.echo(f"{records.unsettled} rows without an outcome are left out", err=True)
    if records.other_signal:
        typer.echo(f"{records.other_signal} rows of another signal than {signal} are left out", err=True)


def _equivalence(clusters: Clusters) -> Equivalence:
    if clusters == "exact":
        from proxy.records.exact import ExactEquivalence

        return ExactEquivalence()
    from proxy.equivalence.rules import RuleEquivalence

    return RuleEquivalence()


def _signal(name: Signal) -> ConfidenceSignal:
    if name == "token":
        from proxy.signals.token import TokenSignal

        return TokenSignal()
    from proxy.signals.semantic import SemanticSignal

    return SemanticSignal()


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)
