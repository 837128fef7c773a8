"""`hedgerow audit`: the audit from the command line."""

from __future__ import annotations

import typer

from proxy.cli.audit_files import export, import_verdicts
from proxy.cli.audit_summary import summary, worst

app = typer.Typer(no_args_is_help=True, help="The audit: figures, verdicts, files.")
app.command()(summary)
app.command()(worst)
app.command("import")(import_verdicts)
app.command()(export)
