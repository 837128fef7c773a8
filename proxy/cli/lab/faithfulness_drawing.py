"""`hedgerow faithfulness --draw`: ask a model questions under the paper's four prompts and store the answers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from ...lab.faithfulness.drawing import (
    DEMONSTRATIONS,
    INSTRUCTIONS,
    Asked,
    Drawing,
    PromptName,
    calls,
    draw_all,
    read_demonstrations,
)
from ...lab.ledger import Ledger
from ...services.services import open_upstream
from ..shared.messages import confirm, counted, stop
from ..shared.progress import advancing
from ..shared.settings import calibrating_route, configuration
from .collect import load_questions


@dataclass(frozen=True, slots=True)
class ToDraw:
    """What to draw: questions, prompts and model."""

    questions: Path
    prompts: Sequence[PromptName]
    model: str
    demonstrations: Path | None
    route: str | None
    config: Path
    concurrency: int
    yes: bool


def prompts_of(names: Sequence[str]) -> list[PromptName]:
    """The prompts with these names; an unknown one ends the command."""
    known: dict[str, PromptName] = {name: name for name in INSTRUCTIONS}
    for name in names:
        if name not in known:
            stop(f"no prompt is called {name!r}; the prompts are {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)]


async def draw_to(wanted: ToDraw, out: Path) -> None:
    """Show the cost, ask for confirmation, draw; ends the command if questions are left."""
    settings = configuration(wanted.config)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))  # failures are printed
    shots = read_demonstrations(wanted.demonstrations) if wanted.demonstrations else DEMONSTRATIONS
    drawing = Drawing(calibrating_route(settings, wanted.route), wanted.model, shots)
    questions = load_questions(wanted.questions, "|", unlabelled=True, skip_bad=False)
    asked = (Asked(question, prompt) for prompt in wanted.prompts for question in questions)
    everything = list({one.key: one for one in asked}.values())
    with Ledger(out, drawing.drawn) as ledger:
        todo = [asked for asked in everything if asked.key not in ledger.done]
        if not todo:
            return
        name = drawing.route.upstream
        upstream = await open_upstream(name, settings.upstreams)
        try:
            _confirm(*calls(drawing, todo, ledger, at_once=upstream.honours_n), len(todo), len(everything), wanted.yes)
            with advancing("Drawing", len(todo)) as bar:
                outcome = await draw_all(
                    drawing, todo, upstream, ledger,
                    concurrency=wanted.concurrency, on_done=bar.advance,
                    on_failure=lambda asked, failure: bar.note(f"line {asked.question.line}, {asked.prompt}: {failure.code}: {failure.message}"),
                )  # fmt: skip
        finally:
            await upstream.aclose()
    if outcome.done < len(todo):
        stop(
            f"{len(todo) - outcome.done} of {counted(len(everything), 'answer')} could not be drawn yet; the same command goes on",
            code=1,
        )


def _confirm(made: int, answers: int, left: int, of: int, yes: bool) -> None:
    had = f"{counted(of - left, 'answer')} there already; " if left < of else ""
    confirm(
        f"{had}{counted(left, 'answer')} to draw, each with further ones: {counted(made, 'call')} for {counted(answers, 'text')}",
        yes,
    )
