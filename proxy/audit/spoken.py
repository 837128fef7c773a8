"""Answers with their confidence and the perceived confidence of their words, as columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from .counts import abstained
from .engine import Connection
from .queries import Period, of_route
from .tables import answers

OWN_WORDS, SERVED = "own words", "served"
"""Wordings of an answer: the model's own, and the served one."""
MAX_SPOKEN = 20_000
"""Number of newest answers that are read; more would only make pages slow."""


@dataclass(frozen=True, slots=True)
class SpokenAnswers:
    """Answers with a measured confidence and a perceived confidence, newest first; columns of shape (n,).

    Attributes:
        created_at: seconds since 1970, UTC.
        route: names.
        raw, calibrated: mean confidence, before and after the map.
        served: mean perceived confidence of the final text (in shadow, of the one that would have been served).
        own: the same of the draft's own words; NaN if not measured.
        abstained: number of answers refused because of low confidence; they are not in the columns.
        complete: False if there are more than `MAX_SPOKEN`, of which these are the newest.
    """

    created_at: NDArray[np.float64]
    route: NDArray[np.object_]
    raw: NDArray[np.float64]
    calibrated: NDArray[np.float64]
    served: NDArray[np.float64]
    own: NDArray[np.float64]
    abstained: int
    complete: bool

    def __len__(self) -> int:
        return int(self.raw.size)

    def where(self, chosen: NDArray[np.bool_]) -> SpokenAnswers:
        """Some of them."""
        names = ("created_at", "route", "raw", "calibrated", "served", "own")
        return replace(self, abstained=0, **{name: getattr(self, name)[chosen] for name in names})


def spoken(connection: Connection, period: Period, route: str | None = None) -> SpokenAnswers:
    """The answers of a period, of all routes or of one."""
    a = answers.c
    betas = (
        (a.raw_alpha, a.raw_beta),
        (a.alpha, a.beta),
        (a.perceived_alpha, a.perceived_beta),
        (a.own_alpha, a.own_beta),
    )
    within = (period.holds(a.created_at), *of_route(route))
    statement = (
        sa.select(a.route, a.created_at, *(alpha / (alpha + beta) for alpha, beta in betas))
        .where(a.raw_alpha.is_not(None), a.perceived_alpha.is_not(None), a.alpha.is_not(None), *within)
        .order_by(a.created_at.desc())
        .limit(MAX_SPOKEN + 1)
    )
    fetched = connection.execute(statement).all()
    rows = fetched[:MAX_SPOKEN]
    columns = np.array([tuple(row[1:]) for row in rows], dtype=np.float64).reshape(-1, 5).T
    return SpokenAnswers(
        created_at=columns[0],
        route=np.array([row[0] for row in rows], dtype=object),
        raw=columns[1],
        calibrated=columns[2],
        served=columns[3],
        own=columns[4],
        abstained=abstained(connection, period, route),
        complete=len(fetched) <= MAX_SPOKEN,
    )
