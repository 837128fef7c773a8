"""What a lexicon file may hold: entries, their forms of a Beta, and frames. Plain checks, no files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from ...calibration import Beta
from ...calibration.beta import PARAMETER_FLOOR
from .entries import NO_HEDGE, FrameKind, Register, Source, Voice

SLOTS: dict[str, str] = {"clause": "{clause}", "fragment": "{fragment}", "lead": "{answer}"}
"""What the text of a frame must hold once, by kind; frames of the other kinds hold no slot."""

_Unit = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
_Parameter = Annotated[float, Field(ge=PARAMETER_FLOOR, allow_inf_nan=False)]
_Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
_FORMS = ({"alpha", "beta"}, {"mean", "concentration"}, {"low", "high"})


class HedgeRow(BaseModel):
    """One entry as a file has it. The Beta is given as alpha and beta, as mean and concentration, or as a range low to high."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: _Name
    phrase: str
    alpha: _Parameter | None = None
    beta: _Parameter | None = None
    mean: _Unit | None = None
    concentration: _Parameter | None = None
    low: _Unit | None = None
    high: _Unit | None = None
    source: Source = "modelled"
    readers: int = Field(default=0, ge=0)
    booster: bool = False
    register_: Register = Field(default="plain", alias="register")
    voice: Voice | None = None
    basis: str = ""
    error: _Unit | None = None
    variants: list[str] = []
    frames: list[dict[FrameKind, str]] = []

    @model_validator(mode="after")
    def _consistent(self) -> HedgeRow:
        given = {name for form in _FORMS for name in form if getattr(self, name) is not None}
        if given not in _FORMS:
            raise ValueError("give the Beta as alpha and beta, or as mean and concentration, or as low and high")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"the range is inverted or empty: low {self.low} is not below high {self.high}")
        if self.mean is not None and not 0.0 < self.mean < 1.0:
            raise ValueError(f"mean must lie inside (0, 1), got {self.mean}")
        if (self.id == NO_HEDGE) != (not self.phrase.strip()):
            raise ValueError(f"{NO_HEDGE!r} has an empty phrase, and every other entry has words")
        if self.id == NO_HEDGE and self.frames:
            raise ValueError(f"{NO_HEDGE!r} must not have frames")
        for frame in self.frames:
            _check_frame(frame)
        return self

    def to_beta(self) -> Beta:
        """The Beta, from whichever form was given."""
        if self.alpha is not None and self.beta is not None:
            return Beta(self.alpha, self.beta)
        if self.mean is not None and self.concentration is not None:
            return Beta.from_mean(self.mean, self.concentration)
        return beta_of_range(self.low or 0.0, self.high or 0.0)  # the validator left no other form


class LexiconFile(BaseModel):
    """A lexicon file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    version: Literal[1]
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}$")] = "en"
    title: str = ""
    extends: str | None = None
    without: list[str] = []
    negations: str = ""
    edges: str = ""
    hedges: list[HedgeRow] = []


def _check_frame(frame: dict[FrameKind, str]) -> None:
    if len(frame) != 1:
        raise ValueError(f"a frame is one kind with one text, got {sorted(frame)}")
    ((kind, text),) = frame.items()
    slot = SLOTS.get(kind)
    rest = text.replace(slot, "", 1) if slot else text
    if (slot and slot not in text) or "{" in rest or "}" in rest:
        raise ValueError(f"a {kind} frame holds {f'{slot} once' if slot else 'no slot'}, got {text!r}")
    if not rest.strip() and kind != "fragment":
        raise ValueError(f"a {kind} frame says nothing: {text!r}")


def beta_of_range(low: float, high: float) -> Beta:
    """The Beta with the mean and variance of the uniform distribution on [low, high].

    An official scale says which probabilities a word may stand for and nothing about which of them more often; the
    uniform distribution says the same, and the Beta that shares its first two moments is the uniform itself on [0, 1].

    Parameters
    ----------
    low, high : float
        0 <= low < high <= 1.

    Examples
    --------
    >>> beta_of_range(0.0, 1.0)
    Beta(alpha=1.0, beta=1.0)
    >>> round(beta_of_range(0.66, 1.0).mean, 2)
    0.83
    """
    mean = (low + high) / 2
    return Beta.from_mean(mean, 12 * mean * (1 - mean) / (high - low) ** 2 - 1)
