"""Write rows to a file for other tools: JSON lines, CSV, Parquet."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Literal, cast, get_args

from ...audit.formats import form_of
from ...errors import InputError
from ...types import Json

Form = Literal["jsonl", "csv", "parquet"]
_AT_A_TIME = 20_000
"""Rows in memory, and in a row group of Parquet."""


def ending_of(out: Path) -> Form:
    """The format by a file's ending, with or without `.gz`; JSON lines without an ending.

    Raises:
        InputError: the format is unknown.
    """
    asked = (out.with_suffix("") if out.suffix == ".gz" else out).suffix.removeprefix(".").lower()
    if asked and asked not in get_args(Form):
        raise InputError(f"{out}: .{asked} names no form that is written; .jsonl, .csv and .parquet do")
    return cast(Form, asked or "jsonl")


def write_rows(out: Path, form: Form, rows: Iterator[Json], columns: Mapping[str, str]) -> int:
    """Write these columns of rows, whose kinds `form_of` names; returns the number of rows. A name that ends in .gz compresses the file.

    Raises:
        InputError: the form cannot be written here.
        OSError: the file cannot be written.
    """
    made, written = form_of(form, columns), 0
    with _open(out) as file:
        while batch := list(islice(rows, _AT_A_TIME)):
            file.write(made.batch(batch))
            written += len(batch)
        file.write(made.end())
    return written


def _open(out: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(out, "wb")) if out.suffix == ".gz" else out.open("wb")
