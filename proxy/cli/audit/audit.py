"""`hedgerow audit`: verify the audit store, apply its retention, erase answers, migrate its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ...audit.engine import NEWEST_SCHEMA, open_engine, shown_address
from ...audit.retention import Clock, confirm, due, erase, objection, objection_to_erasure
from ...audit.retention import purge as forget
from ...audit.rows import END
from ...audit.store import hash_key
from ...audit.verify import Kept, Report, count, kept_ends
from ...audit.verify import verify as verified
from ...audit.writer import Writer
from ...errors import StoreError
from ...supervision import Supervisor
from ..shared.files import readable
from ..shared.messages import counted, say, show_text, stop
from ..shared.options import CONFIG, AsJson, ConfigPath
from ..shared.progress import progress_bar
from ..shared.settings import configuration
from ..shared.showing import terminal
from ..shared.store import open_audit, whoami
from .files import export, import_verdicts
from .listing import list_requests
from .summary import summary, worst

app = typer.Typer(no_args_is_help=True, help="Audit store: figures, verdicts, files, verification, retention.")
app.command()(summary)
app.command()(worst)
app.command("list")(list_requests)
app.command("import")(import_verdicts)
app.command()(export)

MOST_FINDINGS = 50
"""Findings printed; --json gives all."""


@app.command()
def verify(
    config: ConfigPath = CONFIG,
    as_json: AsJson = False,
    ends: Annotated[
        Path | None, typer.Option(help="Log of the proxy as JSON: its lines audit_chain_end are compared too.")
    ] = None,
) -> None:
    """Hash every row again and compare it with its chain; exit with status 1 if one was altered, moved or removed."""
    kept = _kept(ends) if ends else {}
    with open_audit(config) as (settings, engine), progress_bar() as progress:
        task = progress.add_task("Verifying", total=count(engine))
        report = verified(engine, hash_key(settings.audit), lambda rows: progress.advance(task, rows), kept)
    if as_json:
        findings = [{"writer": f.writer, "route": f.route, "seq": f.seq, "what": f.what} for f in report.findings]
        show_text(json.dumps({"chains": report.chains, "rows": report.rows, "unchained": report.unchained,
                               "erased": report.erased, "purged": report.purged, "findings": findings}, indent=2))  # fmt: skip
    else:
        _show(report)
    if report.findings:
        raise typer.Exit(1)


def _kept(log: Path) -> Kept:
    with readable(log), log.open(encoding="utf-8", errors="replace") as lines:
        kept = kept_ends(lines)
    return kept or stop(f"{log}: holds no line {END}; the log of a running proxy has them, with `log.format: json`")


def _show(report: Report) -> None:
    console = terminal()
    counts = Table(show_header=False, box=None, pad_edge=False)
    for name, number in (
        ("rows in chains", report.rows),
        ("chains (one a writer and route)", report.chains),
        ("rows without their texts: erased, or past their time", report.erased),
        ("rows deleted by retention", report.purged),
        ("rows from before rows were chained: not covered", report.unchained),
    ):
        counts.add_row(f"{number:,}", name)
    console.print(counts)
    if not report.findings:
        console.print("every chained row is as it was written", style="green")
        return
    table = Table("writer", "route", "seq", "what", box=None, pad_edge=False)
    for finding in report.findings[:MOST_FINDINGS]:
        table.add_row(finding.writer, finding.route or "(none)", str(finding.seq), finding.what)
    console.print(table)
    if len(report.findings) > MOST_FINDINGS:
        console.print(f"and {len(report.findings) - MOST_FINDINGS:,} more")
    console.print(f"{len(report.findings):,} findings: rows are not as they were written", style="red")


@app.command()
def purge(
    config: ConfigPath = CONFIG,
    as_json: AsJson = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Also if it would take much, or a clock has jumped: the time is right.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and delete nothing.")] = False,
) -> None:
    """Erase texts and delete rows that are older than the configuration allows.

    It cannot be undone, and goes by the clock: one that would take more than a third of all rows, or follows a jump of a clock, needs --yes.
    """
    with open_audit(config) as (settings, engine), progress_bar() as progress:
        clock = Clock(engine)
        clock.look()
        why = objection(engine, settings, clock.now())
        if dry_run:
            gone = due(engine, settings, clock.now())
        elif why is not None and not yes:
            stop(f"Nothing was purged: {why}. If that is right, run it again with --yes.", code=1)
        else:
            if yes:
                confirm(engine, whoami())
            task = progress.add_task("Purging", total=None)
            gone = forget(engine, settings, actor=whoami(), on_purged=lambda rows: progress.advance(task, rows))
    if as_json:
        show_text(json.dumps({"texts": gone.texts, "rows": gone.rows} | ({"needs_yes": why} if dry_run else {})))
        return
    said = f"the texts of {counted(gone.texts, 'row')}", counted(gone.rows, "row")
    say("would erase {}, delete {}".format(*said) if dry_run else "erased {}, deleted {}".format(*said))
    if dry_run and why is not None:
        say(f"and needs --yes: {why}")


@app.command()
def delete(
    config: ConfigPath = CONFIG,
    id: Annotated[list[str] | None, typer.Option(help="Audit id, or the completion's own id; may be repeated.")] = None,
    user: Annotated[str | None, typer.Option(help="The user field of the requests, as the client sent it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Also if more than a third of all rows are the user's.")] = False,
) -> None:
    """Erase the texts of some answers, or of all answers to a user; their figures stay. It cannot be undone."""
    if bool(id) == (user is not None):
        stop("name the answers to erase: --id (may be repeated) or --user")
    with open_audit(config) as (settings, engine):
        key = hash_key(settings.audit)
        if user is not None and not yes and (why := objection_to_erasure(engine, user, key)) is not None:
            stop(f"Nothing was erased: {why}. If that is right, run it again with --yes.", code=1)
        erased = erase(engine, actor=whoami(), names=id or (), user=user, key=key)
    if not erased:
        stop("No audit rows match --id." if user is None else f"No audit rows match --user {user!r}.", code=1)
    say(f"erased the texts of {counted(erased, 'answer')}")


@app.command()
def replay(config: ConfigPath = CONFIG) -> None:
    """Write the rows in the spools of dead processes; a running proxy does this for its own spool, and at its start for all."""
    lost: list[int] = []
    with open_audit(config) as (settings, engine):
        key = hash_key(settings.audit)
        writer = Writer(
            engine, settings.audit.spool, key, Supervisor(), on_settled=lambda _: None, count_lost=lost.append
        )
        rows = writer.spooled
        writer.close()
    if writer.spooled:
        stop(f"the store cannot be written; {counted(writer.spooled, 'row')} kept in {settings.audit.spool}", code=1)
    say(f"replayed {counted(rows - sum(lost), 'row')}")


@app.command()
def migrate(config: ConfigPath = CONFIG) -> None:
    """Create or migrate the store's tables; hedgerow serve does the same when it starts."""
    settings = configuration(config)
    try:
        open_engine(settings.audit).dispose()
    except StoreError as error:
        stop(f"{config}: {error}")
    say(f"{shown_address(settings.audit)} is at schema {NEWEST_SCHEMA}")
