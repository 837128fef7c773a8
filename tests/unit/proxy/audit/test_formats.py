"""Rows as files, read back with what reads such files."""

from __future__ import annotations

import csv
import io
import json

import pytest

from hedgerow.proxy.audit.formats import MOMENT, form_of, forms
from hedgerow.proxy.errors import InputError
from tests.support.tables import cases

COLUMNS = {"id": "text", "confidence": "float", "tokens": "int", "question": "text"}
ROWS = [
    {"id": "a", "confidence": 0.25, "tokens": 7, "question": 'Says "so,\nhe"?', "more": 1},
    {"id": "b", "confidence": None, "tokens": -1, "question": "=HYPERLINK(1)", "more": 1},
    {"id": "c", "confidence": 1.0, "tokens": None, "question": "é", "more": 1},
]


def written(name: str) -> bytes:
    form = form_of(name, COLUMNS)
    return form.batch(ROWS[:2]) + form.batch(ROWS[2:]) + form.batch([]) + form.end()


def test_jsonl_says_what_the_rows_say() -> None:
    """One object a line, the named columns."""
    lines = [json.loads(line) for line in written("jsonl").splitlines()]
    assert lines == [{name: row[name] for name in COLUMNS} for row in ROWS]


def test_csv_runs_nothing_in_a_spreadsheet() -> None:
    """The names come once; a text that begins like a formula has an apostrophe before it, a negative number has none."""
    lines = list(csv.DictReader(io.StringIO(written("csv").decode(), newline="")))
    assert [line["id"] for line in lines] == ["a", "b", "c"]
    assert [line["question"] for line in lines] == ['Says "so,\nhe"?', "'=HYPERLINK(1)", "é"]
    assert [line["tokens"] for line in lines] == ["7", "-1", ""]
    empty = form_of("csv", COLUMNS)
    assert (empty.end()).decode().strip() == "id,confidence,tokens,question"


@cases("before", ["", "\n", "\r\n", "\t", " ", "\xa0", "\u200b", "\ufeff", "\x00", "\u2028", "\n \n"])
@cases("sign", "=+-@＝＋－＠﹦﹢﹣﹫−")
def test_no_form_of_a_formula_is_run(before: str, sign: str) -> None:
    """In any width, and behind what a spreadsheet does not see."""
    text = f"{before}{sign}cmd|' /C calc'!A0"
    form = form_of("csv", {"question": "text"})
    (line,) = csv.DictReader(io.StringIO(form.batch([{"question": text}]).decode(), newline=""))
    assert line["question"] == f"'{text}"


@cases("text", ["a=b", "1 + 1", "Who?\n- me", "", "'", "“=”", "e-mail@example.org"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    """Signs in the middle run nothing."""
    form = form_of("csv", {"question": "text"})
    (line,) = csv.DictReader(io.StringIO((form.batch([{"question": text}]) + form.end()).decode(), newline=""))
    assert line["question"] == text


def test_parquet_is_read_by_its_library() -> None:
    """Written in pieces, whole at the end; kinds as declared also where a column is empty."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(written("parquet")))
    assert table.to_pylist() == [{name: row[name] for name in COLUMNS} for row in ROWS]
    nothing = form_of("parquet", COLUMNS)
    assert str(parquet.read_table(io.BytesIO(nothing.end())).schema.field("confidence").type) == "double"


def test_moments_are_times_in_tables_and_seconds_in_lines() -> None:
    """UTC, empty where there is none."""
    parquet = pytest.importorskip("pyarrow.parquet")
    columns, rows = {"id": "text", "told_at": MOMENT}, [{"id": "a", "told_at": 1.5}, {"id": "b", "told_at": None}]
    made = {name: form_of(name, columns) for name in ("jsonl", "csv", "parquet")}
    files = {name: form.batch(rows) + form.end() for name, form in made.items()}
    assert [json.loads(line)["told_at"] for line in files["jsonl"].splitlines()] == [1.5, None]
    times = [line["told_at"] for line in csv.DictReader(io.StringIO(files["csv"].decode(), newline=""))]
    assert times == ["1970-01-01T00:00:01.500000+00:00", ""]
    column = parquet.read_table(io.BytesIO(files["parquet"])).column("told_at")
    assert str(column.type) == "timestamp[us, tz=UTC]"
    assert [time and time.timestamp() for time in column.to_pylist()] == [1.5, None]


def test_a_format_that_is_not_there_is_named() -> None:
    """With those that are."""
    with pytest.raises(InputError, match="csv, jsonl"):
        form_of("xlsx", COLUMNS)
    assert {"csv", "jsonl"} <= set(forms())
