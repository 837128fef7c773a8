"""A store partitioned by month: `python -m benchmarks.performance.partitions [--rows 1000000] [--write]`, on PostgreSQL.

Requests of three months are written by the product's own writer into its tables, and copied into the same tables partitioned by month over the
answers' ids, which begin with their moment. Then the same code of the product writes and reads both, and the oldest month goes: from one by
retention, row by row, from the other as partitions, with the start of every chain moved under its seal in the same transaction. Nothing is
reported unless the chains hold and the pages show the same figures afterwards. `--write` puts the table into docs/scale.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import orjson
import sqlalchemy as sa
from pydantic import SecretStr
from rich.progress import track
from sqlalchemy.dialects.postgresql import aggregate_order_by

from benchmarks.performance import explorer, months
from benchmarks.performance.parted import create, drop_month
from benchmarks.performance.store import at_once, entry
from hedgerow.proxy.audit.engine import open_engine, transaction
from hedgerow.proxy.audit.explorer import requests
from hedgerow.proxy.audit.hours import sum_up_next
from hedgerow.proxy.audit.retention import DAY_S, purge
from hedgerow.proxy.audit.rows import Entry, Texts
from hedgerow.proxy.audit.store import open_store, read_answer
from hedgerow.proxy.audit.tables import answers, claim_verdicts, metadata, texts, verdicts
from hedgerow.proxy.audit.verdicts import MAX_VERDICTS, Verdict, write_verdicts
from hedgerow.proxy.audit.verify import Finding, verify
from hedgerow.proxy.audit.writer import MAX_ROWS_PER_COMMIT, Batch, Writer
from hedgerow.proxy.config import Audit
from hedgerow.proxy.dashboard import pages
from hedgerow.proxy.supervision import Supervisor
from hedgerow.proxy.types import CLAIM_SIGNAL
from tests.support.postgres import Cluster, cluster

MARKS = ("<!-- measured: partitions -->", "<!-- end: partitions -->")
MONTHS = 3
KEY = "the key of the hashes"
LATE, LATE_S = 0.05, 2 * DAY_S
"""Share of rows that waited for their store, and how long at most: their places in the chain are behind rows of the next month."""
ROUNDS, ROWS_OF_A_ROUND, READ = 5, 4000, 200


def month(now: float, back: int) -> float:
    """When a month began, so many before the one of `now`; seconds since 1970, UTC."""
    at = datetime.fromtimestamp(now, UTC)
    year, index = divmod(at.year * 12 + at.month - 1 - back, 12)
    return datetime(year, index + 1, 1, tzinfo=UTC).timestamp()


# The rows


def fill(engine: sa.Engine, count: int, since: float, now: float) -> None:
    """So many requests, by the product's writer: two processes at a time, new ones after every batch; and the sums of their hours."""
    rng = np.random.default_rng(6)
    batches = explorer.rows(count, rng, now, (now - since) / DAY_S)
    for answered, said, given in track(batches, total=-(-count // explorer.BATCH), description="writing"):
        texts_of = {text["answer_id"]: text for text in said}
        entries = [_entry(row, texts_of.get(row["id"]), rng) for row in answered]
        written = np.array([row["created_at"] for row in answered])
        written += np.where(rng.random(written.size) < LATE, LATE_S * rng.random(written.size), 0.0)
        in_order = [entries[i] for i in np.argsort(written)]
        for process in range(2):
            _write(engine, in_order[process::2])
        measured = {one.row["id"] for one in entries if one.texts is not None}
        judged = [one | {"fd": one["fd"] + 1e-3 * rng.random()} for one in given if one["answer_id"] in measured]
        with engine.begin() as connection:
            connection.execute(sa.insert(verdicts), judged)
    sum_up(engine, now)


def sum_up(engine: sa.Engine, now: float) -> None:
    """All hours that are not summed up, as a server does in time."""
    while sum_up_next(engine, now) is not None:
        pass


def _entry(row: dict[str, Any], said: dict[str, Any] | None, rng: np.random.Generator) -> Entry:
    """Four in five are passed on, as in `months`; one in twenty of the others is a long answer."""
    row = row | {"response_id": f"chatcmpl-{row['id'][3:]}"}
    if said is None or rng.random() < 0.75:
        passed = {name: row[name] for name in (*months.PASSED, "response_id")}
        return Entry(passed | {"mode": "off", "status": "passed", "reason": "mode_off"})
    row |= {"alpha": row["alpha"] + 1e-3 * rng.random()}  # pages show what is as surprising as another in any order
    row |= {"perceived_alpha": row["alpha"], "perceived_beta": row["beta"], "own_alpha": 9.0, "own_beta": 1.0}
    if rng.random() < 0.05:
        betas = {"raw": [row["raw_alpha"], row["raw_beta"]], "calibrated": [row["alpha"], row["beta"]]}
        row |= {"signal": CLAIM_SIGNAL, "claims": [betas]}
    return Entry(
        row, Texts(said["question"], said["draft"], said["answer"], None, tuple(said["samples"])), None, "full"
    )


def _write(engine: sa.Engine, entries: Sequence[Entry]) -> None:
    lost: list[int] = []
    with tempfile.TemporaryDirectory() as spool:
        writer = Writer(
            engine, Path(spool), KEY.encode(), Supervisor(), on_settled=lambda _: None, count_lost=lost.append
        )
        for start in range(0, len(entries), MAX_ROWS_PER_COMMIT):
            writer.put(Batch(entries[start : start + MAX_ROWS_PER_COMMIT]))
        writer.close()
    if lost or writer.spooled:
        raise RuntimeError(f"{sum(lost)} rows were lost, and {writer.spooled} wait in the spool")


def copy(connection: sa.Connection, source: str) -> None:
    """Every row of the tables in another schema."""
    for table in metadata.sorted_tables:
        connection.exec_driver_sql(f"INSERT INTO {table.name} SELECT * FROM {source}.{table.name}")
    for table in (verdicts, claim_verdicts):
        newest = f"SELECT max(id) FROM {table.name}"
        connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), ({newest}))")


# What is measured


@dataclass(slots=True)
class Side:
    """One of the two stores.

    Attributes:
        figures: lines of the table, by what was measured.
        gone: rows that went with the oldest month.
    """

    audit: Audit
    engine: sa.Engine
    figures: dict[str, str]
    gone: int = 0


def stores(server: Cluster, begins: Sequence[float]) -> tuple[Side, Side]:
    """Both, empty, in one database: as it is, and by month in the schema `parted`."""
    url = sa.make_url(server.database())
    whole = _side(url)
    with whole.engine.begin() as connection:
        connection.exec_driver_sql("CREATE SCHEMA parted")
        connection.exec_driver_sql("SET LOCAL search_path = parted")
        create(connection, begins)
    return whole, _side(url.update_query_dict({"options": "-c search_path=parted -c lock_timeout=5s"}))


def _side(url: sa.URL) -> Side:
    audit = Audit(url=url.render_as_string(hide_password=False), hash_key=SecretStr(KEY))
    return Side(audit, open_engine(audit), {})


def write_more(sides: Sequence[Side], rows: int) -> None:
    """Rows a second and verdicts a second, at the end of what is there; both stores in turn."""

    async def speed(side: Side) -> float:
        store = await open_store(side.audit, lambda _: None)
        try:
            return (await at_once(store, rows))[0]
        finally:
            await store.aclose()

    speeds = [[asyncio.run(speed(side)) for side in sides] for _ in range(ROUNDS)]
    for side, of_side in zip(sides, zip(*speeds, strict=True), strict=True):
        side.figures["rows written a second, at the end"] = f"{median(of_side):,.0f}"
        with transaction(side.engine) as connection:
            newest = sa.select(answers.c.id, answers.c.claims).where(answers.c.raw_alpha.is_not(None))
            newest = (
                newest.where(answers.c.model.is_not(None)).order_by(answers.c.created_at.desc()).limit(MAX_VERDICTS)
            )
            judged = connection.execute(newest).all()
        given = [Verdict(row.id, 1.0, "human", claim=0 if row.claims else None) for row in judged]
        begun = time.perf_counter()
        if None in write_verdicts(side.engine, given):
            raise RuntimeError("a verdict found no answer")
        side.figures["verdicts written a second"] = f"{len(given) / (time.perf_counter() - begun):,.0f}"


def read(side: Side, ids: Sequence[str]) -> None:
    """What pages ask, and one answer with its texts and verdicts."""
    with side.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")
    for name, took in months.read_all(side.engine).items():
        side.figures[f"{name}, ms"] = f"{took * 1e3:,.0f}"
    for named, prefix in (("its id", "hr_"), ("the completion's id", "chatcmpl-")):
        begun = time.perf_counter()
        for name in ids:
            with transaction(side.engine, "snapshot") as connection:
                if read_answer(connection, prefix + name[3:]) is None:
                    raise RuntimeError(f"{name} is not found")
        side.figures[f"one answer by {named}, ms"] = f"{(time.perf_counter() - begun) / len(ids) * 1e3:.1f}"


def let_go(side: Side, how: Callable[[], int]) -> None:
    """The oldest partition goes, while one row after the other is written."""

    async def watched() -> tuple[float, float]:
        store = await open_store(side.audit, lambda _: None)
        try:
            await store.write(entry())
            with ThreadPoolExecutor() as pool:
                begun, longest = time.perf_counter(), 0.0
                going = pool.submit(how)
                while not going.done():
                    waits = time.perf_counter()
                    await store.write(entry())
                    longest = max(longest, time.perf_counter() - waits)
                side.gone = going.result()
                return time.perf_counter() - begun, longest
        finally:
            await store.aclose()

    before = _size(side)
    took, longest = asyncio.run(watched())
    side.figures["the oldest month goes, s"] = f"{took:,.2f}"
    side.figures["longest that a row waited meanwhile, s"] = f"{longest:.2f}"
    side.figures["on disk before and after, GB"] = f"{before / 1e9:.2f}, {_size(side) / 1e9:.2f}"


def _size(side: Side) -> int:
    of_all = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
    with side.engine.connect() as connection:
        return int(connection.exec_driver_sql(of_all).scalar_one())


# What must not differ


def differing(sides: Sequence[Side], now: float) -> list[str]:
    """Pages that do not show the same figures of both, with all that is computed for them; requests, ends of chains too."""
    for side in sides:
        sum_up(side.engine, now)
    shown = [list(_shown(side.engine, now)) for side in sides]
    return [place for (name, one), (_, other) in zip(*shown, strict=True) for place in _unlike(one, other, name)]


def _shown(engine: sa.Engine, now: float) -> Iterator[tuple[str, Any]]:
    with (
        mock.patch.object(pages, "time", SimpleNamespace(time=lambda: now)),
        transaction(engine, "snapshot") as connection,
    ):
        for name, (period, route) in months.PAGES.items():
            shown = pages.overview(months.settings(), {}, {}, route, period, connection)
            shown = replace(shown, changes=[])  # who purged when, and how often
            yield name, json.loads(orjson.dumps(shown, default=repr, option=_AS_JSON))
        for name, chosen in months.LISTS.items():
            yield name, requests(connection, replace(chosen, until=now), size=1000).rows
        a = answers.c
        hashes = sa.func.string_agg(a.hash, aggregate_order_by(sa.literal(""), a.id))
        yield "rows", connection.execute(sa.select(sa.func.md5(hashes)).where(a.created_at <= now)).scalar_one()
        for table in (texts, verdicts, claim_verdicts):
            counted = sa.select(sa.func.count()).select_from(table).join(answers).where(a.created_at <= now)
            yield table.name, connection.execute(counted).scalar_one()


_AS_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def _unlike(one: Any, other: Any, where: str) -> Iterator[str]:
    """Where two are not equal, but for the last digits of sums: databases add in any order."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _unlike(one[name], other[name], f"{where}, {name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            yield from _unlike(*pair, f"{where}, {i}")
    elif isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9):
            yield f"{where}: {one}, {other}"
    elif one != other:
        yield f"{where}: {one}, {other}"


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of it: both stores, as it is and by month, without their oldest month.

    Attributes:
        stayed: rows of that month that stay for a while.
        findings: of the verification of both.
        differ: what does not show the same figures.
    """

    sides: tuple[Side, Side]
    stayed: int
    findings: list[Finding]
    differ: list[str]


def simulate(
    server: Cluster, rows: int, begins: Sequence[float], now: float, *, a_round: int = ROWS_OF_A_ROUND
) -> Simulated:
    """Fill from the first of these moments until now, measure, let the oldest partition go, compare."""
    whole, parted = sides = stores(server, begins)
    fill(whole.engine, rows, begins[0], now)
    with parted.engine.begin() as connection:
        copy(connection, "public")
    write_more(sides, a_round)
    with transaction(whole.engine) as connection:
        some = sa.select(answers.c.id).where(answers.c.response_id.is_not(None)).order_by(sa.func.md5(answers.c.id))
        ids = connection.execute(some.limit(READ)).scalars().all()
    for side in sides:
        read(side, ids)
    return without(sides, begins[0], begins[1], now)


def without(sides: tuple[Side, Side], begin: float, end: float, now: float) -> Simulated:
    """Both without their oldest partition: its rows deleted from the one, and it dropped from the other."""
    whole, parted = sides
    audit = whole.audit.model_copy(update={"keep_rows_days": (now - end) / DAY_S})
    kept = months.settings().model_copy(update={"audit": audit})
    let_go(whole, lambda: purge(whole.engine, kept, actor="benchmark", now=now).rows)
    stayed: list[int] = []

    def drop() -> int:
        gone, staying = drop_month(parted.engine, begin, end, KEY.encode())
        stayed.append(staying)
        return gone

    let_go(parted, drop)
    findings = [finding for side in sides for finding in verify(side.engine, KEY.encode()).findings]
    return Simulated(sides, stayed[0], findings, differing(sides, now))


def lines(of: Simulated, rows: int) -> list[str]:
    """Of the document.

    Raises:
        RuntimeError: a chain is broken, or something does not show the same figures.
    """
    whole, parted = of.sides
    if of.findings or of.differ or whole.gone != parted.gone:
        raise RuntimeError(f"{of.findings[:1]}, {of.differ}, {whole.gone} and {parted.gone} rows went")
    return [
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, Python {platform.python_version()}; {rows:,} rows of {MONTHS} months, of which {whole.gone:,} "
        f"go with the oldest and {of.stayed:,} stay behind rows of the next. Afterwards both chains hold, and the pages show the same figures of both.",
        "", "| | one table, `DELETE` | by month, `DROP` |", "|---|---|---|",
        *(f"| {name} | {figure} | {parted.figures[name]} |" for name, figure in whole.figures.items()),
    ]  # fmt: skip


def main() -> None:
    """Simulate, print; with `--write` into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="Where the database lies while it is measured.")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    now = time.time()
    begins = [month(now, back) for back in range(MONTHS - 1, -3, -1)]
    with cluster(parent=chosen.folder) as server:
        found = lines(simulate(server, chosen.rows, begins, now), chosen.rows)
    print("\n".join(found))
    if chosen.write:
        months.put(MARKS, found)


if __name__ == "__main__":
    main()
