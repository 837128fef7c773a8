"""`hedgerow experiment`: the paper's experiment on one's own models and questions, in one command."""

from __future__ import annotations
