"""Fits of the figures that are shipped as data files."""
