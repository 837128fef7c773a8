"""`hedgerow lexicon build`: a lexicon built from models."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

from ....lexicon import Hedge, Lexicon, LexiconError, load
from ....lexicon.hedges.build import Plan, Record, Scored, Written, construct, entries, remaining
from ....lexicon.hedges.entries import to_json
from ...config import Settings
from ...errors import HedgerowError
from ...protocols import Call, Upstream
from ...services.services import open_upstream
from ...upstreams.answers import sample_of
from ..shared.files import write_file
from ..shared.messages import agree, say, stop
from ..shared.options import CONFIG, ConfigPath
from ..shared.progress import progress_bar
from ..shared.settings import configuration


def build(
    output: Annotated[Path, typer.Argument(help="The lexicon file to write (.json).")],
    config: ConfigPath = CONFIG,
    writer: Annotated[str | None, typer.Option(help="Upstream that writes the sentences. Default: the first.")] = None,
    evaluator: Annotated[list[str] | None, typer.Option(help="Upstream that scores; may be given several times. Default: the writer.")] = None,
    model: Annotated[str, typer.Option(help="Model to ask for, if an upstream serves several.")] = "",
    phrases: Annotated[Path | None, typer.Option(help="Phrases, one a line. Default: those of the English lexicon.")] = None,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences for each phrase.")] = 20,
    passes: Annotated[int, typer.Option(min=1, help="Scores for each sentence and evaluator.")] = 3,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before calls are made.")] = False,
) -> None:  # fmt: skip
    """Build a lexicon from models, as the paper does (RALC D.1). Replies are stored beside the output and never requested again."""
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
    say(
        f"{cost.writes} sentences to write and {cost.scores} scores to ask, some {cost.tokens:,} tokens; {len(records)} on record",
        err=True,
    )
    if (cost.writes or cost.scores) and not yes:
        agree("Ask?")
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
    say(f"{output}: {len(hedges)} hedges" + (f"; no usable score for {', '.join(missing)}" if missing else ""))


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
    """The replies that earlier runs recorded. An incomplete last line is removed and requested again; else the next reply would be written onto the
    same line.
    """
    data = log.read_bytes() if log.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        log.write_bytes(whole)
    records: list[Record] = []
    for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
        try:
            row = json.loads(line)
            records.append(Scored(**row) if "evaluator" in row else Written(**row))
        except (ValueError, TypeError) as error:
            stop(f"{log}, line {number}: not a record of this command: {error}")
    return records


async def _construct(settings: Settings, writer: str, model: str, plan: Plan, records: list[Record], log: Path) -> None:
    """Ask the upstreams with a progress bar; every reply is on disk before the next request."""
    cost = remaining(plan, records)
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    async with AsyncExitStack() as stack:
        upstreams: dict[str, Upstream] = {}
        for name in dict.fromkeys((writer, *plan.evaluators)):
            upstreams[name] = await open_upstream(name, settings.upstreams)
            stack.push_async_callback(upstreams[name].aclose)
        file = stack.enter_context(log.open("a", encoding="utf-8"))
        progress = stack.enter_context(progress_bar(*columns))
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
