"""The `hedgerow` command.

Each command lives in a module of its own and imports what it needs inside its function, so that `hedgerow --help` is quick.
"""

from __future__ import annotations

import typer

from hedgerow.proxy.cli import audit, config, experiment, lexicon, maps, routes
from hedgerow.proxy.cli.ask import ask
from hedgerow.proxy.cli.collect import collect
from hedgerow.proxy.cli.evaluate import evaluate
from hedgerow.proxy.cli.fit import fit
from hedgerow.proxy.cli.grade import grade
from hedgerow.proxy.cli.rewrite import rewrite
from hedgerow.proxy.cli.same_meaning import same_meaning
from hedgerow.proxy.cli.serve import serve

app = typer.Typer(
    name="hedgerow",
    help="An OpenAI-compatible proxy that words each answer as confidently as it deserves.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(serve)
app.command()(ask)
app.command()(rewrite)
app.command()(same_meaning)
app.command()(collect)
app.command()(grade)
app.command()(fit)
app.command()(evaluate)
app.add_typer(maps.app, name="maps")
app.add_typer(routes.app, name="routes")
app.add_typer(audit.app, name="audit")
app.add_typer(experiment.app, name="experiment")
app.add_typer(lexicon.app, name="lexicon")
app.add_typer(config.app, name="config")
