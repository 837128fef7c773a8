"""Rows with an answer and further answers of the same model to the same question."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, StrictStr, ValidationError

from ..config.reading import in_words
from .datasets import Text


def _text(item: object) -> object:
    return item.get("text") if isinstance(item, dict) else item


Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
SampleText = Annotated[StrictStr, BeforeValidator(_text)]


def why_refused(error: ValidationError, wanted: str) -> str:
    """The first error of a row, in words; `wanted` describes a valid row."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"'{where}' is missing; {wanted}"
    if where == "samples" and first["type"] == "too_short":
        return "'samples' is empty: confidence needs one further answer at least"
    return f"'{where}': {in_words(first)}" if where else f"{in_words(first)}; {wanted}"


class WithSamples(BaseModel):
    """The fields of every row that can be measured: the answer, and at least one further answer of the same model."""

    question: Text = ""
    answer: StrictStr
    samples: Annotated[tuple[SampleText, ...], Field(min_length=1)]
