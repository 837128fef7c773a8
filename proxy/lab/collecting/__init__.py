"""Asking a model many questions through a route, so that nothing paid for is ever lost.

`questions` reads a question file, `ledger` keeps what came, `asking` asks. What comes out is what `hedgerow fit` and `evaluate` read.
"""
