"""Labelled answers in files: every row of a JSONL file (plain, .gz or .xz) or a Parquet export, parsed, or refused with its line and a reason."""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Self, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from hedgerow.calibration import Beta
from hedgerow.calibration.errors import CalibrationError
from hedgerow.proxy.types import Sample

UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)
"""What reading a file of lines may raise: it is not there, or what packs it is cut off or damaged."""
_EXPECTED = {
    "samples": "a list of answers, each a text or an object with 'text'",
    "cluster_ids": "a list of numbers or strings",
    "gold": "a text or a list of texts",
    "correct": "true, false, 1, 0 or null",
    "text": "a text",
}
"""What a field should hold; all others hold a finite number."""
_EXPECTED_ITEM = {"samples": "a text or an object with 'text'", "cluster_ids": "a number or a string", "gold": "a text"}
_FOUND = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used: line number from 1, and why, without the row's text."""

    line: int
    reason: str


def _label(value: object) -> object:
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else value


def _list(value: object) -> object:
    return [] if value is None else [value] if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else "")]
Texts = Annotated[tuple[StrictStr, ...], BeforeValidator(_list)]
KnownTexts = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: [v for v in value if isinstance(v, str)] if isinstance(value, list) else []),
]
Label = Annotated[StrictBool | None, BeforeValidator(_label)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _Answer(BaseModel):
    text: StrictStr
    logprob_mean: Number | None = None


def _sample(item: object) -> Sample:
    answer = _Answer.model_validate({"text": item} if isinstance(item, str) else item)
    return Sample(answer.text, logprob_mean=answer.logprob_mean)


class Measured(BaseModel):
    """A row whose confidence was measured already: an audit export, or another tool's output.

    Attributes:
        alpha, beta: the confidence before any map.
        correct: None where the outcome is not known yet.
        signal, model, question: as the row says; "" where it does not.
    """

    model_config = ConfigDict(frozen=True)

    alpha: Number
    beta: Number
    correct: Label
    signal: Text = ""
    model: Text = ""
    question: Text = ""

    @property
    def raw(self) -> Beta:
        """The confidence before any map."""
        return Beta(self.alpha, self.beta)


class Sampled(BaseModel):
    """A row with answers to one question.

    Attributes:
        samples: the answers; their texts are "" where only cluster ids are given.
        cluster_ids: which samples mean the same, where the row says so itself.
        gold, wrong: answers known to be right and wrong; they grade the draft where `correct` is None.
        correct: the label, where the row has one.
    """

    model_config = ConfigDict(frozen=True)

    question: Text = ""
    samples: Annotated[tuple[Annotated[Sample, BeforeValidator(_sample)], ...], Field(min_length=1)]
    cluster_ids: Annotated[tuple[StrictInt | StrictStr, ...], Field(min_length=1)] | None = None
    gold: Texts = ()
    wrong: KnownTexts = ()
    correct: Label = None
    model: Text = ""

    @model_validator(mode="after")
    def _ids_fit(self) -> Self:
        if self.cluster_ids is not None and len(self.cluster_ids) != len(self.samples):
            raise ValueError(f"{len(self.cluster_ids)} cluster_ids for {len(self.samples)} samples")
        return self


Row = Measured | Sampled


def open_lines(path: Path) -> IO[bytes]:
    """A file of lines, unpacked where its name ends in .gz or .xz.

    Raises:
        OSError: it cannot be read.
    """
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return cast(IO[bytes], lzma.open(path, "rb")) if path.suffix == ".xz" else path.open("rb")


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any] | BadRow]]:
    """Line number and JSON object, for every line that is not blank.

    Raises:
        OSError: where the file cannot be read.
    """
    with open_lines(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, _decoded(number, line)


def _decoded(number: int, line: bytes) -> dict[str, Any] | BadRow:
    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        return BadRow(number, f"not valid JSON: {error.msg} at character {error.pos + 1}")
    except UnicodeDecodeError:
        return BadRow(number, "not valid UTF-8")
    except RecursionError:
        return BadRow(number, "nested too deeply")
    return content if isinstance(content, dict) else BadRow(number, "not a JSON object")


def read_contents(path: Path) -> Iterator[tuple[int, dict[str, Any] | BadRow]]:
    """Line number (of a Parquet file: row number) and object, for every line that is not blank.

    Raises:
        OSError: where the file cannot be read.
    """
    return _read_parquet(path) if path.suffix == ".parquet" else read_objects(path)


def read_rows(path: Path) -> Iterator[tuple[int, Row | BadRow]]:
    """Line number (of a Parquet file: row number) and row, for every line that is not blank.

    Raises:
        OSError: where the file cannot be read.
    """
    for number, content in read_contents(path):
        if isinstance(content, BadRow):
            yield number, content
            continue
        try:
            yield number, parse_row(content)
        except ValueError as refused:
            yield number, BadRow(number, str(refused))


def _read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any] | BadRow]]:
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


def parse_row(content: Mapping[str, Any]) -> Row:
    """A row from its JSON object.

    Raises:
        ValueError: with the reason, where the row cannot be used.
    """
    content = _in_one_form(content)
    try:
        if "alpha" in content:
            row = Measured.model_validate(content)
            _ = row.raw  # a Beta that is not one is refused with its line
            return row
        return Sampled.model_validate(content)
    except ValidationError as error:
        raise ValueError(_in_words(error)) from None
    except CalibrationError as error:
        raise ValueError(str(error)) from error


def _in_one_form(content: Mapping[str, Any]) -> dict[str, Any]:
    """The row under the names of the models, whichever of the accepted forms it has.

    Raises:
        ValueError: it has none of them.
    """
    labels = [content[name] for name in ("correct", "label") if name in content]
    form = {**content, "correct": next((label for label in labels if label is not None), None)}
    measured = content.get("raw") if isinstance(content.get("raw"), dict) else None
    if measured is None and "raw_alpha" in content:
        measured = {"alpha": content["raw_alpha"], "beta": content.get("raw_beta")}
    if measured is not None or "alpha" in content or "raw" in content:
        if not labels:
            raise ValueError("expected 'correct' or 'label'")
        return {"alpha": None, "beta": None, **form, **(measured or {})}
    ids = content.get("cluster_ids")
    if content.get("samples") is None and isinstance(ids, list):
        if not labels:
            raise ValueError("expected 'correct' or 'label' beside 'cluster_ids' without 'samples'")
        form["samples"] = [""] * len(ids)
    elif "samples" not in content:
        names = ", ".join(repr(name) for name in content) or "nothing"
        raise ValueError(f"expected 'samples', or 'cluster_ids', or 'alpha' and 'beta'. Found: {names}")
    elif not labels and not content.get("gold"):
        raise ValueError("expected 'gold', 'correct' or 'label': nothing says which answer is right")
    return form


def _in_words(error: ValidationError) -> str:
    """The first fault: where, what is expected there, and what is found."""
    fault = error.errors(include_url=False)[0]
    if not fault["loc"]:
        return str(fault["msg"]).removeprefix("Value error, ")
    field, *inner = (part for part in fault["loc"] if part not in ("str", "int"))  # a choice of types is not a place
    place = "".join(f", item {part + 1}" if isinstance(part, int) else f", '{part}'" for part in inner)
    if fault["type"] == "missing":
        return f"{place.rpartition(', ')[2]} is missing from '{field}'{place.rpartition(', ')[0]}"
    if len(inner) == 1:
        expected = _EXPECTED_ITEM[str(field)]
    else:
        expected = _EXPECTED.get(str(inner[-1] if inner else field), "a finite number")
    value = "an empty list" if fault["input"] in ([], ()) else _FOUND.get(type(fault["input"]), "something else")
    return f"'{field}'{place}: expected {expected}, found {value}"
