"""The regimes of a route's map, from present verdicts: the error of the confidence on each kind of question, before and after the map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...calibration import ActiveMap
from ...calibration.maps.local import LocalMap
from ..audit.engine import Connection
from ..audit.labelled import in_regimes
from ..audit.queries import Period

LEAST = 20
"""Fewest verdicts for an interval."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Mean of label minus confidence, with its 95 % interval; below 0 the confidence is too high."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RegimeFigures:
    """One regime of a local map.

    Attributes:
        overconfident: whether its confidence was too high when the map was fitted; else too low.
        words: more frequent in its questions than elsewhere; empty if the map keeps none.
        verdicts: number of verdicts on its answers.
        accuracy: of these; None without any.
        raw, calibrated: None below 20 verdicts.
        wrong: whether the map has an alarm in this regime that is not cleared.
    """

    number: int
    overconfident: bool
    words: str
    verdicts: int
    accuracy: float | None
    raw: Gap | None
    calibrated: Gap | None
    wrong: bool


def gap(residual: NDArray[np.float64]) -> Gap | None:
    """Mean of the residuals with a normal interval; None with fewer than 20."""
    if residual.size < LEAST:
        return None
    mean, half = float(residual.mean()), 1.96 * float(residual.std(ddof=1)) / residual.size**0.5
    return Gap(mean, mean - half, mean + half)


def regime_figures(
    connection: Connection, route: str, active: ActiveMap, period: Period, alarms: frozenset[str]
) -> tuple[RegimeFigures, ...]:
    """The regimes of a local map, in its order; empty for other maps. `alarms` are the kinds of uncleared alarms."""
    local = active.map
    if not isinstance(local, LocalMap) or active.version is None:
        return ()
    columns = in_regimes(connection, route=route, map_id=active.version, period=period)
    rows = []
    for number, (sign, _, words) in enumerate(local.regimes, start=1):
        raw, calibrated, correct = columns.get(number, np.empty((3, 0)))
        rows.append(
            RegimeFigures(
                number, sign < 0, words, correct.size, float(correct.mean()) if correct.size else None,
                gap(correct - raw), gap(correct - calibrated), f"outcomes of regime {number}" in alarms,
            )
        )  # fmt: skip
    return tuple(rows)


def active_of(maps: Mapping[str, ActiveMap], version: str | None) -> ActiveMap | None:
    """The route's map with this version."""
    return next((active for active in maps.values() if active.version == version and version is not None), None)
