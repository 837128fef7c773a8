"""Queries of the dashboard and `hedgerow audit summary`: labelled answers and surprises.

Plain functions of a connection, run in a worker thread (`AuditStore.read`). Times are seconds since 1970. Figures of confidence cover the answers
that have one; the current verdict of each answer counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from ...calibration.arrays import FloatArray
from ...calibration.clusters import first_of_each
from ..outcomes import Status
from ..types import CLAIM_SIGNAL, Json
from .engine import Connection, Engine, follows, transaction
from .tables import answers, claim_verdicts, texts, verdicts
from .verdicts import PICKED

T = TypeVar("T")
Query = Callable[[Connection], T]
AT_A_TIME = 500
"""Rows in one transaction of a reader of everything."""
MAX_LABELLED = 20_000
"""Number of newest verdicts for figures; more would only make pages slow."""
UNWORDED = ""
"""Wording of an answer that was served in the model's own words."""
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
        wording: id of the hedge that it was served with, `UNWORDED` for the model's own; None for refusals, several hedges and claims.
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
    wording: NDArray[np.object_]
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
            self.wording[chosen],
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
        sa.select(*_names(_wording()), a.created_at, *betas, v.correct, v.fd_raw, v.fd, v.fd_perceived)
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
        sa.select(*_names(unknown), a.created_at, *betas, v.correct, v.fd_raw, v.fd, unknown)
        .join(claim_verdicts, v.answer_id == a.id)
        .where(*_newest(v, period, route), a.signal == CLAIM_SIGNAL)
        .order_by(v.created_at.desc(), v.claim)
        .limit(MAX_LABELLED + 1)
    )
    return _columns(connection.execute(statement).all())


def _wording() -> sa.ColumnElement[Any]:
    a = answers.c
    unsaid = a.status.in_((Status.ABSTAINED, Status.ESCALATED))
    return sa.case((unsaid, sa.null()), (a.status == Status.HEDGED, a.hedge), else_=UNWORDED)


def _names(wording: sa.ColumnElement[Any]) -> Sequence[sa.ColumnElement[Any]]:
    a = answers.c
    return a.route, a.map_id, a.model, a.signal, wording, a.asker, a.question_hash


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
    names = np.array([tuple(row[:7]) for row in rows], dtype=object).reshape(-1, 7)
    columns = np.array([tuple(row[7:]) for row in rows], dtype=np.float64).reshape(-1, 11).T
    return LabelledAnswers(
        created_at=columns[0],
        route=names[:, 0],
        map_id=names[:, 1],
        model=names[:, 2],
        signal=names[:, 3],
        wording=names[:, 4],
        asker=names[:, 5],
        question=names[:, 6],
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


# Recorded answers with their samples, to measure them again offline.


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded answer.

    Attributes:
        draft: the model's own words.
        answer: the final text (in shadow, the one that would have been served); the draft if it was kept.
        samples: all samples, including the draft.
        correct: by its current verdict; None without one, or if that is between right and wrong.
    """

    id: str
    route: str
    model: str
    question: str
    draft: str
    answer: str
    samples: tuple[str, ...]
    correct: bool | None


def recorded_answers(engine: sa.Engine, *, since: float = 0.0, route: str | None = None) -> Iterator[Recorded]:
    """Answers with stored texts and samples (`audit.store_text: full` or `redacted`), oldest first.

    Raises:
        StoreError: the store cannot be read.
    """
    a, t = answers.c, texts.c
    current = sa.and_(verdicts.c.answer_id == a.id, verdicts.c.current)
    with_texts = (t.draft.is_not(None), t.samples.is_not(None), a.store_text.in_(("full", "redacted")))
    statement = (
        sa.select(a.id, a.route, a.model, t.question, t.draft, t.answer, t.samples, verdicts.c.correct)
        .join(texts, t.answer_id == a.id)
        .outerjoin(verdicts, current)
        .where(a.created_at >= since, *with_texts, *of_route(route))
    )
    for rows in oldest_first(engine, statement):
        for row in rows:
            if isinstance(row.samples, list) and len(row.samples) > 1:
                yield Recorded(
                    row.id, row.route or "", row.model or "", row.question or "", row.draft,
                    row.draft if row.answer is None else row.answer, tuple(map(str, row.samples)), None if row.correct not in (0.0, 1.0) else bool(row.correct),
                )  # fmt: skip


# Data on both arms of a split route: requests, tokens, feedback, and perceived confidence of answers with a verdict.

MOST_TOKENS, MOST_DOLLARS = 20_000, 0.2
"""Limits at which one answer's tokens and cost are cut in a comparison: an interval needs a bound known in advance."""


@dataclass(frozen=True, slots=True)
class ArmRows:
    """One arm of a route since the split began.

    Attributes:
        requests: number of users or conversations with an answered request, by the first of which all figures of requests are; errors and requests
            whose client left do not count.
        rated: number of them with a client's verdict.
        tokens, token_counts: distinct sizes in tokens, up to `MOST_TOKENS`, and the number of requests with each.
        cost, cost_counts: the same for an answer's known cost in US dollars, up to `MOST_DOLLARS`.
        alpha, beta: perceived confidence of the served words, for each labelled answer with a known one.
        correct: 0..1.
    """

    requests: int
    rated: int
    tokens: FloatArray
    token_counts: FloatArray
    cost: FloatArray
    cost_counts: FloatArray
    alpha: FloatArray
    beta: FloatArray
    correct: FloatArray


def arm_rows(connection: Connection, route: str) -> Mapping[str, ArmRows]:
    """The rows by arm; empty if the route was never split."""
    counted: dict[str, list[tuple[int, float, float]]] = {}
    a = answers.c
    whole = a.tokens_answer + a.tokens_samples + a.tokens_rewrite + a.tokens_escalation
    shown = sa.case((a.arm == "on", whole), else_=a.tokens_answer)  # clients see nothing of the work in the other arm
    rated = sa.exists().where(verdicts.c.answer_id == a.id, verdicts.c.current, verdicts.c.kind == "client")
    statement = (
        sa.select(a.arm, shown, sa.func.count(), sa.func.sum(sa.case((rated, 1), else_=0)))
        .where(a.id.in_(_first_requests(route)))
        .group_by(a.arm, shown)
    )
    for arm, size, number, feedback in connection.execute(statement):
        counted.setdefault(arm, []).append((int(feedback), min(float(size), MOST_TOKENS), float(number)))
    arms = {}
    for arm, cells in counted.items():
        feedback, tokens, counts = np.array(cells, dtype=np.float64).T
        known = *_costs(connection, route, arm), *_labelled(connection, route, arm)
        arms[arm] = ArmRows(int(counts.sum()), int(feedback.sum()), tokens, counts, *known)
    return arms


def _first_requests(route: str) -> sa.Select[tuple[str]]:
    """The first answered request of each user or conversation in an arm: later ones depend on it."""
    a = answers.c
    chosen = (a.arm.is_not(None), a.status.not_in(("failed", "cancelled")), *of_route(route))
    whose = sa.func.row_number().over(
        partition_by=(a.arm, sa.func.coalesce(a.asker, a.id)), order_by=(a.created_at, a.id)
    )
    numbered = sa.select(a.id, whose.label("number")).where(*chosen).subquery()
    return sa.select(numbered.c.id).where(numbered.c.number == 1)


def _costs(connection: Connection, route: str, arm: str) -> tuple[FloatArray, FloatArray]:
    """Costs of answers, rounded to a millionth of a dollar, and the number of answers with each."""
    a = answers.c
    whole = a.cost_answer + a.cost_calibration if arm == "on" else a.cost_answer
    millionths = sa.cast(sa.func.floor(whole * 1e6 + 0.5), sa.Integer).label("millionths")
    chosen = (a.arm == arm, whole.is_not(None), a.id.in_(_first_requests(route)))
    rows = connection.execute(sa.select(millionths, sa.func.count()).where(*chosen).group_by(millionths)).all()
    cost, counts = np.array([tuple(row) for row in rows], dtype=np.float64).reshape(-1, 2).T
    return np.minimum(cost / 1e6, MOST_DOLLARS), counts


def _labelled(connection: Connection, route: str, arm: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Perceived confidences and labels of an arm, without answers that the review queue selected by confidence.

    In the other arm these are all answers with a verdict, with the confidence of the draft's words: an answer served in shadow is another
    sample of the same model, and leaving out those with another meaning would leave out unsure ones. In the arm `on`, refusals and a stronger
    model's answers are left out.
    """
    a, v = answers.c, verdicts.c
    alpha: sa.ColumnElement[float] = a.own_alpha
    beta: sa.ColumnElement[float] = a.own_beta
    chosen = [v.current, sa.func.coalesce(v.propensity, 1.0) > PICKED, a.arm == arm, *of_route(route)]
    if arm == "on":
        alpha, beta = sa.func.coalesce(a.perceived_alpha, alpha), sa.func.coalesce(a.perceived_beta, beta)
        chosen.append(v.fd.is_not(None))
    statement = sa.select(alpha, beta, v.correct, a.asker, a.question_hash).join(verdicts, v.answer_id == a.id)
    rows = connection.execute(statement.where(alpha.is_not(None), *chosen).order_by(v.id)).all()
    kept = first_of_each([row.asker for row in rows], [row.question_hash for row in rows])
    columns = np.array([tuple(rows[i][:3]) for i in kept], dtype=np.float64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]
