"""Evaluations and comparisons in a notebook: the results of `hedgerow evaluate` for a file, a frame or rows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from .calibration.errors import NotEnoughData
from .calibration.evaluation import evaluate as run
from .proxy.lab.datasets import Source
from .proxy.lab.evaluating import compare_signals, comparison_document, evaluation_document, signals_in
from .proxy.lab.measuring import Records, measure_file
from .proxy.lab.report import render, render_comparison

T = TypeVar("T")
Clusters = Literal["rules", "exact"]


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of labelled answers, with their HTML page.

    Attributes
    ----------
    figures : dict
        The output of `hedgerow evaluate --json`.
    """

    figures: dict[str, Any]
    _page: Callable[[], str] = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Write the page: one self-contained HTML file."""
        Path(path).write_text(self._page(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self._page())}" style="width:100%;height:40em;border:0"></iframe>'


def evaluate(
    data: Source | str,
    kind: str = "platt-bounded",
    *,
    signal: str = "semantic",
    train_fraction: float = 0.3,
    clusters: Clusters = "rules",
    resamples: int = 200,
    seed: int = 0,
    skip_bad: bool = False,
) -> Report:
    """Fit a map on the first part of labelled answers and measure it on the rest.

    Parameters
    ----------
    data : str, Path, DataFrame or iterable of mappings
        A file, a frame of pandas or polars, or rows; docs/calibration.md says what a row may hold.
    kind : str
        The kind of map.
    signal : str
        What measures the confidence of answers that are to be measured: semantic, token or consistency.
    train_fraction : float
        Share of the rows, from the top, that the map is fitted on.
    clusters : str
        How answers are grouped: by the proxy's `rules`, or `exact`, equal texts.
    resamples, seed : int
        Of the bootstrap.
    skip_bad : bool
        Go on without rows that cannot be used; `figures["bad_rows"]` counts them.

    Raises
    ------
    ValueError
        If rows cannot be used, or determine no map. `hedgerow.calibration.errors.CalibrationError` is one.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> rows = [{"confidence": 0.9, "label": i % 2} for i in range(150)] + [{"confidence": 0.6, "label": i % 3 == 0} for i in range(150)]
    >>> report = evaluate(rows[::2] + rows[1::2], resamples=0)
    >>> report.figures["smooth_ece"]["after"] < report.figures["smooth_ece"]["before"]
    True
    """
    records = _usable(_apart(lambda: measure_file(_source(data), [signal], clusters)[signal]), skip_bad)
    evaluation = run(
        records.alpha, records.beta, records.correct, kind=kind, train_fraction=train_fraction, resamples=resamples,
        rng=np.random.default_rng(seed), signal=signal, model=records.model, groups=records.groups,
    )  # fmt: skip
    figures = evaluation_document(evaluation, _name(data), signal, clusters, len(records.bad))
    return Report(figures, lambda: render(evaluation, figures))


def compare(
    data: Source | str,
    kind: str = "platt-bounded",
    *,
    signal: str = "semantic",
    clusters: Clusters = "rules",
    seed: int = 0,
    skip_bad: bool = False,
) -> Report:
    """Rank every kind of map on every signal that labelled answers allow, by cross-validation, each against one `kind` on one `signal`.

    Parameters and errors as of `evaluate`; `hedgerow.calibration.evaluation.compare` says how.
    """
    measured = _apart(lambda: signals_in(_source(data), clusters))
    _usable(next(iter(measured.values())), skip_bad)
    comparison = compare_signals(measured, reference=(signal, kind), resamples=2000, seed=seed)
    figures = comparison_document(comparison, _name(data), clusters)
    return Report(figures, lambda: render_comparison(figures))


def _apart(work: Callable[[], T]) -> T:
    """Call in a separate thread, because a notebook's thread already runs an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def _source(data: Source | str) -> Source:
    return Path(data) if isinstance(data, str) else data


def _name(data: Source | str) -> str:
    return Path(data).name if isinstance(data, str | Path) else "labelled answers"


def _usable(records: Records, skip_bad: bool) -> Records:
    if records.bad and not skip_bad:
        first, *others = records.bad
        more = f", and {len(others):,} more rows cannot be used" if others else ""
        raise ValueError(f"row {first.line} cannot be used{more} (skip_bad=True goes on without): {first.reason}")
    if not records.correct.size:
        raise NotEnoughData("no row has a label")
    return records
