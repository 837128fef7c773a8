"""Write rows as files, batch by batch: CSV, JSON Lines, Parquet. Times are seconds since 1970 in JSON Lines, and UTC times in the others."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any, Protocol

import orjson

from ..errors import InputError

Row = Mapping[str, Any]
MOMENT = "moment"
"""The kind of a column of seconds since 1970."""
_FORMULA = frozenset("=+-@\u2212")
_UNSEEN = re.compile(r"[\s\x00-\x1f\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*")
"""What a spreadsheet may leave out before it looks whether a cell is a formula."""


class Form(Protocol):
    """One file being written.

    Attributes:
        content_type: of the whole file.
    """

    content_type: str

    def batch(self, rows: Sequence[Row]) -> bytes:
        """The bytes of further rows."""

    def end(self) -> bytes:
        """The last bytes."""


class Jsonl:
    """One JSON object a line."""

    content_type = "application/jsonl"

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = columns

    def batch(self, rows: Sequence[Row]) -> bytes:
        """See `Form`."""
        return b"".join(orjson.dumps({name: row[name] for name in self._columns}) + b"\n" for row in rows)

    def end(self) -> bytes:
        """See `Form`."""
        return b""


class Csv:
    """A line of names, then one line a row; nulls are empty.

    An apostrophe is put before a text that a spreadsheet would take for a formula, so that user texts are never executed there.
    """

    content_type = "text/csv; charset=utf-8"

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns, self._moments = columns, _moments(columns)
        self._named = False

    def batch(self, rows: Sequence[Row]) -> bytes:
        """See `Form`."""
        lines = io.StringIO()
        writer = csv.writer(lines)
        if not self._named:
            writer.writerow(self._columns)
            self._named = True
        for row in _with_times(rows, self._moments):
            writer.writerow([_written(row[name]) for name in self._columns])
        return lines.getvalue().encode("utf-8")

    def end(self) -> bytes:
        """See `Form`."""
        return b"" if self._named else self.batch(())


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return f"'{value}" if isinstance(value, str) and _is_formula(value) else value


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet could take a text for a formula, in whatever form or width of its first sign, or for the end of its cell."""
    seen = _UNSEEN.sub("", text, count=1)
    return text[:1] in ("\t", "\r", "\n") or unicodedata.normalize("NFKC", seen[:1]) in _FORMULA


def _moments(columns: Mapping[str, str]) -> list[str]:
    return [name for name, kind in columns.items() if kind == MOMENT]


def _with_times(rows: Sequence[Row], moments: Sequence[str]) -> list[dict[str, Any]]:
    """The rows with UTC times in place of seconds since 1970."""
    return [{**row, **{name: _time(row[name]) for name in moments}} for row in rows]


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


class _Sink(io.RawIOBase):
    """A file object whose written bytes are fetched piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        """True, as PyArrow requires."""
        return True

    def write(self, data: Any) -> int:
        """Keep the bytes until they are fetched."""
        self._pieces.append(bytes(data))
        self._written += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        """The number of bytes written."""
        return self._written

    def taken(self) -> bytes:
        """The bytes written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


class Parquet:
    """One row group a batch; an empty column keeps its type."""

    content_type = "application/vnd.apache.parquet"

    def __init__(self, columns: Mapping[str, str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = {"text": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
        kinds[MOMENT] = pa.timestamp("us", tz="UTC")
        self._moments = _moments(columns)
        self._schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
        self._table = pa.Table
        self._sink = _Sink()
        self._writer = pq.ParquetWriter(self._sink, self._schema, compression="zstd")

    def batch(self, rows: Sequence[Row]) -> bytes:
        """See `Form`."""
        if rows:
            self._writer.write_table(self._table.from_pylist(_with_times(rows, self._moments), schema=self._schema))
        return self._sink.taken()

    def end(self) -> bytes:
        """See `Form`."""
        self._writer.close()
        return self._sink.taken()


_FORMS: dict[str, type[Jsonl | Csv | Parquet]] = {"csv": Csv, "jsonl": Jsonl, "parquet": Parquet}


def forms() -> list[str]:
    """The available formats; Parquet needs the extra `parquet`."""
    return [name for name in _FORMS if name != "parquet" or find_spec("pyarrow") is not None]


def form_of(name: str, columns: Mapping[str, str]) -> Form:
    """A file with these columns, whose kinds are "text", "float", "int", "bool" or `MOMENT`.

    Raises:
        InputError: the format is unknown or not available.
    """
    if name not in forms():
        wanted = "needs the extra `parquet`: pip install 'hedgerow[parquet]'" if name in _FORMS else "is not a format"
        raise InputError(f"{name!r} {wanted}; there is {', '.join(forms())}")
    return _FORMS[name](columns)


# Parse dates and time spans as users write them.

_SPAN = re.compile(r"(\d+(?:\.\d+)?)([mhdw])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def seconds_of(text: str) -> float | None:
    """Seconds of a span such as "14d" or "36h"; None for anything else."""
    span = _SPAN.fullmatch(text)
    return None if span is None else float(span[1]) * _SECONDS[span[2]]


def date_of(text: str) -> float | None:
    """Seconds since 1970 of a date like 2026-11-01 (UTC); None for anything else."""
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
