"""Recorded answers, and how they are read into one shape."""
