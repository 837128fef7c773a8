"""Convert rows to one form: fields under our names, and table cells as lists and numbers.

Every reader of labelled answers calls `in_one_form` first, so that all commands accept the same names and spellings.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from ..types import Json

NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "problem", "query", "text"),
    "gold": (
        "gold", "golden_answers", "correct answers", "correct_answers", "target", "reference", "ground_truth", "ideal", "expected_answer", "correct_answer", "answers",
        "answer",
    ),
    "wrong": ("wrong", "incorrect answers", "incorrect_answers"),
    "judged": ("response", "model_answer", "model_response", "prediction", "generated_answer", "output"),
    "choices": ("choices", "options"),
    "samples": ("samples", "responses", "generations", "completions"),
    "correct": ("correct", "label", "is_correct", "y"),
    "confidence": ("confidence", "probability", "prob", "p"),
    "counts": ("counts",),
    "alpha": ("alpha",),
    "beta": ("beta",),
    "raw_alpha": ("raw_alpha",),
    "raw_beta": ("raw_beta",),
    "cluster_ids": ("cluster_ids", "semantic_ids"),
    "id": ("id",),
    "answer_id": ("answer_id", "id"),
    "asker": ("asker", "user", "user_id", "conversation", "conversation_id", "session_id", "thread_id"),
    "question_hash": ("question_hash",),
    "dataset": ("dataset",),
    "propensity": ("propensity",),
}  # fmt: skip
"""Accepted names of each field, in any case. The first one with a value is used.

"answer" comes last, because it is often the model's own; `judged` is the answer that a label beside it is of.
"""
_SEPARATED = ("correct answers", "incorrect answers")
"""Columns of TruthfulQA.csv, whose cells hold several answers between semicolons."""
_WEIGHTS = frozenset({"weight", "weights", "sample_weight"})
_NUMBERS = ("confidence", "alpha", "beta", "raw_alpha", "raw_beta", "propensity")
_LISTS = ("samples", "gold", "wrong", "choices", "cluster_ids", "counts")
_NUMBERED = re.compile(r"(?:sample|response|generation|completion)[_ ]?(\d{1,4})", re.IGNORECASE)
_LONGEST = 1_000_000
"""Longest cell in characters that is parsed as a list."""
_SHOWN = 12

WORDS: Mapping[str, float] = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "right", "correct"), 1.0),
    **dict.fromkeys(("0", "0.0", "false", "no", "wrong", "incorrect"), 0.0),
}
"""Accepted spellings of labels, in lower case."""


def in_one_form(content: Mapping[str, Any]) -> Json:
    """The row with our field names, and with lists and numbers in place of their texts; other fields are unchanged.

    A field that is present but empty is None; an absent field is missing.
    """
    by_name = {str(name).strip().lower(): name for name in content}
    form = {str(name): value for name, value in content.items()}
    for part, names in NAMES.items():
        held = [_split(name, content[by_name[name]]) for name in names if name in by_name]
        if held:
            form[part] = _value(part, next((value for value in held if value not in (None, "")), None))
    form["gold_name"] = next((by_name[name] for name in NAMES["gold"] if content.get(by_name.get(name, ""))), "")
    if form.get("samples") is None and (numbered := _numbered(content)):
        form["samples"] = numbered
    return form


def labelled_form(content: Mapping[str, Any]) -> Json:
    """A row with a label `in_one_form`.

    Raises:
        ValueError: it has a weight other than 1. Rows count once here, and a promise would be granted for other answers than it is of.
    """
    for name, weight in content.items():
        if str(name).strip().lower() in _WEIGHTS and weight not in (None, "", 1, "1", "1.0"):
            raise ValueError(
                f"{name!r}: rows have no weights here, found {str(weight)[:20]}; repeat the row so often, or leave the column out"
            )
    return in_one_form(content)


def _split(name: str, value: Any) -> Any:
    if name not in _SEPARATED or not isinstance(value, str) or value.lstrip().startswith("["):
        return value
    return [answer.strip() for answer in value.split(";") if answer.strip()]


def _value(part: str, value: Any) -> Any:
    if part == "correct":
        return label_of(value)
    if part == "counts" and isinstance(value, str) and ":" in value:
        return [_number(count) for count in value.split(":")]
    if part in _NUMBERS:
        return _number(value)
    return _list(value) if part in _LISTS else value


def label_of(value: object) -> object:
    """A label as True or False if it has one of the accepted spellings; else unchanged."""
    if isinstance(value, str):
        value = WORDS.get(value.strip().lower(), value)
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else value


def _number(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _list(value: object) -> object:
    """A list if a cell holds one in JSON or Python syntax; else the value unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith("[") or len(value) > _LONGEST:
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            read_as = read(value.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return read_as if isinstance(read_as, list) else value
    return value


def _numbered(content: Mapping[str, Any]) -> list[Any]:
    """The cells of columns such as `sample_1`, `sample_2`, in the order of their numbers, without empty ones."""
    cells = {
        int(match[1]): value for name, value in content.items() if (match := _NUMBERED.fullmatch(str(name).strip()))
    }
    return [cells[number] for number in sorted(cells) if cells[number] not in (None, "")]


def names_of(part: str) -> str:
    """The accepted names of a field, for a message: 'gold', 'answer', ..."""
    return ", ".join(repr(name) for name in NAMES[part])


def found_in(content: Mapping[str, Any]) -> str:
    """The field names of a row, for a message: of columns such as `sample_1`, `sample_2` the first, and empty fields marked."""
    numbered = [name for name in content if _NUMBERED.fullmatch(str(name).strip())]
    names = [
        repr(str(name)[:40])
        + (f" to {numbered[-1]!r}" if name in numbered and len(numbered) > 1 else "")
        + (" (empty)" if value is None or value == "" else "")
        for name, value in content.items()
        if name not in numbered[1:]
    ]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Found: {', '.join(names[:_SHOWN]) or 'nothing'}{more}"
