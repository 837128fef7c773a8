"""Confidences and labels as columns, for drift tests, refits and exports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from ...calibration.clusters import first_of_each
from .engine import Connection, transaction
from .queries import Period, oldest_first
from .tables import answers, claim_verdicts, texts, verdicts
from .verdicts import PICKED

Columns = NDArray[np.float64]
Names = NDArray[np.object_]
MAX_IN_REGIMES = 20_000
"""Number of newest labelled answers for figures of regimes."""
FIELDS = "fields"
"""The signal of JSON answers, whose verdicts are on fields."""
Subject = Literal["answers", "claims"]
"""Subjects of verdicts: whole answers, or single claims of long ones. They are never mixed."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labelled answers, or labelled claims, in the order of their verdicts; arrays of shape (n,).

    Attributes:
        raw_alpha, raw_beta: before any map.
        alpha, beta: as the answer was worded.
        correct: 0..1.
        fd: Faithfulness Divergence of the calibrated confidence, nats.
        asked_at: when the answers were given, seconds since 1970.
        regime: number of the question's regime in the map; 0 for none.
        lot: probability with which the judge, not a grader, drew the answer; NaN: not told, or not asked for.
        asker, question: pseudonyms of whom the answer was for and of its question; None: not known. Verdicts that share one depend on each other.
        sender: the key whose client sent the verdict; None for people, graders, imports, and clients without a named key.
        picked: 1 if the review queue selected the answer by its confidence, else 0. Tests and fits condition on the confidence and may use these answers; means over a route may not.
    """

    raw_alpha: Columns
    raw_beta: Columns
    alpha: Columns
    beta: Columns
    correct: Columns
    fd: Columns
    asked_at: Columns
    regime: Columns
    lot: Columns
    picked: Columns
    asker: Names
    question: Names
    sender: Names

    @property
    def mean(self) -> Columns:
        """Calibrated means."""
        return self.alpha / (self.alpha + self.beta)

    def drawn(self) -> Labelled:
        """The columns without answers that the review queue selected, for means over the route."""
        return self.rows(np.flatnonzero(self.picked == 0.0))

    def independent(self) -> Labelled:
        """The columns with one verdict of each user or conversation and of each question, the first, for tests of independent verdicts."""
        return self.rows(first_of_each(self.asker, self.question))

    @property
    def counted_by(self) -> tuple[str, ...]:
        """By what verdicts are known to depend on each other: user, conversation, question."""
        return counted_by(self.asker, self.question)

    def rows(self, kept: NDArray[np.intp]) -> Labelled:
        """The columns of some answers, by index."""
        return Labelled(*(getattr(self, field.name)[kept] for field in fields(self)))


def counted_by(asker: Names, question: Names) -> tuple[str, ...]:
    """By what rows are known to depend on each other: user, conversation, question, or an erasure."""
    kinds = {name.partition(":")[0] for name in asker if name is not None}
    return (*sorted(kinds, reverse=True), *(("question",) if any(name is not None for name in question) else ()))


def read_labelled(
    engine: sa.Engine,
    *,
    route: str,
    map_id: str | None = None,
    any_map: bool = False,
    signal: str | None = None,
    kinds: Sequence[str] = ("client", "human", "import", "grader"),
    verdicts_since: float = 0.0,
    asked_since: float = 0.0,
    of: Subject = "answers",
    lots: bool = False,
) -> Labelled:
    """The labelled answers of a route, or the labelled claims of its long answers, with one map (None: uncalibrated) or with any.

    Args:
        lots: whether to say with which probability each answer was drawn, by any of its verdicts: one that is corrected stays drawn.

    Raises:
        StoreError: the store cannot be read.
    """
    table = verdicts if of == "answers" else claim_verdicts
    confidence = answers if of == "answers" else claim_verdicts
    wanted = [answers.c.route == route, table.c.current, table.c.fd.is_not(None), table.c.kind.in_(kinds)]
    wanted += [table.c.created_at >= verdicts_since, answers.c.created_at >= asked_since]
    if not any_map:
        wanted.append(answers.c.map_id == map_id)
    if signal is not None:
        wanted.append(answers.c.signal == signal)
    elif of == "claims":
        wanted.append(answers.c.signal != FIELDS)  # fields of JSON are not claims of long answers
    c, v = confidence.c, table.c
    regime = sa.func.coalesce(answers.c.story[("place", "regime")].as_integer(), 0)
    picked = sa.func.coalesce(v.propensity, 1.0) <= PICKED
    statement = (
        sa.select(c.raw_alpha, c.raw_beta, c.alpha, c.beta, v.correct, v.fd, answers.c.created_at, regime)
        .add_columns(_lot(table) if lots else sa.null(), sa.case((picked, 1), else_=0), *origin(v.kind))
        .join_from(table, answers)
        .where(*wanted)
        .order_by(v.id)
    )
    with transaction(engine) as connection:
        rows = [tuple(row) for row in connection.execute(statement)]
    numbers = np.array([row[:10] for row in rows], dtype=np.float64).reshape(-1, 10).T
    names = np.array([row[10:] for row in rows], dtype=object).reshape(-1, 3).T
    return Labelled(*numbers, *names)


def origin(kind: sa.ColumnElement[str]) -> Sequence[sa.ColumnElement[Any]]:
    """Columns of whom and of what an answer was, and of the key that sent a verdict of a kind."""
    return answers.c.asker, answers.c.question_hash, sa.case((kind == "client", answers.c.key), else_=None)


def has_other_keys(engine: sa.Engine, *, route: str, key: str) -> bool:
    """Whether a route has answered requests without a named key, or with another one.

    Raises:
        StoreError: the store cannot be read.
    """
    other = sa.select(answers.c.id).where(answers.c.route == route, answers.c.key.is_distinct_from(key)).limit(1)
    with transaction(engine) as connection:
        return connection.execute(other).first() is not None


def _lot(table: sa.Table) -> sa.ScalarSelect[float]:
    """The probability with which the answer of a verdict was drawn by whoever judged, not by a grader; null where nobody told."""
    each = table.alias()
    told = sa.select(sa.func.max(each.c.propensity))
    return told.where(
        each.c.answer_id == table.c.answer_id, each.c.kind != "grader", each.c.propensity > PICKED
    ).scalar_subquery()


def in_regimes(connection: Connection, *, route: str, map_id: str, period: Period) -> dict[int, Columns]:
    """By regime of a map, raw mean, calibrated mean and correct of the labelled answers of a period, shape (3, n)."""
    a, v = answers.c, verdicts.c
    regime = a.story[("place", "regime")].as_integer()
    statement = (
        sa.select(regime, a.raw_alpha, a.raw_beta, a.alpha, a.beta, v.correct)
        .join_from(verdicts, answers)
        .where(a.route == route, a.map_id == map_id, v.current, v.fd.is_not(None), regime.is_not(None))
        .where(period.holds(a.created_at), sa.func.coalesce(v.propensity, 1.0) > PICKED)
        .order_by(a.created_at.desc())
        .limit(MAX_IN_REGIMES)
    )
    rows = np.array([tuple(row) for row in connection.execute(statement)], dtype=np.float64).reshape(-1, 6)
    numbers, raw, calibrated = (
        rows[:, 0],
        rows[:, 1] / (rows[:, 1] + rows[:, 2]),
        rows[:, 3] / (rows[:, 3] + rows[:, 4]),
    )
    columns = np.stack([raw, calibrated, rows[:, 5]])
    return {int(number): columns[:, numbers == number] for number in np.unique(numbers)}


def read_raw_means(engine: sa.Engine, *, route: str, map_id: str | None, since: float = 0.0) -> tuple[Columns, Columns]:
    """Request times (seconds since 1970) and raw means of a route's answers with one map; oldest first.

    Raises:
        StoreError: the store cannot be read.
    """
    a = answers.c
    statement = (
        sa.select(a.created_at, a.raw_alpha, a.raw_beta)
        .where(a.route == route, a.map_id == map_id, a.created_at >= since, a.raw_alpha.is_not(None))
        .order_by(a.created_at)
    )
    asked_at, alpha, beta = _columns(engine, statement, 3)
    return asked_at, alpha / (alpha + beta)


def _columns(engine: sa.Engine, statement: Any, width: int) -> list[Columns]:
    with transaction(engine) as connection:
        rows = [tuple(row) for row in connection.execute(statement)]
    return list(np.array(rows, dtype=np.float64).reshape(-1, width).T)


def count_by_map(engine: sa.Engine, *, route: str, since: float = 0.0) -> dict[str | None, int]:
    """Answers of a route with a confidence, by the map that they were calibrated with.

    Raises:
        StoreError: the store cannot be read.
    """
    a = answers.c
    wanted = (a.route == route, a.created_at >= since, a.alpha.is_not(None))
    with transaction(engine) as connection:
        rows = connection.execute(sa.select(a.map_id, sa.func.count()).where(*wanted).group_by(a.map_id))
        return {map_id: int(count) for map_id, count in rows}


def count_answers(engine: sa.Engine, *, route: str | None = None, since: float = 0.0) -> int:
    """Number of answers with a confidence.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        return int(connection.execute(_exported(sa.select(sa.func.count()), route, since)).scalar_one())


def export_rows(engine: sa.Engine, *, route: str | None = None, since: float = 0.0) -> Iterator[dict[str, Any]]:
    """Answers with a confidence, oldest first, each with its current verdict: the columns of `EXPORTED`.

    `correct` is null without a current verdict, or if that is not about the row's confidence.

    Raises:
        StoreError: the store cannot be read.
    """
    for rows in oldest_first(engine, _exported(sa.select(*_EXPORTED), route, since)):
        for row in rows:
            yield dict(zip(EXPORTED, row[: len(EXPORTED)], strict=True))


def _exported(select: Any, route: str | None, since: float) -> Any:
    current = (verdicts.c.answer_id == answers.c.id) & verdicts.c.current
    joined = answers.outerjoin(verdicts, current).outerjoin(texts, texts.c.answer_id == answers.c.id)
    select = select.select_from(joined).where(answers.c.alpha.is_not(None), answers.c.created_at >= since)
    return select if route is None else select.where(answers.c.route == route)


_NOT_EXPORTED = {"story", "claims", "promised", "user_hash", "salt", "digest", "writer", "seq", "previous", "hash"}
"""Columns that are internal to the store or identify a user."""
_VERDICT_COLUMNS = (
    "kind",
    "source",
    "actor",
    "propensity",
    "fd_raw",
    "fd",
    "fd_perceived",
    "brier_raw",
    "brier",
    "nll_raw",
    "nll",
)
_EXPORTED = [
    *(column for column in answers.c if column.name not in _NOT_EXPORTED),
    sa.case((verdicts.c.fd.is_not(None), verdicts.c.correct), else_=None).label("correct"),
    verdicts.c.created_at.label("told_at"),
    *(verdicts.c[name] for name in _VERDICT_COLUMNS),
    texts.c.question,
    texts.c.draft,
]
_KINDS = {str: "text", float: "float", int: "int", bool: "bool"}
EXPORTED = {
    str(column.name): "moment" if column.name.endswith("_at") else _KINDS[column.type.python_type]
    for column in _EXPORTED
}
"""The columns of an export and their kinds: text, float, int, bool or moment (seconds since 1970)."""


def export_claims(engine: sa.Engine, *, route: str | None = None, since: float = 0.0) -> Iterator[dict[str, Any]]:
    """Every claim of every long answer, oldest first, each with its current verdict: the columns of `EXPORTED_CLAIMS`.

    Raises:
        StoreError: the store cannot be read.
    """
    a, t = answers.c, texts.c
    statement = (
        sa.select(*(a[name] for name in _OF_ANSWERS), a.claims, t.claims.label("words"))
        .join_from(answers, texts, isouter=True)
        .where(a.alpha.is_not(None), a.created_at >= since, sa.cast(a.claims, sa.Text) != "null")
    )
    statement = statement if route is None else statement.where(a.route == route)
    for rows in oldest_first(engine, statement):
        current = claim_verdicts.c.answer_id.in_([row.id for row in rows]) & claim_verdicts.c.current
        with transaction(engine) as connection:
            told = connection.execute(sa.select(claim_verdicts).where(current)).mappings().all()
        verdict_on = {(verdict["answer_id"], verdict["claim"]): verdict for verdict in told}
        for row in rows:
            for index, claim in enumerate(row.claims):
                yield _exported_claim(row._mapping, index, claim, verdict_on.get((row.id, index)))


def _exported_claim(row: Any, index: int, claim: dict[str, Any], verdict: Any) -> dict[str, Any]:
    (raw_alpha, raw_beta), (alpha, beta) = claim["raw"], claim["calibrated"]
    exported = dict.fromkeys(EXPORTED_CLAIMS) | {name: row[name] for name in _OF_ANSWERS}
    exported |= {"claim": index, "raw_alpha": raw_alpha, "raw_beta": raw_beta, "alpha": alpha, "beta": beta}
    exported["text"] = row["words"][index] if row["words"] else None
    if verdict is not None:
        exported |= {name: verdict[name] for name in _CLAIM_VERDICT_COLUMNS} | {"told_at": verdict["created_at"]}
        exported["correct"] = verdict["correct"] if verdict["fd"] is not None else None
    return exported


_OF_ANSWERS = ("id", "created_at", "route", "model", "signal", "map_id", "asker", "question_hash")
_CLAIM_VERDICT_COLUMNS = tuple(name for name in _VERDICT_COLUMNS if name != "fd_perceived")
EXPORTED_CLAIMS = {
    "id": "text", "claim": "int", "created_at": "moment", "route": "text", "model": "text", "signal": "text", "map_id": "text",
    "asker": "text", "question_hash": "text", "raw_alpha": "float", "raw_beta": "float", "alpha": "float", "beta": "float", "correct": "float", "told_at": "moment",
    "kind": "text", "source": "text", "actor": "text", **dict.fromkeys(_CLAIM_VERDICT_COLUMNS[3:], "float"), "text": "text",
}  # fmt: skip
"""The columns of an export of claims and their kinds."""
