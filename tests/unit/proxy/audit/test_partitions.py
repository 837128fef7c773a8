"""A store partitioned by the answers' ids, on the product's own code: the benchmark that simulates it, small, with a day for a month."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import sqlalchemy as sa

from benchmarks.performance import months, partitions
from benchmarks.performance.parted import REST, first_id
from benchmarks.performance.partitions import KEY, Simulated, simulate, without
from hedgerow.proxy.audit.tables import answers
from hedgerow.proxy.audit.verify import examine
from tests.support.postgres import Cluster

DAY = 86_400.0
NOW = 1_790_000_000.0 // DAY * DAY + DAY / 2
BEGINS = [NOW + (day - 0.5) * DAY for day in (-2, -1, 0, 1)]
ROWS = 1500


@pytest.fixture(scope="module")
def simulated(postgres: Cluster) -> Iterator[Simulated]:
    """Two and a half days, of which the first is gone."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(partitions, "ROUNDS", 1)
        patched.setattr(partitions, "READ", 10)
        patched.setattr(months, "PAGES", {"overview": ("all", None), "one route": ("7d", "support")})
        found = simulate(postgres, ROWS, BEGINS, NOW, a_round=50)
        yield found
        for side in found.sides:
            side.engine.dispose()


def ids(engine: sa.Engine, moment: float) -> list[str]:
    """Of the rows from before a moment."""
    with engine.connect() as connection:
        older = sa.select(answers.c.id).where(answers.c.id < first_id(moment)).order_by(answers.c.id)
        return list(connection.execute(older).scalars())


def test_a_dropped_partition_leaves_what_deleting_its_rows_leaves(simulated: Simulated) -> None:
    """One after the other: the same rows, the same pages, whole chains. Rows behind younger ones of their chain stay until the next time."""
    whole, parted = simulated.sides
    assert (simulated.findings, simulated.differ) == ([], [])
    assert parted.gone == whole.gone > ROWS / 4
    stayed = ids(whole.engine, BEGINS[1])
    assert ids(parted.engine, BEGINS[1]) == stayed
    assert len(stayed) == simulated.stayed > 0
    again = without(simulated.sides, BEGINS[1], BEGINS[2], NOW)
    assert (again.findings, again.differ) == ([], [])
    assert parted.gone == whole.gone > ROWS / 4
    assert ids(parted.engine, BEGINS[2]) == ids(whole.engine, BEGINS[2])
    assert len(ids(parted.engine, BEGINS[1])) < len(stayed), "some of those that stayed went with the next"


def test_a_row_that_no_partition_is_made_for_is_kept(simulated: Simulated) -> None:
    """The benchmark writes some more rows at today's date, which is after the last of these days."""
    with simulated.sides[1].engine.connect() as connection:
        kept = f"SELECT count(*) FROM answers_{REST} WHERE route = 'bench'"
        assert connection.exec_driver_sql(kept).scalar_one() >= 50


def test_a_place_that_is_taken_in_two_partitions_is_found(simulated: Simulated) -> None:
    """The database refuses it in one partition only."""
    with simulated.sides[1].engine.connect() as connection:
        newest = sa.select(answers).where(answers.c.route == "bench").order_by(answers.c.seq.desc()).limit(1)
        row = connection.execute(newest).mappings().one()
        with pytest.raises(sa.exc.IntegrityError), connection.begin_nested():
            connection.execute(sa.insert(answers).values({**row, "id": row["id"] + "x"}))
        connection.execute(sa.insert(answers).values({**row, "id": first_id(BEGINS[2])}))
        found = examine(lambda: nullcontext(connection), KEY.encode()).findings
        connection.rollback()
    assert [finding.seq for finding in found if finding.what.startswith("occurs twice")] == [row["seq"]]
