"""A fitted map with its provenance: the records it was learned from and its effect on each metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from .arrays import FloatArray
from .maps.base import CalibrationMap, map_from_dict
from .maps.nonparametric import VennAbersMap


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a fitted map.

    Attributes
    ----------
    n : int
        Records it was fitted on.
    accuracy : float
        Share of them that were correct, in [0, 1].
    data_hash : str
        SHA-256 of the (alpha, beta, correct) columns in their order; equal data give equal hashes on every machine.
    signal : str
        The confidence signal ("semantic", "token", ...); "" if unknown.
    model : str
        The model that answered; "" if unknown.
    fitted_at : datetime
        UTC.
    libraries : Mapping[str, str]
        Versions of the libraries used.
    standard_errors : Mapping[str, float]
        By parameter, from the Fisher information; empty for maps without parameters in that sense.
    cross_validation : Mapping[str, Mapping[str, float]]
        Per metric {"before", "after"}: what the fit does to records it did not see; of some {"change_low", "change_high"}, a 95 % interval of
        the difference, by the paired bootstrap over those records, widened because each was also learned from
        (`hedgerow.calibration.fitting.shared_training`). Empty where there were too few.
    notes : tuple[str, ...]
        Notes of the fit: regularised because separable, few records, ...
    raw_histogram : tuple[int, ...]
        Raw means of the records in whole percents (`hedgerow.calibration.drift.raw_histogram`), against which later traffic is compared; empty
        in maps fitted before this was kept.
    information : tuple[float, ...]
        Fisher information of the records (`hedgerow.calibration.drift.information`); empty in maps without it.
    """

    n: int
    accuracy: float
    data_hash: str
    signal: str
    model: str
    fitted_at: datetime
    libraries: Mapping[str, str] = field(default_factory=dict)
    standard_errors: Mapping[str, float] = field(default_factory=dict)
    cross_validation: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    raw_histogram: tuple[int, ...] = field(default=(), repr=False)
    information: tuple[float, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class FittedMap:
    """A map with its provenance; the unit that a registry stores.

    Attributes
    ----------
    weights : Mapping[str, float]
        Of a map for a combined signal: the weights that combine the signals, by name, and "bias". Empty for every other map.
    interval : VennAbersMap or None
        The interval of each raw mean (`hedgerow.calibration.fitted`); None in maps fitted before this was kept.
    """

    map: CalibrationMap
    provenance: Provenance
    weights: Mapping[str, float] = field(default_factory=dict)
    interval: VennAbersMap | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """A JSON object that `from_dict` converts back to an equal value."""
        provenance = asdict(self.provenance)
        provenance["fitted_at"] = self.provenance.fitted_at.isoformat()
        provenance["notes"] = list(self.provenance.notes)
        provenance["raw_histogram"] = list(self.provenance.raw_histogram)
        provenance["information"] = list(self.provenance.information)
        weights = {"weights": dict(self.weights)} if self.weights else {}
        interval = {"interval": self.interval.to_dict()} if self.interval is not None else {}
        return {"map": self.map.to_dict(), "provenance": provenance} | weights | interval

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FittedMap:
        """The value from an object that `to_dict` wrote.

        Raises
        ------
        KeyError, TypeError, ValueError
            If something is missing or of the wrong kind. (`MapRegistry` turns these into an error that names the file.)
        """
        fields = dict(content["provenance"])
        fields["fitted_at"] = datetime.fromisoformat(fields["fitted_at"])
        fields["notes"] = tuple(fields["notes"])
        for kept_since in ("raw_histogram", "information"):
            fields[kept_since] = tuple(fields.get(kept_since, ()))
        weights = {str(name): float(weight) for name, weight in content.get("weights", {}).items()}
        interval = content.get("interval")
        learned = VennAbersMap(interval["knots"], interval["lower"], interval["upper"]) if interval else None
        return cls(map_from_dict(content["map"]), Provenance(**fields), weights, learned)


# An interval for each confidence by Venn-Abers prediction: narrow where a map had many labels, wide where few.

STEPS = 100
"""Raw means are rounded to whole percent: 101 values are fast to fit, small to store, and precise enough."""


def learn_intervals(mean: FloatArray, correct: FloatArray, weights: FloatArray | None = None) -> VennAbersMap:
    """Learn the intervals of raw means, from the same answers as the map.

    Parameters
    ----------
    mean, correct : ndarray, shape (n,)
        Raw means in [0, 1] and outcomes, 0 or 1.
    weights : ndarray, shape (n,), optional
        How many answers each stands for; the new answer is one.

    Raises
    ------
    NotEnoughData
        If all answers are right, or all wrong, or all means equal once rounded.

    Notes
    -----
    **Source**: inductive Venn-Abers prediction (Vovk & Petej 2014; Vovk, Petej & Fedorova 2015): the new answer is
    added to the labelled ones once as wrong and once as right, and the isotonic fit is evaluated at its confidence both
    times. One of the two ends is perfectly calibrated for any data; their distance shows how much one answer changes
    the fit there. It is not an interval that contains the true probability with a stated probability.
    """
    rounded = np.rint(mean * STEPS) / STEPS
    learned: VennAbersMap = VennAbersMap.learn(rounded, correct, weights=weights).map  # type: ignore[assignment]
    return learned


def interval(fitted: FittedMap | None, raw_mean: float, mean: float) -> tuple[float, float] | None:
    """The interval of an answer, widened to include the calibrated mean; None if its map has no intervals.

    Parameters
    ----------
    fitted : FittedMap or None
        What calibrated the answer; None: nothing did.
    raw_mean, mean : float
        Of the answer before and after that map, in [0, 1].

    Examples
    --------
    >>> from hedgerow.calibration.fitting import fit_map
    >>> few = fit_map("platt", [9.0, 4.0] * 10, [1.0, 6.0] * 10, [1, 0] * 8 + [0, 1] * 2, folds=0)
    >>> many = fit_map("platt", [9.0, 4.0] * 500, [1.0, 6.0] * 500, ([1, 0] * 8 + [0, 1] * 2) * 50, folds=0)
    >>> [tuple(round(end, 3) for end in interval(fitted, 0.9, 0.8)) for fitted in (few, many)]
    [(0.727, 0.818), (0.798, 0.8)]
    """
    if fitted is None or fitted.interval is None:
        return None
    low, high = fitted.interval.interval(round(raw_mean * STEPS) / STEPS)
    return min(low, mean), max(high, mean)
