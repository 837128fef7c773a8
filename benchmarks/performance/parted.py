"""The audit's large tables partitioned by month on PostgreSQL, and a month that is dropped: a design, simulated by `benchmarks.performance.partitions`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

import sqlalchemy as sa

from hedgerow.proxy.audit import rows
from hedgerow.proxy.audit.engine import transaction
from hedgerow.proxy.audit.hours import drop_sums
from hedgerow.proxy.audit.rows import Head
from hedgerow.proxy.audit.tables import (
    answers,
    chains,
    changes,
    claim_verdicts,
    give_conditions,
    hours,
    metadata,
    texts,
    verdicts,
)

PARTED = {answers: "id", texts: "answer_id", verdicts: "answer_id", claim_verdicts: "answer_id"}
"""The large tables, and the column that says of which month a row is; each after those that it refers to."""
REST = "rest"
"""Of the partition that takes what no other one does: without it a row of a month that nobody made a partition for would be refused, and lost."""


def first_id(moment: float) -> str:
    """No id of this moment or a later one is smaller, and every earlier one is."""
    return f"hr_{round(moment * 1000):011x}"


def partition(table: sa.Table, begin: float) -> str:
    """The name of the partition that begins then."""
    return f"{table.name}_{datetime.fromtimestamp(begin, UTC):%Y_%m_%d}"


def create(connection: sa.Connection, begins: Sequence[float]) -> None:
    """The large tables, with a partition between each of these moments and the next; the store's start makes the others.

    They are as `tables.py` has them, but for two: a primary or unique key must hold the column that parts the table, so that verdicts have the key (id,
    answer_id), and a place in a chain is unique within each month. `verify` finds one that is taken in two.
    """
    give_conditions(metadata, connection)
    parted = sa.MetaData(naming_convention=metadata.naming_convention)
    copies = [table.to_metadata(parted) for table in PARTED]
    for table, column in zip(copies, PARTED.values(), strict=True):
        table.dialect_options["postgresql"]["partition_by"] = f"RANGE ({column})"
        if column not in table.primary_key.columns:
            table.c[column].primary_key = table.c.id.autoincrement = True
            table.append_constraint(sa.PrimaryKeyConstraint(table.c.id, table.c[column]))
    places = next(index for index in copies[0].indexes if index.name == "ix_answers_chain")
    copies[0].indexes.remove(places)
    parted.create_all(connection)
    for table in PARTED:
        connection.exec_driver_sql(f"CREATE TABLE {table.name}_{REST} PARTITION OF {table.name} DEFAULT")
    connection.exec_driver_sql(f"CREATE UNIQUE INDEX ON {answers.name}_{REST} (writer, route, seq)")
    for begin, end in pairwise(begins):
        add_month(connection, begin, end)


def add_month(connection: sa.Connection, begin: float, end: float) -> None:
    """The partitions of one month."""
    bounds = f"FROM ('{first_id(begin)}') TO ('{first_id(end)}')"
    for table in PARTED:
        made = f"CREATE TABLE {partition(table, begin)} PARTITION OF {table.name} FOR VALUES {bounds}"
        connection.exec_driver_sql(made)
    connection.exec_driver_sql(f"CREATE UNIQUE INDEX ON {partition(answers, begin)} (writer, route, seq)")


def drop_month(engine: sa.Engine, begin: float, end: float, key: bytes) -> tuple[int, int]:
    """Drop the oldest month, as retention would delete its rows; how many went, and how many stay for a while.

    Those stay whose place in their chain is behind a row of a later month: a chain is cut at its beginning only. They move to the partition of the rest,
    from where the next month's drop, or retention, takes them. Hours are let go before the tables are locked, as whoever writes late rows does. Chains
    are looked at before that too, and once more where they have grown since: nobody writes or reads while the tables are locked.
    """
    with transaction(engine, "write") as connection:
        drop_sums(connection, connection.execute(sa.select(hours.c.hour).where(hours.c.hour <= end)).scalars().all())
        seen = {at: _cut(connection, at, first_id(end)) for at in _places(connection)}
        connection.exec_driver_sql(f"LOCK TABLE {', '.join(table.name for table in PARTED)} IN ACCESS EXCLUSIVE MODE")
        cuts = [(at, seen.get(at) or _cut(connection, at, first_id(end))) for at in _places(connection)]
        gone = _move_starts(connection, [(at, cut.last) for at, cut in cuts if cut.last is not None], key)
        staying = [name for _, cut in cuts for name in cut.staying]
        for table, column in PARTED.items():
            kept = sa.select(table).where(table.c[column].in_(staying))
            kept = kept.compile(connection, compile_kwargs={"literal_binds": True})
            connection.exec_driver_sql(f"CREATE TEMP TABLE kept_{table.name} ON COMMIT DROP AS {kept}")
        for table, column in reversed(PARTED.items()):
            connection.exec_driver_sql(f"DELETE FROM {table.name}_{REST} WHERE {column} < '{first_id(end)}'")
            connection.exec_driver_sql(f"ALTER TABLE {table.name} DETACH PARTITION {partition(table, begin)}")
            connection.exec_driver_sql(f"DROP TABLE {partition(table, begin)}")
        for table in PARTED:
            connection.exec_driver_sql(f"INSERT INTO {table.name} SELECT * FROM kept_{table.name}")
        change = {"created_at": time.time(), "actor": "benchmark", "what": "purge", "note": f"{gone} rows of a month"}
        connection.execute(sa.insert(changes).values(change))
    return gone, len(staying)


class _Place(NamedTuple):
    """A chain, its start and its end."""

    writer: str
    route: str
    start_seq: int
    last_seq: int


class _Cut(NamedTuple):
    """The last row of a chain that goes, and the ids of those behind a younger one, which stay."""

    last: Head | None
    staying: Sequence[str]


def _places(connection: sa.Connection) -> list[_Place]:
    c = chains.c
    return [_Place(*row) for row in connection.execute(sa.select(c.writer, c.route, c.start_seq, c.last_seq))]


def _cut(connection: sa.Connection, at: _Place, end: str) -> _Cut:
    """Where a chain is cut when everything before this id goes: three looks into an index."""
    a = answers.c
    of_chain = (a.writer == at.writer, a.route == at.route if at.route else a.route.is_(None))
    old = sa.and_(*of_chain, a.id < end)
    young = connection.execute(sa.select(sa.func.min(a.seq)).where(*of_chain, a.id >= end)).scalar()
    until = at.last_seq + 1 if young is None else young
    goes = sa.select(a.seq, a.hash).where(old, a.seq < until).order_by(a.seq.desc()).limit(1)
    last = connection.execute(goes).first()
    staying = connection.execute(sa.select(a.id).where(old, a.seq > until)).scalars().all()
    return _Cut(None if last is None else Head(*last), staying)


def _move_starts(connection: sa.Connection, cut: Sequence[tuple[_Place, Head]], key: bytes) -> int:
    """These chains begin behind their last row that goes; how many rows go."""
    place = (chains.c.writer == sa.bindparam("of_writer"), chains.c.route == sa.bindparam("of_route"))
    moved = [
        {"of_writer": at.writer, "of_route": at.route, "start_seq": last.seq, "start_hash": last.hash}
        | {"start_seal": rows.seal(at.writer, at.route, "start", last, key)}
        for at, last in cut
    ]
    if moved:
        connection.execute(sa.update(chains).where(*place), moved)
    return sum(last.seq - at.start_seq for at, last in cut)
