"""A fitted map with its provenance: the records it was learned from and its effect on each metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from .maps.base import CalibrationMap, map_from_dict
from .maps.venn_abers import VennAbersMap


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
        The interval of each raw mean (`hedgerow.calibration.promises.intervals`); None in maps fitted before this was kept.
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
