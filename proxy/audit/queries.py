"""Queries of the dashboard and `hedgerow audit summary`: labelled answers and surprises.

Plain functions of a connection, run in a worker thread (`AuditStore.read`). Times are seconds since 1970. Figures of confidence cover the answers
that have one; the current verdict of each answer counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from ..types import CLAIM_SIGNAL, Json
from .engine import Connection, Engine, follows, transaction
from .hours import served_marker
from .tables import answers, claim_verdicts, texts, verdicts
from .verdicts import PICKED

T = TypeVar("T")
Query = Callable[[Connection], T]
AT_A_TIME = 500
"""Rows in one transaction of a reader of everything."""
MAX_LABELLED = 20_000
"""Number of newest verdicts for figures; more would only make pages slow."""
SURPRISES_READ = 500
"""Number of the most surprising answers among which equal ones are counted."""
SURPRISE_CHARS = 1000
"""Number of characters of a surprising answer that are compared and shown."""


class _Unindexed(FunctionElement[Any]):
    """A column that SQLite must not use for an index search, because it would prefer it to a better index. PostgreSQL decides by its statistics."""

    inherit_cache = True


@compiles(_Unindexed)
def _as_it_is(element: _Unindexed, compiler: Any, **options: Any) -> str:
    return str(compiler.process(element.clauses, **options))


@compiles(_Unindexed, "sqlite")
def _with_a_sign(element: _Unindexed, compiler: Any, **options: Any) -> str:
    return f"+{compiler.process(element.clauses, **options)}"


@dataclass(frozen=True, slots=True)
class Period:
    """A time interval; a start of None means from the beginning."""

    since: float | None
    until: float

    def holds(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
        """The SQL condition on a column of times."""
        if self.since is None:
            return column <= self.until
        return column.between(self.since, self.until)


def first_moment(connection: Connection) -> float | None:
    """Time of the oldest row; None for an empty audit."""
    return connection.execute(sa.select(sa.func.min(answers.c.created_at))).scalar()


@dataclass(frozen=True, slots=True)
class LabelledAnswers:
    """Answers, or claims of long ones, with a confidence and a scoring verdict, as columns, newest first.

    Attributes:
        route, map_id, model, signal: names; None without one.
        marker, served_marker: marker of the draft, and of the served answer (`hours.served_marker`); None for a claim.
        asker, question: pseudonyms of whom each was for and of its question; None: not known. Verdicts that share one depend on each other.
        raw, calibrated, perceived: (alpha, beta); NaN in `perceived` if not measured.
        correct: 0..1.
        fd_raw, fd, fd_perceived: nats; NaN if not measured.
        complete: False if there are more than `MAX_LABELLED`, of which these have the newest verdicts.
    """

    created_at: NDArray[np.float64]
    route: NDArray[np.object_]
    map_id: NDArray[np.object_]
    model: NDArray[np.object_]
    signal: NDArray[np.object_]
    marker: NDArray[np.object_]
    served_marker: NDArray[np.object_]
    asker: NDArray[np.object_]
    question: NDArray[np.object_]
    raw: tuple[NDArray[np.float64], NDArray[np.float64]]
    calibrated: tuple[NDArray[np.float64], NDArray[np.float64]]
    perceived: tuple[NDArray[np.float64], NDArray[np.float64]]
    correct: NDArray[np.float64]
    fd_raw: NDArray[np.float64]
    fd: NDArray[np.float64]
    fd_perceived: NDArray[np.float64]
    complete: bool

    def __len__(self) -> int:
        return int(self.correct.size)

    def where(self, chosen: NDArray[np.bool_]) -> LabelledAnswers:
        """A selection of the rows."""
        return LabelledAnswers(
            self.created_at[chosen],
            self.route[chosen],
            self.map_id[chosen],
            self.model[chosen],
            self.signal[chosen],
            self.marker[chosen],
            self.served_marker[chosen],
            self.asker[chosen],
            self.question[chosen],
            (self.raw[0][chosen], self.raw[1][chosen]),
            (self.calibrated[0][chosen], self.calibrated[1][chosen]),
            (self.perceived[0][chosen], self.perceived[1][chosen]),
            self.correct[chosen],
            self.fd_raw[chosen],
            self.fd[chosen],
            self.fd_perceived[chosen],
            self.complete,
        )


def labelled(connection: Connection, period: Period, route: str | None = None) -> LabelledAnswers:
    """Answers with a scored confidence, without those that the review queue selected by confidence, which are not representative."""
    a, v = answers.c, verdicts.c
    betas = (a.raw_alpha, a.raw_beta, a.alpha, a.beta, a.perceived_alpha, a.perceived_beta)
    statement = (
        sa.select(
            *_names(a.own_marker, served_marker()), a.created_at, *betas, v.correct, v.fd_raw, v.fd, v.fd_perceived
        )
        .join(verdicts, v.answer_id == a.id)
        .where(*_newest(v, period, route))
        .order_by(v.created_at.desc())
        .limit(MAX_LABELLED + 1)
    )
    return _columns(connection.execute(statement).all())


def labelled_claims(connection: Connection, period: Period, route: str | None = None) -> LabelledAnswers:
    """The same for claims of long answers, each with its own confidence; claims have no perceived confidence."""
    a, v, unknown = answers.c, claim_verdicts.c, sa.null()
    betas = (v.raw_alpha, v.raw_beta, v.alpha, v.beta, unknown, unknown)
    statement = (
        sa.select(*_names(unknown, unknown), a.created_at, *betas, v.correct, v.fd_raw, v.fd, unknown)
        .join(claim_verdicts, v.answer_id == a.id)
        .where(*_newest(v, period, route), a.signal == CLAIM_SIGNAL)
        .order_by(v.created_at.desc(), v.claim)
        .limit(MAX_LABELLED + 1)
    )
    return _columns(connection.execute(statement).all())


def _names(marker: sa.ColumnElement[Any], served: sa.ColumnElement[Any]) -> Sequence[sa.ColumnElement[Any]]:
    a = answers.c
    return a.route, a.map_id, a.model, a.signal, marker, served, a.asker, a.question_hash


def _newest(v: Any, period: Period, route: str | None) -> Sequence[sa.ColumnElement[bool]]:
    """Current verdicts. Both databases read them newest first, by an index on time, until they have enough."""
    drawn = sa.func.coalesce(v.propensity, 1.0) > PICKED
    return v.current, v.fd.is_not(None), drawn, *_within(v, period), *of_route(route)


def _within(v: Any, period: Period) -> Sequence[sa.ColumnElement[bool]]:
    """Verdicts on the answers of a period; a verdict is never older than its answer."""
    since = () if period.since is None else (v.created_at >= period.since,)
    return *since, period.holds(_Unindexed(answers.c.created_at))


def _columns(fetched: Sequence[Any]) -> LabelledAnswers:
    rows = sorted(fetched[:MAX_LABELLED], key=lambda row: -row.created_at)
    names = np.array([tuple(row[:8]) for row in rows], dtype=object).reshape(-1, 8)
    columns = np.array([tuple(row[8:]) for row in rows], dtype=np.float64).reshape(-1, 11).T
    return LabelledAnswers(
        created_at=columns[0],
        route=names[:, 0],
        map_id=names[:, 1],
        model=names[:, 2],
        signal=names[:, 3],
        marker=names[:, 4],
        served_marker=names[:, 5],
        asker=names[:, 6],
        question=names[:, 7],
        raw=(columns[1], columns[2]),
        calibrated=(columns[3], columns[4]),
        perceived=(columns[5], columns[6]),
        correct=columns[7],
        fd_raw=columns[8],
        fd=columns[9],
        fd_perceived=columns[10],
        complete=len(fetched) <= MAX_LABELLED,
    )


def surprises(connection: Connection, period: Period, route: str | None = None, limit: int = 20) -> list[Json]:
    """The answers with the most surprising outcomes: highest Faithfulness Divergence first, with texts if stored.

    Answers of a route with the same question, answer and outcome are shown once, the newest, with their number (`times`; among the first
    `SURPRISES_READ`; `at_least` says whether there may be more). Both databases read `ix_verdicts_fd` until they have enough.
    """
    a, v, t = answers.c, verdicts.c, texts.c
    of_answer = (
        a.id,
        a.created_at,
        a.route,
        a.mode,
        a.status,
        a.model,
        a.hedge,
        a.raw_alpha,
        a.raw_beta,
        a.alpha,
        a.beta,
    )
    said = (sa.func.substr(column, 1, SURPRISE_CHARS).label(column.name) for column in (t.question, t.answer, t.draft))
    statement = (
        sa.select(*of_answer, v.correct, v.fd, v.fd_raw, v.kind, v.source, *said)
        .join(verdicts, v.answer_id == a.id)
        .outerjoin(texts, t.answer_id == a.id)
        .where(v.current, v.fd.is_not(None), *_within(v, period), *of_route(route))
        .order_by(v.fd.desc())
        .limit(SURPRISES_READ)
    )
    rows = [dict(row) for row in connection.execute(statement).mappings()]
    groups: dict[Any, Json] = {}
    for row in rows:
        words = row["answer"] or row["draft"]
        same = (row["route"], row["question"], words, row["correct"]) if row["question"] else row["id"]
        group = groups.setdefault(same, row | {"times": 0, "at_least": len(rows) == SURPRISES_READ})
        newest = max(group, row, key=lambda each: each["created_at"])
        group |= newest | {"times": group["times"] + 1, "at_least": group["at_least"]}
    return list(groups.values())[:limit]


def oldest_first(engine: Engine, statement: Any) -> Iterator[Sequence[Any]]:
    """The answers that a statement selects, oldest first and some at a time, a transaction each: a long one would hold SQLite's log, which grows with
    each row that is written meanwhile. At the end of each row stand the time and the id of its answer.

    Raises:
        StoreError: the store cannot be read.
    """
    place = (answers.c.created_at, answers.c.id)
    statement = statement.add_columns(*(column.label(f"{column.name}_of_answer") for column in place))
    portion = statement = statement.order_by(*place).limit(AT_A_TIME)
    while True:
        with transaction(engine) as connection:
            rows = connection.execute(portion).all()
        yield rows
        if len(rows) < AT_A_TIME:
            return
        after = rows[-1][-2:]
        portion = statement.where(place[0] >= after[0], follows(place, after))


def of_route(route: str | None) -> Sequence[sa.ColumnElement[bool]]:
    """The condition for a route; None: all. SQLite then reads only `ix_answers_counted`, and not every row through the route's index."""
    return () if route is None else (_Unindexed(answers.c.route) == route,)
