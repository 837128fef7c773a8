"""Hedgerow: language models' answers, worded as confidently as they deserve.

    hedgerow.calibration   the mathematics of confidence
    hedgerow.lexicon       hedging phrases, and how confident a text sounds
    hedgerow.proxy         the OpenAI-compatible proxy

In a checkout these three are the top-level folders of the same names; `pyproject.toml` maps them into this package.
"""
