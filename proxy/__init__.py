"""Hedgerow: an OpenAI-compatible proxy that words each answer as confidently as it deserves."""
