"""`hedgerow audit import` and `hedgerow audit export`: verdicts from files into the audit, and the audit's figures into files."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import orjson
import typer

from hedgerow.proxy.audit.labelled import EXPORTED, EXPORTED_CLAIMS, count_answers, export_claims, export_rows
from hedgerow.proxy.audit.spoken import export_wordings
from hedgerow.proxy.audit.verdicts import MAX_VERDICTS, Verdict, write_verdicts
from hedgerow.proxy.cli.common import CONFIG, ConfigPath, moment, progress_bar, show_faults, stop, unreadable
from hedgerow.proxy.cli.store import open_audit

_RIGHT = {"1": 1.0, "true": 1.0, "yes": 1.0, "right": 1.0, "correct": 1.0}
_WRONG = {"0": 0.0, "false": 0.0, "no": 0.0, "wrong": 0.0, "incorrect": 0.0}
_ROWS_PER_GROUP = 20_000


class _Refused(ValueError):
    """Why a line cannot be used."""


def import_verdicts(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV with a header, or JSONL; plain or .gz. Columns: id, correct; note; claim, for a verdict on one claim."
        ),
    ],
    source: Annotated[str, typer.Option(help="Who says so, one word.")] = "file",
    actor: Annotated[str | None, typer.Option(help="Who exactly, for the record.")] = None,
    config: ConfigPath = CONFIG,
) -> None:
    """Record verdicts from a file. Importing a file twice changes nothing; lines at fault are named, and end the command with 1."""
    changed = unchanged = 0
    faults: list[str] = []
    with open_audit(config) as (_, engine), progress_bar() as progress:
        task = progress.add_task(f"Importing {file.name}", total=_count(file))
        waiting: list[tuple[int, Verdict]] = []

        def hand_in() -> None:
            nonlocal changed, unchanged
            for (line, verdict), result in zip(
                waiting, write_verdicts(engine, [verdict for _, verdict in waiting]), strict=True
            ):
                if result is None:
                    what = "" if verdict.claim is None else f" with a claim {verdict.claim}"
                    faults.append(f"line {line}: no audit row{what} has the id {verdict.name!r}")
                elif result.changed:
                    changed += 1
                else:
                    unchanged += 1
            waiting.clear()

        for line, row in _rows(file):
            progress.advance(task)
            try:
                waiting.append((line, _verdict(row, source, actor)))
            except _Refused as refused:
                faults.append(f"line {line}: {refused}")
            if len(waiting) == MAX_VERDICTS:
                hand_in()
        hand_in()
    show_faults(faults, shown=10)
    typer.echo(f"{changed} verdicts recorded, {unchanged} known already, {len(faults)} lines at fault")
    if faults:
        raise typer.Exit(1)


def export(
    out: Annotated[Path, typer.Argument(help="The file to write; .gz compresses JSONL.")],
    form: Annotated[
        Literal["jsonl", "parquet"] | None, typer.Option("--format", help="By default from the file's ending.")
    ] = None,
    route: Annotated[str | None, typer.Option(help="Answers of this route only.")] = None,
    since: Annotated[str | None, typer.Option(help="Answers given since: 14d, 36h, or a date.")] = None,
    text: Annotated[
        bool, typer.Option(help="Write questions and drafts, or claims, too, where they are stored.")
    ] = False,
    claims: Annotated[bool, typer.Option("--claims", help="Write a row for each claim of long answers.")] = False,
    wordings: Annotated[
        bool,
        typer.Option(
            "--wordings",
            help="Write stored texts only: each answer in the model's own words and as it was served, with the other answers drawn.",
        ),
    ] = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Write answers with a confidence, or the claims of long ones, their verdicts and scores; `hedgerow fit` and `hedgerow evaluate` read
    the file back. With --wordings the file is one for `hedgerow faithfulness --data`.
    """
    if wordings:
        _export_wordings(out, route, since, config)
        return
    form = form or ("parquet" if out.suffix == ".parquet" else "jsonl")
    start = moment(since) if since else 0.0
    exported, read = (EXPORTED_CLAIMS, export_claims) if claims else (EXPORTED, export_rows)
    hidden = () if text else ("question", "draft", "text")
    columns = {name: kind for name, kind in exported.items() if name not in hidden}
    written = 0
    with open_audit(config) as (_, engine), progress_bar() as progress:
        total = None if claims else count_answers(engine, route=route, since=start)
        task = progress.add_task(f"Exporting to {out.name}", total=total)

        def rows() -> Iterator[dict[str, Any]]:
            nonlocal written
            for row in read(engine, route=route, since=start):
                written += 1
                progress.advance(task)
                yield {name: row[name] for name in columns}

        try:
            _write_parquet(out, rows(), columns) if form == "parquet" else _write_jsonl(out, rows())
        except OSError as error:
            stop(f"{out}: cannot be written: {error.strerror or error}")
    typer.echo(f"{written} {'claims' if claims else 'answers'} written to {out}")


def _export_wordings(out: Path, route: str | None, since: str | None, config: Path) -> None:
    if out.suffix == ".parquet":
        stop("--wordings writes JSONL, plain or .gz")
    written = 0
    with open_audit(config) as (_, engine):

        def rows() -> Iterator[dict[str, Any]]:
            nonlocal written
            for row in export_wordings(engine, route=route, since=moment(since) if since else 0.0):
                written += 1
                yield row

        try:
            _write_jsonl(out, rows())
        except OSError as error:
            stop(f"{out}: cannot be written: {error.strerror or error}")
    typer.echo(f"{written} wordings written to {out}")


def _verdict(row: Any, source: str, actor: str | None) -> Verdict:
    """The verdict in a row.

    Raises:
        _Refused: there is none in it.
    """
    if not isinstance(row, dict):
        raise _Refused("not a JSON object" if row is not None else "not valid JSON")
    name, note = row.get("id"), row.get("note")
    if not (isinstance(name, str) and name):
        raise _Refused("'id' is missing")
    correct, claim = _correct(row.get("correct")), _claim(row.get("claim"))
    return Verdict(name, correct, kind="import", source=source, actor=actor, note=note or None, claim=claim)


def _claim(value: Any) -> int | None:
    """The number of the claim that a verdict is on; None for the whole answer."""
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
        value = _RIGHT.get(word, _WRONG.get(word))
        value = _number(word) if value is None else value
    if isinstance(value, bool | int | float) and 0.0 <= value <= 1.0:
        return float(value)
    raise _Refused("'correct': expected true, false or a number from 0 to 1")


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _rows(file: Path) -> Iterator[tuple[int, Any]]:
    """Line number and row of every line that is not blank; None for a line that is not JSON."""
    with _open(file) as lines:
        if _is_csv(file):
            reader = csv.DictReader(lines)
            for row in reader:
                yield reader.line_num, row
            return
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except ValueError:
                    yield number, None


def _is_csv(file: Path) -> bool:
    return ".csv" in file.suffixes


def _count(file: Path) -> int:
    """Lines of a file; the place where one that cannot be read is noticed."""
    try:
        with _open(file) as lines:
            return sum(1 for line in lines if line.strip()) - _is_csv(file)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        unreadable(file, error)


def _open(file: Path) -> IO[str]:
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8", newline="")
    return file.open(encoding="utf-8", newline="")


def _write_jsonl(out: Path, rows: Iterator[dict[str, Any]]) -> None:
    with gzip.open(out, "wb") if out.suffix == ".gz" else out.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row) + b"\n")


def _write_parquet(out: Path, rows: Iterator[dict[str, Any]], columns: Mapping[str, str]) -> None:
    """Row group by row group. The columns' kinds are those of the audit's tables, so that an empty column keeps its own."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        stop("Parquet needs the extra `parquet`: pip install 'hedgerow[parquet]'")

    kinds = {"text": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        while group := list(islice(rows, _ROWS_PER_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
