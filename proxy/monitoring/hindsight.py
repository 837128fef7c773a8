"""Older answers with known outcome: today's maps compared with the confidence that was served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...calibration import ActiveMap, Beta
from ...calibration.maps.base import apply_map
from ...calibration.metrics import faithfulness_divergence, smooth_ece
from ..audit.queries import Floats, LabelledAnswers
from ..config import Route
from ..types import Json
from .figures import MIN_VERDICTS

Maps = Mapping[str, Mapping[str, ActiveMap]]
"""The active maps by route and model; "" for all other models."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of confidences against outcomes; lower is better. `divergence` in nats, the others in [0, 1]."""

    divergence: float
    brier: float
    smooth_ece: float


@dataclass(frozen=True, slots=True)
class Hindsight:
    """Labelled answers that were worded with another map than today's, or with none.

    Attributes:
        answers: number of answers.
        versions: the maps of today, by name.
        said, today: scores of the served confidence, and of today's maps on the same raw confidences.
    """

    answers: int
    versions: Sequence[str]
    said: Scores
    today: Scores


def hindsight(labelled: LabelledAnswers, maps: Maps, routes: Sequence[Route]) -> Hindsight | None:
    """The comparison over all of these routes; None with fewer than `MIN_VERDICTS` such answers."""
    chosen, alpha, beta, versions = [], [], [], set[str]()
    for route in routes:
        for model, active in _by_model(labelled, maps.get(route.name, {}), route):
            older = (labelled.route == route.name) & (labelled.model == model) & (labelled.map_id != active.version)
            older &= labelled.signal == route.signal
            if not older.any():
                continue
            a, b = apply_map(active.map, labelled.raw[0][older], labelled.raw[1][older])
            chosen.append(np.flatnonzero(older))
            alpha.append(a)
            beta.append(b)
            versions.add(str(active.version))
    if sum(map(len, chosen)) < MIN_VERDICTS:
        return None
    rows = np.concatenate(chosen)
    said = (labelled.calibrated[0][rows], labelled.calibrated[1][rows])
    today = (np.concatenate(alpha), np.concatenate(beta))
    correct = labelled.correct[rows]
    return Hindsight(rows.size, sorted(versions), _scores(*said, correct), _scores(*today, correct))


def _by_model(
    labelled: LabelledAnswers, maps: Mapping[str, ActiveMap], route: Route
) -> Sequence[tuple[str, ActiveMap]]:
    """Today's map for each model among the route's answers, if it has one."""
    models = {str(model) for model in labelled.model[labelled.route == route.name] if model is not None}
    active_maps = [(model, map_today(maps, model)) for model in sorted(models)]
    return [(model, active) for model, active in active_maps if active is not None]


def map_today(maps: Mapping[str, ActiveMap], model: str | None) -> ActiveMap | None:
    """The active map of a model; None without one."""
    active = maps.get(model or "", maps.get(""))
    return active if active is not None and active.version is not None else None


@dataclass(frozen=True, slots=True)
class Today:
    """Today's calibrated confidence of one older answer."""

    version: str
    calibrated: Beta


def today_of(row: Json, maps: Maps, routes: Sequence[Route]) -> Today | None:
    """Today's confidence for an audit row; None if it has no raw confidence, was worded with that map, or no map for its signal exists."""
    route = next((route for route in routes if route.name == row["route"]), None)
    if route is None or row["raw_alpha"] is None or row["signal"] != route.signal:
        return None
    active = map_today(maps.get(route.name, {}), row["model"])
    if active is None or active.version is None or active.version == row["map_id"]:
        return None
    alpha, beta = apply_map(active.map, [row["raw_alpha"]], [row["raw_beta"]])
    return Today(active.version, Beta(float(alpha[0]), float(beta[0])))


def _scores(alpha: Floats, beta: Floats, correct: Floats) -> Scores:
    mean = alpha / (alpha + beta)
    return Scores(
        divergence=float(np.mean(faithfulness_divergence(alpha, beta, correct))),
        brier=float(np.mean((mean - correct) ** 2)),
        smooth_ece=smooth_ece(mean, np.round(correct)),
    )
