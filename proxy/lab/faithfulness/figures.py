"""Metrics of measured answers, in total and by group, from columns with a few numbers an answer."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....calibration.metrics import Interval, decisiveness_curve, faithfulness_figures
from ...types import Json
from .rows import GROUPED, Measured

METRICS = ("cmfg", "mfg", "decisiveness", "confidence", "overstated", "understated", "spearman")
"""The metrics with an interval, in display order."""
WORST = ("cmfg", "mfg")
"""The metrics of which `worst` has the lowest value over groups."""
RESAMPLES = 1000
"""Bootstrap resamples for the intervals."""
FEW = 100
"""With fewer answers cMFG is unreliable: its ten bins have fewer than ten each."""


@dataclass(slots=True)
class Columns:
    """The answers of one group."""

    decisiveness: array[float] = field(default_factory=lambda: array("d"))
    confidence: array[float] = field(default_factory=lambda: array("d"))
    faithfulness: array[float] = field(default_factory=lambda: array("d"))
    assertions: int = 0
    punts: int = 0
    one_sample: int = 0
    fewest: int | None = None
    most: int | None = None
    right: int = 0
    labelled: int = 0

    def add(self, row: Measured) -> None:
        """Add one answer."""
        if row.punts:
            self.punts += 1
            return
        n = len(row.decisiveness)
        self.decisiveness.append(sum(row.decisiveness) / n)
        self.confidence.append(sum(row.confidence) / n)
        self.faithfulness.append(row.faithfulness)
        self.assertions += n
        if row.k is not None:
            self.one_sample += row.k == 1
            self.fewest = min(row.k, self.fewest or row.k)
            self.most = max(row.k, self.most or row.k)
        if row.correct is not None:
            self.labelled, self.right = self.labelled + 1, self.right + bool(row.correct)

    def extend(self, other: Columns) -> None:
        """Add another group."""
        for name in ("decisiveness", "confidence", "faithfulness"):
            getattr(self, name).extend(getattr(other, name))
        for name in ("assertions", "punts", "one_sample", "right", "labelled"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.fewest = min((k for k in (self.fewest, other.fewest) if k is not None), default=None)
        self.most = max((k for k in (self.most, other.most) if k is not None), default=None)

    @property
    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Decisiveness, confidence and faithfulness of each answer, without copies."""
        d, c, f = (np.frombuffer(column) for column in (self.decisiveness, self.confidence, self.faithfulness))
        return d, c, f


@dataclass(slots=True)
class Gathered:
    """All measured answers, in total and by group, and the lines that were left out."""

    groups: defaultdict[tuple[str, ...], Columns] = field(default_factory=lambda: defaultdict(Columns))
    unread: int = 0

    def add(self, row: Measured) -> None:
        """Add one answer."""
        self.groups[row.group].add(row)

    @property
    def whole(self) -> Columns:
        """All groups together."""
        whole = Columns()
        for columns in self.groups.values():
            whole.extend(columns)
        return whole


def document(gathered: Gathered) -> Json:
    """Every figure by name; with several groups also `groups` and `worst`, the lowest values."""
    whole = figures(gathered.whole) | {"unread": gathered.unread}
    if len(gathered.groups) < 2:
        return whole | {"groups": [], "worst": worst_of([whole])}
    groups: list[Json] = []
    for key in sorted(gathered.groups):
        names = {name: value for name, value in zip(GROUPED, key, strict=True) if value}
        groups.append(names | figures(gathered.groups[key]))
    return whole | {"groups": groups, "worst": worst_of(groups)}


def worst_of(groups: Sequence[Json]) -> Json:
    """The lowest of some figures; None if no group has any."""
    return {name: min((group[name] for group in groups if group[name] is not None), default=None) for name in WORST}


def figures(columns: Columns) -> Json:
    """The figures of one group; metrics are None if no answer asserts anything."""
    d, c, f = columns.arrays
    n = int(d.size)
    known: Json = {
        "n": n,
        "assertions": columns.assertions,
        "punts": columns.punts,
        "punting_rate": columns.punts / (n + columns.punts) if n + columns.punts else None,
        "samples": None if columns.fewest is None else [columns.fewest, columns.most],
        "one_sample": columns.one_sample,
        "accuracy": columns.right / columns.labelled if columns.labelled else None,
    }
    if not n:
        return (
            known
            | dict.fromkeys([*METRICS, "cmfg_always_decisive"])
            | {"bins_filled": 0, "curve": [], "notes": notes(columns, 0)}
            | {"why": dict.fromkeys([*METRICS, "cmfg_always_decisive", "accuracy"], "no answer asserts anything")}
        )
    measured = faithfulness_figures(d, c, f, rng=np.random.default_rng(0), resamples=RESAMPLES)
    for name in METRICS:
        known |= _metric(name, getattr(measured, name))
    known |= {"cmfg_always_decisive": measured.cmfg_always_decisive, "bins_filled": measured.bins_filled}
    return known | {"curve": _curve(d, c, f), "notes": notes(columns, measured.bins_filled), "why": _why(known, d)}


def _why(known: Json, d: NDArray[np.float64]) -> Json:
    """Reasons for undefined figures, by name; {} if all are defined."""
    why = {}
    if known["spearman"] is None:
        alike = "decisive" if np.ptp(d) == 0.0 else "confident"
        why["spearman"] = "one answer has no rank" if d.size < 2 else f"all answers are equally {alike}"
    if known["accuracy"] is None:
        why["accuracy"] = "no answer says whether it is right"
    return why


def _metric(name: str, held: Interval | None) -> Json:
    if held is None:
        return {name: None}
    return {name: held.estimate, f"{name}_interval": [held.low, held.high]}


def _curve(d: NDArray[np.float64], c: NDArray[np.float64], f: NDArray[np.float64]) -> list[Json]:
    curve = decisiveness_curve(d, c, f)
    names = ("low", "high", "weight", "confidence", "decisiveness", "faithfulness", "spread")
    rows: list[dict[str, Any]] = []
    for values in zip(*(getattr(curve, name) for name in names), strict=True):
        rows.append({name: float(v) if isfinite(v) else None for name, v in zip(names, values, strict=True)})
    return rows


def group_name(group: Json) -> str:
    """The name of a group in tables."""
    return " / ".join(str(group[name]) for name in (*GROUPED, "route", "words") if group.get(name)) or "(unnamed)"


def notes(columns: Columns, bins: int) -> list[str]:
    """Notes for readers of the figures."""
    n, said = len(columns.decisiveness), list[str]()
    if not n:
        return [
            f"No answer asserts anything (punts: {columns.punts:,}): decisiveness, confidence and faithfulness are not defined."
        ]
    if n < FEW:
        said.append(f"There are fewer than {FEW} answers: ten bins of confidence hold fewer than ten each.")
    if bins < 10:
        said.append(
            f"{10 - bins} of 10 bins of confidence hold no answer and are left out of cMFG; cmfg_always_decisive says what answers without a hedge would get."
        )
    if columns.one_sample:
        said.append(f"{columns.one_sample} of {n} rows have one further answer: their confidence is 0 or 1.")
    if columns.fewest != columns.most:
        said.append(
            f"Answers were held against {columns.fewest} to {columns.most} further ones: confidence is coarser where they are fewer."
        )
    return said
