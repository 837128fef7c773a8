"""What outlasts the deletion of rows: that on which promises watched as "ever at most alpha" rest.

A test that is valid however often one looks is one product over all verdicts since the first. Were those that retention deletes forgotten, the
bets would begin anew with each span of rows and alpha would bound the false alarms of a span, not of all time. So each verdict of a promised
answer leaves its outcome, how it was drawn and the groups that it counts in, in the transaction that deletes it; and of all promised answers
it stays whether they were given, a bit each. No text and no user stays.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from .engine import Connection, transaction
from .tables import alarms, answers, promised_answers, promised_verdicts, verdicts

NOT_GIVEN = ("abstained", "escalated")
"""Statuses of answers that the client did not get."""
ANSWERS_AT_A_TIME = 1000
"""In one row of `promised_answers`."""
_LOCK = 0x6F75_746C_6173
"""Any number that nobody else locks: "outlas" in ASCII. Of two purges at once one counts at a time (SQLite: writers do anyway)."""
_OF_VERDICTS = ("created_at", "correct", "kind", "propensity")
_OF_ANSWERS = ("route", "certificate", "promised", "model", "signal", "path", "key", "team", "asker", "question_hash")


def keep_verdicts(connection: Connection, ids: Sequence[str]) -> None:
    """Copy what outlasts the verdicts on some answers, which are about to be deleted."""
    regime = answers.c.story[("place", "regime")].as_integer()
    statement = (
        sa.select(verdicts.c.answer_id, verdicts.c.id, *(verdicts.c[name] for name in _OF_VERDICTS))
        .add_columns(*(answers.c[name] for name in _OF_ANSWERS), regime)
        .join_from(verdicts, answers)
        .where(answers.c.id.in_(ids), answers.c.certificate.is_not(None), answers.c.route.is_not(None))
        .where(verdicts.c.fd.is_not(None))
        .order_by(verdicts.c.id)
    )
    names = ("answer_id", "verdict_id", *_OF_VERDICTS, *_OF_ANSWERS, "regime")
    rows = [dict(zip(names, row, strict=True)) for row in connection.execute(statement)]
    if rows:
        connection.execute(sa.insert(promised_verdicts), rows)


def keep_answers(engine: sa.Engine, route: str, before: float) -> None:
    """Count a route's promised answers from before a moment, each once, so that their rows may go.

    They are taken in the order of the requests over all processes, and no row of `promised_answers` reaches over a moment at which alarms were
    cleared, for the watch goes by such moments. An answer whose row comes later still, because the store was down, is not among them.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine) as connection:
        start = counted_until(connection, route)
        cleared = sa.select(alarms.c.cleared_at).where(
            alarms.c.route == route, alarms.c.cleared_at.between(start, before)
        )
        ends = sorted({*connection.execute(cleared).scalars(), before})
    for end in ends:
        while start < end:
            start = _keep_some(engine, route, end)


def counted_until(connection: Connection, route: str) -> float:
    """The moment before which `promised_answers` speaks for the answers of a route; seconds since 1970, 0: of none."""
    newest = sa.select(sa.func.max(promised_answers.c.until)).where(promised_answers.c.route == route)
    return float(connection.execute(newest).scalar() or 0.0)


def _keep_some(engine: sa.Engine, route: str, end: float) -> float:
    """Count the next answers before a moment; the moment up to which they are counted now."""
    a = answers.c
    with transaction(engine, "write") as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        start = counted_until(connection, route)
        ours = (a.route == route, a.certificate.is_not(None), a.created_at >= start)
        last = sa.select(a.created_at).where(*ours, a.created_at < end).order_by(a.created_at)
        moment = connection.execute(last.offset(ANSWERS_AT_A_TIME - 1).limit(1)).scalar()
        until = end if moment is None else math.nextafter(moment, math.inf)  # with all that were asked for then
        these = sa.select(a.certificate, a.status, a.created_at).where(*ours, a.created_at < until)
        by_certificate: dict[str, list[tuple[str, float]]] = {}
        for certificate, status, created_at in connection.execute(these.order_by(a.created_at, a.id)):
            by_certificate.setdefault(certificate, []).append((status, created_at))
        rows = [_row(route, certificate, until, counted) for certificate, counted in by_certificate.items()]
        if rows:
            connection.execute(sa.insert(promised_answers), rows)
    return until


def _row(route: str, certificate: str, until: float, counted: Sequence[tuple[str, float]]) -> dict[str, Any]:
    statuses = [status for status, _ in counted]
    return {
        "route": route,
        "certificate": certificate,
        "first_at": counted[0][1],
        "until": until,
        "statuses": dict(Counter(statuses)),
        "not_given": f"{int(''.join(map(str, not_given(statuses))), 2):x}",
    }


def not_given(statuses: Iterable[str]) -> list[int]:
    """1 for each answer that the client did not get, else 0."""
    return [int(status in NOT_GIVEN) for status in statuses]


def read_kept_answers(
    connection: Connection, *, route: str, certificate: str, since: float
) -> tuple[list[int], Counter[str]]:
    """Of the promised answers that are counted, in their order, 1 where one was not given, else 0; and how many there are by status."""
    c = promised_answers.c
    wanted = (c.route == route, c.certificate == certificate, c.first_at >= since)
    bits, counts = list[int](), Counter[str]()
    for statuses, packed in connection.execute(sa.select(c.statuses, c.not_given).where(*wanted).order_by(c.id)):
        counts.update(statuses)
        bits += map(int, f"{int(packed, 16):b}".zfill(sum(statuses.values())))
    return bits, counts
