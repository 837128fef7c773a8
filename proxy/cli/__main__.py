"""`python -m hedgerow.proxy.cli`, the same as `hedgerow`."""

from hedgerow.proxy.cli import app

app(prog_name="hedgerow")
