"""`hedgerow fit --map adaptive`: a map that reads counts and the question and says when more answers are worth drawing, stored and activated."""

from __future__ import annotations

import json
from typing import Annotated

import anyio
import typer

from ....calibration.regimes.adaptive import STEPS, AdaptiveFit, fit_adaptive
from ....calibration.regimes.drawings import Draft
from ...lab.adaptive_rows import DrawnRows, drawings_of, read_drawn
from ...lab.fitting import version_of
from ...lab.rows import read_rows
from ...pipeline.placing import ADAPTIVE, encoder_of
from ..shared.files import readable, report_bad
from ..shared.messages import counted, one_sentence, say, show_text, stop
from ..shared.progress import progress_bar
from ..shared.records import Audited, Labelled
from .storing import Storing

MeanSamples = Annotated[
    float, typer.Option(min=1.0, help="With --map adaptive: mean answers a question that its price should cost.")
]
MeasuredDraft = Annotated[
    Draft, typer.Option(help="With --map adaptive: the confidence is in the largest group, or in the first answer.")
]


def fit_adaptive_map(
    source: Labelled | Audited,
    storing: Storing,
    *,
    encoder: str,
    samples: float,
    draft: Draft,
    as_json: bool,
    skip_bad: bool,
) -> None:
    """Learn from answers that were drawn in full, store, and activate where that is asked for.

    Args:
        source: what is learned from; only a file will do, measured by the signal semantic.
        storing: where the map goes.
        encoder: a sentence-transformers model; "": the int8 MiniLM.
        samples: mean answers a question that the map's price should cost.
        draft: the group whose confidence is measured.
        as_json: print the stored map as JSON.
        skip_bad: continue without rows that cannot be used.
    """
    if isinstance(source, Audited) or source.signal != "semantic":
        stop("--map adaptive learns from --data with 'question' and 'samples', by the signal semantic")
    rows = _rows(source)
    report_bad(rows.bad, skip_bad)
    if rows.unsettled:
        say(f"left out: {counted(rows.unsettled, 'row')} without a label", err=True)
    with one_sentence(), progress_bar() as progress:
        reading = progress.add_task("Reading questions", total=len({row.question for row in rows.rows}) or None)
        drawn, short = drawings_of(rows.rows, encoder_of(encoder), lambda count: progress.advance(reading, count))
        task = progress.add_task("Learning and comparing", total=STEPS)
        made = fit_adaptive(
            drawn, samples=samples, draft=draft, signal="semantic", model=storing.model or rows.model, encoder=encoder,
            done=lambda: progress.advance(task),
        )  # fmt: skip
    if short:
        say(f"left out: {counted(short, 'row')} with fewer than {made.map.budget} answers", err=True)
    name = storing.version or version_of(made.fitted, ADAPTIVE, "semantic")
    place = storing.store(name, made.fitted, activate=storing.activate)
    _print(name, made, place, storing.activate, as_json)


def _rows(source: Labelled) -> DrawnRows:
    data = source.data
    with readable(data), progress_bar() as progress:
        task = progress.add_task(f"Grouping {data.name}", total=None)
        rows = anyio.run(read_drawn, read_rows(data), source.clusters, lambda: progress.advance(task))
    if not rows.rows and rows.bad:
        stop(f"{data}: no row can be used. Line {rows.bad[0].line}: {rows.bad[0].reason}")
    return rows


def _print(name: str, made: AdaptiveFit, place: str, activated: bool, as_json: bool) -> None:
    if as_json:
        return show_text(json.dumps({"version": name, **made.fitted.to_dict(), "activated": activated}, indent=2))
    provenance = made.fitted.provenance
    say(f"{name}: fitted on {provenance.n} questions, {provenance.accuracy:.1%} right; stored in {place}")
    for note in provenance.notes:
        say(f"  {note}")
    say("  answers  Brier, counts alone")
    for number, brier in enumerate(made.map.fixed, start=1):
        say(f"  {number:7d}  {brier:.4f}")
    say("    price  answers, mean  Brier  (held-out questions)")
    for price, cost, brier in made.map.policy:
        own = "  <- this map's" if price == made.map.price else ""
        worse = "" if made.map.pays(price) else "  worse than a fixed number: all are drawn"
        say(f"  {price:.5f}  {cost:13.2f}  {brier:.4f}{own}{worse}")
    if not activated:
        say(f"not active yet; to activate it: hedgerow maps activate {name}")
    return None
