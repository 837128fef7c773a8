"""`hedgerow demo`: recorded answers of a real model, worded by the whole pipeline, then the right answers. Needs no model and no network."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ...dashboard.render import surprise
from ...lab.demo import Demo, Round, load_demo, play, scores
from ..shared.messages import one_sentence
from ..shared.showing import terminal

SHOWN_MEANINGS = 3
BAR = 24
"""Columns of the longer bar."""
STEPS = ((0.5, 1), (0.5, 2), (0.6, 3), (0.6, 5))
"""Seconds to wait and number of lines to show then: question, answers, both wordings, truth and score."""


def demo(
    pace: Annotated[
        float, typer.Option(help="Speed in a terminal: 1 takes 45 seconds, 0 does not wait.", min=0.0)
    ] = 1.0,
) -> None:
    """Show twenty quiz questions: a model's answers, how sure they sound, how sure Hedgerow's wording sounds, and which wording deserved belief."""
    console = terminal()
    with one_sentence():
        asyncio.run(_play(load_demo(), console, pace if console.is_terminal else 0.0))


async def _play(shown: Demo, console: Console, pace: float) -> None:
    console.print(
        Text.assemble(
            (f"\n{len(shown.questions)} quiz questions, drawn by lot.", "bold"),
            f" {shown.model} answered each ten times; its answers are replayed here through the whole pipeline. A reader believes what the words sound like. "
            "How surprised is that reader by the truth?\n",
        )
    )
    rounds: list[Round] = []
    async for one in play(shown):
        rounds.append(one)
        lines = _lines(shown, rounds)
        with Live(console=console, auto_refresh=False) as live:
            for seconds, count in STEPS if pace else STEPS[-1:]:
                live.update(Group(*lines[:count]), refresh=True)
                await asyncio.sleep(seconds * pace)
        console.print()
    console.print(_ending(shown, rounds))


def _lines(shown: Demo, rounds: Sequence[Round]) -> list[RenderableType]:
    one = rounds[-1]
    question = Table.grid()
    question.add_column(width=4)
    question.add_row(Text(f"{len(rounds):>2}", "dim"), Text(one.question.text, "bold"))
    return [question, _answers(one), _voices(shown, one), _truth(one), _running(shown, rounds)]


def _table(*rows: tuple[RenderableType, ...]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=15, justify="right", style="dim")
    for row in rows:
        table.add_row(*row)
    return table


def _answers(one: Round) -> Table:
    samples = one.result.drawn.texts
    clusters = one.result.clustering.clusters if one.result.clustering else ()
    shares = [f"{len(cluster)} × {samples[cluster[0]]}" for cluster in clusters[:SHOWN_MEANINGS]]
    if (others := len(clusters) - SHOWN_MEANINGS) > 0:
        shares.append(f"{others} other{'s' if others > 1 else ''}")
    return _table(("ten answers", Text("   ".join(shares), style="dim", overflow="ellipsis", no_wrap=True)))


def _voices(shown: Demo, one: Round) -> Table:
    believed = (
        (one.plain.mean, one.result.draft, shown.model, ""),
        (one.worded.mean, one.result.text, "Hedgerow", "bold"),
    )
    return _table(
        *(
            (name, Text.assemble((text or "", style), (f"   a reader believes {mean:.0%}", "dim")))
            for mean, text, name, style in believed
        )
    )


def _truth(one: Round) -> Table:
    mark, style = ("✓ right", "green") if one.right else ("✗ wrong", "red")
    truth = one.question.gold[0]
    said = mark if one.right else f"{mark}: it is {truth.title() if truth.isupper() else truth}"
    return _table(("the truth", Text(said, style=style)))


def _running(shown: Demo, rounds: Sequence[Round]) -> Table:
    """Both mean scores so far as bars: the shorter, the less surprised a reader who believed the wording."""
    voices = scores(rounds)
    longest = max(voice.surprise for voice in voices)
    rows = []
    for voice, name, style in zip(voices, (shown.model, "Hedgerow"), ("yellow", "green"), strict=True):
        bar = "━" * round(BAR * voice.surprise / longest)
        rows.append(Text.assemble((f"{bar:<{BAR}} ", style), (f"{voice.surprise:.2f}  ", "bold"), (name, "dim")))
    return _table(("surprise so far", Group(*rows)))


def _ending(shown: Demo, rounds: Sequence[Round]) -> RenderableType:
    plain, worded = scores(rounds)
    right = sum(one.right for one in rounds)
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="dim")
    for column in ("voice", "sounds sure", "was right", "a reader who believed it is, on average"):
        table.add_column(column)
    for name, voice in ((shown.model, plain), ("Hedgerow", worded)):
        said = f"{surprise(voice.surprise)} ({voice.surprise:.2f} nats)"
        table.add_row(name, Text(f"{voice.sure:.0%}", "bold"), f"{right / len(rounds):.0%}", said)
    return Group(
        table,
        Text(),
        Text(
            f"{shown.model} sounds equally sure of everything. Hedgerow sounds as sure as the ten answers agree, corrected by a map that was fitted on "
            f"{shown.fitted.provenance.n} other questions."
        ),
        Text("Before your own model: hedgerow init. With a small model here, in the browser: hedgerow serve."),
        Text(shown.source, style="dim"),
    )
