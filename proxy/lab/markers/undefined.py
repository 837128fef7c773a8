"""Why a metric of markers is not a number: what the sentences lack for it, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from ....calibration.metrics.markers import Corpus, shared
from ...types import Json

Figures = Mapping[str, float]
"""A figure of each dataset, by its name; datasets without one are missing."""


def why_undefined(name: str, of: Corpus, threshold: int, accuracy: Figures, cmfg: Figures) -> str:
    """What is missing for a metric that has no value at a threshold."""
    matrix = of.matrix(threshold)
    if np.isnan(matrix).all():
        return "no marker has so many sentences in a dataset"
    if name.startswith("ID-"):
        return _no_error(of, "its own dataset")
    if name == "D-AvgCV":
        return "no dataset has two markers with a MIC"
    if len(of.datasets) < 2:
        return "there is one dataset"
    if name.startswith("CD-"):
        return _no_error(of, "another dataset")
    if name == "MRC":
        return "no two datasets share two markers whose MICs differ"
    if name == "M-AvgCV":
        return "no marker has a MIC in every dataset"
    figure, known = ("accuracy", accuracy) if name.startswith("MAC") else ("cMFG", cmfg)
    return _no_correlation(matrix, figure, [known.get(dataset, np.nan) for dataset in of.datasets])


def _no_error(of: Corpus, where: str) -> str:
    if all(test is None for test in of.test):
        return "no dataset has a test split"
    return f"no marker with a MIC stands in the test split of {where}"


def _no_correlation(matrix: np.ndarray, figure: str, values: Sequence[float]) -> str:
    there = ~np.isnan(values)
    if there.sum() < 2:
        return f"fewer than two datasets have a known {figure}"
    if not shared(matrix[there]).size:
        return "no marker has a MIC in every dataset"
    return f"{figure}, or each marker's MIC, is the same in every dataset"


def reasons(metrics: Mapping[str, Json]) -> list[str]:
    """A line for every reason: with or without plain sentences, at which thresholds, which metrics, why. `metrics`: by threshold and "with", "without"."""
    held: defaultdict[tuple[str, str], dict[str, list[str]]] = defaultdict(dict)
    for at, by_kind in metrics.items():
        for how, figures in by_kind.items():
            for name, figure in figures.items():
                if figure["value"] is None:
                    held[how, figure["why"]].setdefault(at, []).append(name)
    every = len(next(iter(metrics.values()))["with"])
    lines = []
    for (how, why), by_threshold in held.items():
        alike: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for at, names in by_threshold.items():
            alike[tuple(names)].append(at)
        for metrics_of, thresholds in alike.items():
            said = "every metric" if len(metrics_of) == every else ", ".join(metrics_of)
            lines.append(f"{how} <no_hedge>, T = {', '.join(thresholds)}: {said} undefined: {why}")
    return lines
