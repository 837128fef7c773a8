"""Splits text into sentences and words, and recognises numbers, negation and languages; reads YAML within bounds. No hedges and no HTTP here."""
