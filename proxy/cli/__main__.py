"""`python -m hedgerow.proxy.cli`, the same as `hedgerow`."""

from . import app

app(prog_name="hedgerow")
