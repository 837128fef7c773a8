"""Learning calibration maps from (alpha, beta, correct). `fit_*` return frozen maps with their provenance.

Also the fits of one Beta to scores: by moments and by likelihood.
"""

from hedgerow.calibration.fitting.fits import (
    FITS,
    fit_beta_calibration,
    fit_bounded_platt,
    fit_histogram,
    fit_identity,
    fit_isotonic,
    fit_map,
    fit_platt,
    fit_temperature,
    fit_venn_abers,
)
from hedgerow.calibration.fitting.scores import fit_likelihood, fit_moments

__all__ = [
    "FITS",
    "fit_beta_calibration",
    "fit_bounded_platt",
    "fit_histogram",
    "fit_identity",
    "fit_isotonic",
    "fit_likelihood",
    "fit_map",
    "fit_moments",
    "fit_platt",
    "fit_temperature",
    "fit_venn_abers",
]
