"""What `fit` and `evaluate` share: reading labelled answers with a progress bar, and reporting the rows left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from ...lab.datasets import read_objects
from ...lab.measuring import Records, combined, measure_file
from ...lab.rows import WORTH
from ...signals.combine import COMBINED, Weights
from .files import no_row, readable, report_bad
from .messages import counted, say, stop
from .progress import advancing

Clusters = Literal["rules", "exact"]
Signal = Literal["semantic", "token", "consistency", "combined"]
HowGrouped = Annotated[
    Clusters,
    typer.Option(
        "--clusters", metavar="HOW", help="How answers are grouped: rules (the proxy's) or exact (equal text)."
    ),
]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A file of labelled answers, and how their confidence is measured.

    Attributes:
        data: the file.
        signal: what measures the confidence.
    """

    data: Path
    signal: Signal


@dataclass(frozen=True, slots=True)
class Audited:
    """The verdicts of a route, in place of a file.

    Attributes:
        route: its name.
        since: answers given since, as on the command line; None: all.
    """

    route: str
    since: str | None


def load_records(
    path: Path,
    *,
    signal: Signal,
    skip_bad: bool,
    clusters: Clusters = "rules",
    fit_on: float = 1.0,
    drawn_only: bool = False,
) -> tuple[Records, Weights | None]:
    """The columns of a file of labelled answers, and the weights of a combined signal, fitted on the first share `fit_on` of the rows.
    `drawn_only`: without what the review queue picked for its confidence.

    Ends the command where there is nothing to work on.
    """
    wanted = COMBINED if signal == "combined" else (signal,)
    measured = measured_in(path, wanted, clusters)
    measured = without_picked(measured) if drawn_only else measured
    records = next(iter(measured.values()))
    report_records(records, path, signal, skip_bad)
    if signal != "combined":
        return records, None
    try:
        return combined(measured, fit_on)
    except ValueError as error:
        stop(f"{path}: the signals cannot be combined: {error}")


def measured_in(path: Path, signals: Sequence[str], clusters: Clusters) -> dict[str, Records]:
    """The columns of each of these signals, measured with a progress bar."""
    with readable(path), advancing(f"Measuring {path.name}", sum(1 for _ in read_objects(path))) as bar:
        return measure_file(path, signals, clusters, bar.advance)


def without_picked(measured: Mapping[str, Records]) -> dict[str, Records]:
    """The columns without what the review queue picked for its confidence, and a line that says how many that were."""
    if picked := int(next(iter(measured.values())).picked.sum()):
        say(f"left out: {counted(picked, 'row')} that the review queue picked for confidence", err=True)
    return {name: records.drawn() for name, records in measured.items()}


def report_records(records: Records, path: Path, signal: str, skip_bad: bool) -> None:
    """Say what is left out and by what answers were graded; end the command where nothing is left to work on."""
    others = bool(records.correct.size or records.unsettled or records.other_signal)
    report_bad(path, records.bad, skip_bad, others=others)
    if records.unsettled:
        say(f"left out: {counted(records.unsettled, 'row')} without a label", err=True)
    if records.other_signal:
        say(f"left out: {counted(records.other_signal, 'row')} of another signal than {signal}", err=True)
    if not others and not records.bad:
        no_row(path, "labelled answers, one a row (docs/calibration.md says what a row may hold)")
    if not records.correct.size:
        stop(
            f"{path}: no row says whether an answer was right beside its confidence or answers; `hedgerow grade` labels answers, and "
            "docs/calibration.md says what a row may hold"
        )
    if records.most_samples == 1 and signal == "semantic":
        stop(
            f"{path}: each question has one answer. Confidence is how far several answers agree: draw several a question, or give a "
            "'confidence' in each row"
        )
    if records.stated:
        what = "confidence is a single number" if records.stated == 1 else "confidences are single numbers"
        say(f"{records.stated} {what}, taken as worth {WORTH:g} answers each", err=True)
    if by := [name for name in records.graded_by if name != "gold"]:
        say(f"answers are graded by {', '.join(map(repr, by))}, taken as the right answers", err=True)
