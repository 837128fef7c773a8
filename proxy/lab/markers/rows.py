"""Rows of sentences whose confidence is known, or of answers whose sentences are to be measured: parsed one at a time, or refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictStr, ValidationError, model_validator

from ....calibration.metrics.markers import NO_MARKER, Split
from ....lexicon.errors import LexiconError
from ....lexicon.perception.markers import marker_of, standard
from ....lexicon.perception.people import people_read
from ....lexicon.text.language import language_of
from ...types import Json
from ..answers import Share, WithSamples, why_refused
from ..datasets import BadRow, Label, Text, parse_each, read_objects

WANTED = (
    "each line is a sentence {text or marker, confidence}, or an answer {question, answer, samples}; and, where they are known, "
    "model, dataset, response, split (train or test) and correct"
)
_TRAIN = {"": "train", "train": "train", "test": "test", "training": "train", "testing": "test"}


def _split(value: object) -> object:
    return _TRAIN.get(value.lower(), value) if isinstance(value, str) else "train" if value is None else value


def _name(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class _Row(BaseModel):
    """What every row may say."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: Text = ""
    dataset: Text = ""
    response: Annotated[str, BeforeValidator(_name)] | None = None
    split: Annotated[Literal["train", "test"], BeforeValidator(_split)] = "train"
    correct: Label = None

    @property
    def given(self) -> Json:
        """All of it by name."""
        return {name: getattr(self, name) for name in _Row.model_fields}


class MeasuredSentence(BaseModel):
    """A sentence of a model, or its marker alone, with the model's confidence in it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    text: StrictStr | None = None
    marker: StrictStr | None = None
    confidence: Share
    decisiveness: Share | None = None

    @model_validator(mode="after")
    def _one_is_there(self) -> Self:
        if self.text is None and self.marker is None:
            raise ValueError("a sentence has a 'text' or a 'marker'")
        if self.marker is None and not (self.text or "").strip():
            raise ValueError("'text' is empty; a sentence without a marker is a text without one, or 'marker' is \"\"")
        if self.name is not None:
            people_read(self.name)  # a marker in which there is nothing to read is refused with its line
        return self

    @property
    def is_read(self) -> bool:
        """Whether its marker can be read: it is given, or the sentence is English. One full of foreign names is, where an English marker stands in it."""
        return self.marker is not None or self.name != NO_MARKER or language_of(self.text or "") == "en"

    @cached_property
    def name(self) -> str | None:
        """The standardised marker, `<no_hedge>` where there is none, None where there are several."""
        return standard(self.marker) if self.marker is not None else marker_of(self.text or "")


class OneSentence(MeasuredSentence, _Row):
    """A line that holds one sentence."""


class MeasuredAnswer(_Row):
    """A line that holds the sentences of one answer, as this command keeps them."""

    sentences: tuple[MeasuredSentence, ...]
    unasserting: int = 0


class Answered(_Row, WithSamples):
    """An answer, and further answers of the same model to the same question."""


Row = OneSentence | MeasuredAnswer | Answered


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its one marker, ready to be counted.

    Attributes:
        marker: standardised; `<no_hedge>` where there is none.
        decisiveness: how sure it sounds, where the row says so; else None.
        correct: whether its response is right, where that is known.
    """

    model: str
    dataset: str
    response: str
    split: Split
    marker: str
    confidence: float
    decisiveness: float | None = None
    correct: bool | None = None


def sentences_of(row: OneSentence | MeasuredAnswer, line: int) -> tuple[list[Sentence], int, int]:
    """The sentences of a row with one marker or none; how many with several there are, and how many in other languages than English."""
    measured: tuple[MeasuredSentence, ...] = row.sentences if isinstance(row, MeasuredAnswer) else (row,)
    readable = [one for one in measured if one.is_read]
    response = row.response if row.response is not None else f"line {line}"
    single = [
        Sentence(row.model, row.dataset, response, row.split, name, one.confidence, one.decisiveness, row.correct)
        for one in readable
        if (name := one.name) is not None
    ]
    return single, len(readable) - len(single), len(measured) - len(readable)


def parse_row(content: Mapping[str, Any]) -> Row:
    """A row from its JSON object.

    Raises:
        ValueError: it cannot be used; the reason is the message.
    """
    kind: type[Row] = Answered if "samples" in content else MeasuredAnswer if "sentences" in content else OneSentence
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise ValueError(why_refused(error, WANTED)) from None
    except LexiconError as error:
        raise ValueError(str(error)) from None


def read_rows(path: Path) -> Iterator[tuple[int, Row | BadRow]]:
    """Line number and row of every line that is not blank, one at a time.

    Raises:
        OSError: the file cannot be read; or another of `hedgerow.proxy.lab.datasets.UNREADABLE`.
    """
    return parse_each(read_objects(path), parse_row)
