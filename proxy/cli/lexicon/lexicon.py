"""`hedgerow lexicon`: the table of hedges, and how confident a sentence sounds."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hedgerow.lexicon import NO_HEDGE, Hedge, Lexicon, LexiconError, Own, load
from hedgerow.lexicon import perceive as perceived_in
from hedgerow.lexicon.hedges.build import Plan, Record, Scored, Written, construct, entries, remaining
from hedgerow.lexicon.hedges.offered import UNSUITED, own_entries, voice_of
from hedgerow.lexicon.hedges.writing import to_json
from hedgerow.lexicon.text.language import language_of
from hedgerow.proxy.cli.lexicon.own import new, preview, unreadable
from hedgerow.proxy.cli.shared.files import write_file
from hedgerow.proxy.cli.shared.messages import stop
from hedgerow.proxy.cli.shared.options import CONFIG, ConfigPath, JsonLines
from hedgerow.proxy.cli.shared.settings import configuration
from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import HedgerowError
from hedgerow.proxy.monitoring.diagrams import density_bars
from hedgerow.proxy.protocols import Call, Upstream
from hedgerow.proxy.rewriting.frames import usable
from hedgerow.proxy.services.upstreams import open_upstream
from hedgerow.proxy.upstreams.answers import sample_of

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
            typer.echo(json.dumps(_row(hedge), ensure_ascii=False))
        return
    for hedge in hedges:
        mark = {"people": f"{hedge.readers} readers", "standard": "standard", "modelled": "modelled"}[hedge.source]
        phrase = hedge.phrase or "(no hedge)"
        typer.echo(f"{hedge.beta.mean:.2f}  {hedge.beta.concentration:6.1f}  {phrase:<34} {mark:<14} {hedge.id}")


@app.command()
def show(
    id: Annotated[str, typer.Argument(help="Id of the entry.")], lexicon: Which = "en", as_json: JsonLines = False
) -> None:
    """One hedge: its Beta, where that comes from, its frames."""
    hedge = _load(lexicon).get(id)
    if hedge is None:
        near = get_close_matches(id, [hedge.id for hedge in _load(lexicon)])
        stop(f"{lexicon} has no hedge {id!r}" + (f"; near: {', '.join(near)}" if near else ""))
    if as_json:
        typer.echo(json.dumps(_row(hedge), ensure_ascii=False))
        return
    typer.echo(f"{hedge.phrase or '(no hedge)'}  [{hedge.register}, {hedge.language}]")
    typer.echo(
        f"  mean {hedge.beta.mean:.3f}, concentration {hedge.beta.concentration:.1f}, Beta({hedge.beta.alpha:g}, {hedge.beta.beta:g})"
    )
    typer.echo(f"  0 {density_bars(hedge.beta, WIDTH)} 1")
    typer.echo(
        f"  {hedge.source}: {hedge.basis}" + (f"; expected error of the mean {hedge.error:.3f}" if hedge.error else "")
    )
    for frame in hedge.frames:
        typer.echo(f"  {frame.kind:<14} {frame.text}")


@app.command()
def check(path: Annotated[str, typer.Argument(help="A lexicon file, or the name of a shipped lexicon.")]) -> None:
    """Read a lexicon; name what is wrong with it, and what looks wrong. Ends with 1 where it cannot be used."""
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
        typer.echo(f"note: {note}")
    typer.echo(f"{path}: {len(lexicon)} hedges, {len(means)} of them sayable; can be used")


def _unwritten(lexicon: Lexicon) -> Iterator[str]:
    """Own entries that no answer is worded with by a route that sets nothing, and a language that is not the one the file names."""
    mine = own_entries(lexicon)
    if mine and (seen := language_of(". ".join(hedge.phrase for hedge in mine.values()))) not in (
        lexicon.language,
        None,
    ):
        yield f"its phrases look like {seen!r}, and it says that they are {lexicon.language!r}: answers in {lexicon.language!r} would be worded with them"
    most = lexicon[NO_HEDGE].beta.mean if NO_HEDGE in lexicon else 1.0
    for hedge in mine.values():
        if hedge.beta.mean > most:
            yield f"{hedge.id}: perceived as surer than a plain assertion ({most:.2f}), so it is read and not written; `rewriting.boosters` changes that"
        elif hedge.id in UNSUITED:
            yield f"{hedge.id}: beside a statement it contradicts or overstates it, so it is read and not written; `rewriting.never` changes that"
        elif hedge.frames and not usable(hedge):
            yield f"{hedge.id}: it denies what follows it, so it is read and not written"
        elif voice_of(hedge) == "first_person":
            yield f'{hedge.id}: written where the answer says "I" or with `rewriting: {{voice: first_person}}`'


def _doubts(lexicon: Lexicon) -> list[str]:
    """Hedges whose Beta is far from how their words sound: a slip of the pen, most often an inverted one."""
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
        str | None, typer.Option("--lexicon", "-l", help="A lexicon whose own entries are read at their own figures.")
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
            typer.echo(f"hedgerow: line {number}: {error}", err=True)
            failed = True
            continue
        spans = [
            {"start": s.start, "end": s.end, "text": s.text, "kind": s.kind, "mean": round(s.beta.mean, 4), "hedge": s.hedge}
            for s in perceived.spans
        ]  # fmt: skip
        if as_json:
            beta = perceived.beta
            figures = {"mean": round(beta.mean, 4), "alpha": round(beta.alpha, 4), "beta": round(beta.beta, 4)}
            typer.echo(json.dumps({**figures, "spans": spans}, ensure_ascii=False))
        else:
            marks = ", ".join(f"{span['text']} ({span['mean']:.2f})" for span in spans)
            typer.echo(f"{perceived.beta.mean:.2f}  {text}" + (f"   [{marks}]" if marks else ""))
    if failed:
        raise typer.Exit(2)


def _lines() -> list[str]:
    """Lines of standard input, without their ends."""
    try:
        return [line.rstrip("\r\n") for line in sys.stdin.buffer.read().decode("utf-8").splitlines()]
    except UnicodeDecodeError as error:
        stop(f"standard input is not UTF-8: {error}")


@app.command()
def build(
    output: Annotated[Path, typer.Argument(help="The lexicon file to write (.json).")],
    config: ConfigPath = CONFIG,
    writer: Annotated[str | None, typer.Option(help="Upstream that writes the sentences. Default: the first.")] = None,
    evaluator: Annotated[list[str] | None, typer.Option(help="Upstream that scores; may be given several times. Default: the writer.")] = None,
    model: Annotated[str, typer.Option(help="Model to ask for, where an upstream serves several.")] = "",
    phrases: Annotated[Path | None, typer.Option(help="Phrases, one a line. Default: those of the English lexicon.")] = None,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences a phrase.")] = 20,
    passes: Annotated[int, typer.Option(min=1, help="Scores a sentence and evaluator.")] = 3,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before calls are made.")] = False,
) -> None:  # fmt: skip
    """Build a lexicon from models, as the paper does (RALC D.1). What was answered is kept beside the output and never asked again."""
    settings = configuration(config)
    names = [writer or next(iter(settings.upstreams), ""), *(evaluator or [])]
    if unknown := [name for name in names if name not in settings.upstreams]:
        stop(f"no upstream is called {unknown[0]!r}; the upstreams are {', '.join(settings.upstreams) or 'none'}")
    english = {hedge.phrase: hedge for hedge in load()}
    try:
        plan = Plan(_phrases(phrases, english), tuple(names[1:] or names[:1]), sentences, passes)
    except LexiconError as error:
        stop(str(error))
    log = output.with_suffix(".records.jsonl")
    records = _records(log)
    cost = remaining(plan, records)
    typer.echo(
        f"{cost.writes} sentences to write and {cost.scores} scores to ask, some {cost.tokens:,} tokens; {len(records)} on record",
        err=True,
    )
    if (cost.writes or cost.scores) and not yes and not typer.confirm("Ask?", err=True):
        raise typer.Exit(1)
    try:
        asyncio.run(_construct(settings, names[0], model, plan, records, log))
    except HedgerowError as error:
        stop(f"{error}; what was answered is kept in {log}; run the same command to continue", code=1)
    except OSError as error:
        stop(f"{log}: cannot be written: {error.strerror or error}")
    hedges, missing = entries(plan, records, lambda phrase: english[phrase].frames if phrase in english else ())
    if not hedges:
        stop(f"no answer held a usable score, so {output} is not written", code=1)
    write_file(output, to_json(Lexicon(hedges, "en", f"built by {', '.join(plan.evaluators)}")))
    typer.echo(f"{output}: {len(hedges)} hedges" + (f"; no usable score for {', '.join(missing)}" if missing else ""))


def _phrases(path: Path | None, english: dict[str, Hedge]) -> tuple[str, ...]:
    if path is None:
        return tuple(phrase for phrase, hedge in english.items() if phrase and hedge.frames)
    try:
        return tuple(
            dict.fromkeys(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
        )
    except (OSError, UnicodeDecodeError) as error:
        stop(f"{path} cannot be read: {error}")


def _records(log: Path) -> list[Record]:
    """The answers that earlier runs recorded; a last line that was cut off is asked again."""
    records: list[Record] = []
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            records.append(Scored(**row) if "evaluator" in row else Written(**row))
        except (json.JSONDecodeError, TypeError) as error:
            if number == len(lines):
                break
            stop(f"{log}, line {number}: not a record of this command: {error}")
    return records


async def _construct(settings: Settings, writer: str, model: str, plan: Plan, records: list[Record], log: Path) -> None:
    """Ask the upstreams under a progress bar; every answer is on disk before the next is asked."""
    cost = remaining(plan, records)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    async with AsyncExitStack() as stack:
        upstreams: dict[str, Upstream] = {}
        for name in dict.fromkeys((writer, *plan.evaluators)):
            upstreams[name] = await open_upstream(name, settings.upstreams)
            stack.push_async_callback(upstreams[name].aclose)
        file = stack.enter_context(log.open("a", encoding="utf-8"))
        progress = stack.enter_context(Progress(*columns, console=Console(stderr=True)))
        task = progress.add_task("asking", total=cost.writes + cost.scores)

        async def ask(name: str, prompt: str, temperature: float) -> str:
            body = {
                "model": model,
                "messages": [{"role": "user", "content": prompt}],
                "temperature": temperature,
                "max_tokens": 80,
            }
            answer = await upstreams[name].complete(Call("/chat/completions", body))
            return sample_of(answer["choices"][0]).text

        def report(record: Record) -> None:
            records.append(record)
            file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")
            file.flush()
            progress.advance(task)

        await construct(
            plan,
            tuple(records),
            lambda prompt: ask(writer, prompt, 1.0),
            lambda name, prompt: ask(name, prompt, 1.0),
            report,
        )
