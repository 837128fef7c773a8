"""`hedgerow audit`: the audit from the command line."""

from __future__ import annotations

import typer

from proxy.cli.audit_files import export, import_verdicts

app = typer.Typer(no_args_is_help=True, help="The audit: verdicts in, figures out.")
app.command("import")(import_verdicts)
app.command()(export)
