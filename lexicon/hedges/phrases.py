"""A lexicon from a table of phrases (CSV): Betas from confidences, ranges or people's readings; frames from the form of the phrase."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, get_args

from ...calibration import Beta
from ...calibration.scores import fit_moments
from ..errors import LexiconFileError, unreadable
from .entries import NO_HEDGE, Frame, FrameKind, Hedge, Register, Source, Voice
from .loading import SLOTS, beta_of_range, load
from .offered import written

T = TypeVar("T")

FORMS = (("confidence",), ("low", "high"), ("reading",))
"""Columns for the confidence of a phrase: one value, a range, or one person's reading a row."""
_OPTIONAL = {"concentration", "register", "voice", "basis", "frame"}
_EDGE = 0.01
"""Smallest distance of the mean of readings from 0 and 1: a Beta's mean cannot be 0 or 1."""
_FLATTEST = 0.5

_ENGLISH: tuple[tuple[str, tuple[tuple[FrameKind, str], ...]], ...] = (
    # "more likely than not", "beyond reasonable doubt": "not" or "doubt" before a statement would seem to deny it
    (r".*\bthan not$|(?:beyond|without)\b.*\bdoubt$", (("closing", "and this is {}"), ("lead", "this is {}: {answer}"))),
    # "I am not sure", "I could be wrong"
    (r"(?:I|we)\b.*\b(?:not|no|unsure|wrong|mistaken|doubt)\b", (("clause", "{}, but {clause}"), ("fragment", "{fragment}, though {}"))),
    # "I think", "we find"
    (r"(?:I|we)\b", (("clause", "{} that {clause}"), ("fragment", "{fragment}, {}"))),
    # "on the balance of probabilities", "as far as we know"
    (r"(?:in|on|by|to|as|from|at|if|under|based)\b", (("clause", "{}, {clause}"), ("fragment", "{fragment}, {}"))),
    # "it stands to reason", "there is a fair chance"
    (r"it\b|there (?:is|are)\b", (("clause", "{} that {clause}"), ("fragment", "{} that the answer is {fragment}"))),
    # "a fair chance", "fair chance"
    (r"(?:an? |some |every ).*\b(?:chance|probability|possibility|likelihood|prospect)$",
     (("clause", "there is {} that {clause}"), ("fragment", "there is {} that the answer is {fragment}"))),
    (r".*\b(?:chance|probability|possibility|likelihood|prospect)$",
     (("clause", "there is a {} that {clause}"), ("fragment", "there is a {} that the answer is {fragment}"))),
    # "virtually certain", "medically probable"
    (r"(?:.* )?(?:likely|certain|uncertain|sure|clear|evident|\w+[ai]ble)$",
     (("clause", "it is {} that {clause}"), ("fragment", "it is {} that the answer is {fragment}"))),
    # "arguably", "very plausibly"
    (r"(?:.* )?(?:\w+ly|perhaps|maybe)$", (("adverb", "{}"), ("fragment", "{} {fragment}"), ("clause", "{}, {clause}"))),
)  # fmt: skip
"""Frames of English phrases by their form; {} is the phrase."""


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    cells: Mapping[str, str]


def read_phrases(path: Path, language: str, agreement: Callable[[float], float]) -> tuple[Hedge, ...]:
    """Read the entries of a table of phrases.

    Parameters
    ----------
    path : Path
        CSV with a header: `phrase` and one of `FORMS`, in [0, 1] or in per cent; further columns may be concentration, register, voice, basis
        and frame ("on file, {clause}", several parted by "|"). An empty phrase is the plain assertion.
    language : str
        ISO 639-1. English phrases of a usual form need no `frame`.
    agreement : callable, mean -> concentration
        How much readers agree on a phrase, where only its mean is given.

    Raises
    ------
    LexiconFileError
        Names the line and what is wrong there.
    """
    form, rows = _rows(path)
    scale = 100.0 if any(_is_per_cent(row.cells[name]) for row in rows for name in form) else 1.0
    hedges: dict[str, Hedge] = {}
    for phrase, group in _by_phrase(rows).items():
        first = group[0]
        if len(group) > 1 and form != ("reading",):
            raise LexiconFileError(path, group[1].line, f"{phrase!r} stands in line {first.line} already")
        try:
            hedge = _hedge(phrase, group, form, scale, language, agreement)
        except _Faulty as fault:
            raise LexiconFileError(path, fault.line, str(fault)) from None
        if hedge.id in hedges:
            raise LexiconFileError(path, first.line, f"{phrase!r} would have the id of {hedges[hedge.id].phrase!r}")
        hedges[hedge.id] = hedge
    return tuple(sorted(hedges.values(), key=lambda hedge: hedge.beta.mean))


class _Faulty(ValueError):
    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def _rows(path: Path) -> tuple[tuple[str, ...], list[_Row]]:
    """The form of the file, and its rows."""
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")), restkey="", strict=True)
        names = [(name or "").strip().lower() for name in reader.fieldnames or ()]
        reader.fieldnames = names
        rows = [
            _Row(reader.line_num, {k: (v or "").strip() for k, v in row.items() if k}) for row in _whole(path, reader)
        ]
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    except csv.Error as error:
        raise LexiconFileError(path, reader.line_num, f"is not valid CSV: {error}") from None
    form = next((form for form in FORMS if set(form) <= set(names)), None)
    if "phrase" not in names or form is None:
        wanted = "`phrase` and `confidence`, or `phrase`, `low` and `high`, or `phrase` and `reading` (a row for each reader)"
        raise LexiconFileError(
            path, 1, f"the columns are {', '.join(filter(None, names)) or 'none'}; needed are {wanted}"
        )
    if unknown := set(names) - {"phrase", *form} - _OPTIONAL:
        raise LexiconFileError(
            path,
            1,
            f"no column may be called {', '.join(sorted(unknown)) or '(nothing)'}; further ones are {', '.join(sorted(_OPTIONAL))}",
        )
    if not rows:
        raise LexiconFileError(path, None, "has no row below its header")
    return form, rows


def _whole(path: Path, reader: csv.DictReader[str]) -> Iterator[Mapping[str, str]]:
    for row in reader:
        if row.get(""):
            raise LexiconFileError(
                path, reader.line_num, "more cells than the header names; put quotes around a phrase with a comma"
            )
        yield row


def _by_phrase(rows: Sequence[_Row]) -> Mapping[str, list[_Row]]:
    groups: dict[str, list[_Row]] = {}
    spelt: dict[str, str] = {}
    for row in rows:
        phrase = spelt.setdefault(row.cells["phrase"].casefold(), row.cells["phrase"])
        groups.setdefault(phrase, []).append(row)
    return groups


def _hedge(
    phrase: str, rows: Sequence[_Row], form: Sequence[str], scale: float, language: str, agreement: Callable[[float], float]
) -> Hedge:  # fmt: skip
    first, cells = rows[0], rows[0].cells
    beta, source, basis = _beta(rows, form, scale, agreement)
    words = " ".join(re.sub(r"\{\w*\}", " ", phrase).split()).strip(" ,:;")
    if "{" in phrase and not words:
        raise _Faulty(first.line, f"{phrase!r} says nothing beside its slot")
    return Hedge(
        id=_id(words, first.line) if phrase else NO_HEDGE,
        phrase=words,
        beta=beta,
        source=source,
        readers=len(rows) if source == "people" else 0,
        frames=_frames(words, cells.get("frame") or (phrase if "{" in phrase else ""), language, first.line)
        if phrase
        else (),
        register=_one_of(cells.get("register") or "plain", get_args(Register), "register", first.line),
        language=language,
        basis=cells.get("basis") or basis,
        voice=_one_of(cells["voice"], get_args(Voice), "voice", first.line) if cells.get("voice") else None,
    )


def _beta(
    rows: Sequence[_Row], form: Sequence[str], scale: float, agreement: Callable[[float], float]
) -> tuple[Beta, Source, str]:  # fmt: skip
    """The Beta of a phrase, its source, and a sentence about that."""
    line, cells = rows[0].line, rows[0].cells
    if form == ("reading",):
        readings = [_number(row, "reading", scale) for row in rows]
        if len(readings) < 2:
            raise _Faulty(
                line, "one reading says nothing of how far readers agree; give two or more, or a column `confidence`"
            )
        beta = fit_moments(readings)
        mean = min(max(beta.mean, _EDGE), 1.0 - _EDGE)
        return Beta.from_mean(mean, max(beta.concentration, _FLATTEST)), "people", f"readings of {len(rows)} people"
    if form == ("low", "high"):
        low, high = (_number(rows[0], name, scale) for name in form)
        if low >= high:
            raise _Faulty(line, f"low {cells['low']} is not below high {cells['high']}")
        return beta_of_range(low, high), "standard", f"range of {low:.0%} to {high:.0%}, as given"
    mean = _number(rows[0], "confidence", scale)
    if not 0.0 < mean < 1.0:
        raise _Faulty(
            line,
            f"confidence {cells['confidence']} is not between 0 and {scale:g}: no wording makes readers wholly certain",
        )
    if given := cells.get("concentration"):
        concentration = _positive(given, line)
        return Beta.from_mean(mean, concentration), "modelled", f"confidence of {mean:.0%} and agreement, as given"
    return (
        Beta.from_mean(mean, agreement(mean)),
        "modelled",
        f"confidence of {mean:.0%} as given; agreement of English readers at this confidence",
    )


def _frames(words: str, given: str, language: str, line: int) -> tuple[Frame, ...]:
    if given:
        return tuple(_frame(text.strip(), line) for text in given.split("|"))
    if language == "en":
        shipped = next((hedge for hedge in load() if hedge.phrase.casefold() == words.casefold()), None)
        if shipped is not None and shipped.frames:
            vetted = written().wordings.get(shipped.id)
            return vetted.frames if vetted else shipped.frames
        for pattern, frames in _ENGLISH:
            if re.match(pattern, words, re.IGNORECASE):
                return tuple(Frame(kind, text.replace("{}", words)) for kind, text in frames)
    raise _Faulty(
        line,
        f'{words!r}: how it goes into a sentence is not known; say so in a column `frame`, such as "{words}, {{clause}}|{{fragment}}, {words}"',
    )


def _frame(text: str, line: int) -> Frame:
    kinds: list[FrameKind] = [kind for kind, slot in SLOTS.items() if text.count(slot) == 1]  # type: ignore[misc]
    rest = text.replace(SLOTS[kinds[0]], "") if len(kinds) == 1 else "{"
    if "{" in rest or "}" in rest or not rest.strip(" ,:;"):
        raise _Faulty(line, f"frame {text!r} needs words and one of {', '.join(SLOTS.values())}")
    return Frame(kinds[0], text)


def _id(words: str, line: int) -> str:
    plain = unicodedata.normalize("NFKD", words.casefold()).encode("ascii", "ignore").decode()
    if not (slug := re.sub(r"[^a-z0-9]+", "-", plain).strip("-")):
        raise _Faulty(line, f"{words!r} holds no letter that an id could be made of; write such an entry by hand")
    return slug


def _one_of(value: str, known: Sequence[T], name: str, line: int) -> T:
    for one in known:
        if value == one:
            return one
    raise _Faulty(line, f"{name} {value!r} is not one of {', '.join(map(str, known))}")


def _is_per_cent(cell: str) -> bool:
    try:
        return cell.endswith("%") or float(cell) > 1.0
    except ValueError:
        return False


def _number(row: _Row, name: str, scale: float) -> float:
    cell = row.cells[name]
    try:
        value = float(cell.removesuffix("%")) / scale
    except ValueError:
        raise _Faulty(row.line, f"{name} {cell!r} is not a number") from None
    if not 0.0 <= value <= 1.0:
        raise _Faulty(row.line, f"{name} {cell} lies outside 0 to {scale:g}")
    return value


def _positive(cell: str, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1e6:
        raise _Faulty(line, f"concentration {cell!r} is not a number above 0")
    return value
