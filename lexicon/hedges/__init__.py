"""Hedging phrases: entries and files of lexicons, building a lexicon from readings, and retrieval by 1-Wasserstein distance."""
