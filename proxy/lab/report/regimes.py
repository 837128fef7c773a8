"""The data that the page of `hedgerow regimes` draws: a map of held-out questions, reliability by regime, corrections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....calibration.arrays import FloatArray
from ....calibration.metrics.binned import reliability_equal_mass
from ....calibration.regimes.features import find_centres
from ....calibration.regimes.vectors import Vectors
from ...monitoring.diagrams import Bin
from ..regimes import Study, base_means
from .page import environment

POINTS = 2500
"""Largest number of questions on a map; of more, a random sample is drawn."""
FULL = 0.2
"""Smallest distance from 0 that gets the full colour."""
_BINS = 6
_COARSE = 24


@dataclass(frozen=True, slots=True)
class Dot:
    """A question on the map: its position in [0, 1], and its distance from 0 in [-1, 1] of the full colour."""

    x: float
    y: float
    delta: float


@dataclass(frozen=True, slots=True)
class Mark:
    """The number of a regime at the centre of its questions."""

    x: float
    y: float
    number: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Reliability before and after the correction, of all held-out answers or of one regime."""

    title: str
    n: int
    before: list[Bin]
    after: list[Bin]


@dataclass(frozen=True, slots=True)
class Moved:
    """The effect of a correction on a regime: mean raw confidence, with the confidence map, and with the local map."""

    title: str
    raw: float
    base: float
    local: float
    right: float
    low: float
    high: float


def render_regimes(made: Study, document: dict[str, Any]) -> str:
    """The page; `document` is the output of `hedgerow regimes --json`."""
    rng = np.random.default_rng(0)
    place = flat(made.questions.columns.x[made.held], rng)
    shown = np.arange(len(place)) if len(place) <= POINTS else rng.choice(len(place), POINTS, replace=False)
    raw = made.predicted["local"] - made.predicted["raw"]
    maps = [
        ("How far the confidence is off", *_dots(place, raw, shown)),
        ("What confidence alone does not show", *_dots(place, made.discovery.hidden, shown)),
    ]
    middles = [np.median(place[regime.rows], axis=0) for regime in made.discovery.regimes]
    marks = [Mark(float(at[0]), float(at[1]), number) for number, at in enumerate(middles, start=1)]
    return (
        environment()
        .get_template("regimes.html")
        .render(document=document, maps=maps, marks=marks, pairs=_pairs(made), moved=_moved(made))
    )


def flat(x: Vectors, rng: np.random.Generator) -> FloatArray:
    """Positions in [0, 1] x [0, 1] that separate coarse groups of questions: main directions of the groups' centres."""
    centres = find_centres(x, _COARSE, rng)
    middle = np.average(centres.at, axis=0, weights=centres.count)
    spread = (centres.at - middle) * np.sqrt(centres.count)[:, None]
    directions = np.linalg.svd(spread, full_matrices=False)[2][:2]
    place = np.asarray((x - middle) @ directions.T, dtype=np.float64)
    if place.shape[1] < 2:
        place = np.column_stack([place[:, 0], np.zeros(len(place))])
    low, high = np.quantile(place, [0.005, 0.995], axis=0)
    return np.asarray(np.clip((place - low) / np.maximum(high - low, 1e-9), 0.0, 1.0), dtype=np.float64)


def _dots(place: FloatArray, delta: FloatArray, shown: NDArray[np.int64]) -> tuple[float, list[Dot]]:
    """The distance that gets the full colour, and the questions to show."""
    full = max(FULL, round(float(np.quantile(np.abs(delta), 0.9)), 1))
    share = np.clip(delta / full, -1.0, 1.0)
    return full, [Dot(float(place[i, 0]), float(place[i, 1]), float(share[i])) for i in shown]


def _pairs(made: Study) -> list[Pair]:
    y = made.questions.columns.correct[made.held]
    groups: Sequence[tuple[str, Any]] = [
        ("All held-out answers", slice(None)),
        *((_title(made, number), regime.rows) for number, regime in enumerate(made.discovery.regimes)),
    ]
    return [
        Pair(
            title,
            y[rows].size,
            _bins(made.predicted["raw"][rows], y[rows]),
            _bins(made.predicted["local"][rows], y[rows]),
        )
        for title, rows in groups
    ]


def _title(made: Study, number: int) -> str:
    sign = "overconfident" if made.discovery.regimes[number].sign < 0 else "underconfident"
    return f"Regime {number + 1}, {sign}"


def _bins(confidence: FloatArray, y: FloatArray) -> list[Bin]:
    table = reliability_equal_mass(confidence, y, bins=min(_BINS, max(1, y.size // 20)))
    columns = (table.confidence, table.accuracy, table.accuracy_low, table.accuracy_high, table.weight / y.size)
    rows = zip(*columns, strict=True)
    return [Bin(*map(float, row)) for row in rows if row[4] > 0.0]


def _moved(made: Study) -> list[Moved]:
    y, base = made.questions.columns.correct[made.held], base_means(made)
    moved = []
    for number, regime in enumerate(made.discovery.regimes):
        rows, right = regime.rows, float(y[regime.rows].mean())
        half = (regime.raw_gap.high - regime.raw_gap.low) / 2.0
        means = (float(made.predicted[name][rows].mean()) for name in ("raw", "local"))
        raw, local = means
        moved.append(
            Moved(
                _title(made, number),
                raw,
                float(base[rows].mean()),
                local,
                right,
                max(right - half, 0.0),
                min(right + half, 1.0),
            )
        )
    return moved
