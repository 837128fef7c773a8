"""The report of an experiment: the same figures as JSON, Markdown and one HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ....calibration.metrics.table import HEADLINE
from ..experiment import Run
from .page import render_experiment

SHOWN = (*HEADLINE, "expected_brier", "auroc")
"""The metrics in the Markdown; JSON and HTML have all."""


def write_report(folder: Path, runs: Sequence[Run]) -> list[Path]:
    """Write `report.json`, `report.md` and `report.html`."""
    document = {"runs": [run.document for run in runs]}
    texts = {
        "report.json": json.dumps(document, indent=2, allow_nan=False) + "\n",
        "report.md": "\n".join(_markdown(document)) + "\n",
        "report.html": render_experiment([(run.document, run.evaluation) for run in runs]),
    }
    written = []
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        written.append(folder / name)
    return written


def _markdown(document: dict[str, Any]) -> Iterator[str]:
    yield "# Experiment"
    for run in document["runs"]:
        yield f"\n## {run['route']} on {run['questions']}\n"
        yield f"{run['n_collected']} questions answered by {run['model'] or 'the upstream'}, graded by {run['grader']}."
        for signal, held in run["signal_space"].items():
            yield f"\n### Signal space: {signal}\n"
            yield f"{held['n']} answers measured, {held['accuracy']:.1%} right; the {held['map']['kind']} map was fitted on {held['n_fitted']} others.\n"
            yield from _table(held)
            yield from (f"\nNote: {note}" for note in held["provenance"]["notes"])
        held = run["linguistic_space"]
        yield f"\n### Linguistic space: {held['signal']} signal, {held['rewriter']} rewriter\n"
        yield _worded(held) + "\n"
        yield from _table(held)


def _worded(held: dict[str, Any]) -> str:
    shares = ", ".join(f"{name} {share:.1%}" for name, share in held["reworded"].items())
    rank = f"; Spearman of calibrated and perceived confidence {held['spearman']:.3f}" if "spearman" in held else ""
    left_out = f"; {held['unreadable']} could not be read" if held["unreadable"] else ""
    return f"Perceived confidence of {held['n']} answers, as drawn and as worded ({shares}{rank}{left_out})."


def _table(held: dict[str, Any]) -> Iterator[str]:
    yield "| metric | before | after |"
    yield "|---|---|---|"
    for name in SHOWN:
        if name in held:
            yield f"| {name} | {_figure(held[name], 'before')} | {_figure(held[name], 'after')} |"


def _figure(held: dict[str, Any], when: str) -> str:
    interval = held.get(f"{when}_interval")
    return f"{held[when]:.3f}" + (f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else "")
