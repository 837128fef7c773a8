"""Served answers whose rows are still being written, for all processes that share the store: a verdict on one waits for its row."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

import sqlalchemy as sa

from .engine import transaction
from .tables import answers, under_way

Announced = tuple[str, float]
"""A completion's own id, and the time by which its row is written (seconds since 1970)."""
_ANNOUNCE = sa.text(
    "INSERT INTO under_way (response_id, until) VALUES (:response_id, :until) "
    "ON CONFLICT (response_id) DO UPDATE SET until = excluded.until"
)


def announce(engine: sa.Engine, announced: Sequence[Announced]) -> list[None]:
    """Announce rows that are being written; returns one None for each. Sorted, so that two processes with the same ids cannot deadlock.

    Raises:
        StoreError: the store cannot be written.
    """
    rows = [{"response_id": name, "until": until} for name, until in sorted(dict(announced).items())]
    with transaction(engine, "write") as connection:
        connection.execute(_ANNOUNCE, rows)
    return [None] * len(announced)


def any_under_way(engine: sa.Engine, names: Collection[str]) -> bool:
    """Whether one of these completions' ids has an announced row that is not written yet.

    Raises:
        StoreError: the store cannot be read.
    """
    row = sa.exists().where(answers.c.response_id == under_way.c.response_id)
    awaited = sa.select(under_way.c.until).where(
        under_way.c.response_id.in_(names), under_way.c.until > time.time(), ~row
    )
    with transaction(engine) as connection:
        return connection.execute(awaited.limit(1)).first() is not None


def forget(engine: sa.Engine) -> None:
    """Delete expired announcements.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        connection.execute(sa.delete(under_way).where(under_way.c.until < time.time()))
