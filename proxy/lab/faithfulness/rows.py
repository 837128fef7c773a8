"""Rows of recorded answers, to be measured or already measured: parsed one at a time, or refused with line and reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StrictBool,
    ValidationError,
    model_validator,
)

from ....calibration.errors import CalibrationError
from ....calibration.metrics import contradiction_confidence, faithfulness
from ...types import Json
from ..answers import Share, WithSamples, why_refused
from ..datasets import BadRow, Label, Text, parse_each, read_objects

WANTED = "each line is an object with answer (text) and samples (a list of texts: further answers to the same question), or with decisiveness and confidence (measured before); and, where they are known, question, model, prompt, dataset, split and correct"
GROUPED = ("model", "dataset", "prompt", "split")
"""The fields by which rows are grouped."""


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


Shares = Annotated[tuple[Share, ...], BeforeValidator(_listed)]


class _Row(BaseModel):
    """Fields that every row may have."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: Text = ""
    dataset: Text = ""
    prompt: Text = ""
    split: Text = ""
    correct: Label = None

    @property
    def group(self) -> tuple[str, ...]:
        """The row's group, in the order of `GROUPED`."""
        return (self.model, self.dataset, self.prompt, self.split)

    @property
    def given(self) -> Json:
        """The groups and the label, by name."""
        return {name: getattr(self, name) for name in (*GROUPED, "correct")}


class Answered(_Row, WithSamples):
    """An answer, and further answers of the same model to the same question."""


class Measured(_Row):
    """A measured answer: decisiveness and model confidence of each assertion. An answer without assertions is a punt.

    Attributes:
        k: number of further answers it was compared with; None if unknown.
    """

    decisiveness: Shares
    confidence: Shares
    punt: StrictBool = False
    k: int | None = None

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if len(self.decisiveness) != len(self.confidence):
            raise ValueError(
                f"{len(self.decisiveness)} values of decisiveness for {len(self.confidence)} of confidence"
            )
        if self.punt and self.decisiveness:
            raise ValueError("a punt asserts nothing: its decisiveness and confidence are []")
        return self

    @property
    def punts(self) -> bool:
        """Whether it asserts nothing."""
        return not self.decisiveness

    @property
    def faithfulness(self) -> float:
        """Faithfulness by definition 1 of the paper.

        Raises:
            RangeError: it asserts nothing.
        """
        return float(faithfulness(self.decisiveness, self.confidence))


Row = Answered | Measured


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer's assertions: decisiveness, and which of the further answers contradict each."""

    decisiveness: tuple[float, ...]
    contradicted: tuple[tuple[bool, ...], ...]

    def of(self, row: Answered) -> Measured:
        """The measured row."""
        return Measured(
            **row.given,
            decisiveness=self.decisiveness,
            confidence=tuple(contradiction_confidence(of_one) for of_one in self.contradicted),
            punt=not self.decisiveness,
            k=len(row.samples),
        )


def parse_row(content: Mapping[str, Any]) -> Row:
    """A row from its JSON object.

    Raises:
        ValueError: it cannot be used; the reason is the message.
    """
    kind: type[Row] = Measured if "decisiveness" in content or "confidence" in content else Answered
    try:
        return kind.model_validate({name: value for name, value in content.items() if name in kind.model_fields})
    except ValidationError as error:
        raise ValueError(why_refused(error, WANTED)) from None
    except CalibrationError as error:
        raise ValueError(str(error)) from error


def read_rows(path: Path) -> Iterator[tuple[int, Row | BadRow]]:
    """Line number and row of every line that is not blank, one at a time.

    Raises:
        OSError: the file cannot be read; or another of `hedgerow.proxy.lab.datasets.UNREADABLE`.
    """
    return parse_each(read_objects(path), parse_row)
