"""A lexicon of the model itself: the markers whose meaning to it holds across datasets, each with the Beta of its own confidences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from statistics import fmean

import numpy as np

from ....calibration import Beta
from ....calibration.metrics.markers import NO_MARKER, THRESHOLDS, Corpus, Part
from ....calibration.scores import fit_moments
from ....lexicon.hedges.entries import NO_HEDGE, Hedge, Lexicon
from ....lexicon.perception.people import people_read
from ...types import Json
from .rows import Sentence

UNSTABLE = 0.25
"""A marker's own CD-MAE from which it says nothing about another dataset: so far is a confidence drawn evenly from [0, 1] from its mean, on average."""
LEAST_DATASETS = 2
"""Datasets in which a marker needs a MIC: one dataset says nothing about stability across datasets."""


def own_cd_mae(whole: Corpus) -> dict[str, float]:
    """CD-MAE of single markers: mean over ordered pairs of datasets D, D' of the mean of |MIC in D - confidence of its sentences in D'|.

    Markers with a MIC (`THRESHOLDS[0]` sentences) in one dataset at most are missing. The sentences of D' are those of its test split; all, where it has a
    single split, which D never saw.
    """
    mics = whole.matrix(THRESHOLDS[0])
    tests = [train if test is None else test for train, test in zip(whole.train, whole.test, strict=True)]
    held = [_by_marker(part) for part in tests]
    stability = {}
    for at, marker in enumerate(whole.markers):
        in_ = [i for i in range(len(mics)) if not np.isnan(mics[i, at])]
        errors = [
            float(np.abs(mics[one, at] - held[other][at]).mean())
            for one, other in permutations(in_, 2)
            if at in held[other]
        ]
        if errors:
            stability[marker] = fmean(errors)
    return stability


def _by_marker(part: Part) -> dict[int, np.ndarray]:
    """The confidences of each marker's sentences."""
    order = np.argsort(part.marker, kind="stable")
    markers, starts = np.unique(part.marker[order], return_index=True)
    return dict(zip(markers.tolist(), np.split(part.confidence[order], starts[1:]), strict=True)) if order.size else {}


def is_stable(row: Json) -> bool:
    """Whether a marker of the document has a place in the lexicon: a MIC in two datasets at least, and an own CD-MAE below `UNSTABLE`."""
    enough = sum(of["count"] >= THRESHOLDS[0] for of in row["datasets"].values())
    return enough >= LEAST_DATASETS and row["own_cd_mae"] is not None and bool(row["own_cd_mae"] < UNSTABLE)


def own_lexicon(model: Json, sentences: Sequence[Sentence]) -> Lexicon:
    """The stable markers of a model of the document, from its sentences; the least confident first.

    The Beta of an entry has the mean of its MICs over datasets, each counting alike, and the spread of its sentences' confidences. Frames are those of the
    English entry of the same words: a marker without one is read and never written.
    """
    confidences: defaultdict[str, list[float]] = defaultdict(list)
    for sentence in sentences:
        confidences[sentence.marker].append(sentence.confidence)
    stable = [row for row in model["markers"] if is_stable(row)]
    hedges = [_entry(model["model"], row, confidences[row["marker"]]) for row in stable]
    hedges.sort(key=lambda hedge: (hedge.beta.mean, hedge.id))
    return Lexicon(_unique(hedges), "en", f"what {model['model']} means by its own hedges")


def _entry(model: str, row: Json, confidences: Sequence[float]) -> Hedge:
    people = people_read(row["marker"])
    plain = row["marker"] == NO_MARKER
    frames = people.hedge.frames if people.hedge is not None else ()
    return Hedge(
        id=NO_HEDGE if plain else _slug(row["marker"]),
        phrase="" if plain else people.hedge.phrase if people.hedge is not None else row["marker"],
        beta=_beta(row, confidences),
        source="modelled",
        readers=0,
        frames=() if plain else frames,
        register=people.hedge.register if people.hedge is not None else "plain",
        basis=_basis(model, row),
    )


def _beta(row: Json, confidences: Sequence[float]) -> Beta:
    spread = fit_moments(confidences)
    mean = fmean(of["mic"] for of in row["datasets"].values() if of["count"] >= THRESHOLDS[0])
    return Beta.from_mean(min(max(mean, 0.001), 0.999), spread.concentration)


def _basis(model: str, row: Json) -> str:
    basis = f"marker internal confidence of {model}: {row['count']} sentences of {len(row['datasets'])} datasets, own CD-MAE {row['own_cd_mae']:.2f}"
    if row["graded"]:
        basis += f"; right {row['right']:.0%} of {row['graded']}"
    read = "what people read in it is not known" if row["people"] is None else f"people read {row['people']:.2f}"
    return f"{basis}; {read}"


def _slug(marker: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", marker.lower()).strip("-") or "marker"


def _unique(hedges: Sequence[Hedge]) -> tuple[Hedge, ...]:
    """Entries of different ids: of two markers that one English entry words, the first stays."""
    kept: dict[str, Hedge] = {}
    for hedge in hedges:
        kept.setdefault(hedge.id, hedge)
    return tuple(kept.values())
