"""The hedging phrases: their entries and files, how a lexicon is built from readings, and retrieval by 1-Wasserstein distance."""
