"""Signals: each turns samples and clusters into a Beta of raw confidence."""
