"""The metrics of marker internal confidence as their formulas stand on paper: loops, no arrays, no cleverness.

Sentences are dicts with marker, confidence, dataset, response and split. None stands for a figure that does not exist.
"""

from __future__ import annotations

from math import atanh, sqrt, tanh
from typing import Any

Sentences = list[dict[str, Any]]


def names(sentences: Sentences, field: str) -> list[str]:
    return sorted({s[field] for s in sentences})


def of(sentences: Sentences, **fields: str) -> Sentences:
    return [s for s in sentences if all(s[name] == value for name, value in fields.items())]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def has_two_splits(sentences: Sentences, dataset: str) -> bool:
    return len(names(of(sentences, dataset=dataset), "split")) == 2


def training(sentences: Sentences, dataset: str) -> Sentences:
    held = of(sentences, dataset=dataset)
    return of(held, split="train") if has_two_splits(sentences, dataset) else held


def mics(sentences: Sentences, dataset: str, threshold: int) -> dict[str, float]:
    """Equation 1 for every marker of a dataset."""
    found, held = {}, training(sentences, dataset)
    for marker in names(held, "marker"):
        bearing = of(held, marker=marker)
        if len(bearing) >= threshold:
            found[marker] = round(mean([s["confidence"] for s in bearing]), 12)
    return found


def errors(mic: dict[str, float], test: Sentences, by: str) -> list[float]:
    """What MAE averages: one figure a marker, sentence or response."""
    known = [s for s in test if s["marker"] in mic]

    def error(s: dict[str, Any]) -> float:
        return abs(mic[s["marker"]] - s["confidence"])

    if by == "sentence":
        return [error(s) for s in known]
    return [mean([error(s) for s in known if s[by] == value]) for value in names(known, by)]


def mae(sentences: Sentences, threshold: int, by: str, *, across: bool) -> tuple[float | None, float | None, int]:
    """ID-MAE, or CD-MAE across datasets: value, pooled deviation, number of figures averaged."""
    both = [d for d in names(sentences, "dataset") if has_two_splits(sentences, d)]
    pairs = [(a, b) for a in both for b in both if (a != b) == across]
    groups = []
    for a, b in pairs:
        group = errors(mics(sentences, a, threshold), of(sentences, dataset=b, split="test"), by)
        if group:
            groups.append(group)
    if not groups:
        return None, None, 0
    squares = sum(sum((x - mean(group)) ** 2 for x in group) for group in groups)
    freedom = sum(len(group) - 1 for group in groups)
    return mean([mean(group) for group in groups]), sqrt(squares / freedom) if freedom else None, len(groups)


def cv(values: list[float]) -> float | None:
    if len(values) < 2 or mean(values) == 0:
        return None
    return sqrt(sum((v - mean(values)) ** 2 for v in values) / (len(values) - 1)) / mean(values)


def plain_mean(values: list[float | None]) -> tuple[float | None, int]:
    kept = [v for v in values if v is not None]
    return (mean(kept) if kept else None), len(kept)


def fisher(values: list[float | None]) -> tuple[float | None, int]:
    kept = [max(-0.9999, min(0.9999, v)) for v in values if v is not None]
    return (tanh(mean([atanh(v) for v in kept])) if kept else None), len(kept)


def shared_by_all(sentences: Sentences, threshold: int, datasets: list[str]) -> list[str]:
    tables = [mics(sentences, d, threshold) for d in datasets]
    return [m for m in names(sentences, "marker") if tables and all(m in table for table in tables)]


def m_avg_cv(sentences: Sentences, threshold: int) -> tuple[float | None, int]:
    datasets = names(sentences, "dataset")
    tables = [mics(sentences, d, threshold) for d in datasets]
    return plain_mean([cv([of[m] for of in tables]) for m in shared_by_all(sentences, threshold, datasets)])


def d_avg_cv(sentences: Sentences, threshold: int) -> tuple[float | None, int]:
    return plain_mean([cv(list(mics(sentences, d, threshold).values())) for d in names(sentences, "dataset")])


def pearson(x: list[float], y: list[float]) -> float | None:
    if len(x) < 2 or len(set(x)) == 1 or len(set(y)) == 1:
        return None
    mx, my = mean(x), mean(y)
    above = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return above / sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))


def ranks(values: list[float]) -> list[float]:
    """Ties at the mean of their ranks."""
    return [1 + sum(other < v for other in values) + (sum(other == v for other in values) - 1) / 2 for v in values]


def spearman(x: list[float], y: list[float]) -> float | None:
    return pearson(ranks(x), ranks(y))


def mrc(sentences: Sentences, threshold: int) -> tuple[float | None, int]:
    datasets, found = names(sentences, "dataset"), []
    for i, a in enumerate(datasets):
        for b in datasets[i + 1 :]:
            one, other = mics(sentences, a, threshold), mics(sentences, b, threshold)
            both = [m for m in one if m in other]
            found.append(spearman([one[m] for m in both], [other[m] for m in both]))
    return fisher(found)


def across(
    sentences: Sentences, threshold: int, figures: dict[str, float], correlation: Any
) -> tuple[float | None, int]:
    """MAC or MCC."""
    datasets = [d for d in names(sentences, "dataset") if d in figures]
    tables = [mics(sentences, d, threshold) for d in datasets]
    return fisher(
        [
            correlation([of[m] for of in tables], [figures[d] for d in datasets])
            for m in shared_by_all(sentences, threshold, datasets)
        ]
    )


def cmfg(sentences: Sentences) -> float:
    """Mean faithfulness of responses within ten bins of their mean confidence, then over bins; half in either bin on an edge."""
    bins: list[list[tuple[float, float]]] = [[] for _ in range(10)]
    for response in names(sentences, "response"):
        held = of(sentences, response=response)
        faithful = 1 - mean([abs(s["decisiveness"] - s["confidence"]) for s in held])
        place = 10 * mean([s["confidence"] for s in held])
        edge = round(place)
        if abs(place - edge) < 1e-6 and 0 < edge < 10:
            bins[edge - 1].append((faithful, 0.5))
            bins[edge].append((faithful, 0.5))
        else:
            bins[min(int(place + 1e-6), 9)].append((faithful, 1.0))
    return mean([sum(f * w for f, w in held) / sum(w for _, w in held) for held in bins if held])
