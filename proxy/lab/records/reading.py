"""Rows of a JSONL file (plain, .gz or .xz) or of a Parquet export, each either parsed or refused with its line number and a reason."""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import IO, Any, cast

from hedgerow.calibration import Beta
from hedgerow.calibration.errors import CalibrationError
from hedgerow.proxy.types import Sample

UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)
"""What reading a file of lines may raise: it is not there, or what packs it is cut off or damaged."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used: line number from 1, and why, without the row's text."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A row whose confidence was measured already: an audit export, or another tool's output.

    Attributes:
        raw: the confidence before any map.
        correct: None where the outcome is not known yet.
        signal, model: as the row says; "" where it does not.
    """

    raw: Beta
    correct: bool | None
    signal: str
    model: str


@dataclass(frozen=True, slots=True)
class Sampled:
    """A row with answers to one question.

    Attributes:
        samples: the answers; their texts are "" where only cluster ids are given.
        cluster_ids: which samples mean the same, where the row says so itself.
        gold: right answers; the draft counts as right where it contains one. Used where `correct` is None.
        correct: the label, where the row has one.
    """

    question: str
    samples: tuple[Sample, ...]
    cluster_ids: tuple[Any, ...] | None
    gold: tuple[str, ...]
    correct: bool | None
    model: str


Row = Measured | Sampled


class _Refused(ValueError):
    """Why a row cannot be used."""


def open_lines(path: Path) -> IO[bytes]:
    """A file of lines, unpacked where its name ends in .gz or .xz.

    Raises:
        OSError: it cannot be read.
    """
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return cast(IO[bytes], lzma.open(path, "rb")) if path.suffix == ".xz" else path.open("rb")


def read_rows(path: Path) -> Iterator[tuple[int, Row | BadRow]]:
    """Line number (of a Parquet file: row number) and row, for every line that is not blank.

    Raises:
        OSError: where the file cannot be read.
    """
    if path.suffix == ".parquet":
        yield from _read_parquet(path)
        return
    with open_lines(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, _parse_line(number, line)


def _read_parquet(path: Path) -> Iterator[tuple[int, Row | BadRow]]:
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
                    yield number, _parsed(number, content)
    except pa.ArrowException as error:
        raise OSError(f"is no Parquet file ({str(error).splitlines()[0]})") from error


def _parse_line(number: int, line: bytes) -> Row | BadRow:
    try:
        content = json.loads(line)
    except ValueError:  # no UTF-8, or no JSON
        return BadRow(number, "no JSON")
    return _parsed(number, content)


def _parsed(number: int, content: object) -> Row | BadRow:
    try:
        return parse_row(content)
    except _Refused as refused:
        return BadRow(number, str(refused))
    except RecursionError:
        return BadRow(number, "nested too deeply")


def parse_row(content: object) -> Row:
    """One decoded row.

    Raises:
        ValueError: with the reason, where the row cannot be used.
    """
    if not isinstance(content, dict):
        raise _Refused("no JSON object")
    if "alpha" in content or "raw" in content or "raw_alpha" in content:
        return _measured(content)
    if "samples" in content or "cluster_ids" in content:
        return _sampled(content)
    raise _Refused("neither alpha and beta nor samples")


def _measured(content: Mapping[str, Any]) -> Measured:
    alpha, beta = content.get("alpha"), content.get("beta")
    if isinstance(content.get("raw"), dict):
        alpha, beta = content["raw"].get("alpha"), content["raw"].get("beta")
    elif "raw_alpha" in content:
        alpha, beta = content["raw_alpha"], content.get("raw_beta")
    try:
        raw = Beta(_number("alpha", alpha), _number("beta", beta))
    except CalibrationError as error:
        raise _Refused(str(error)) from error
    if "correct" not in content and "label" not in content:
        raise _Refused("no correct and no label")
    return Measured(raw, _label(content), _text(content, "signal"), _text(content, "model"))


def _sampled(content: Mapping[str, Any]) -> Sampled:
    ids = content.get("cluster_ids")
    if ids is not None and not (isinstance(ids, list) and ids and all(isinstance(i, (int, str)) for i in ids)):
        raise _Refused("cluster_ids is no list of numbers or strings")
    given = content.get("samples")
    if given is None and ids is not None:
        samples = tuple(Sample("") for _ in ids)
    elif isinstance(given, list) and given:
        samples = tuple(_sample(i, item) for i, item in enumerate(given, start=1))
    else:
        raise _Refused("samples is no list of answers")
    if ids is not None and len(ids) != len(samples):
        raise _Refused(f"{len(ids)} cluster_ids for {len(samples)} samples")
    gold = content.get("gold") or []
    if not (isinstance(gold, list) and all(isinstance(answer, str) for answer in gold)):
        raise _Refused("gold is no list of strings")
    correct = _label(content)
    if correct is None and not gold and "correct" not in content and "label" not in content:
        raise _Refused("no gold, no label")
    if correct is None and gold and given is None:
        raise _Refused("gold without the samples' texts")
    return Sampled(
        question=_text(content, "question"),
        samples=samples,
        cluster_ids=tuple(ids) if ids is not None else None,
        gold=tuple(gold),
        correct=correct,
        model=_text(content, "model"),
    )


def _sample(place: int, item: object) -> Sample:
    if isinstance(item, str):
        return Sample(item)
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise _Refused(f"sample {place} has no text")
    mean = item.get("logprob_mean")
    return Sample(item["text"], logprob_mean=None if mean is None else _number(f"sample {place} logprob_mean", mean))


def _label(content: Mapping[str, Any]) -> bool | None:
    for key in ("correct", "label"):
        value = content.get(key)
        if value is None:
            continue
        if value not in (0, 1) or not isinstance(value, (bool, int, float)):
            raise _Refused(f"{key} is neither true nor false")
        return bool(value)
    return None


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise _Refused(f"{name} is no number")
    return float(value)


def _text(content: Mapping[str, Any], key: str) -> str:
    value = content.get(key)
    return value if isinstance(value, str) else ""
