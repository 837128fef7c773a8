"""Counts of requests by outcome, confidence, marker, time and route: from hourly sums, and from rows where there are none.

Plain functions of a connection that reads one snapshot (`AuditStore.read`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from .engine import Connection
from .hours import (
    CELLS,
    HOUR_S,
    SUMMED,
    Parts,
    Stretch,
    cell,
    parts_of,
    row_sums,
)
from .queries import Period, of_route
from .tables import answers, hour_counts, hour_endings

_ALIKE = ("route", "mode", "status", "reason")


@dataclass(frozen=True, slots=True)
class Tally:
    """Requests of one route in one time interval with the same outcome, with their tokens and costs.

    Attributes:
        tokens: tokens by purpose (`PURPOSES`).
        costs: of answers, and of their calibration, over the requests with both known.
        unpriced: number of answers with a confidence for which one of the costs is unknown.
    """

    bucket: int
    route: str | None
    mode: str | None
    status: str
    reason: str | None
    requests: int
    tokens: tuple[int, int, int, int]
    milliseconds: float
    costs: tuple[float, float] = (0.0, 0.0)
    unpriced: int = 0


def tallies(connection: Connection, period: Period, bucket_s: float, route: str | None = None) -> list[Tally]:
    """All tallies of a period; several may have the same keys.

    Buckets are those of `_bucket`.
    """
    parts = _parts(connection, period, bucket_s)
    found: list[Tally] = []
    for stretch in parts.between:
        keys = (_bucket(answers.c.created_at, period, bucket_s), *(answers.c[name] for name in _ALIKE))
        rows = sa.select(*keys, *row_sums()).where(stretch.holds(answers.c.created_at), *of_route(route))
        found += _read(connection, rows.group_by(*keys))
    h = hour_endings.c
    keys = (_bucket(h.hour + HOUR_S / 2, period, bucket_s), *(h[name] for name in _ALIKE))
    sums = (sa.func.sum(h[name]) for name in SUMMED)
    chosen = sa.select(*keys, *sums).where(parts.holds(h.hour), *_of_route(h.route, route)).group_by(*keys)
    return [*found, *_read(connection, chosen)]


def _parts(connection: Connection, period: Period, bucket_s: float) -> Parts:
    """The parts of a period; only rows if buckets are shorter than an hour."""
    if bucket_s < HOUR_S:
        return Parts(0, -1, (Stretch.of(period.since, period.until),))
    return parts_of(connection, period.since, period.until)


def _bucket(moment: sa.ColumnElement[Any], period: Period, bucket_s: float) -> sa.ColumnElement[int]:
    """The number of a time's bucket, from the beginning of the period (1970 without one).

    A summed hour is counted in the bucket of its middle, so at most half an hour of requests is in the neighbouring bucket.
    """
    start = period.since or 0.0
    return sa.cast(sa.func.floor((moment - start) / bucket_s), sa.Integer).label("bucket")


def _read(connection: Connection, statement: sa.Select[Any]) -> Iterator[Tally]:
    for bucket, route, mode, status, reason, number, *tokens, ms, c0, c1, unpriced in connection.execute(statement):
        t0, t1, t2, t3 = map(int, tokens)
        names = (route or None, mode or None, status, reason or None)
        yield Tally(bucket, *names, int(number), (t0, t1, t2, t3), float(ms), (float(c0), float(c1)), int(unpriced))


def histogram(connection: Connection, period: Period, route: str | None = None) -> tuple[list[int], list[int]]:
    """Histograms of the mean confidence, raw and calibrated, in `CELLS` equal cells of [0, 1]."""
    a = answers.c
    parts = parts_of(connection, period.since, period.until)
    raw, calibrated = Counter[int](), Counter[int]()
    cells = (cell(a.raw_alpha, a.raw_beta).label("raw"), cell(a.alpha, a.beta).label("calibrated"))
    known = a.raw_alpha.is_not(None) | a.alpha.is_not(None)
    for stretch in parts.between:
        rows = sa.select(*cells, sa.func.count()).where(known, stretch.holds(a.created_at), *of_route(route))
        for raw_cell, calibrated_cell, number in connection.execute(rows.group_by(*cells)):
            raw[raw_cell] += number
            calibrated[calibrated_cell] += number
    h = hour_counts.c
    counted = sa.select(h.kind, h.name, sa.func.sum(h.answers)).where(h.kind.in_(("raw", "calibrated")))
    counted = counted.where(parts.holds(h.hour), *_of_route(h.route, route)).group_by(h.kind, h.name)
    for kind, name, number in connection.execute(counted):
        (raw if kind == "raw" else calibrated)[int(name)] += int(number)
    return [raw[index] for index in range(CELLS)], [calibrated[index] for index in range(CELLS)]


def abstained(connection: Connection, period: Period, route: str | None = None) -> int:
    """Number of answers that were refused because of low confidence."""
    parts = parts_of(connection, period.since, period.until)
    refused = sa.select(sa.func.count()).where(answers.c.status == "abstained", *of_route(route))
    number = sum(
        connection.execute(refused.where(stretch.holds(answers.c.created_at))).scalar_one() for stretch in parts.between
    )
    h = hour_endings.c
    sums = sa.select(sa.func.coalesce(sa.func.sum(h.requests), 0)).where(h.status == "abstained")
    return number + int(connection.execute(sums.where(parts.holds(h.hour), *_of_route(h.route, route))).scalar_one())


def _of_route(column: sa.ColumnElement[Any], route: str | None) -> tuple[sa.ColumnElement[bool], ...]:
    return () if route is None else (column == route,)
