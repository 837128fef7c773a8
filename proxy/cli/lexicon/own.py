"""`hedgerow lexicon new` and `preview`: make your own lexicon from a table of phrases, and show how it words answers at each confidence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import typer
from rich.table import Table

from ....calibration import Beta
from ....lexicon import NO_HEDGE, Lexicon, LexiconError, builtin_names, load
from ....lexicon.hedges.entries import to_json
from ....lexicon.hedges.phrases import read_phrases
from ....lexicon.perception.model import model
from ....lexicon.perception.translated import languages
from ...lab.rewording import DEFAULT_ROUTE, GivenAnswer, default_reworder, figures
from ..shared.messages import one_sentence, say, show_text, stop
from ..shared.options import JsonLines
from ..shared.showing import terminal

LEVELS = (0.15, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SAMPLES = ("The capital of Australia is Canberra.", "Canberra.")
"""A sentence and a short answer, which use different frames."""
OBSERVATIONS = 10.0
FAR = 0.1
"""Largest distance between perceived and given confidence that is not marked."""


def new(
    output: Annotated[Path, typer.Argument(help="The lexicon file to write (.json).")],
    source: Annotated[
        Path,
        typer.Option("--from", help="CSV: `phrase` and `confidence`, or `low` and `high`, or `reading` (a row a reader)."),
    ],
    language: Annotated[str, typer.Option(help="Language of the phrases, ISO 639-1.")] = "en",
    title: Annotated[str, typer.Option(help="What the lexicon is called.")] = "",
    extends: Annotated[
        str | None, typer.Option(help="A lexicon whose other entries stay, such as en. Default: these phrases alone.")
    ] = None,
) -> None:  # fmt: skip
    """Write a lexicon of your own from a table of phrases."""
    if output.suffix != ".json":
        stop(f"{output}: what is written is JSON; give it a name that ends in .json")
    if output.exists():
        stop(f"{output} exists already; choose another name or move it away")
    try:
        hedges = read_phrases(source, language, model().concentration)
        shipped = load(language=language) if language in builtin_names() and language in languages() else None
        if extends is None and shipped is not None and all(hedge.id != NO_HEDGE for hedge in hedges):
            hedges = (*hedges, shipped[NO_HEDGE])
        output.write_text(to_json(Lexicon(hedges, language, title or source.stem), extends), encoding="utf-8")
        lexicon = _read_back(output)
    except OSError as error:
        stop(f"{output} cannot be written: {error.strerror}")
    except LexiconError as error:
        stop(str(error))
    if (warning := unreadable(lexicon)) is not None:
        say(f"warning: {warning}", err=True)
    say(
        f"{output}: {len(hedges)} {'entry' if len(hedges) == 1 else 'entries'}; look at them with: hedgerow lexicon preview {output}"
    )


def _read_back(output: Path) -> Lexicon:
    """Read the written lexicon as a route will; a refused file is deleted."""
    try:
        return load(output)
    except LexiconError:
        output.unlink()
        raise


def unreadable(lexicon: Lexicon) -> str | None:
    """The reason why readers cannot perceive the hedges of a lexicon; None if they can."""
    if lexicon.language in languages():
        return None
    return (
        f"language {lexicon.language!r} cannot be read, so its answers are never reworded; readers know {', '.join(languages())} "
        '(another language is two data files: docs/contributing.md, "A language")'
    )


def preview(
    lexicon: Annotated[str, typer.Argument(help="A lexicon file, or the name of a shipped lexicon.")],
    level: Annotated[
        list[float] | None, typer.Option(help="Confidence to word at, between 0 and 1; may be given several times. Default: eight from 0.15 to 0.9.")
    ] = None,
    answer: Annotated[
        list[str] | None, typer.Option(help="Answer to word; may be given several times. Default: a sentence and a bare answer.")
    ] = None,
    voice: Annotated[Literal["impersonal", "first_person"], typer.Option(help="Who speaks, as `rewriting.voice`.")] = "impersonal",
    as_json: JsonLines = False,
) -> None:  # fmt: skip
    """Word sample answers at each confidence as a route with this lexicon would, and read back how sure they sound."""
    levels = level or LEVELS
    if wrong := [one for one in levels if not 0.0 < one < 1.0]:
        stop(f"--level {wrong[0]:g} is not between 0 and 1")
    try:
        warning = unreadable(load(lexicon))
    except LexiconError as error:
        stop(str(error))
    if warning is not None:
        stop(f"{lexicon}: {warning}", 1)
    rewriting = DEFAULT_ROUTE.rewriting.model_copy(update={"voice": voice})
    route = DEFAULT_ROUTE.model_copy(update={"lexicon": lexicon, "rewriting": rewriting})
    with one_sentence():
        reworder = default_reworder(route)

    async def worded() -> list[dict[str, Any]]:
        return [
            _row(one, figures(await reworder.reword(_given(text, one)))) for one in levels for text in answer or SAMPLES
        ]

    rows = anyio.run(worded)
    if as_json:
        for row in rows:
            show_text(json.dumps(row, ensure_ascii=False))
        return
    terminal().print(_table(rows))
    for line in _summary(rows):
        say(line)


def _given(answer: str, level: float) -> GivenAnswer:
    beta = Beta.from_mean(level, OBSERVATIONS)
    return GivenAnswer(answer=answer, alpha=beta.alpha, beta=beta.beta)


def _row(level: float, outcome: dict[str, Any]) -> dict[str, Any]:
    perceived = outcome["perceived"]
    return {
        "confidence": level, "text": outcome["text"], "status": outcome["status"], "reason": outcome["reason"],
        "hedges": outcome["hedges"], "perceived": None if perceived is None else perceived["mean"],
    }  # fmt: skip


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("confidence", justify="right")
    table.add_column("perceived", justify="right")
    table.add_column("answer", overflow="fold")
    table.add_column("hedge", no_wrap=True)
    for row in rows:
        perceived = "-" if row["perceived"] is None else f"{row['perceived']:.2f}{'!' if _is_far(row) else ' '}"
        hedges = ", ".join(row["hedges"]) or ("(note)" if row["status"] == "hedged" else f"({row['status']})")
        table.add_row(f"{row['confidence']:.2f}", perceived, row["text"], hedges)
    return table


def _is_far(row: dict[str, Any]) -> bool:
    return row["perceived"] is not None and abs(row["perceived"] - row["confidence"]) > FAR


def _summary(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    read = [row for row in rows if row["perceived"] is not None]
    if read:
        apart = sum(abs(row["perceived"] - row["confidence"]) for row in read) / len(read)
        yield f"Perceived confidence is {apart:.2f} from the confidence on average, over {FAR:g} away (!) in {sum(map(_is_far, read))} of {len(read)}."
    if refused := {row["reason"] for row in rows if row["status"] == "unhedged"}:
        yield f"Left without a hedge: {', '.join(sorted(map(str, refused)))} (docs/api.md says what the reasons mean)."
