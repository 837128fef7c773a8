"""`python -m proxy.cli`, the same as `hedgerow`."""

from proxy.cli import app

app(prog_name="hedgerow")
