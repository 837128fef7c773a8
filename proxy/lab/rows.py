"""Parses labelled answers: each row is usable, or refused with its line and a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from ...calibration import Beta
from ..types import Json, Sample
from .datasets import BadRow, Label, Source, Text, parse_each, read_objects
from .forms import found_in, labelled_form, names_of

WORTH = 10.0
"""Number of answers that a confidence without counts is worth: the concentration of its Beta."""
_EXPECTED = {
    "samples": "a list of answers, each a text or an object with 'text'",
    "cluster_ids": "a list of numbers or strings",
    "gold": "a text or a list of texts",
    "correct": "true, false, 1, 0 or null",
    "text": "a text",
}
"""The expected content of a field; all others are finite numbers."""
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


def _texts(value: object) -> object:
    """Right answers as texts, even if given as one text or as numbers."""
    items = [] if value is None else value if isinstance(value, list) else [value]
    return [str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item for item in items]


Texts = Annotated[tuple[StrictStr, ...], BeforeValidator(_texts)]
KnownTexts = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: [v for v in value if isinstance(v, str)] if isinstance(value, list) else []),
]
Name = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _Answer(BaseModel):
    text: StrictStr
    logprob_mean: Number | None = None
    logprob_sum: Number | None = None


def _sample(item: object) -> Sample:
    answer = _Answer.model_validate({"text": item} if isinstance(item, str) else item)
    return Sample(answer.text, logprob_mean=answer.logprob_mean, logprob_sum=answer.logprob_sum)


class Measured(BaseModel):
    """A row whose confidence was already measured: from an audit export, or another tool.

    Attributes:
        alpha, beta: the confidence before any map.
        correct: None if the outcome is unknown.
        stated: whether the row gave one number, which counts as `WORTH` answers.
        picked: whether the review queue selected the answer by its confidence (`propensity` 0 in an audit export).
        signal, model, question: as in the row; "" if missing.
        answer_id: of the answer that the row is about, or is a claim of; "" if missing.
        asker, question_hash: of whom it was for and of its question; "" if missing.
    """

    model_config = ConfigDict(frozen=True)

    alpha: float
    beta: float
    correct: Label
    stated: bool = False
    picked: bool = False
    signal: Text = ""
    model: Text = ""
    question: Text = ""
    answer_id: Name = ""
    asker: Name = ""
    question_hash: Name = ""

    @property
    def raw(self) -> Beta:
        """The confidence before any map."""
        return Beta(self.alpha, self.beta)


class Sampled(BaseModel):
    """A row with answers to one question.

    Attributes:
        samples: the answers; their texts are "" if only cluster ids are given.
        cluster_ids: which samples mean the same, if the row says so.
        gold, wrong: answers known to be right and wrong; they grade the draft if there is no label.
        gold_name: the field with the right answers.
        correct: the label of the draft, or of `judged`, if the row has one.
        judged: the answer that `correct` is of, where the row names one ('response'); "" if it does not.
        answer_id: of the question, if the row has one.
        labels: the label of each sample, if given; that of the draft counts if `correct` is None.
    """

    model_config = ConfigDict(frozen=True)

    question: Text = ""
    samples: Annotated[tuple[Annotated[Sample, BeforeValidator(_sample)], ...], Field(min_length=1)]
    cluster_ids: Annotated[tuple[StrictInt | StrictStr, ...], Field(min_length=1)] | None = None
    gold: Texts = ()
    gold_name: str = ""
    wrong: KnownTexts = ()
    correct: Label = None
    judged: Text = ""
    labels: tuple[Label, ...] = ()
    model: Text = ""
    answer_id: Name = ""
    asker: Name = ""
    question_hash: Name = ""

    @model_validator(mode="after")
    def _ids_fit(self) -> Self:
        if self.cluster_ids is not None and len(self.cluster_ids) != len(self.samples):
            raise ValueError(f"{len(self.cluster_ids)} cluster_ids for {len(self.samples)} samples")
        return self

    def verdict_of(self, draft: int) -> bool | None:
        """Whether the draft is right by the row's own labels, given the draft's index; None if only `gold` can tell."""
        return self.correct if self.correct is not None or not self.labels else self.labels[draft]


Row = Measured | Sampled


def read_rows(source: Source) -> Iterator[tuple[int, Row | BadRow]]:
    """(line or row number, row) for every row that is not blank.

    Raises:
        OSError: a file cannot be read; or another of `hedgerow.proxy.lab.datasets.UNREADABLE`.
    """
    return parse_each(read_objects(source), parse_row)


def parse_row(content: Mapping[str, Any]) -> Row:
    """Parse a row from its object.

    Raises:
        ValueError: the row cannot be used; the message is the reason.
    """
    form = labelled_form(content)
    held = confidence_of(form)
    try:
        if held is None:
            return Sampled.model_validate(_sampled(form, content))
        if "correct" not in form:
            raise ValueError(f"expected a label: one of {names_of('correct')}. {found_in(content)}")
        beta, stated = held
        return Measured.model_validate(
            form | {"alpha": beta.alpha, "beta": beta.beta, "stated": stated, "picked": is_picked(form)}
        )
    except ValidationError as error:
        raise ValueError(_in_words(error)) from None


def is_picked(form: Json) -> bool:
    """Whether the review queue selected the answer by its confidence (its propensity is 0).

    Such answers may be used to fit a map, but not for means over a route.
    """
    return form.get("propensity") == 0.0


def confidence_of(form: Json, *, served: bool = False) -> tuple[Beta, bool] | None:
    """The confidence in a row, and whether it is one number (worth `WORTH` answers); None if it must be measured.

    Counts of agreeing and other answers make a Beta, even 20 : 0.

    Args:
        form: the row, as returned by `labelled_form`.
        served: for a row with both, use the confidence that the answer was served at; else the raw one.

    Raises:
        ValueError: its confidence is not valid.
    """
    raw = form.get("raw")
    held = form | ({"raw_alpha": raw.get("alpha"), "raw_beta": raw.get("beta")} if isinstance(raw, dict) else {})
    places = [("raw_alpha", "raw_beta"), ("alpha", "beta")]
    for alpha, beta in reversed(places) if served else places:
        if held.get(alpha) is not None:
            return _beta(alpha, held[alpha], beta, held.get(beta)), False
    if (counts := form.get("counts")) is not None:
        if not isinstance(counts, list) or len(counts) != 2:
            raise ValueError("'counts': expected how many answers agree and how many do not, such as [9, 1] or 9:1")
        return _beta("counts", counts[0], "counts", counts[1]), False
    if "alpha" in form or "raw" in form:
        raise ValueError("'alpha': expected a finite number, found null")
    if form.get("samples") is not None or form.get("cluster_ids") is not None or form.get("confidence") is None:
        return None
    confidence = _finite("confidence", form["confidence"])
    if not 0.0 <= confidence <= 1.0:
        raise ValueError(f"'confidence': expected a number from 0 to 1, found {confidence:g}")
    return Beta.from_mean(confidence, WORTH), True


def _beta(alpha_name: str, alpha: object, beta_name: str, beta: object) -> Beta:
    a, b = _finite(alpha_name, alpha), _finite(beta_name, beta)
    if min(a, b) < 0.0 or a + b <= 0.0:
        raise ValueError(f"'{alpha_name}' and '{beta_name}': expected numbers of 0 or more, not both 0")
    return Beta.floored(a, b)


def _finite(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        shown = str(value) if isinstance(value, float) else _FOUND.get(type(value), "something else")
        raise ValueError(f"'{name}': expected a finite number, found {shown}")
    return float(value)


def _sampled(form: Json, content: Mapping[str, Any]) -> Json:
    """A row whose answers are to be measured.

    Raises:
        ValueError: it has no answers, or nothing says which are right.
    """
    samples, ids = form.get("samples"), form.get("cluster_ids")
    labels: tuple[Any, ...] = ()
    if isinstance(samples, list) and any(
        isinstance(item, dict) and item.get("correct") is not None for item in samples
    ):
        labels = tuple(item.get("correct") if isinstance(item, dict) else None for item in samples)
    if samples is None and isinstance(ids, list):
        if "correct" not in form:
            raise ValueError(f"expected {names_of('correct')} beside 'cluster_ids' without 'samples'")
        form["samples"] = [""] * len(ids)
    elif "samples" not in form:
        raise ValueError(_nothing_known(content))
    elif "correct" not in form and not form.get("gold") and not labels:
        raise ValueError(
            f"nothing says which answer is right: expected a label ({names_of('correct')}) or right answers ({names_of('gold')}); "
            "`hedgerow grade` labels answers, with --by judge also where no right answer is known. "
            f"{found_in(content)}"
        )
    return {**form, "labels": labels}


def _nothing_known(content: Mapping[str, Any]) -> str:
    return (
        f"no confidence, and no answers to measure it on: expected one of {names_of('confidence')}, 'counts', 'alpha' and 'beta', "
        f"or {names_of('samples')}, {names_of('cluster_ids')}. {found_in(content)}"
    )


def _in_words(error: ValidationError) -> str:
    """The first error: its place, what is expected there, and what is found."""
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
