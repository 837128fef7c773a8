"""Miscalibration that confidence alone does not show: where a model is too sure and where not sure enough."""
