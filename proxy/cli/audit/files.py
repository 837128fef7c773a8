"""`hedgerow audit import` and `hedgerow audit export`: verdicts from files into the audit, and the audit's figures into files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from ...audit.labelled import EXPORTED, EXPORTED_CLAIMS, count_answers, export_claims, export_rows
from ...audit.verdicts import MAX_VERDICTS, Verdict, VerdictResult, write_verdicts
from ...errors import InputError
from ...lab.datasets import BadRow, read_objects
from ...lab.forms import WORDS
from ...types import Json
from ..shared.files import no_row, readable
from ..shared.messages import counted, one_sentence, say, show_faults, stop
from ..shared.options import CONFIG, ConfigPath
from ..shared.progress import advancing
from ..shared.store import open_audit
from ..shared.times import moment
from .tables import Form, ending_of, write_rows

T = TypeVar("T")

MAX_NOTE = 2000
"""Characters of a note, as `POST /v1/feedback` takes them."""


class _Refused(ValueError):
    """A line cannot be used; the message is the reason."""


def import_verdicts(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV with a header, JSONL or Parquet. Columns: id, correct; note; claim, for a verdict on one claim."
        ),
    ],
    source: Annotated[str, typer.Option(help="Who says so, one word.")] = "file",
    actor: Annotated[str | None, typer.Option(help="Who exactly, for the record.")] = None,
    config: ConfigPath = CONFIG,
) -> None:
    """Record verdicts from a file. Importing a file twice changes nothing. Bad lines are named, and the command exits with status 1."""
    result = _Imported()
    with readable(file):
        total = sum(1 for _ in read_objects(file))
    if not total:
        no_row(file, "verdicts, one a row: the columns are id and correct")
    with open_audit(config) as (_, engine), advancing(f"Importing {file.name}", total) as bar:
        verdicts = _verdicts(_each(read_objects(file), bar.advance), source, actor, result)
        while batch := list(islice(verdicts, MAX_VERDICTS)):
            result.take(batch, write_verdicts(engine, [verdict for _, verdict in batch]))
    show_faults(result.faults, shown=10)
    say(
        f"{counted(result.changed, 'verdict')} recorded, {result.unchanged:,} known already, {counted(len(result.faults), 'line')} at fault"
        + (f", {counted(result.open, 'row')} without a verdict" if result.open else "")
    )
    if result.faults:
        raise typer.Exit(1)


@dataclass(slots=True)
class _Imported:
    """Result of the lines of a file: new and repeated verdicts, rows without a verdict yet, and errors."""

    changed: int = 0
    unchanged: int = 0
    open: int = 0
    faults: list[str] = field(default_factory=list)

    def take(self, batch: Sequence[tuple[int, Verdict]], stored: Sequence[VerdictResult | None]) -> None:
        """Count verdicts, each with its line, by the store's result."""
        for (line, verdict), result in zip(batch, stored, strict=True):
            if result is None:
                what = "" if verdict.claim is None else f" with a claim {verdict.claim}"
                self.faults.append(f"line {line}: no audit row{what} has the id {verdict.name!r}")
            elif result.changed:
                self.changed += 1
            else:
                self.unchanged += 1


def _verdicts(
    rows: Iterable[tuple[int, Json | BadRow]], source: str, actor: str | None, result: _Imported
) -> Iterator[tuple[int, Verdict]]:
    """The verdicts of rows, each with its line; rows without one are counted or named in `result`."""
    for line, row in rows:
        if not isinstance(row, BadRow) and row.get("correct", row) in (None, ""):
            result.open += 1
            continue
        try:
            yield line, _verdict(row, source, actor)
        except _Refused as refused:
            result.faults.append(f"line {line}: {refused}")


def export(
    out: Annotated[Path, typer.Argument(help="The file to write; .gz compresses JSONL and CSV.")],
    form: Annotated[
        Form | None, typer.Option("--format", help="By default from the file's ending: .jsonl, .csv or .parquet.")
    ] = None,
    route: Annotated[str | None, typer.Option(help="Answers of this route only.")] = None,
    since: Annotated[str | None, typer.Option(help="Answers since: 14d, 36h, or a date.")] = None,
    text: Annotated[
        bool, typer.Option(help="Write questions and drafts, or claims, too, where they are stored.")
    ] = False,
    claims: Annotated[bool, typer.Option("--claims", help="Write a row for each claim of long answers.")] = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Write answers with a confidence, or claims of long ones, with their verdicts and scores, for `hedgerow fit` and `hedgerow evaluate`."""
    with one_sentence():
        form = form or ending_of(out)
    start = moment(since) if since else 0.0
    exported, read = (EXPORTED_CLAIMS, export_claims) if claims else (EXPORTED, export_rows)
    hidden = () if text else ("question", "draft", "text")
    columns = {name: kind for name, kind in exported.items() if name not in hidden}
    with open_audit(config) as (_, engine):
        total = None if claims else count_answers(engine, route=route, since=start)
        with advancing(f"Exporting to {out.name}", total) as bar:
            rows = _each(read(engine, route=route, since=start), bar.advance)
            written = _write(out, form, rows, columns)
    say(f"{written} {'claims' if claims else 'answers'} written to {out}")


def _each(rows: Iterable[T], done: Callable[[], None]) -> Iterator[T]:
    """The rows, counted as they are read."""
    for row in rows:
        done()
        yield row


def _write(out: Path, form: Form, rows: Iterator[Json], columns: Mapping[str, str]) -> int:
    try:
        return write_rows(out, form, rows, columns)
    except InputError as error:
        stop(str(error))
    except OSError as error:
        stop(f"{out}: cannot be written: {error.strerror or error}")


def _verdict(row: Json | BadRow, source: str, actor: str | None) -> Verdict:
    """The verdict in a row.

    Raises:
        _Refused: there is none in it.
    """
    if isinstance(row, BadRow):
        raise _Refused(row.reason)
    name, note = row.get("id"), row.get("note")
    if not (isinstance(name, str) and name):
        raise _Refused("'id' is missing")
    if note is not None and not (isinstance(note, str) and len(note) <= MAX_NOTE and "\0" not in note):
        raise _Refused(f"'note': expected a text of at most {MAX_NOTE:,} characters")
    correct, claim = _correct(row.get("correct")), _claim(row.get("claim"))
    return Verdict(name, correct, kind="import", source=source, actor=actor, note=note or None, claim=claim)


def _claim(value: Any) -> int | None:
    """The number of a verdict's claim; None for the whole answer."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise _Refused("'claim': expected the number of a claim, counted from 0, or nothing")


def _correct(value: Any) -> float:
    if isinstance(value, str):
        word = value.strip().lower()
        value = WORDS.get(word, _number(word))
    if isinstance(value, bool | int | float) and 0.0 <= value <= 1.0:
        return float(value)
    raise _Refused("'correct': expected true, false or a number from 0 to 1")


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
