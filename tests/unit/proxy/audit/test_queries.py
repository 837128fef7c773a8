"""What the dashboard asks of the audit, against rows whose figures can be counted by hand, on both databases."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import counts, queries
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.queries import Period
from hedgerow.proxy.audit.tables import answers, texts, verdicts
from hedgerow.proxy.config import Audit
from hedgerow.proxy.monitoring import figures
from tests.support.tables import cases

NOW = time.time()
DAY = 86_400.0


def row(name: str, age_days: float, **values: Any) -> dict[str, Any]:
    fixed = {"path": "/v1/chat/completions", "mode": "on", "status": "hedged", "route": "a", "duration_ms": 10.0}
    counted = {"tokens_answer": 3, "tokens_samples": 20, "tokens_rewrite": 0, "tokens_escalation": 0}
    sure = {"raw_alpha": 9.0, "raw_beta": 1.0, "alpha": 6.0, "beta": 4.0}
    return {"id": name, "created_at": NOW - age_days * DAY} | fixed | counted | sure | values


@pytest.fixture
def connection(store_url: str) -> Iterator[sa.Connection]:
    """Two routes over three days, three verdicts of which one was superseded."""
    engine = open_engine(Audit(url=store_url))
    with engine.begin() as opened:
        nothing = {"raw_alpha": None, "raw_beta": None, "alpha": None, "beta": None}
        for values in (
            row("x1", 0.5),
            row("x2", 1.5, alpha=10.0, beta=0.0001),
            row("x3", 1.6, route="b", mode="shadow", status="plain", reason="no_hedge_needed"),
            row("x4", 2.5, status="passed", reason="tool_calls", **nothing),
            row("x5", 40.0),
        ):
            opened.execute(sa.insert(answers).values(**values))
        opened.execute(sa.insert(texts).values(answer_id="x2", question="Who?", answer="Surely me."))
        for name, correct, fd, current in (
            ("x1", 0.0, 9.0, False),
            ("x1", 1.0, 0.4, True),
            ("x2", 0.0, 60.0, True),
            ("x5", 1.0, 1.0, True),
        ):
            verdict = {"answer_id": name, "correct": correct, "fd": fd, "fd_raw": fd, "current": current}
            opened.execute(sa.insert(verdicts).values(created_at=NOW, source="client", **verdict))
        yield opened
    engine.dispose()


def test_requests_are_counted_once_in_their_bucket(connection: sa.Connection) -> None:
    """By day, route, mode, status and reason, with their tokens; rows outside the period are not."""
    found = counts.tallies(connection, Period(NOW - 3 * DAY, NOW), DAY)
    counted = {(t.bucket, t.route, t.mode, t.status, t.reason): t.requests for t in found}
    assert counted == {
        (2, "a", "on", "hedged", None): 1,
        (1, "a", "on", "hedged", None): 1,
        (1, "b", "shadow", "plain", "no_hedge_needed"): 1,
        (0, "a", "on", "passed", "tool_calls"): 1,
    }
    assert sum(t.tokens[1] for t in found) == 80
    assert {t.route for t in counts.tallies(connection, Period(None, NOW), DAY, "b")} == {"b"}


def test_only_the_verdict_that_counts_is_used(connection: sa.Connection) -> None:
    """A superseded one settles nothing; newest answers come first."""
    rows = queries.labelled(connection, Period(NOW - 3 * DAY, NOW))
    assert rows.correct.tolist() == [1.0, 0.0]
    assert rows.fd.tolist() == [0.4, 60.0]
    assert np.isnan(rows.perceived[0]).all()
    assert len(queries.labelled(connection, Period(None, NOW))) == 3
    assert len(queries.labelled(connection, Period(None, NOW), "b")) == 0


def test_of_too_many_verdicts_the_newest_are_read(connection: sa.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest verdicts and not those on the newest answers; what is read comes by the answers' moments all the same."""
    statement = sa.update(verdicts).values(created_at=NOW - 0.1 * DAY)
    connection.execute(statement.where(verdicts.c.answer_id == "x1"))
    monkeypatch.setattr(queries, "MAX_LABELLED", 2)
    read = queries.labelled(connection, Period(None, NOW))
    assert (read.fd.tolist(), read.complete) == ([60.0, 1.0], False)
    assert queries.labelled(connection, Period(NOW - 3 * DAY, NOW)).complete


def test_sqlite_finds_the_newest_and_the_most_surprising_verdicts_by_an_index(tmp_path: Path) -> None:
    """It takes a partial index only where its condition stands in the query in the same form."""
    engine, asked = open_engine(Audit(url=f"sqlite:///{tmp_path / 'audit.db'}")), []
    with engine.connect() as connection:

        @sa.event.listens_for(connection, "before_cursor_execute")
        def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_rest: Any) -> None:
            asked.append((statement, values))

        for query in (queries.labelled, queries.labelled_claims, queries.surprises):
            query(connection, Period(NOW - DAY, NOW))
        plans = [connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values).all() for text, values in [*asked]]
    engine.dispose()
    for plan, index in zip(plans, ("ix_verdicts_newest", "ix_claim_verdicts_newest", "ix_verdicts_fd"), strict=True):
        assert index in plan[0][3]


def test_the_worst_surprise_comes_first_with_its_text(connection: sa.Connection) -> None:
    """And without, where none was kept."""
    rows = queries.surprises(connection, Period(NOW - 3 * DAY, NOW))
    assert [(r["id"], r["question"]) for r in rows] == [("x2", "Who?"), ("x1", None)]
    assert queries.surprises(connection, Period(NOW - DAY, NOW), "b") == []


def test_confidences_fall_into_their_cells(connection: sa.Connection) -> None:
    """A mean next to one is in the last cell; answers without a confidence are in none."""
    raw, calibrated = counts.histogram(connection, Period(NOW - 3 * DAY, NOW))
    assert (sum(raw), sum(calibrated)) == (3, 3)
    assert calibrated[12] == 2
    assert calibrated[19] == 1


@cases(("name", "number"), [("24h", 24), ("7d", 28), ("30d", 30)])
def test_the_last_bucket_ends_now(name: str, number: int) -> None:
    """No stretch that has hardly begun looks like a collapse of traffic."""
    buckets = figures.buckets_of(name, NOW, None)
    assert buckets.number == number
    assert buckets.starts[-1] + buckets.seconds == pytest.approx(NOW)


@cases(
    ("age", "seconds", "number"),
    [(0.0, 60.0, 10), (40.0, 60.0, 10), (25 * 60.0, 60.0, 25), (3 * 3600.0, 900.0, 12), (40 * 3600.0, 10800.0, 14)],
)
def test_first_days_are_not_one_spike_at_the_end_of_a_week(age: float, seconds: float, number: int) -> None:
    """The stretches begin with the first row and suit the time since; a first row older than the period changes nothing."""
    buckets = figures.buckets_of("7d", NOW, NOW - age)
    assert (buckets.seconds, buckets.number, buckets.begun) == (seconds, number, NOW - age)
    assert buckets.starts[0] <= NOW - age
    assert buckets.starts[-1] + buckets.seconds == pytest.approx(NOW)
    whole = figures.buckets_of("7d", NOW, NOW - 8 * DAY)
    assert (whole.seconds, whole.number, whole.begun) == (6 * 3600.0, 28, None)
    years = figures.buckets_of("all", NOW, NOW - 4000 * DAY)
    assert years.number <= figures.MOST_BUCKETS
    assert years.name == "134 days"


def test_stretches_of_quality_hold_verdicts_enough() -> None:
    """All on one afternoon, they are split there; too few for two stretches are not drawn over time."""
    moments = np.concatenate([[0.0], np.linspace(1000.0, 1001.0, 99)])
    parts = figures.stretches(moments, 20)
    assert len(parts) == 5
    assert [int(figures.inside(moments, part).sum()) for part in parts] == [20] * 5
    assert figures.stretches(moments[:39], 20) == []


def test_an_estimate_needs_enough_verdicts_and_lies_in_its_interval(connection: sa.Connection) -> None:
    """Nineteen verdicts give none."""
    labelled = queries.labelled(connection, Period(None, NOW))
    buckets = figures.buckets_of("30d", NOW, None)
    assert figures.route_figures("a", [], labelled, buckets).fd is None
    many = labelled.where(np.zeros(30, dtype=np.int64))  # type: ignore[arg-type]  # the same row thirty times
    line = figures.route_figures("a", [], many, buckets)
    assert (line.fd, line.fd_interval) == (pytest.approx(0.4), None)
    assert line.smooth_ece is not None
    assert line.smooth_ece.low <= line.smooth_ece.estimate <= line.smooth_ece.high
    assert line.smooth_ece.estimate == pytest.approx(0.4, abs=1e-3)  # always right at a mean of 0.6


def test_the_interval_of_a_mean_over_more_than_it_is_computed_from_holds_the_mean(
    connection: sa.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest verdicts surprised less than those before them: their own interval leaves out the mean over all."""
    monkeypatch.setattr(figures, "INTERVAL_ROWS", 40)
    monkeypatch.setattr(figures, "MIN_FOR_INTERVAL", 40)
    for number in range(100):
        name, fd = f"y{number}", (0.2 if number < 40 else 1.2) + number % 2 / 10
        connection.execute(sa.insert(answers).values(**row(name, number / 100)))
        connection.execute(
            sa.insert(verdicts).values(
                answer_id=name, created_at=NOW, source="client", correct=1.0, fd=fd, fd_raw=fd, current=True
            )
        )
    labelled = queries.labelled(connection, Period(NOW - 0.995 * DAY, NOW))
    fd = figures.route_figures(None, [], labelled, figures.buckets_of("24h", NOW, None)).fd_interval
    assert fd is not None
    assert fd.estimate == pytest.approx(0.85, abs=0.02)
    assert fd.low < fd.estimate < fd.high < fd.low + 0.4


def test_an_interval_counts_askers_and_questions_and_not_verdicts(connection: sa.Connection) -> None:
    """400 verdicts of 80 users are too few for one; of 400 users on ten questions as well; of 200 users in pairs it is wider than of 400 alone."""

    def of(askers: int, questions: int) -> figures.RouteFigures:
        alike = queries.labelled(connection, Period(None, NOW)).where(np.zeros(400, dtype=np.int64))  # type: ignore[arg-type]
        number = np.arange(400)
        wrong = np.random.default_rng(0).random(askers)[number % askers] < 0.3
        labelled = replace(
            alike,
            fd=np.where(wrong, 2.0, 0.1),
            asker=np.array([f"user:{i % askers}" for i in number], dtype=object),
            question=np.array([f"{i % questions}" for i in number], dtype=object),
        )
        return figures.route_figures("a", [], labelled, figures.buckets_of("30d", NOW, None))

    alone, pairs = of(400, 400), of(200, 400)
    assert (pairs.independent, pairs.counted_by) == (200, ("user", "question"))
    assert alone.fd_interval is not None
    assert pairs.fd_interval is not None
    assert pairs.fd_interval.high - pairs.fd_interval.low > 1.2 * (alone.fd_interval.high - alone.fd_interval.low)
    assert of(80, 400).fd_interval is of(400, 10).fd_interval is None
