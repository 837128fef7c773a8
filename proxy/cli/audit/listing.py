"""`hedgerow audit list`: what the dashboard's request explorer shows, in the terminal, as JSON, or into a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ...audit.engine import Engine, transaction
from ...audit.explorer import EXPORT_PAGE, LISTED, MAX_TEXT, Filter, Judged, Page, Place, requests
from ...audit.formats import form_of
from ...config import Mode
from ...monitoring.figures import percent
from ...outcomes import Status
from ...types import Json
from ..shared.messages import one_sentence, say, show_text, stop
from ..shared.options import CONFIG, ConfigPath
from ..shared.showing import show, styled
from ..shared.store import open_audit
from ..shared.times import moment

Exact = Annotated[str | None, typer.Option(help='Requests of this one; "": those without any.')]


def list_requests(
    config: ConfigPath = CONFIG,
    route: Exact = None,
    key: Exact = None,
    model: Exact = None,
    status: Annotated[Status | None, typer.Option(help="Status of the requests.")] = None,
    verdict: Annotated[
        Judged | None, typer.Option(help="What was said of it last; any: something was, none: nothing.")
    ] = None,
    arm: Annotated[Mode | None, typer.Option(help="Mode that a split route drew.")] = None,
    min_confidence: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Smallest calibrated confidence.")
    ] = None,
    max_confidence: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Largest calibrated confidence.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Part of the question or the answer, if texts are stored.")] = None,
    since: Annotated[
        str, typer.Option(help="Not before: a span back or a date, such as 24h, 7d, 2026-11-21; or `all`.")
    ] = "7d",
    until: Annotated[str | None, typer.Option(help="Not after: a span back or a date.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Number of requests, newest first; --out writes all.")
    ] = 50,
    out: Annotated[
        Path | None, typer.Option(help="Write all of them with whole texts to a .csv, .jsonl or .parquet file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with complete texts.")] = False,
) -> None:
    """List requests, newest first, by the filters of the dashboard's request explorer."""
    if text is not None and not 0 < len(text) <= MAX_TEXT:
        stop(f"--text takes 1 to {MAX_TEXT} characters")
    chosen = Filter(
        route=route, key=key, model=model, status=status, arm=arm, judged=verdict, text=text,
        least=min_confidence, most=max_confidence,
        since=None if since == "all" else moment(since), until=moment(until, "--until") if until else None,
    )  # fmt: skip
    with open_audit(config) as (_, engine):
        if out is not None:
            _write(engine, chosen, out)
            return
        rows = [row for page in _pages(engine, chosen, limit, whole=as_json) for row in page.rows][:limit]
    if as_json:
        show_text(json.dumps(rows, indent=2, allow_nan=False))
    elif not rows:
        say("no request fits")
    else:
        _print(rows)


def _pages(engine: Engine, chosen: Filter, limit: int | None, *, whole: bool) -> Iterator[Page]:
    """The pages of a list with at most `limit` rows; None: all."""
    after: Place | None = None
    count = 0
    while limit is None or count < limit:
        size = EXPORT_PAGE if limit is None else min(EXPORT_PAGE, limit - count)
        with transaction(engine) as connection:
            page = requests(connection, chosen, after, size, whole=whole)
        yield page
        count += len(page.rows)
        if (after := page.after) is None:
            return


def _write(engine: Engine, chosen: Filter, out: Path) -> None:
    written = 0
    with one_sentence():
        form = form_of(out.suffix.removeprefix("."), LISTED)
        with out.open("wb") as file:
            for page in _pages(engine, chosen, None, whole=True):
                file.write(form.batch(page.rows))
                written += len(page.rows)
            file.write(form.end())
    say(f"{written:,} request{'s' * (written != 1)} written to {out}")


def _print(rows: list[Json]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("when, UTC", "route", "key", "model", "status", "conf.", "verdict", "question and answer"):
        table.add_column(
            column, justify="right" if column == "conf." else "left", no_wrap=column != "question and answer"
        )
    for row in rows:
        correct = row["correct"]
        verdict = "" if correct is None else "right" if correct >= 0.5 else "wrong"
        said = " ".join((row["question"] or "").split())[:120], " ".join((row["answer"] or "").split())[:160]
        words = Text("\n→ ").join(map(styled, filter(None, said))) or row["id"]
        confidence = percent(row["confidence"]) if row["confidence"] is not None else ""
        status = f"{row['status']}, in shadow" if row["mode"] == "shadow" else row["status"]
        facts = [_moment(row["created_at"]), row["route"], row["key"], row["model"], status, confidence]
        table.add_row(*facts, styled((verdict, "red" if verdict == "wrong" else "")), words)
    show(table)
    say("ids and whole texts: --json, or --out FILE", err=True)


def _moment(stamp: float) -> str:
    return datetime.fromtimestamp(stamp, UTC).strftime("%m-%d %H:%M:%S")
