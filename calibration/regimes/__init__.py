"""Regimes: miscalibration that depends on the kind of question and not on the confidence alone."""
