"""`hedgerow regimes`: kinds of questions on which confidence is wrong in a way that confidence alone does not show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ...lab.regimes import ESTIMATORS, STEPS, study, to_document
from ..shared.messages import one_sentence, show_text
from ..shared.options import CONFIG, ConfigPath, JsonForTables, SkipBad
from ..shared.progress import progress_bar
from ..shared.questions import embedded, labelled_rows, report_left_out
from ..shared.showing import show, terminal
from .conditions import checked, parse_conditions

_EXAMPLE = "found > 0"
_KNOWN = (
    "n, found, accuracy, brier.local, generalised_ece.local, worst_group_gap.local (also of raw, platt and isotonic), "
    "gain.over_platt.high"
)


def regimes(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="Labelled answers (JSONL, CSV, Parquet) with question and confidence, group or embedding if there is one.",
        ),
    ] = None,
    route: Annotated[
        str | None, typer.Option(help="The labelled answers of this route's audit, in place of --data.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="With --route: answers given since 14d, 36h or a date.")] = None,
    as_json: JsonForTables = False,
    fail_if: Annotated[
        list[str] | None, typer.Option(help=f"End with 1 where this holds, e.g. '{_EXAMPLE}'; repeatable.")
    ] = None,
    skip_bad: SkipBad = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Find kinds of questions on which confidence is wrong, beyond what a map of the confidence corrects."""
    conditions = parse_conditions(fail_if, _EXAMPLE)
    name, rows = labelled_rows(data, route, since, config)
    report_left_out(name, rows, skip_bad)
    with one_sentence(), progress_bar() as progress:
        questions = embedded(rows, progress)
        task = progress.add_task("Learning", total=STEPS)
        made = study(questions, lambda: progress.advance(task))
    document = to_document(made, name)
    with checked(conditions, document, _KNOWN):
        show_text(json.dumps(document, indent=2)) if as_json else _print(document)


def _print(document: dict[str, Any]) -> None:
    console = terminal()
    console.print(
        f"{document['data']}: {document['n']} answers measured, {document['n_fitted']} learned from, {document['questions']} questions, "
        f"accuracy {document['accuracy']:.3f}, mean confidence {document['mean_confidence']:.3f}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    table = Table("", *ESTIMATORS, box=None, pad_edge=False)
    for name in ("brier", "generalised_ece", "smooth_ece", "worst_group_gap"):
        held = document[name]
        table.add_row(name, *("–" if held[one] is None else f"{held[one]:.4f}" for one in ESTIMATORS))
    show(table, console)
    gain = document["gain"]["over_platt"]
    console.print(
        f"Brier, local minus platt: {gain['estimate']:+.4f} ({gain['low']:+.4f} to {gain['high']:+.4f})",
        highlight=False,
    )
    _print_regimes(console, document)


def _print_regimes(console: Console, document: dict[str, Any]) -> None:
    if not document["regimes"]:
        why = (
            "none could be confirmed"
            if document["helps"]
            else "questions say nothing beyond the confidence, as far as these answers show"
        )
        console.print(f"no regimes: {why}", highlight=False, soft_wrap=True)
        return
    table = Table("", "sign", "answers", "gap beyond confidence", "raw gap", "left", "about", box=None, pad_edge=False)
    for regime in document["regimes"]:
        low, high = regime["interval"]
        about = ", ".join(dict.fromkeys([*regime["groups"], *regime["words"][:5]]))
        table.add_row(
            str(regime["id"]), regime["sign"], f"{regime['size']} ({regime['share']:.0%})",
            f"{regime['gap']:+.3f} ({low:+.3f} to {high:+.3f})", f"{regime['raw_gap']:+.3f}", f"{regime['corrected_gap']:+.3f}", about,
        )  # fmt: skip
    show(table, console)
