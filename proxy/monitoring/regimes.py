"""The regimes of a route's map as verdicts see them now: how far off the confidence is on each kind of question, before and after the map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.calibration import ActiveMap
from hedgerow.calibration.maps.local import LocalMap
from hedgerow.proxy.audit.engine import Connection
from hedgerow.proxy.audit.labelled import in_regimes
from hedgerow.proxy.audit.queries import Period

LEAST = 20
"""Verdicts from which on there is an interval."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Mean of right minus confidence, with its 95 % interval; below 0: the answers are less often right than it says."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RegimeFigures:
    """One regime of a local map.

    Attributes:
        overconfident: what its confidence was when the map was fitted; else underconfident.
        words: that stand in its questions more often than elsewhere; empty where the map keeps none.
        verdicts: on answers in it.
        accuracy: of these; None without any.
        raw, calibrated: None below 20 verdicts.
        wrong: whether an alarm stands that the map is wrong there.
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
    """The mean of so many residuals by the normal approximation; None of fewer than 20."""
    if residual.size < LEAST:
        return None
    mean, half = float(residual.mean()), 1.96 * float(residual.std(ddof=1)) / residual.size**0.5
    return Gap(mean, mean - half, mean + half)


def regime_figures(
    connection: Connection, route: str, active: ActiveMap, period: Period, alarms: frozenset[str]
) -> tuple[RegimeFigures, ...]:
    """The regimes of a local map, in its own order; none where the map reads no questions. `alarms` are the kinds that stand."""
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
    """The map of this version among a route's."""
    return next((active for active in maps.values() if active.version == version and version is not None), None)
