"""A capacity plan on paper: `python -m benchmarks.performance.capacity [--write]`, from the figures of docs/performance.md and docs/audit.md.

What a row takes in PostgreSQL is measured now, on made-up requests (benchmarks/performance/explorer.py); everything else is read from the pages, whose
own commands measured it, and multiplied. Nothing here was run at this size.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from benchmarks.performance import explorer
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.config import Audit, PriceSettings
from hedgerow.proxy.spending.prices import open_prices
from hedgerow.proxy.types import Usage
from tests.support.postgres import cluster

DOCS = Path(__file__).parents[2] / "docs"
MARK, END = "<!-- measured: capacity -->", "<!-- end: capacity -->"
DAY_S = 86_400
PEAK = 3.0
"""Requests in the busiest minute over those of a mean one."""
USED = 0.5
"""Share of what a process can do that it is meant to do at the peak."""
SHARES = (0.01, 0.1, 1.0)
"""Of the requests that are calibrated; the others pass on."""
SAMPLES, ANSWER_TOKENS = 10, 50
MODEL = "gpt-5-mini"
ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Measured:
    """Per process and second: requests that pass on, calibrated ones, rows committed to PostgreSQL, rows verified; and bytes of a row."""

    passed: float
    calibrated: float
    rows: float
    verified: float
    bytes_plain: float
    bytes_texts: float


def cell(page: str, section: str, row: str, column: int) -> float:
    """A number of a table: its page, the heading or line above it, how its row begins, and the column from 0."""
    text = (DOCS / page).read_text(encoding="utf-8").split(section, 1)[1]
    line = next(line for line in text.splitlines() if line.startswith(f"| {row}"))
    return float(re.sub(r"[^\d.]", "", line.split("|")[column + 2]))


def bytes_of_rows() -> tuple[float, float]:
    """Bytes of a row with its indexes and verdicts in PostgreSQL, and of its texts with theirs."""
    with cluster() as server:
        engine = open_engine(Audit(url=server.database()))
        explorer.fill(engine, ROWS)
        with engine.connect() as connection:
            size = {
                name: connection.execute(sa.text(f"SELECT pg_total_relation_size('{name}')")).scalar_one()
                for name in ("answers", "verdicts", "texts")
            }
            texts = connection.execute(sa.text("SELECT count(*) FROM texts")).scalar_one()
        engine.dispose()
    return (size["answers"] + size["verdicts"]) / ROWS, size["texts"] / texts


def measured() -> Measured:
    """The figures that the plan is made of."""
    plain, texts = bytes_of_rows()
    return Measured(
        passed=cell("performance.md", "### Passing on, 16 connections", "hedgerow, mode off", 0),
        calibrated=cell("performance.md", "### Calibrated: 20 samples in one call", "hedgerow, mode on", 0),
        rows=cell("audit.md", "## What it costs", "PostgreSQL, over a socket", 0),
        verified=cell("audit.md", "## What it costs", "PostgreSQL, over a socket", 4),
        bytes_plain=plain,
        bytes_texts=texts,
    )


def plan(of: Measured, a_day: int) -> list[str]:
    """The page's block."""
    peak, row = a_day / DAY_S * PEAK, of.bytes_plain
    lines = [
        f"{a_day:,} requests a day are {a_day / DAY_S:,.0f} a second, {peak:,.0f} at a peak of {PEAK:g} times the mean. Taken from the pages: a process passes on {of.passed:,.0f}"
        f" a second, calibrates {of.calibrated:,.0f}, and PostgreSQL commits {of.rows:,.0f} rows a second; processes are used to {USED:.0%} at the peak. Measured now on {ROWS:,}"
        f" made-up requests: {row:,.0f} bytes a row in PostgreSQL, indexes and verdicts included, and {of.bytes_texts:,.0f} for its texts where they are kept.",
        "",
        "| calibrated | processes at the peak | answers drawn a day | tokens of samples a day | dollars a day, " + MODEL + " | rows with texts kept, a day |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    price = open_prices(PriceSettings()).of(MODEL)
    for share in SHARES:
        processes = math.ceil(peak * (share / of.calibrated + (1 - share) / of.passed) / USED)
        calibrated = share * a_day
        more = (SAMPLES - 1) * ANSWER_TOKENS
        spent = "not known" if price is None else f"{calibrated * price.of(Usage(0, more)):,.0f}"
        lines.append(
            f"| {share:.0%} | {processes:,} | {calibrated * SAMPLES:,.0f} | {calibrated * more:,.0f} | {spent} "
            f"| {calibrated * of.bytes_texts / 1e9:,.0f} GB |"
        )
    lines += [
        "",
        f"Samples: {SAMPLES} answers of {ANSWER_TOKENS} tokens in one call with `n`, nine of them more than the client asked for; a model without `n` pays the prompt {SAMPLES} times.",
        "",
        "| store | |",
        "|---|---|",
        f"| rows a second at the peak, of what one PostgreSQL commits | {peak / of.rows:.0%} |",
        f"| rows of a day, without texts | {a_day * row / 1e9:,.0f} GB |",
        f"| kept 30 days | {30 * a_day * row / 1e12:,.1f} TB, {30 * a_day / 1e9:,.0f} thousand million rows |",
        f"| kept 7 days | {7 * a_day * row / 1e12:,.1f} TB |",
        f"| verifying the chains of one day, one process | {a_day / of.verified / 3600:.1f} hours |",
    ]
    return lines


def main() -> int:
    """Print the plan, or put it into docs/scale.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000_000, help="a day")
    parser.add_argument("--write", action="store_true", help="into docs/scale.md")
    given = parser.parse_args()
    block = "\n".join(plan(measured(), given.requests))
    if given.write:
        page = DOCS / "scale.md"
        before, _, after = page.read_text(encoding="utf-8").partition(MARK)
        page.write_text(f"{before}{MARK}\n\n{block}\n\n{END}{after.partition(END)[2]}", encoding="utf-8")
    print(block)
    return 0


if __name__ == "__main__":
    sys.exit(main())
