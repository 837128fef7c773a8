"""The page of `hedgerow markers --report`.

It has a heatmap of MICs, their density with its bands, violins, rank agreement, and the gap to what people perceive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ....calibration.metrics.markers import NO_MARKER
from ...types import Json
from ..markers.analysis import METRIC_NAMES
from ..markers.lexicon import UNSTABLE, is_stable
from .page import environment

CELLS = 100
"""Number of points in [0, 1] at which a density is drawn."""
NARROWEST, WIDEST = 0.02, 0.07
"""Limits of a density's bandwidth: a single value is still a bump, and two modes stay separate."""
SHOWN = 24
"""Number of markers in the heatmap and the gap chart: the most frequent."""
DIP = 0.97
"""A minimum separates two bands if it is below this share of the lower peak beside it."""
FAINT = 0.005
"""A violin ends where its density is below this share of its peak."""
Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Density:
    """A density on [0, 1], its values, and the bands between its minima: (from, to, number of values)."""

    points: Points
    values: list[float]
    bands: list[tuple[float, float, int]]


@dataclass(frozen=True, slots=True)
class Violin:
    """Two densities back to back, with heights as shares of the half-width; empty for a side without values."""

    dataset: str
    left: Points
    right: Points
    left_count: int
    right_count: int
    point: float | None


def render(document: Json) -> str:
    """The page for the output of `hedgerow markers --json`."""
    at = document["thresholds"][0]
    shown = [_shown(model, at) for model in document["models"]]
    pages = environment()
    pages.filters["correlation"] = colour_of_correlation
    return pages.get_template("markers.html").render(
        document=document, shown=shown, metrics=METRIC_NAMES, threshold=at, unstable=UNSTABLE, no_marker=NO_MARKER
    )


def _shown(model: Json, threshold: int) -> Json:
    datasets = [of["dataset"] for of in model["datasets"]]
    kept = [row for row in model["markers"] if any(of["count"] >= threshold for of in row["datasets"].values())][:SHOWN]
    kept.sort(key=lambda row: -_mean_mic(row, threshold))
    rows = sorted((row for row in model["markers"] if row["count"] >= threshold), key=lambda row: -row["count"])[:SHOWN]
    return {
        "model": model,
        "datasets": datasets,
        "heatmap": [(row, [_cell(row["datasets"].get(name), threshold) for name in datasets]) for row in kept],
        "densities": [(name, density(mics)) for name in datasets if (mics := _mics(model, name, threshold))],
        "violins": {
            "correctness": _violins(model, threshold, ("wrong", "right"), "accuracy"),
            "faithfulness": _violins(model, threshold, ("unfaithful", "faithful"), "cmfg"),
        },
        "ranked": any(r is not None for i, row in enumerate(model["rank_agreement"]) for r in row[:i]),
        "gap": _labelled([row for row in rows if row["people"] is not None]),
        "phrases": [row | {"stable": is_stable(row)} for row in rows],
    }


def _mean_mic(row: Json, threshold: int) -> float:
    return float(np.mean([of["mic"] for of in row["datasets"].values() if of["count"] >= threshold]))


def _cell(of: Json | None, threshold: int) -> Json | None:
    return (
        None if of is None or of["count"] < threshold else of | {"colour": colour(of["mic"]), "dark": of["mic"] > 0.55}
    )


def _mics(model: Json, dataset: str, threshold: int) -> list[float]:
    held = [row["datasets"].get(dataset) for row in model["markers"]]
    return [of["mic"] for of in held if of is not None and of["count"] >= threshold]


def colour(share: float | None) -> str:
    """A colour from white at 0 to deep green at 1; grey for no value."""
    if share is None:
        return "#eef1ef"
    low, high = (246, 249, 247), (17, 94, 70)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(low, high, strict=True))


def colour_of_correlation(r: float | None) -> str:
    """A colour from rust at -1 over white at 0 to green at 1."""
    if r is None:
        return "#eef1ef"
    high = (17, 94, 70) if r >= 0 else (180, 85, 45)
    return "#" + "".join(f"{round(250 + (b - 250) * abs(r)):02x}" for b in high)


def density(values: Sequence[float], weights: Sequence[float] | None = None) -> Density:
    """Gaussian kernel density with Silverman's bandwidth, reflected at 0 and 1 so that no mass is lost."""
    points = _curve(values, weights)
    return Density(points, sorted(values), _bands(points, values))


def _curve(values: Sequence[float], weights: Sequence[float] | None = None) -> Points:
    x = np.asarray(values, dtype=np.float64)
    w = np.ones_like(x) if weights is None else np.asarray(weights, dtype=np.float64)
    w = w / w.sum()
    deviation = float(np.sqrt(np.sum(w * (x - np.sum(w * x)) ** 2)))
    width = min(max(0.9 * deviation * len(x) ** -0.2, NARROWEST), WIDEST)
    grid = np.linspace(0.0, 1.0, CELLS + 1)
    mirrored = np.concatenate([x, -x, 2.0 - x])
    heights = np.exp(-0.5 * ((grid[:, None] - mirrored) / width) ** 2) @ np.tile(w, 3)
    top = heights.max()
    return [(float(a), float(b / top)) for a, b in zip(grid, heights, strict=True)]


def _bands(points: Points, values: Sequence[float]) -> list[tuple[float, float, int]]:
    """The intervals between the minima that clearly separate two peaks of a density."""
    heights = [y for _, y in points]
    cuts, peak, low, at = list[float](), heights[0], heights[0], points[0][0]
    for x, y in points[1:]:
        if y <= low:
            low, at = y, x
        elif low < DIP * peak and y > low / DIP:
            cuts.append(at)
            peak, low, at = y, y, x
        if y > peak:
            peak, low, at = y, y, x
    edges = [0.0, *cuts, 1.0]
    bands = [(a, b, sum(a <= v < b or (b == 1.0 and v == 1.0) for v in values)) for a, b in pairwise(edges)]
    return [band for band in bands if band[2]]


def _violins(model: Json, threshold: int, sides: tuple[str, str], point: str) -> list[Violin]:
    """For each dataset, MICs of the sentences in two kinds of responses."""
    violins = []
    for of in model["datasets"]:
        held = [
            cell
            for row in model["markers"]
            if (cell := row["datasets"].get(of["dataset"])) and cell["count"] >= threshold
        ]
        curves = [_side(held, side) for side in sides]
        if any(curve for curve, _ in curves):
            violins.append(Violin(of["dataset"], curves[0][0], curves[1][0], curves[0][1], curves[1][1], of[point]))
    return violins


def _side(held: Sequence[Json], side: str) -> tuple[Points, int]:
    there = [of for of in held if of[side]]
    curve = _curve([of["mic"] for of in there], [of[side] for of in there]) if there else []
    return [point for point in curve if point[1] > FAINT], sum(of[side] for of in there)


def _labelled(rows: Sequence[Json]) -> list[tuple[Json, float]]:
    """Markers with the heights of their labels, moved apart so that labels do not overlap."""
    points = sorted(rows, key=lambda row: row["mic"])
    return list(zip(points, _spread([row["mic"] for row in points], 0.042), strict=True))


def _spread(heights: Sequence[float], apart: float) -> list[float]:
    """Ascending heights in [0, 1], moved as little as needed to keep their distance."""
    moved = list(heights)
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + apart)
    over = moved[-1] - 1.0 if moved else 0.0
    if over > 0:
        moved[-1] = 1.0
        for i in range(len(moved) - 2, -1, -1):
            moved[i] = min(moved[i], moved[i + 1] - apart)
    return moved
