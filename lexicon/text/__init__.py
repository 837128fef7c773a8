"""Splits text into sentences and words, and recognises numbers, negation and languages. No hedges and no HTTP here."""
