"""The mathematics of confidence: Beta distributions, divergences, metrics, calibration maps, fitting.

Pure functions over numpy arrays. No HTTP, no model, no database, no clock; files are touched by the map registry alone.
"""

from calibration.beta import Beta

__all__ = ["Beta"]
