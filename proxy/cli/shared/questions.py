"""What `regimes` and `fit --map local` share: labelled answers with their questions, from a file or a route's audit, embedded with a progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...audit.labelled import export_rows
from ...clustering.embeddings import OnnxEncoder
from ...lab.datasets import BadRow, read_objects
from ...lab.forms import in_one_form
from ...lab.measuring import Records
from ...lab.regime_data import Questions, RegimeRow, RegimeRows, questions_of, read_regime_rows
from .files import readable, report_bad
from .messages import counted, one_sentence, say, stop
from .settings import named_route
from .store import open_audit
from .times import moment

if TYPE_CHECKING:
    from rich.progress import Progress


def labelled_rows(data: Path | None, route: str | None, since: str | None, config: Path) -> tuple[str, RegimeRows]:
    """The rows of a file, or of a route's audit, and what they are called."""
    if data is not None and route is None:
        with readable(data):
            return data.name, read_regime_rows(read_objects(data))
    if data is not None or route is None:
        stop("--data names a file of labelled answers, --route a route whose audit is read: give one of them")
    with one_sentence():
        return route, read_regime_rows(_audited(config, route, moment(since) if since else 0.0))


def samples_in(data: Path) -> bool:
    """Whether the rows of a file are sampled answers, whose confidence is still to be measured."""
    with readable(data):
        first = next((content for _, content in read_objects(data) if not isinstance(content, BadRow)), {})
    return in_one_form(first).get("samples") is not None


def rows_of_records(records: Records) -> RegimeRows:
    """Measured answers whose rows name a question."""
    columns = zip(
        records.questions, records.alpha.tolist(), records.beta.tolist(), records.correct.tolist(), strict=True
    )
    rows = [RegimeRow(q.strip(), a / (a + b), a + b, y == 1.0, "", None) for q, a, b, y in columns if q.strip()]
    return RegimeRows(tuple(rows), (), 0)


def _audited(config: Path, name: str, since: float) -> Iterator[tuple[int, dict[str, Any] | BadRow]]:
    """The answers of a route's own signal whose question was kept."""
    with open_audit(config) as (settings, engine):
        route = named_route(settings, name)
        without = 0
        for line, row in enumerate(export_rows(engine, route=name, since=since), start=1):
            if row["signal"] != route.signal or row["correct"] not in (0.0, 1.0):
                continue
            if row["question"]:
                yield line, row
            else:
                without += 1
    if without:
        say(f"{without} answers are left out: the audit keeps no question of them (`audit.store_text`)", err=True)


def report_left_out(where: Path | str, rows: RegimeRows, skip_bad: bool) -> None:
    """Name rows that cannot be used, and end the command unless they may be skipped."""
    report_bad(where, rows.bad, skip_bad)
    if rows.unsettled:
        say(f"left out: {counted(rows.unsettled, 'row')} without a label", err=True)


def embedded(rows: RegimeRows, progress: Progress) -> Questions:
    """The rows as columns, each different question embedded once.

    Raises:
        InputError: they cannot be used.
    """
    texts = len({row.text for row in rows.rows if row.embedding is None})
    task = progress.add_task("Reading questions", total=texts or None)
    return questions_of(rows.rows, OnnxEncoder(step="calibrate"), lambda count: progress.advance(task, count))
