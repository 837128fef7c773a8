"""`hedgerow lexicon`: the table of hedges, and how confident a sentence sounds."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from ....lexicon import NO_HEDGE, Hedge, Lexicon, LexiconError, Own, load
from ....lexicon import perceive as perceived_in
from ....lexicon.hedges.offered import UNSUITED, own_entries, voice_of
from ....lexicon.text.language import language_of
from ...monitoring.diagrams import density_bars
from ..shared.messages import say, show_text, stop
from ..shared.options import JsonLines
from .build import build
from .own import new, preview, unreadable

app = typer.Typer(
    help="Hedges, the confidence that people read in them, and how confident a text sounds.", no_args_is_help=True
)
app.command()(new)
app.command()(preview)
Which = Annotated[str, typer.Option("--lexicon", "-l", help="A shipped lexicon (en, de, ipcc, ...) or a file.")]
WIDTH = 40


def _load(name: str, code: int = 2) -> Lexicon:
    try:
        return load(name)
    except LexiconError as error:
        stop(str(error), code)


def _row(hedge: Hedge) -> dict[str, Any]:
    return {
        "id": hedge.id, "phrase": hedge.phrase, "mean": round(hedge.beta.mean, 4), "alpha": hedge.beta.alpha, "beta": hedge.beta.beta,
        "source": hedge.source, "readers": hedge.readers, "basis": hedge.basis, "register": hedge.register, "language": hedge.language,
        "error": hedge.error, "frames": [{frame.kind: frame.text} for frame in hedge.frames],
    }  # fmt: skip


@app.command("list")
def list_hedges(lexicon: Which = "en", as_json: JsonLines = False) -> None:
    """The hedges from the least to the most confident."""
    hedges = sorted(_load(lexicon), key=lambda hedge: hedge.beta.mean)
    if as_json:
        for hedge in hedges:
            show_text(json.dumps(_row(hedge), ensure_ascii=False))
        return
    say(f"mean  concentration  {'phrase':<34} {'source':<14} id")
    for hedge in hedges:
        mark = {"people": f"{hedge.readers} readers", "standard": "standard", "modelled": "modelled"}[hedge.source]
        phrase = hedge.phrase or "(no hedge)"
        say(f"{hedge.beta.mean:.2f}  {hedge.beta.concentration:13.1f}  {phrase:<34} {mark:<14} {hedge.id}")


@app.command()
def show(
    id: Annotated[str, typer.Argument(help="Id of the entry.")], lexicon: Which = "en", as_json: JsonLines = False
) -> None:
    """One hedge: its Beta, the source of that, its frames."""
    hedge = _load(lexicon).get(id)
    if hedge is None:
        near = get_close_matches(id, [hedge.id for hedge in _load(lexicon)])
        stop(f"{lexicon} has no hedge {id!r}" + (f"; near: {', '.join(near)}" if near else ""))
    if as_json:
        show_text(json.dumps(_row(hedge), ensure_ascii=False))
        return
    say(f"{hedge.phrase or '(no hedge)'}  [{hedge.register}, {hedge.language}]")
    say(
        f"  mean {hedge.beta.mean:.3f}, concentration {hedge.beta.concentration:.1f}, Beta({hedge.beta.alpha:g}, {hedge.beta.beta:g})"
    )
    say(f"  0 {density_bars(hedge.beta, WIDTH)} 1")
    say(f"  {hedge.source}: {hedge.basis}" + (f"; expected error of the mean {hedge.error:.3f}" if hedge.error else ""))
    for frame in hedge.frames:
        say(f"  {frame.kind:<14} {frame.text}")


@app.command()
def check(path: Annotated[str, typer.Argument(help="A lexicon file, or the name of a shipped lexicon.")]) -> None:
    """Check a lexicon; print errors and suspicious entries. Exits with status 1 if it cannot be used."""
    lexicon = _load(path, code=1)
    notes = _doubts(lexicon)
    if NO_HEDGE not in lexicon:
        notes.append(f"there is no {NO_HEDGE!r}: a confident answer is then always given a hedge")
    means = sorted(hedge.beta.mean for hedge in lexicon if hedge.is_sayable)
    if (reason := unreadable(lexicon)) is not None:
        stop(f"{path}: {reason}", 1)
    notes += _unwritten(lexicon)
    if lexicon.language != "en":
        notes.append(f"its language is {lexicon.language!r}: the `lexicon` of a route must be English")
    for low, high in zip([0.0, *means], [*means, 1.0], strict=False):
        if high - low > 0.2:
            notes.append(f"no hedge is perceived between {low:.2f} and {high:.2f}")
    for note in notes:
        say(f"note: {note}")
    say(f"{path}: {len(lexicon)} hedges, {len(means)} of them sayable; can be used")


def _unwritten(lexicon: Lexicon) -> Iterator[str]:
    """Warnings: own entries that a route with default settings never uses, and a language other than the one the file names."""
    mine = own_entries(lexicon)
    if mine and (seen := language_of(". ".join(hedge.phrase for hedge in mine.values()))) not in (
        lexicon.language,
        None,
    ):
        yield f"its phrases look like {seen!r}, and it says that they are {lexicon.language!r}: answers in {lexicon.language!r} would be worded with them"
    most = lexicon[NO_HEDGE].beta.mean if NO_HEDGE in lexicon else 1.0
    for hedge in mine.values():
        if hedge.beta.mean > most:
            yield f"{hedge.id}: perceived as surer than a plain assertion ({most:.2f}), so it is read and not written"
        elif hedge.id in UNSUITED:
            yield f"{hedge.id}: beside a statement it contradicts or overstates it, so it is read and not written"
        elif voice_of(hedge) == "first_person":
            yield f'{hedge.id}: written where the answer says "I" or with `rewriting: {{voice: first_person}}`'


def _doubts(lexicon: Lexicon) -> list[str]:
    """Hedges whose Beta is far from how their words sound: usually a typing error, such as an inverted Beta."""
    notes = []
    for hedge in lexicon if lexicon.language == "en" else ():
        try:
            perceived = perceived_in(hedge.phrase) if hedge.phrase else None
        except LexiconError as error:
            notes.append(f"{hedge.id}: {error}")
            continue
        if perceived and perceived.spans and abs(perceived.beta.mean - hedge.beta.mean) > 0.35:
            notes.append(
                f"{hedge.id}: its mean is {hedge.beta.mean:.2f}, but {hedge.phrase!r} is perceived as {perceived.beta.mean:.2f}"
            )
    return notes


@app.command()
def perceive(
    texts: Annotated[list[str] | None, typer.Argument(help="Texts; without one, lines of standard input.")] = None,
    as_json: JsonLines = False,
    language: Annotated[
        str | None, typer.Option(help="en, de, fr or es. Default: what each text seems to be in.")
    ] = None,
    lexicon: Annotated[
        str | None, typer.Option("--lexicon", "-l", help="A lexicon whose own entries are read at their own Betas.")
    ] = None,
) -> None:
    """How confident each text sounds to readers, whether or not it is true. One text a line."""
    failed = False
    try:
        own = Own.of(_load(lexicon)) if lexicon else None
    except LexiconError as error:
        stop(str(error))
    for number, text in enumerate(texts or _lines(), start=1):
        try:
            perceived = perceived_in(text, language or language_of(text) or "und", own)
        except LexiconError as error:
            say(f"hedgerow: line {number}: {error}", err=True)
            failed = True
            continue
        spans = [
            {"start": s.start, "end": s.end, "text": s.text, "kind": s.kind, "mean": round(s.beta.mean, 4), "hedge": s.hedge}
            for s in perceived.spans
        ]  # fmt: skip
        if as_json:
            beta = perceived.beta
            figures = {"mean": round(beta.mean, 4), "alpha": round(beta.alpha, 4), "beta": round(beta.beta, 4)}
            show_text(json.dumps({**figures, "spans": spans}, ensure_ascii=False))
        else:
            marks = ", ".join(f"{span['text']} ({span['mean']:.2f})" for span in spans)
            say(f"{perceived.beta.mean:.2f}  {text}" + (f"   [{marks}]" if marks else ""))
    if failed:
        raise typer.Exit(2)


def _lines() -> list[str]:
    """Lines of standard input, without their ends."""
    try:
        return [line.rstrip("\r\n") for line in sys.stdin.buffer.read().decode("utf-8").splitlines()]
    except UnicodeDecodeError as error:
        stop(f"standard input is not UTF-8: {error}")


app.command()(build)
