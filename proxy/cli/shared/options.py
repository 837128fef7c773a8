"""Options that several commands take, each written once: what it is called, what it may be, what `--help` says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ConfigPath = Annotated[Path, typer.Option("--config", "-c", help="The configuration file.")]
CONFIG = Path("config.yaml")
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Continue without rows that cannot be used.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")]
Note = Annotated[str | None, typer.Option(help="Why, for the record.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonForTable = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
JsonForTables = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
JsonLines = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
RouteOrFirst = Annotated[
    str | None, typer.Option("--route", help="Name of the route. Default: the first that calibrates.")
]
ModelToAsk = Annotated[str, typer.Option("--model", help="Model to ask for, if the route does not fix one.")]
Resamples = Annotated[int, typer.Option(min=0, help="Bootstrap resamples for the intervals; 0 for none.")]
BootstrapSeed = Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")]
NegativeSlope = Annotated[
    bool, typer.Option("--allow-negative-slope", help="Accept a Platt map that reverses the order.")
]
