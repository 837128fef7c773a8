"""Fit calibration maps from labelled answers, or from a route's own verdicts, then compared with the map in use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...calibration import FittedMap, clusters
from ...calibration.fitting import fit_map
from ...calibration.maps.base import apply_map
from ...calibration.refit import DECIDING, Refit, refit
from ..audit.engine import Engine
from ..audit.labelled import Labelled, count_by_map, read_labelled
from ..config import Route
from ..errors import InputError
from ..services.active_map import ActiveMaps
from ..signals.combine import Weights
from ..types import CLAIM_SIGNAL
from .measuring import Records

RESAMPLES = 200
"""Bootstrap resamples for the intervals of a fit's cross-validation."""


class NoVerdicts(InputError):
    """A route has no verdicts on which a map could be fitted."""


def fit_records(
    records: Records, kind: str, signal: str, weights: Weights | None = None, *, allow_negative_slope: bool = False
) -> FittedMap:
    """Fit a map of a kind on all records, with the weights of a combined signal.

    Raises:
        CalibrationError: too few answers, or a map that cannot be fitted.
    """
    options: dict[str, Any] = (
        {"allow_negative_slope": True} if allow_negative_slope and kind.startswith("platt") else {}
    )
    fitted = fit_map(
        kind, records.alpha, records.beta, records.correct,
        signal=signal, model=records.model, measured_by=records.measured_by, resamples=RESAMPLES,
        groups=records.groups, **options,
    )  # fmt: skip
    return fitted if weights is None else replace(fitted, weights={"bias": weights.bias} | dict(weights.weights))


@dataclass(frozen=True, slots=True)
class Decile:
    """A tenth of the rows by raw confidence.

    Attributes:
        n: rows.
        before, after: mean confidence before and after the map.
        right: share of them that are right.
    """

    n: int
    before: float
    after: float
    right: float


def deciles(records: Records, fitted: FittedMap) -> list[Decile]:
    """The rows of a fit in ten parts of equal size, least confident first; fewer parts if there are fewer than ten rows."""
    raw = records.alpha / (records.alpha + records.beta)
    alpha, beta = apply_map(fitted.map, records.alpha, records.beta)
    parts = np.array_split(np.argsort(raw, kind="stable"), min(10, raw.size))
    return [
        Decile(
            part.size,
            float(raw[part].mean()),
            float((alpha / (alpha + beta))[part].mean()),
            float(records.correct[part].mean()),
        )
        for part in parts
    ]


def version_of(fitted: FittedMap, *parts: str) -> str:
    """The default name under which a map is stored."""
    made = fitted.provenance
    return "-".join([*parts, f"{made.fitted_at:%Y%m%d-%H%M%S}", made.data_hash[:8]])


@dataclass(frozen=True, slots=True)
class RouteRefit:
    """A new map from a route's verdicts.

    Attributes:
        version: the name that the new map is stored under.
        in_use: the version of the map in use; None without one. With several by model, the one of most answers.
        result: the new map, compared with the one in use.
        grades_left_out: verdicts between right and wrong.
        claims: whether it is for the claims of long answers.
    """

    route: str
    version: str
    in_use: str | None
    result: Refit
    grades_left_out: int
    claims: bool = False

    @property
    def reason(self) -> str:
        """The reason for activating the map, for the record of changes."""
        change = self.result.difference[DECIDING]
        return f"FD {change.estimate:+.3f} nats ({change.low:+.3f} to {change.high:+.3f}) on {self.result.n} {'claims' if self.claims else 'answers'}"

    def document(self, *, activated: bool) -> dict[str, Any]:
        """Every figure as a JSON object."""
        result = self.result
        metrics = {
            metric: {
                "active": result.active[metric],
                "new": result.new[metric],
                "difference": interval.estimate,
                "difference_interval": [interval.low, interval.high],
            }
            for metric, interval in result.difference.items()
        }
        return {
            "route": self.route, "version": self.version, "in_use": self.in_use, "n_fitted": result.fitted.provenance.n,
            "n_compared": result.n, "grades_left_out": self.grades_left_out, "is_better": result.is_better, "activated": activated,
            "metrics": metrics, "notes": list(result.fitted.provenance.notes), "one_key": result.one_key,
        }  # fmt: skip


def together(labelled: Labelled) -> NDArray[np.intp]:
    """The cluster of each verdict: its user or conversation, else its question, else its answer."""
    named = zip(labelled.asker, labelled.question, labelled.asked_at, strict=True)
    return clusters.together([asker or question or str(asked_at) for asker, question, asked_at in named])


def refit_route(
    engine: Engine,
    maps: ActiveMaps,
    route: Route,
    *,
    kind: str,
    since: float,
    version: str | None,
    claims: bool = False,
) -> RouteRefit:
    """Fit on the first part of a route's verdicts, of answers or of claims of long ones, and compare on the rest.

    The new map is stored, not activated.

    Raises:
        NoVerdicts: there are no verdicts to fit on.
        CalibrationError: too few answers, or a map that cannot be fitted or stored.
        OSError: the registry cannot be written.
        StoreError: the audit store cannot be read.
    """
    signal = CLAIM_SIGNAL if claims else route.signal
    labelled = read_labelled(
        engine, route=route.name, any_map=True, signal=signal, asked_since=since, of="claims" if claims else "answers"
    )
    order = np.argsort(labelled.asked_at, kind="stable")
    order = order[(labelled.correct[order] == 0.0) | (labelled.correct[order] == 1.0)]
    if order.size == 0:
        what = "claim of a long answer" if claims else f"answer with the signal {signal}"
        raise NoVerdicts(f"no verdict on {'a' if claims else 'an'} {what} in that time")
    answers = count_by_map(engine, route=route.name, since=since)
    in_use = max(maps.of_route(route, signal).values(), key=lambda active: answers.get(active.version, 0))
    result = refit(
        labelled.raw_alpha[order], labelled.raw_beta[order], labelled.correct[order], in_use.map,
        kind=kind, drawn=labelled.picked[order] == 0.0, rng=np.random.default_rng(0),
        groups=together(labelled)[order], senders=labelled.sender[order], signal=signal, model=route.model or "",
    )  # fmt: skip
    name = version or version_of(result.fitted, kind, route.name, *(["claims"] if claims else []))
    maps.registry.add(name, result.fitted)
    return RouteRefit(route.name, name, in_use.version, result, int(labelled.correct.size - order.size), claims)
