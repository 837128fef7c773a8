"""The request explorer on a million rows: `python -m benchmarks.performance.explorer`, on SQLite and on PostgreSQL.

Fills a store of each kind with made-up requests of a year (texts, verdicts, four routes, thirty keys) and times the first page and a
later page of every combination of filters, as the page and `hedgerow audit list` ask for them; then searches of texts and grouped surprises.
`--write` puts the figures into docs/dashboard.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from rich.progress import track

from hedgerow.proxy.audit import queries
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.explorer import Filter, requests
from hedgerow.proxy.audit.tables import answers, texts, verdicts
from hedgerow.proxy.config import Audit
from tests.support.postgres import cluster

DOCUMENT = Path(__file__).parents[2] / "docs" / "dashboard.md"
MARK = "<!-- measured -->"
DAYS = 365
BATCH = 20_000
STATUSES = {"hedged": 0.5, "plain": 0.2, "passed": 0.24, "unhedged": 0.03, "degraded": 0.02, "failed": 0.01}
ROUTES = {"support": 0.6, "search": 0.28, "tools": 0.11, "pilot": 0.01}
MODELS = {"gpt-5-mini": 0.7, "gpt-5": 0.25, "llama-3.1-8b": 0.05}
SUBJECTS = (
    "the capital of",
    "the author of",
    "the year of",
    "the height of",
    "the inventor of",
    "the refund period for",
)
FILTERS: dict[str, tuple[dict[str, Any], ...]] = {
    "route": ({}, {"route": "support"}, {"route": "pilot"}),
    "key": ({}, {"key": "team-0"}, {"key": "team-29"}),
    "model": ({}, {"model": "llama-3.1-8b"}),
    "status": ({}, {"status": "hedged"}, {"status": "failed"}),
    "confidence": ({}, {"least": 0.9}, {"least": 0.2, "most": 0.25}),
    "verdict": ({}, {"judged": "wrong"}, {"judged": "none"}),
}
"""What each filter is set to: nothing, something common, something rare."""


def rows(
    count: int, rng: np.random.Generator, now: float, days: float = DAYS
) -> Iterator[tuple[list[Any], list[Any], list[Any]]]:
    """Parameters for the three tables, a batch at a time."""
    moments = np.sort(now - 86_400.0 * days * rng.random(count))
    keys = 1.0 / np.arange(1, 31)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        drawn = {
            name: rng.choice(list(shares), size, p=list(shares.values()))
            for name, shares in (("route", ROUTES), ("status", STATUSES), ("model", MODELS))
        }
        key = rng.choice(30, size, p=keys / keys.sum())
        agree = rng.integers(1, 11, size)
        right = rng.random(size) < agree / 10.0
        judged = rng.random(size)
        answered, said, verdicts = [], [], []
        for i in range(size):
            at, status = float(moments[start + i]), str(drawn["status"][i])
            row = {
                "id": f"hr_{int(at * 1e3):011x}{start + i:016x}",
                "created_at": at,
                "path": "/v1/chat/completions",
                "mode": "on",
            }
            row |= {name: str(values[i]) for name, values in drawn.items()} | {
                "key": f"team-{key[i]}",
                "http_status": 200,
            }
            row |= {"duration_ms": 900.0 + i % 700, "tokens_answer": 60, "tokens_samples": 500, "upstream": "models"}
            if status not in ("passed", "failed"):
                row |= _calibrated(float(agree[i]))
                said.append(_texts(row["id"], start + i, int(agree[i])))
                if judged[i] < 0.2:
                    verdicts.append(_verdict(row["id"], at, bool(right[i]), float(agree[i])))
            answered.append(row)
        yield answered, said, verdicts


def _calibrated(agree: float) -> dict[str, Any]:
    story = {
        "clusters": [list(range(int(agree))), [9]],
        "timings_ms": {"sample": 812.5, "cluster": 1.2},
        "hedges": [{"id": "probably", "distance": 0.02}] * 5,
    }
    figures = {"raw_alpha": agree, "raw_beta": 10.01 - agree, "alpha": agree * 0.95, "beta": 10.0 - agree * 0.95}
    return figures | {
        "signal": "semantic",
        "samples": 10,
        "clusters": 2,
        "store_text": "full",
        "story": story,
        "hedge": "probably",
    }


def _texts(name: str, number: int, agree: int) -> dict[str, Any]:
    what = f"{SUBJECTS[number % len(SUBJECTS)]} item {number % 5000}"
    draft = f"It is value {number % 977}, as the handbook says in section {number % 40}."
    samples = [draft] * agree + [f"It is value {number % 31}."] * (10 - agree)
    return {
        "answer_id": name,
        "question": f"What is {what}?",
        "draft": draft,
        "answer": f"Probably: {draft}",
        "samples": samples,
    }


def _verdict(name: str, at: float, right: bool, agree: float) -> dict[str, Any]:
    fd = -np.log(agree / 10.5 if right else 1.0 - agree / 10.5)
    verdict = {
        "answer_id": name,
        "created_at": at + 60.0,
        "correct": float(right),
        "source": "client",
        "kind": "client",
    }
    return verdict | {"current": True, "fd": float(fd), "fd_raw": float(fd)}


def fill(engine: sa.Engine, count: int) -> None:
    """Put rows into a blank store, without the commit a request waits for."""
    rng, now = np.random.default_rng(3), time.time()
    for batch in track(rows(count, rng, now), total=-(-count // BATCH), description="filling"):
        with engine.begin() as connection:
            for table, some in zip((answers, texts, verdicts), batch, strict=True):
                groups = itertools.groupby(
                    sorted(some, key=len), key=len
                )  # rows of one statement have the same columns
                for _, alike in groups:
                    connection.execute(sa.insert(table), list(alike))
    if engine.dialect.name == "postgresql":  # what autovacuum does by itself within minutes
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")


def combinations() -> list[Filter]:
    """Every combination of what the filters are set to, over all time."""
    return [
        Filter(**{name: value for one in chosen for name, value in one.items()})
        for chosen in itertools.product(*FILTERS.values())
    ]


def timed(engine: sa.Engine, query: Callable[[sa.Connection], Any]) -> tuple[float, Any]:
    """Milliseconds of a query, the better of two times, because machines that measure do other things too; and what it gave."""
    took = []
    with engine.connect() as connection:
        for _ in range(2):
            start = time.perf_counter()
            result = query(connection)
            took.append((time.perf_counter() - start) * 1e3)
    return min(took), result


def measure(engine: sa.Engine) -> list[tuple[str, list[float]]]:
    """Times by what was asked."""
    first, later, slow = [], [], []
    for chosen in track(combinations(), description="pages"):
        took, page = timed(engine, lambda c, chosen=chosen: requests(c, chosen))
        first.append(took)
        slow.append((took, chosen))
        if page.after is not None:
            later.append(timed(engine, lambda c, chosen=chosen, page=page: requests(c, chosen, page.after))[0])
    for took, chosen in sorted(slow, key=lambda each: -each[0])[:5]:
        print(f"{took:8.0f} ms  {chosen}")
    said = [Filter(text=text) for text in ("item 77?", "section 12", "no such words", "VALUE 900", "100 %")] * 4
    period = queries.Period(None, time.time())
    return [
        (f"first page, {len(first)} combinations of filters", first),
        ("second page of those that have one", later),
        ("search of texts", [timed(engine, lambda c, one=one: requests(c, one))[0] for one in said]),
        ("grouped surprises", [timed(engine, lambda c: queries.surprises(c, period))[0] for _ in range(20)]),
    ]


def table(name: str, found: Sequence[tuple[str, list[float]]]) -> list[str]:
    """Lines of the document's table."""
    lines = []
    for what, times in found:
        p50, p95, worst = np.percentile(times, [50, 95, 100])
        lines.append(f"| {name} | {what} | {p50:,.0f} | {p95:,.0f} | {worst:,.0f} |")
    return lines


def main() -> None:
    """Fill, measure, print; with `--write` into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="Keep the SQLite store there, and use one that is there.")
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    lines = [
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, {chosen.rows:,} rows, the better of two times each.",
        "", "| store | asked | p50 ms | p95 ms | slowest ms |", "|---|---|---|---|---|",
    ]  # fmt: skip
    if chosen.only != "postgresql":
        with tempfile.TemporaryDirectory() as made:
            lines += table("SQLite", _run(f"sqlite:///{chosen.folder or made}/audit.db", chosen.rows))
    if chosen.only != "sqlite":
        with cluster() as server:
            lines += table("PostgreSQL", _run(server.database(), chosen.rows))
    print("\n".join(lines))
    if chosen.write:
        head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(MARK)
        after = rest[rest.index("\n## ") :] if "\n## " in rest else ""
        DOCUMENT.write_text(f"{head}{MARK}\n\n" + "\n".join(lines) + f"\n{after}", encoding="utf-8")


def _run(url: str, count: int) -> list[tuple[str, list[float]]]:
    engine = open_engine(Audit(url=url, synchronous="normal"))
    with engine.connect() as connection:
        empty = connection.execute(sa.select(answers.c.id).limit(1)).first() is None
    if empty:
        fill(engine, count)
    found = measure(engine)
    engine.dispose()
    return found


if __name__ == "__main__":
    main()
