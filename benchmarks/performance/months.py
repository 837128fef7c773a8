"""The pages over a month of heavy traffic: `python -m benchmarks.performance.months [--rows 20000000] [--write]`, on PostgreSQL.

Requests of thirty days, one in five of them calibrated and one in a hundred with a verdict, are multiplied inside the database from some thousands
that look like `benchmarks.performance.explorer`'s, and summed up by the hour. Then the queries of the pages are timed for each period, also with all that
the page computes from them. `--write` puts the figures into docs/scale.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from rich.console import Console
from rich.progress import track

from benchmarks import ROOT
from benchmarks.performance import explorer
from hedgerow.proxy.audit import counts, queries
from hedgerow.proxy.audit.engine import open_engine, transaction
from hedgerow.proxy.audit.explorer import Filter, requests
from hedgerow.proxy.audit.hours import HOUR_S, SETTLED_S, drop_sums, sum_up_next
from hedgerow.proxy.audit.operators import list_alarms
from hedgerow.proxy.audit.spoken import spoken
from hedgerow.proxy.audit.tables import answers, hours, verdicts
from hedgerow.proxy.config import Audit, Settings
from hedgerow.proxy.dashboard.pages import overview
from hedgerow.proxy.monitoring import figures
from tests.support.postgres import cluster

DOCUMENT = ROOT / "docs" / "scale.md"
MARKS = ("<!-- measured: months -->", "<!-- end: months -->")
DAY_S = 86_400.0
DAYS = 30
SEEDS = 20_000
PASSED = ("id", "created_at", "path", "route", "model", "key", "http_status", "duration_ms", "upstream")
console = Console()


def settings() -> Settings:
    """The routes that the explorer's requests are of."""
    upstreams = {"models": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "unused"}}
    routes = [{"name": name, "upstream": "models", "mode": "on", "model": "m"} for name in explorer.ROUTES]
    matched = [route | {"match": {"model": f"{route['name']}-*"}} for route in routes[1:]]
    return Settings(upstreams=upstreams, routes=[routes[0], *matched])


def seed(engine: sa.Engine, now: float) -> None:
    """The requests that are multiplied: four in five are passed on, one in a hundred has a verdict."""
    rng = np.random.default_rng(4)
    made, judged = [], []
    for answered, _, given in explorer.rows(SEEDS, rng, now, DAYS):
        for row in answered:
            if rng.random() < 0.75:
                row = {name: row[name] for name in PASSED} | {"mode": "off", "status": "passed", "reason": "mode_off"}
            elif "alpha" in row:
                row |= {"perceived_alpha": row["alpha"], "perceived_beta": row["beta"], "store_text": "none"}
                row |= {"own_alpha": 9.0, "own_beta": 1.0}
            made.append(row)
        judged += given
    measured = {row["id"] for row in made if "alpha" in row}
    kept = [verdict for verdict in judged if verdict["answer_id"] in measured and rng.random() < 0.25]
    with engine.begin() as connection:
        for _, alike in itertools.groupby(sorted(made, key=len), key=len):
            connection.execute(sa.insert(answers), list(alike))
        connection.execute(sa.insert(verdicts), kept)


def multiply(engine: sa.Engine, copies: int, now: float) -> None:
    """Every request so many times more, and its verdict a minute later. Each turn fills the next stretch of the days, as a proxy writes its rows in the order
    of time; indices are made anew afterwards, which takes less time.
    """
    place = f"(k - 1 + (hashtext({{id}}) + 2147483648.0) / 4294967296.0) * {DAYS * DAY_S / copies}"
    moment = f"({now - DAYS * DAY_S - 60.0} + {place})"
    name = f"'hr_' || lpad(to_hex(({moment} * 1000)::bigint), 11, '0') || lpad(to_hex(k), 4, '0') || right({{id}}, 12)"
    with engine.begin() as connection:
        indices = [index for table in (answers, verdicts) for index in table.indexes]
        for index in indices:
            index.drop(connection)
    for turn in track(range(1, copies + 1), description="multiplying"):
        with engine.begin() as connection:
            for table, key, after in ((answers, "id", 0.0), (verdicts, "answer_id", 60.0)):
                kept = [
                    c.name
                    for c in table.columns
                    if c.name not in {key, "created_at"} and not (table is verdicts and c.name == "id")
                ]
                columns, quoted = ", ".join(f'"{c}"' for c in kept), key
                connection.exec_driver_sql(
                    f"INSERT INTO {table.name} ({key}, created_at, {columns}) "
                    f"SELECT {name.format(id=quoted)}, {moment.format(id=quoted)} + {after}, {columns} "
                    f"FROM {table.name}, (SELECT {turn} AS k) turn WHERE {key} IN (SELECT id FROM seeds)".replace(
                        "%", "%%"
                    )
                )
    with engine.begin() as connection:
        for index in track(indices, description="indices"):
            index.create(connection)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


def reading(period: str, route: str | None, connection: sa.Connection) -> None:
    """Every query that an overview needs."""
    buckets = figures.buckets_of(period, time.time(), queries.first_moment(connection))
    counts.tallies(connection, buckets.period, buckets.seconds, route)
    counts.histogram(connection, buckets.period, route)
    queries.labelled(connection, buckets.period, route)
    queries.labelled_claims(connection, buckets.period, route)
    queries.surprises(connection, buckets.period, route)
    list_alarms(connection, standing=True)
    spoken(connection, buckets.period, route)


PAGES: Mapping[str, tuple[str, str | None]] = {
    "overview, 24 hours": ("24h", None),
    "overview, 7 days": ("7d", None),
    "overview, 30 days": ("30d", None),
    "overview, all time": ("all", None),
    "one route, 30 days": ("30d", "search"),
}
"""Period and route of each."""
LISTS: Mapping[str, Filter] = {
    "explorer, newest requests": Filter(),
    "explorer, failed requests of a route": Filter(route="search", status="failed"),
    "explorer, a key that nobody has": Filter(key="nobody"),
}


def read_all(engine: sa.Engine) -> dict[str, float]:
    """Seconds that the queries of each page take."""
    pages = {name: timed(engine, partial(reading, *page)) for name, page in PAGES.items()}
    return pages | {name: timed(engine, partial(requests, chosen=chosen)) for name, chosen in LISTS.items()}


def timed(engine: sa.Engine, query: Callable[[sa.Connection], Any]) -> float:
    """Seconds, the better of two times."""
    took = []
    for _ in range(2):
        start = time.perf_counter()
        with transaction(engine, "snapshot") as connection:
            query(connection)
        took.append(time.perf_counter() - start)
    return min(took)


def fill(engine: sa.Engine, count: int) -> None:
    """At least so many rows, and the sums of their hours."""
    now = time.time()
    seed(engine, now)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE seeds AS SELECT id FROM answers")
        connection.exec_driver_sql("CREATE INDEX ON seeds (id)")
    multiply(engine, -(-count // SEEDS), now)
    with console.status("summing up hours"):
        while sum_up_next(engine, now) is not None:
            pass


def measure(engine: sa.Engine) -> list[str]:
    """Lines of the document."""
    with engine.begin() as connection:
        rows = connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar_one()
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one()
        newest = connection.execute(sa.select(sa.func.max(hours.c.hour))).scalar_one()
    console.print(f"{rows:,} rows, {size / 1e9:.1f} GB")
    with engine.begin() as connection:
        drop_sums(connection, [newest])
    begun = time.perf_counter()
    sum_up_next(engine, newest + HOUR_S + SETTLED_S)
    summing = time.perf_counter() - begun
    queried = read_all(engine)
    computed = {
        name: timed(engine, partial(overview, settings(), {}, {}, route, period))
        for name, (period, route) in PAGES.items()
    }
    return [
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, Python {platform.python_version()}; {rows:,} rows of {DAYS} days, "
        f"{size / 1e9:.0f} GB; the better of two times. Summing up one hour of {rows / (DAYS * 24):,.0f} rows took {summing:.2f} s.",
        "", "| page | its queries, s | these and what is computed from them, s |", "|---|---|---|",
        *(f"| {name} | {took:.2f} | {f'{computed[name]:.2f}' if name in computed else ''} |" for name, took in queried.items()),
    ]  # fmt: skip


def put(marks: tuple[str, str], lines: Sequence[str]) -> None:
    """Lines in the place of those that stand between two marks of the document."""
    head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(marks[0])
    after = rest.partition(marks[1])[2]
    DOCUMENT.write_text("\n".join([head + marks[0], "", *lines, "", marks[1] + after]), encoding="utf-8")


def main() -> None:
    """Measure, print; with `--write` into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--folder", type=Path, help="Where the database lies while it is measured.")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    with cluster(parent=chosen.folder) as server:
        engine = open_engine(Audit(url=server.database()))
        fill(engine, chosen.rows)
        lines = measure(engine)
        engine.dispose()
    print("\n".join(lines))
    if chosen.write:
        put(MARKS, lines)


if __name__ == "__main__":
    main()
