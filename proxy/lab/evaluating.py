"""Evaluations and comparisons of labelled answers as JSON documents, for commands, pages and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import numpy as np

from ...calibration.evaluation import Comparison, Evaluation, Signal, compare
from ...calibration.maps import KINDS
from ...calibration.metrics.table import HIGHER_IS_BETTER, ROUNDING, Paired
from ..signals.combine import COMBINED
from ..types import Json
from .datasets import BadRow, Source
from .measuring import CLUSTERERS, SIGNALS, Records, combined, measure_several
from .rows import Row, Sampled, read_rows

AUROC = "auroc_change"
"""Key of a document for the map's change of the AUROC, whose two values are at its top level."""
COMPARED_KINDS = tuple(kind for kind in KINDS if kind != "local")
"""Maps of the confidence alone; a local map also depends on the question and is compared by `hedgerow regimes`."""


def figures_of(before: Mapping[str, float], after: Mapping[str, float], changes: Mapping[str, Paired]) -> Json:
    """Metrics by name: {before, after, difference, worse}; with intervals and significance if requested."""
    document: Json = {}
    for name in (name for name in before if name in after):
        difference = after[name] - before[name]
        worse = (-difference if name in HIGHER_IS_BETTER else difference) > ROUNDING
        held: Json = {"before": before[name], "after": after[name], "difference": difference, "worse": worse}
        if (change := changes.get(name)) is not None:
            intervals = {"before": change.before, "after": change.after, "difference": change.difference}
            held |= {f"{part}_interval": [interval.low, interval.high] for part, interval in intervals.items()}
            held["beyond_noise"] = change.beyond_noise
        document[name] = held
    return document


def evaluation_document(evaluation: Evaluation, data: str, signal: str, clusters: str, bad_rows: int) -> Json:
    """Every figure of an evaluation as one JSON object. `worse`: number of metrics that the map makes significantly worse."""
    fitted = evaluation.fitted
    figures = figures_of(evaluation.before, evaluation.after, evaluation.changes)
    auroc = {AUROC: figures.pop("auroc")} if "auroc" in figures else {}
    return {
        "data": data,
        "signal": signal,
        "clusters": clusters,
        "n": int(evaluation.correct.size),
        "n_fitted": fitted.provenance.n,
        "bad_rows": bad_rows,
        "accuracy": float(evaluation.correct.mean()),
        "auroc": evaluation.before.get("auroc"),
        "auroc_after": evaluation.after.get("auroc"),
        "worse": sum(held["worse"] and held.get("beyond_noise", False) for held in (figures | auroc).values()),
        **figures,
        **auroc,
        **fitted.to_dict(),
    }


def metrics_of(document: Json) -> Json:
    """The metrics in a document, by their display names."""
    figures = {name: held for name, held in document.items() if isinstance(held, dict) and "after" in held}
    return {"auroc" if name == AUROC else name: held for name, held in figures.items()}


def signals_in(source: Source, clusters: str, on_row: Callable[[], None] = lambda: None) -> dict[str, Records]:
    """The columns of every signal that the answers allow: agreement, and token probabilities if all have them.

    Raises:
        OSError: a file cannot be read; or another of `hedgerow.proxy.lab.datasets.UNREADABLE`.
    """
    rows = list(read_rows(source))
    names = COMBINED if _have_logprobs([row for _, row in rows]) else ("semantic",)
    chosen = [SIGNALS[name] for name in names]
    run = partial(measure_several, rows, equivalence=CLUSTERERS[clusters], signals=chosen, on_row=on_row)
    return anyio.run(run)


def _have_logprobs(rows: Sequence[Row | BadRow]) -> bool:
    sampled = [row for row in rows if isinstance(row, Sampled)]
    return bool(sampled) and all(sample.logprob_mean is not None for row in sampled for sample in row.samples)


def compare_signals(
    measured: Mapping[str, Records],
    *,
    reference: tuple[str, str],
    resamples: int,
    seed: int,
    on_candidate: Callable[[], None] = lambda: None,
) -> Comparison:
    """Rank every kind of map on every signal, and on the signals' combination where there are several.

    Raises:
        CalibrationError: the reference is missing, or cannot be fitted on these answers.
        ValueError: the signals cannot be combined.
    """
    of = {**measured, **({"combined": combined(measured)[0]} if len(measured) > 1 else {})}
    signals = {name: Signal(one.alpha, one.beta, one.measured_by) for name, one in of.items()}
    first = next(iter(measured.values()))
    return compare(
        signals, first.correct, kinds=COMPARED_KINDS, reference=reference, resamples=resamples,
        rng=np.random.default_rng(seed), on_candidate=on_candidate, groups=first.groups,
    )  # fmt: skip


def comparison_document(comparison: Comparison, data: str, clusters: str) -> Json:
    """Every figure of a comparison as one JSON object, candidates from best to worst."""
    candidates: list[dict[str, Any]] = [
        {
            "signal": candidate.signal, "map": candidate.kind, "brier": candidate.brier, "difference": candidate.difference.estimate,
            "difference_interval": [candidate.difference.low, candidate.difference.high], "verdict": candidate.verdict, **candidate.figures,
        }
        for candidate in comparison.candidates
    ]  # fmt: skip
    signal, kind = comparison.reference
    return {
        "data": data, "clusters": clusters, "n": comparison.n, "folds": comparison.folds, "accuracy": comparison.accuracy,
        "reference": {"signal": signal, "map": kind}, "candidates": candidates,
        "failed": [{"signal": name, "map": kind, "reason": reason} for (name, kind), reason in comparison.failed.items()],
    }  # fmt: skip
