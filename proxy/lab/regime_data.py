"""Labelled answers with their questions and embeddings, of a file or the audit, for regimes and local maps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...calibration.errors import CalibrationError
from ...calibration.regimes.discovery import Columns
from ...calibration.regimes.vectors import Vectors, vectors
from ..clustering.embeddings import Encoder
from ..errors import InputError, StepFailed
from .datasets import BadRow
from .forms import found_in, labelled_form, names_of
from .rows import confidence_of

AT_A_TIME = 256
"""Number of texts that an encoder gets at a time, for the progress bar; it sorts them by length itself."""
LEAST_ROWS = 200
"""Fewest labelled answers for learning from questions."""


@dataclass(frozen=True, slots=True)
class RegimeRow:
    """A labelled answer: its question, raw confidence and outcome, and optional fields.

    Attributes:
        concentration: of the confidence's Beta; 0 if it is a number.
        group: "" if the row has none.
        embedding: None if the row has none.
    """

    text: str
    confidence: float
    concentration: float
    correct: bool
    group: str
    embedding: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class RegimeRows:
    """Rows in file order; rows that cannot be used; and the number of rows without an outcome."""

    rows: tuple[RegimeRow, ...]
    bad: tuple[BadRow, ...]
    unsettled: int


@dataclass(frozen=True, slots=True)
class Questions:
    """Rows as columns; equal questions have equal numbers in `columns.prompt`.

    Attributes:
        alpha, beta: raw confidences; their concentration is 1 if rows give a number.
        texts: of every row.
        groups: of every row.
    """

    columns: Columns
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    texts: tuple[str, ...]
    groups: NDArray[np.str_]


def read_regime_rows(objects: Iterable[tuple[int, Mapping[str, Any] | BadRow]]) -> RegimeRows:
    """Parse objects with line numbers: `{text, confidence, correct, group?, embedding?}`, or rows of an audit export."""
    rows: list[RegimeRow] = []
    bad: list[BadRow] = []
    unsettled = 0
    for line, content in objects:
        if isinstance(content, BadRow):
            bad.append(content)
            continue
        try:
            row = _parse(content)
        except ValueError as error:
            bad.append(BadRow(line, str(error)))
            continue
        if row is None:
            unsettled += 1
        else:
            rows.append(row)
    return RegimeRows(tuple(rows), tuple(bad), unsettled)


def _parse(content: Mapping[str, Any]) -> RegimeRow | None:
    """A row; None if its outcome is unknown.

    Raises:
        ValueError: with the reason.
    """
    form = labelled_form(content)
    if "correct" not in form:
        raise ValueError(f"expected a label: one of {names_of('correct')}. {found_in(content)}")
    correct = form["correct"]
    if correct is None:
        return None
    if correct not in (0, 1):
        raise ValueError("'correct': expected true, false, 1, 0 or null")
    embedding = _embedding(content.get("embedding"))
    text = content.get("text") or form.get("question") or ""
    if not isinstance(text, str) or not (text.strip() or embedding):
        raise ValueError(f"expected the question ({names_of('question')}), or 'embedding'. {found_in(content)}")
    held = confidence_of(form | {"samples": None, "cluster_ids": None})
    if held is None:
        raise ValueError(
            f"expected a confidence: one of {names_of('confidence')}, 'counts', 'alpha' and 'beta'. {found_in(content)}"
        )
    beta, stated = held
    group = content.get("group")
    return RegimeRow(
        text.strip(),
        beta.mean,
        0.0 if stated else beta.concentration,
        bool(correct),
        "" if group is None else str(group),
        embedding,
    )


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"'{name}': expected a finite number")
    return float(value)


def _embedding(value: object) -> tuple[float, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise ValueError("'embedding': expected a list of numbers")
    return tuple(_number(item, "embedding") for item in value)


def questions_of(
    rows: Sequence[RegimeRow], encoder: Encoder, on_texts: Callable[[int], None] = lambda _: None
) -> Questions:
    """Rows as columns, with embeddings computed if the rows have none; each distinct text is encoded once.

    Raises:
        InputError: too few rows, only one outcome or one confidence, embeddings in some rows only or of different
            lengths, or no encoder.
    """
    if len(rows) < LEAST_ROWS:
        raise InputError(
            f"{len(rows)} labelled rows are too few to learn from questions: at least {LEAST_ROWS} are needed"
        )
    correct = np.array([row.correct for row in rows], dtype=np.float64)
    if correct.min() == correct.max():
        raise InputError(
            f"all {len(rows)} answers are {'right' if correct[0] else 'wrong'}: right and wrong ones are needed"
        )
    names = [row.text or repr(row.embedding) for row in rows]
    distinct = {name: number for number, name in enumerate(dict.fromkeys(names))}
    prompt = np.array([distinct[name] for name in names], dtype=np.int64)
    confidence = np.array([row.confidence for row in rows])
    if confidence.min() == confidence.max():
        raise InputError(f"all {len(rows)} confidences are {confidence[0]:g}: nothing can be learned from their order")
    concentration = np.array([row.concentration or 1.0 for row in rows])
    return Questions(
        Columns(_embeddings(rows, distinct, prompt, encoder, on_texts), confidence, correct, prompt),
        np.maximum(confidence * concentration, 1e-6),
        np.maximum((1.0 - confidence) * concentration, 1e-6),
        tuple(row.text for row in rows),
        np.array([row.group for row in rows]),
    )


def _embeddings(
    rows: Sequence[RegimeRow],
    distinct: Mapping[str, int],
    prompt: NDArray[np.int64],
    encoder: Encoder,
    on_texts: Callable[[int], None],
) -> Vectors:
    given = sum(row.embedding is not None for row in rows)
    if given == len(rows):
        lengths = {len(row.embedding or ()) for row in rows}
        if len(lengths) > 1:
            raise InputError(
                f"embeddings of different lengths ({', '.join(map(str, sorted(lengths)))}): all must be of one model"
            )
        try:
            return vectors("embedding", [row.embedding or () for row in rows])
        except CalibrationError as error:
            raise InputError(str(error)) from error
    if given:
        raise InputError(f"{given} of {len(rows)} rows have an embedding: give it in all rows or in none")
    return encode(list(distinct), encoder, on_texts)[prompt]


def encode(texts: Sequence[str], encoder: Encoder, on_texts: Callable[[int], None] = lambda _: None) -> Vectors:
    """Embeddings of texts, shape (n, d).

    Raises:
        InputError: the encoder's packages are missing.
    """
    embedded: list[Vectors] = []
    for start in range(0, len(texts), AT_A_TIME):
        some = texts[start : start + AT_A_TIME]
        try:
            embedded.append(encoder(some))
        except StepFailed as failed:
            raise InputError(
                f"the questions cannot be embedded: {failed.detail or failed.reason}; "
                "pip install 'hedgerow[semantic]', or give 'embedding' in every row"
            ) from failed
        on_texts(len(some))
    return np.concatenate(embedded)
