"""Clustering of samples by meaning, and support of claims by other answers."""
