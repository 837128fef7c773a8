"""Putting a confidence into words, and making sure that nothing else changed."""
