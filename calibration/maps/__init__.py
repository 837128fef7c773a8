"""Calibration maps: what each kind does to a confidence, and how it is learned from labelled answers.

A map is a frozen value that changes the mean of a Beta and keeps its concentration. A new kind is a file with a class like
`hedgerow.calibration.maps.parametric.PlattMap` and a line in `KINDS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..kinds import Kind, table

_HERE = "hedgerow.calibration.maps"

KINDS = table(
    Kind(
        "platt-bounded",
        "Platt on log-odds within ±ln 21, to smoothed targets",
        f"{_HERE}.parametric:BoundedPlattMap",
    ),
    Kind("platt", "m' = sigmoid(w logit m + b), the map of RALC", f"{_HERE}.parametric:PlattMap"),
    Kind("temperature", "one slope on the log-odds, no shift", f"{_HERE}.parametric:TemperatureMap"),
    Kind("isotonic", "the best non-decreasing map", f"{_HERE}.nonparametric:IsotonicMap"),
    Kind("histogram", "a constant for each of ten bins of equal mass", f"{_HERE}.nonparametric:HistogramMap"),
    Kind("beta", "a slope at either end and a shift", f"{_HERE}.parametric:BetaCalibrationMap"),
    Kind(
        "venn-abers",
        "isotonic fits with the new answer taken as wrong and as right",
        f"{_HERE}.nonparametric:VennAbersMap",
    ),
    Kind("local", "a map of the confidence, moved by what is asked", f"{_HERE}.local:LocalMap"),
    Kind("identity", "the raw confidence as it is", f"{_HERE}.base:IdentityMap"),
)
"""Every kind of map; `load()` returns its class. `hedgerow fit` learns the first one by default."""

if TYPE_CHECKING:
    MapName = str
else:
    MapName = Literal[tuple(KINDS)]  # settings and command line derive their choices from it

DEFAULT = next(iter(KINDS))
"""The kind that is fitted by default."""
