"""Read labelled data: JSON lines or lists, CSV, Parquet, data frames of pandas and polars, logs of evaluations.

JSON and CSV may be compressed (.gz or .xz). Each row becomes an object with its line number, or a `BadRow` with the
line and a reason.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import lzma
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import IO, Annotated, Any, Protocol, TypeVar, cast, runtime_checkable

from pydantic import BeforeValidator, StrictBool

from ..types import Json
from .forms import label_of
from .logs import rows_of_logs

Parsed = TypeVar("Parsed")
UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)
"""Exceptions of reading a file: it does not exist, or its compression is damaged."""
_DELIMITERS = ",;\t"
"""Possible delimiters of a CSV; the most frequent in its header is used."""
_CELL_LIMIT = 10_000_000
"""Longest CSV cell in characters; the library's default is 131,072."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used: line number from 1, and the reason, without the row's text."""

    line: int
    reason: str


Text = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]
Label = Annotated[StrictBool | None, BeforeValidator(label_of)]
Read = Iterator[tuple[int, Json | BadRow]]


@runtime_checkable
class PandasFrame(Protocol):
    """A data frame of pandas."""

    def to_dict(self, orient: str) -> Any:
        """The rows, with "records"."""


@runtime_checkable
class PolarsFrame(Protocol):
    """A data frame of polars."""

    def to_dicts(self) -> Any:
        """The rows."""


Source = Path | PandasFrame | PolarsFrame | Iterable[Mapping[str, Any]]
"""A file, a frame, or rows."""


def read_objects(source: Source) -> Read:
    """Line number (or row number, from 1) and object of every row; several log lines about one question become one row.

    Cells of a CSV are strings; `hedgerow.proxy.lab.forms` converts them.

    Raises:
        OSError: a file cannot be read; or another of `UNREADABLE`.
    """
    return rows_of_logs(_read(source))


def parse_each(
    contents: Iterable[tuple[int, Json | BadRow]], parse: Callable[[Mapping[str, Any]], Parsed]
) -> Iterator[tuple[int, Parsed | BadRow]]:
    """Number and parsed row of each object; if `parse` raises a `ValueError`, a bad row with its message."""
    for number, content in contents:
        if isinstance(content, BadRow):
            yield number, content
            continue
        try:
            yield number, parse(content)
        except ValueError as refused:
            yield number, BadRow(number, str(refused))


def _read(source: Source) -> Read:
    if not isinstance(source, Path):
        return _given(source)
    suffixes = [suffix.lower() for suffix in source.suffixes[-2:]]
    if ".parquet" in suffixes:
        return _read_parquet(source)
    if ".csv" in suffixes or ".tsv" in suffixes:
        return _read_csv(source, "\t" if ".tsv" in suffixes else _DELIMITERS)
    return _read_list(source) if ".json" in suffixes else _read_lines(source)


def open_lines(path: Path) -> IO[bytes]:
    """Open a file of lines, decompressed if its name ends in .gz or .xz.

    Raises:
        OSError: it cannot be read, or is UTF-16.
    """
    file = cast(BufferedReader, _open(path))
    if file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        file.close()
        raise OSError("it is saved as UTF-16; save it as UTF-8")
    return file


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return cast(IO[bytes], lzma.open(path, "rb")) if path.suffix == ".xz" else path.open("rb")


def _read_lines(path: Path) -> Read:
    with open_lines(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, _decoded(number, line)


def _decoded(number: int, line: bytes) -> Json | BadRow:
    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        return BadRow(number, f"not valid JSON: {error.msg} at character {error.pos + 1}")
    except UnicodeDecodeError:
        return BadRow(number, "not valid UTF-8")
    except RecursionError:
        return BadRow(number, "nested too deeply")
    return content if isinstance(content, dict) else BadRow(number, "not a JSON object")


def _read_list(path: Path) -> Read:
    """Read one JSON list of objects; a `.json` file that is not a list is read line by line."""
    with open_lines(path) as file:
        content = file.read()
    try:
        rows = json.loads(content)
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list):
        yield from _read_lines(path)
        return
    for number, row in enumerate(rows, start=1):
        yield number, row if isinstance(row, dict) else BadRow(number, "not a JSON object")


def _read_csv(path: Path, delimiters: str) -> Read:
    csv.field_size_limit(_CELL_LIMIT)
    with open_lines(path) as lines:
        header = lines.readline().decode("utf-8-sig", "replace")
        texts = chain([header], (line.decode("utf-8", "replace") for line in lines))
        reader = csv.DictReader(texts, delimiter=max(delimiters, key=header.count))
        try:
            for row in reader:
                more = row.pop(None, None)  # the key of cells beyond the header
                yield reader.line_num, BadRow(reader.line_num, "more cells than the header names") if more else row
        except csv.Error as error:
            yield reader.line_num, BadRow(reader.line_num, f"not valid CSV: {error}")


def _read_parquet(path: Path) -> Read:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise OSError("Parquet needs the extra `parquet`: pip install 'hedgerow[parquet]'") from error
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                for content in batch.to_pylist():
                    number += 1
                    yield number, content
    except pa.ArrowException as error:
        raise OSError(f"not a Parquet file ({str(error).splitlines()[0]})") from error


def _given(source: PandasFrame | PolarsFrame | Iterable[Mapping[str, Any]]) -> Read:
    if isinstance(source, PolarsFrame):
        rows = source.to_dicts()
    else:
        rows = source.to_dict("records") if isinstance(source, PandasFrame) else source
    for number, row in enumerate(rows, start=1):
        yield number, {str(name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    """Convert NumPy arrays and numbers to Python values, and the missing values of pandas to None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return None if isinstance(value, float) and math.isnan(value) else value
