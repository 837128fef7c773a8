"""From sentences to every figure of each model, as one JSON document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from statistics import fmean
from typing import TypeVar

import numpy as np

from ....calibration.metrics import wilson_interval
from ....calibration.metrics.faithfulness import conditional_mean
from ....calibration.metrics.markers import (
    MARKER_METRICS,
    NO_MARKER,
    THRESHOLDS,
    Averaged,
    Corpus,
    MarkedSentence,
    corpus,
    measure_markers,
)
from ....lexicon.perception.people import people_read
from ...types import Json
from .rows import Sentence
from .undefined import reasons, why_undefined

T = TypeVar("T")
UNNAMED = "(unnamed)"
"""What a model or a dataset without a name is called."""
OUT_OF = 1 << 32


@dataclass(slots=True)
class Gathered:
    """The sentences of all models, and what is not among them."""

    sentences: list[Sentence] = field(default_factory=list)
    several: int = 0
    unread: int = 0
    unasserting: int = 0

    def add(self, sentences: Sequence[Sentence], several: int, unread: int = 0, unasserting: int = 0) -> None:
        """Take in the sentences of a row."""
        self.sentences += sentences
        self.several += several
        self.unread += unread
        self.unasserting += unasserting


def document(gathered: Gathered, *, thresholds: Sequence[int] = THRESHOLDS, test_share: float = 0.0) -> Json:
    """Every figure by its name, model by model; `test_share` splits the datasets that have one split."""
    by_model: defaultdict[str, list[Sentence]] = defaultdict(list)
    for sentence in gathered.sentences:
        by_model[sentence.model].append(sentence)
    models = [
        _model(name or UNNAMED, split_by_response(by_model[name], test_share), thresholds) for name in sorted(by_model)
    ]
    return {
        "sentences": len(gathered.sentences),
        "several": gathered.several,
        "unread": gathered.unread,
        "unasserting": gathered.unasserting,
        "models": models,
    }


def split_by_response(sentences: Sequence[Sentence], test_share: float) -> list[Sentence]:
    """A share of the responses of each dataset with a single split becomes its test split, chosen by their names alone."""
    splits: defaultdict[str, set[str]] = defaultdict(set)
    for sentence in sentences:
        splits[sentence.dataset].add(sentence.split)
    single = {dataset for dataset, names in splits.items() if len(names) == 1}

    @cache
    def is_test(dataset: str, response: str) -> bool:
        digest = sha256(f"{dataset}\0{response}".encode()).digest()
        return int.from_bytes(digest[:4]) < test_share * OUT_OF

    if not test_share:
        return list(sentences)
    return [
        replace(s, split="test" if is_test(s.dataset, s.response) else "train") if s.dataset in single else s
        for s in sentences
    ]


def _model(name: str, sentences: Sequence[Sentence], thresholds: Sequence[int]) -> Json:
    whole = corpus(MarkedSentence(s.marker, s.confidence, s.dataset or UNNAMED, s.response, s.split) for s in sentences)
    responses = _responses(sentences)
    accuracy = _by_dataset(responses, lambda of: of.correct, fmean)
    cmfg = _by_dataset(responses, lambda of: of if of.gap else None, _cmfg)
    kinds = {"with": whole, "without": whole.without(NO_MARKER)}
    metrics = {
        str(threshold): {how: _figures(of, threshold, accuracy, cmfg) for how, of in kinds.items()}
        for threshold in thresholds
    }
    return {
        "model": name,
        "sentences": len(sentences),
        "responses": len(responses),
        "datasets": [_dataset(whole, i, responses, accuracy, cmfg) for i in range(len(whole.datasets))],
        "metrics": metrics,
        "undefined": reasons(metrics),
        "markers": _markers(whole, sentences),
        "notes": _notes(whole, thresholds[0]),
    }


@dataclass(slots=True)
class _Response:
    """What the sentences of a response say together."""

    dataset: str
    markers: list[str] = field(default_factory=list)
    confidence: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    correct: float | None = None

    @property
    def faithfulness(self) -> float | None:
        """1 - mean of |decisiveness - confidence|; None where nobody knows how decisive any of its sentences sounds."""
        return 1.0 - fmean(self.gap) if self.gap else None


def _responses(sentences: Sequence[Sentence]) -> list[_Response]:
    held: dict[tuple[str, str], _Response] = {}
    for s in sentences:
        of = held.setdefault((s.dataset, s.response), _Response(s.dataset or UNNAMED))
        decisive = people_read(s.marker).decisiveness if s.decisiveness is None else s.decisiveness
        of.markers.append(s.marker)
        of.confidence.append(s.confidence)
        if decisive is not None:
            of.gap.append(abs(decisive - s.confidence))
        of.correct = float(s.correct) if s.correct is not None else of.correct
    return list(held.values())


def _by_dataset(
    responses: Iterable[_Response], value: Callable[[_Response], T | None], together: Callable[[list[T]], float]
) -> dict[str, float]:
    """A figure of each dataset from one of each response; datasets where no response has one are missing."""
    held: defaultdict[str, list[T]] = defaultdict(list)
    for of in responses:
        if (known := value(of)) is not None:
            held[of.dataset].append(known)
    return {dataset: together(values) for dataset, values in held.items()}


def _cmfg(responses: list[_Response]) -> float:
    known = [(faithfulness, of) for of in responses if (faithfulness := of.faithfulness) is not None]
    return conditional_mean([faithfulness for faithfulness, _ in known], [fmean(of.confidence) for _, of in known])


def _figures(of: Corpus, threshold: int, accuracy: Mapping[str, float], cmfg: Mapping[str, float]) -> Json:
    """Every metric by its name; one that is not defined says why."""

    def figure(name: str, metric: Averaged) -> Json:
        known = {"value": metric.value, "deviation": metric.deviation, "over": metric.over}
        return (
            known if metric.value is not None else known | {"why": why_undefined(name, of, threshold, accuracy, cmfg)}
        )

    measured = measure_markers(of, threshold=threshold, accuracy=accuracy, cmfg=cmfg)
    return {name: figure(name, metric) for name, metric in measured.items()}


def _dataset(
    whole: Corpus, i: int, responses: Sequence[_Response], accuracy: Mapping[str, float], cmfg: Mapping[str, float]
) -> Json:
    name, test = whole.datasets[i], whole.test[i]
    return {
        "dataset": name,
        "train": int(whole.train[i].marker.size),
        "test": int(test.marker.size) if test is not None else 0,
        "responses": sum(of.dataset == name for of in responses),
        "accuracy": accuracy.get(name),
        "cmfg": cmfg.get(name),
    }


def _markers(whole: Corpus, sentences: Sequence[Sentence]) -> list[Json]:
    """Each marker with its MIC in each dataset, most frequent first; counts are of the sentences that MICs are estimated on."""
    mics = whole.mics()
    graded: defaultdict[str, list[bool]] = defaultdict(list)
    for s in sentences:
        if s.correct is not None:
            graded[s.marker].append(s.correct)

    def row(at: int, marker: str) -> Json:
        of_datasets = {
            name: {"mic": float(of.mean[at]), "deviation": _known(of.deviation[at]), "count": int(of.count[at])}
            for name, of in zip(whole.datasets, mics, strict=True)
            if of.count[at]
        }
        count, people = int(sum(of.count[at] for of in mics)), people_read(marker).mean
        together = float(sum(of.mean[at] * of.count[at] for of in mics if of.count[at]) / count) if count else None
        figures = {
            "marker": marker,
            "count": count,
            "mic": together,
            "people": people,
        }
        return figures | _right(graded.get(marker, [])) | {"datasets": of_datasets}

    rows = [row(at, marker) for at, marker in enumerate(whole.markers)]
    return sorted(rows, key=lambda of: (-of["count"], of["marker"]))


def _right(graded: Sequence[bool]) -> Json:
    """How often responses with a marker are right, with the Wilson interval."""
    if not graded:
        return {"graded": 0, "right": None, "right_interval": None}
    low, high = wilson_interval(np.array([fmean(graded)]), np.array([float(len(graded))]))
    return {"graded": len(graded), "right": fmean(graded), "right_interval": [float(low[0]), float(high[0])]}


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _notes(whole: Corpus, threshold: int) -> list[str]:
    """What a reader of the figures should know."""
    notes = []
    n, tested = len(whole.datasets), sum(test is not None for test in whole.test)
    counts = [of.count for of in whole.mics()]
    enough = int((np.array(counts) >= threshold).any(axis=0).sum()) if counts else 0
    if set(whole.markers) == {NO_MARKER}:
        notes.append("No sentence bears a marker: there is nothing but <no_hedge>.")
    if enough < len(whole.markers):
        notes.append(
            f"{len(whole.markers) - enough} of {len(whole.markers)} markers appear fewer than {threshold} times in every dataset: they have no MIC at T = {threshold}."
        )
    if n == 1:
        notes.append("There is one dataset: CD-MAE, M-AvgCV, MRC, MAC and MCC compare datasets and are not defined.")
    elif n == 2:
        notes.append("Through two datasets MAC and MCC are 1 or -1, whatever the figures are.")
    everywhere = np.isfinite(whole.matrix(threshold)).all(axis=0).sum()
    if n > 1 and not everywhere:
        notes.append(
            f"No marker has a MIC in each of the {n} datasets at T = {threshold}: M-AvgCV, MAC and MCC need one."
        )
    if tested < n:
        notes.append(f"{n - tested} of {n} datasets have a single split and do not count in ID-MAE and CD-MAE.")
    return notes


METRIC_NAMES = tuple(MARKER_METRICS)
