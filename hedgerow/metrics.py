"""Calibration errors, scores and rankings, each named by its estimator: `hedgerow.calibration.metrics` under a shorter name."""

from .calibration.metrics import *  # noqa: F403 # all of them, documented there
from .calibration.metrics import __all__ as __all__
