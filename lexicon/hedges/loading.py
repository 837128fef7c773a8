"""Find, read and check lexicon files.

A file is YAML or JSON. The shipped ones lie in `lexicon/data`; a user's own file stands beside them, alone or on top of a
shipped one (`extends: en`). Every refusal names the file and the line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from ...calibration import Beta
from ...calibration.beta import PARAMETER_FLOOR
from ..errors import LexiconFileError, unreadable
from ..text.plain_yaml import PlainLoader
from .entries import NO_HEDGE, Frame, FrameKind, Hedge, Lexicon, Register, Source, Voice

# What a lexicon file may hold: entries, their forms of a Beta, and frames. Plain checks, no files.

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


DATA = Path(__file__).parent.parent / "data"
_Location = tuple[int | str, ...]
_IN_WORDS = {"missing": "this key is needed", "extra_forbidden": "there is no such key"}
"""Our messages in place of the validator's, by its error type."""


@cache  # shipped files do not change at run time, and every reading of a text needs this
def _shipped() -> dict[str, Path]:
    """The files of the shipped lexicons, by name."""
    return {path.stem: path for path in sorted(DATA.iterdir(), reverse=True) if path.suffix in {".json", ".yaml"}}


def builtin_names() -> tuple[str, ...]:
    """Names of the shipped lexicons: languages ("en", "de", ...) and official scales ("ipcc", "nato", ...)."""
    return tuple(sorted(_shipped()))


def load(path: Path | str | None = None, *, language: str | None = None) -> Lexicon:
    """Read a lexicon.

    Parameters
    ----------
    path : Path or str, optional
        A file, or the name of a shipped lexicon ("ipcc"). None: the shipped one of `language`.
    language : str, optional
        ISO 639-1. With a path: what the file's language must be. None: English.

    Raises
    ------
    LexiconFileError
        Where there is no such file, where it cannot be read, or where its content is refused; names the line.
    """
    lexicon = _load(_find(path if path is not None else language or "en"))
    if language is not None and lexicon.language != language:
        raise LexiconFileError(_find(path or language), None, f"its language is {lexicon.language!r}, not {language!r}")
    return lexicon


def _find(path: Path | str) -> Path:
    """The file of a path or of a shipped lexicon's name."""
    shipped = _shipped().get(path) if isinstance(path, str) else None
    return shipped or Path(path)


def _load(path: Path, above: tuple[Path, ...] = ()) -> Lexicon:
    if path.parent == DATA:
        return _load_builtin(path)
    return _read(path, above)


@cache
def _load_builtin(path: Path) -> Lexicon:
    """Shipped files do not change at run time, so each is read once."""
    return _read(path)


def _read(path: Path, above: tuple[Path, ...] = ()) -> Lexicon:
    text = _text(path)
    rows = _validated(path, text)
    hedges = [_hedge(row, rows.language) for row in rows.hedges]
    if rows.extends is None:
        if rows.without:
            raise LexiconFileError(path, _line(text, ("without",)), "`without` needs `extends`")
        return _sayable(path, _lexicon(rows, hedges))
    base = _base(path, text, rows, above)
    dropped = set(rows.without) | {hedge.id for hedge in hedges}
    if missing := set(rows.without) - set(base.by_id):
        raise LexiconFileError(path, _line(text, ("without",)), f"{rows.extends!r} has no {', '.join(sorted(missing))}")
    kept = (hedge for hedge in base if hedge.id not in dropped)
    merged = replace(base, hedges=(*kept, *hedges), title=rows.title or base.title)
    return _sayable(path, merged)


def _lexicon(rows: LexiconFile, hedges: Sequence[Hedge]) -> Lexicon:
    return Lexicon(
        tuple(hedges), rows.language, rows.title, frozenset(rows.negations.split()), frozenset(rows.edges.split())
    )


def _sayable(path: Path, lexicon: Lexicon) -> Lexicon:
    """Refuse a lexicon without any hedge that can word an answer."""
    if not lexicon.hedges:
        raise LexiconFileError(path, None, "it has no entry: give at least one under `hedges`, or `extends: en`")
    if not any(hedge.frames for hedge in lexicon):
        reason = "no entry has a frame, so no answer could be worded with it: give at least one entry `frames`"
        raise LexiconFileError(path, None, reason)
    return lexicon


def _base(path: Path, text: str, rows: LexiconFile, above: tuple[Path, ...]) -> Lexicon:
    """The lexicon that a file extends: a shipped one by name, or a file beside it."""
    name = rows.extends or ""
    target = _find(name) if name in builtin_names() else path.parent / name
    chain = (*above, path.resolve())
    if target.resolve() in chain:
        raise LexiconFileError(path, _line(text, ("extends",)), f"extends itself through {name!r}")
    base = _load(target, chain)
    if base.language != rows.language:
        reason = f"language {rows.language!r} cannot extend {name!r}, which is {base.language!r}"
        raise LexiconFileError(path, _line(text, ("extends",)), reason)
    return base


def _hedge(row: HedgeRow, language: str) -> Hedge:
    frames = tuple(Frame(kind, text) for frame in row.frames for kind, text in frame.items())
    return Hedge(
        row.id, row.phrase, row.to_beta(), row.source, row.readers, frames, row.register_, language, row.basis, row.error,
        tuple(row.variants), row.booster, row.voice,
    )  # fmt: skip


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        known = ", ".join(builtin_names())
        raise LexiconFileError(path, None, f"there is no such file; shipped lexicons are {known}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None


def _validated(path: Path, text: str) -> LexiconFile:
    raw = _parsed(path, text)
    if not isinstance(raw, dict):
        raise LexiconFileError(path, None, "is not a lexicon: it must hold `version: 1` and `hedges` or `extends`")
    try:
        file = LexiconFile.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        what = _IN_WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
        reason = f"{where}: {what}" if where else what
        raise LexiconFileError(path, _line(text, first["loc"]), reason) from None
    for name in ("id", "phrase"):
        counts = Counter(getattr(row, name).casefold() for row in file.hedges)
        seen: set[str] = set()
        for index, row in enumerate(file.hedges):
            value = getattr(row, name).casefold()
            if value in seen:
                line = _line(text, ("hedges", index, name))
                raise LexiconFileError(
                    path, line, f"{name} {value!r} is used by {counts[value]} entries; each needs its own"
                )
            seen.add(value)
    return file


def _parsed(path: Path, text: str) -> Any:
    """The parsed file: JSON by its name, else YAML."""
    try:
        return json.loads(text) if path.suffix == ".json" else yaml.load(text, Loader=PlainLoader)  # noqa: S506 - a safe loader
    except json.JSONDecodeError as error:
        raise LexiconFileError(path, error.lineno, f"is not valid JSON: {error.msg}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise LexiconFileError(path, mark.line + 1 if mark else None, f"is not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise LexiconFileError(path, None, f"is not valid YAML: {error}") from None


def _line(text: str, location: _Location) -> int | None:
    """The line of a value, from 1. JSON is parsed as YAML here, whose nodes have positions; only refusals need this."""
    try:
        node = yaml.compose(text, Loader=PlainLoader)
    except yaml.YAMLError:
        return None
    for part in location:
        node = _child(node, part) or node
    return int(node.start_mark.line) + 1 if node is not None else None


def _child(node: Any, part: int | str) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part]
    return None
