"""How many requests ended how, with what confidence and with which markers, by time and route: from the sums of whole hours, and from rows where there are none.

Plain functions of a connection that reads one snapshot (`AuditStore.read`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from hedgerow.proxy.audit.engine import Connection
from hedgerow.proxy.audit.hours import CELLS, HOUR_S, SUMMED, Parts, Stretch, cell, parts_of, row_sums, served_marker
from hedgerow.proxy.audit.queries import Period, of_route
from hedgerow.proxy.audit.tables import answers, hour_counts, hour_endings, verdicts

TOKENS = ("answer", "samples", "rewrite", "escalation")
"""What tokens are spent on, in the order of `Tally.tokens`."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Requests of one route in one stretch of time that ended alike, with the tokens and the dollars that they cost.

    Attributes:
        costs: of answers, and of their calibration; over those requests of which both are known.
        unpriced: answers with a confidence of which not both are known.
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
    """Everything that is counted; several tallies may be of requests that are alike in all that they are counted by.

    Buckets are numbered from the period's beginning (from 1970 where it has none). In buckets of more than an hour one that is summed up
    counts whole, where its middle lies: at most half an hour of requests then stands in the neighbouring bucket.
    """
    start = period.since or 0.0
    if bucket_s <= HOUR_S:
        parts = Parts(0, -1, (Stretch.of(period.since, period.until),))
    else:
        parts = parts_of(connection, period.since, period.until)
    found: list[Tally] = []
    for stretch in parts.between:
        bucket = sa.cast(sa.func.floor((answers.c.created_at - start) / bucket_s), sa.Integer).label("bucket")
        keys = (bucket, answers.c.route, answers.c.mode, answers.c.status, answers.c.reason)
        rows = sa.select(*keys, *row_sums()).where(stretch.holds(answers.c.created_at), *of_route(route))
        found += _read(connection, rows.group_by(*keys))
    h = hour_endings.c
    middle = sa.cast(sa.func.floor((h.hour + HOUR_S / 2 - start) / bucket_s), sa.Integer).label("bucket")
    keys = (middle, h.route, h.mode, h.status, h.reason)
    sums = (sa.func.sum(h[name]) for name in SUMMED)
    chosen = sa.select(*keys, *sums).where(parts.holds(h.hour), *_of_route(h.route, route)).group_by(*keys)
    return [*found, *_read(connection, chosen)]


def _read(connection: Connection, statement: sa.Select[Any]) -> Iterator[Tally]:
    for bucket, route, mode, status, reason, number, *tokens, ms, c0, c1, unpriced in connection.execute(statement):
        t0, t1, t2, t3 = map(int, tokens)
        names = (route or None, mode or None, status, reason or None)
        yield Tally(bucket, *names, int(number), (t0, t1, t2, t3), float(ms), (float(c0), float(c1)), int(unpriced))


def histogram(connection: Connection, period: Period, route: str | None = None) -> tuple[list[int], list[int]]:
    """How many answers have which mean confidence, raw and calibrated, in `CELLS` equal cells of [0, 1]."""
    a = answers.c
    parts = parts_of(connection, period.since, period.until)
    counted = []
    for kind, alpha, beta in (("raw", a.raw_alpha, a.raw_beta), ("calibrated", a.alpha, a.beta)):
        number = Counter[int]()
        at = cell(alpha, beta).label("cell")
        for stretch in parts.between:
            rows = sa.select(at, sa.func.count()).where(alpha.is_not(None), stretch.holds(a.created_at))
            for index, count in connection.execute(rows.where(*of_route(route)).group_by(at)):
                number[index] += count
        for sums in _hour_counts(connection, kind, parts, route):
            number[int(sums.name)] += int(sums.answers)
        counted.append([number[index] for index in range(CELLS)])
    return counted[0], counted[1]


def abstained(connection: Connection, period: Period, route: str | None = None) -> int:
    """How many answers were refused for want of confidence."""
    parts = parts_of(connection, period.since, period.until)
    refused = sa.select(sa.func.count()).where(answers.c.status == "abstained", *of_route(route))
    number = sum(
        connection.execute(refused.where(stretch.holds(answers.c.created_at))).scalar_one() for stretch in parts.between
    )
    h = hour_endings.c
    sums = sa.select(sa.func.coalesce(sa.func.sum(h.requests), 0)).where(h.status == "abstained")
    return number + int(connection.execute(sums.where(parts.holds(h.hour), *_of_route(h.route, route))).scalar_one())


@dataclass(frozen=True, slots=True)
class MarkerSums:
    """Answers of one route that bore one marker (`<several>`: more), and their raw confidences summed, and squared and summed."""

    route: str
    marker: str
    answers: int
    total: float
    squares: float


MarkerKind = Literal["marker", "served"]
"""Of the draft's own words, or of what was served, where a hedge of ours goes by its id."""


def marker_sums(
    connection: Connection, period: Period, route: str | None = None, kind: MarkerKind = "marker"
) -> list[MarkerSums]:
    """Of a period, by route and marker; answers whose marker was not read (rows from before schema 0011, other languages) are left out."""
    a, name = answers.c, _marker(kind)
    mean = a.raw_alpha / (a.raw_alpha + a.raw_beta)
    parts = parts_of(connection, period.since, period.until)
    found: dict[tuple[str, str], MarkerSums] = {}

    def add(name: str, marker: str, number: int, total: float, squares: float) -> None:
        old = found.get((name, marker), MarkerSums(name, marker, 0, 0.0, 0.0))
        added = (old.answers + int(number), old.total + float(total), old.squares + float(squares))
        found[name, marker] = MarkerSums(name, marker, *added)

    for stretch in parts.between:
        rows = (
            sa.select(a.route, name, sa.func.count(), sa.func.sum(mean), sa.func.sum(mean * mean))
            .where(name.is_not(None), a.route.is_not(None), stretch.holds(a.created_at), *of_route(route))
            .group_by(a.route, name)
        )
        for row in connection.execute(rows):
            add(*row)
    for sums in _hour_counts(connection, kind, parts, route):
        if sums.route:
            add(sums.route, sums.name, sums.answers, sums.total, sums.squares)
    return [found[key] for key in sorted(found)]


def marker_verdicts(
    connection: Connection, period: Period, route: str | None = None, kind: MarkerKind = "marker"
) -> dict[tuple[str, str], tuple[int, float]]:
    """By route and marker: current verdicts on the answers of a period, and their sum."""
    a, v, name = answers.c, verdicts.c, _marker(kind)
    graded = (
        sa.select(a.route, name, sa.func.count(), sa.func.sum(v.correct))
        .join_from(verdicts, answers, v.answer_id == a.id)
        .where(v.current, name.is_not(None), a.route.is_not(None), period.holds(a.created_at), *of_route(route))
        .group_by(a.route, name)
    )
    return {(of, marker): (int(n), float(right)) for of, marker, n, right in connection.execute(graded)}


def _marker(kind: MarkerKind) -> sa.ColumnElement[Any]:
    return (answers.c.own_marker if kind == "marker" else served_marker()).label("marker_name")


def _hour_counts(connection: Connection, kind: str, parts: Parts, route: str | None) -> sa.Result[Any]:
    h = hour_counts.c
    sums = (
        sa.func.sum(h.answers).label("answers"),
        sa.func.sum(h.total).label("total"),
        sa.func.sum(h.squares).label("squares"),
    )
    chosen = sa.select(h.route, h.name, *sums).where(h.kind == kind, parts.holds(h.hour), *_of_route(h.route, route))
    return connection.execute(chosen.group_by(h.route, h.name))


def _of_route(column: sa.ColumnElement[Any], route: str | None) -> tuple[sa.ColumnElement[bool], ...]:
    return () if route is None else (column == route,)
