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
from typing import Any

import yaml
from pydantic import ValidationError

from ..errors import LexiconFileError, unreadable
from ..text.plain_yaml import PlainLoader
from .entries import Frame, Hedge, Lexicon
from .schema import HedgeRow, LexiconFile

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
