"""What `fit` and `evaluate` share: reading labelled answers with a progress bar, and what is said about rows left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from hedgerow.calibration.maps import KINDS
from hedgerow.proxy.cli.common import stop

if TYPE_CHECKING:
    Map = str
    from rich.progress import Progress

    from hedgerow.proxy.lab.measuring import Records
    from hedgerow.proxy.protocols import Clusterer, ConfidenceSignal
    from hedgerow.proxy.signals.combine import Weights

else:
    Map = Literal[tuple(KINDS)]  # typer derives the choices from it

Clusters = Literal["rules", "exact"]
Signal = Literal["semantic", "token", "combined"]

_SHOWN = 5
"""Bad rows named before the rest is counted."""


def load_records(path: Path, *, signal: Signal, clusters: Clusters, skip_bad: bool) -> Records:
    """The columns of a file of labelled answers; ends the command where there is nothing to work on."""
    records = _measure(path, _signal(signal), clusters)
    _say_what_is_missing(records, signal, skip_bad)
    if not records.alpha.size:
        stop(f"{path}: no row with an outcome and the signal {signal}")
    return records


def load_combined(path: Path, *, clusters: Clusters, skip_bad: bool, fit_on: float = 1.0) -> tuple[Records, Weights]:
    """The columns of the combined signal, its weights fitted on the first share `fit_on` of the rows."""
    from dataclasses import replace

    import numpy as np

    from hedgerow.calibration import Beta
    from hedgerow.proxy.signals.combine import COMBINED, OneOfSeveral, combine, fit_weights

    several = [_signal(name) for name in COMBINED]
    measured = {name: _measure(path, OneOfSeveral(name, several), clusters) for name in COMBINED}
    records = measured[COMBINED[0]]
    _say_what_is_missing(records, "combined", skip_bad)
    rows = [
        {name: Beta(float(of.alpha[i]), float(of.beta[i])) for name, of in measured.items()}
        for i in range(records.alpha.size)
    ]
    fitted = round(fit_on * len(rows))
    try:
        weights = fit_weights(rows[:fitted], [bool(y) for y in records.correct[:fitted]])
    except ValueError as error:
        stop(f"{path}: the signals cannot be combined: {error}")
    betas = [combine(row, weights) for row in rows]
    alpha, beta = np.array([b.alpha for b in betas]), np.array([b.beta for b in betas])
    return replace(records, alpha=alpha, beta=beta), weights


def _measure(path: Path, signal: ConfidenceSignal, clusters: Clusters) -> Records:
    import anyio

    from hedgerow.proxy.lab.datasets import read_rows
    from hedgerow.proxy.lab.measuring import measure

    total = _count_lines(path)
    with _progress() as progress:
        task = progress.add_task(f"Measuring {path.name}", total=total)

        async def run() -> Records:
            return await measure(
                read_rows(path),
                equivalence=_equivalence(clusters),
                signal=signal,
                on_row=lambda: progress.advance(task),
            )

        return anyio.run(run)


def _count_lines(path: Path) -> int:
    """Lines that are not blank; the place where a file that cannot be read is noticed."""
    from hedgerow.proxy.lab.datasets import UNREADABLE, read_rows

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


def _equivalence(clusters: Clusters) -> Clusterer:
    if clusters == "exact":
        from hedgerow.proxy.lab.measuring import ExactClusterer

        return ExactClusterer()
    from hedgerow.proxy.clustering.clusterer import RuleClusterer

    return RuleClusterer()


def _signal(name: str) -> ConfidenceSignal:
    if name == "token":
        from hedgerow.proxy.signals.token import TokenSignal

        return TokenSignal()
    from hedgerow.proxy.signals.semantic import SemanticSignal

    return SemanticSignal()


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)
