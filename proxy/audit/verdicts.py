"""Verdicts on answers: told by clients, people, files and graders, settled against what was said, kept with their history.

Of an answer's verdicts one is current: the latest, except that a grader's never takes the place of anybody else's. Telling the same
again (same kind, same source, same outcome) changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import anyio.to_thread
import sqlalchemy as sa

from hedgerow.proxy.audit.engine import transaction
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.audit.tables import answers, verdicts

Kind = Literal["client", "human", "import", "grader"]
MAX_TOLD = 1000
"""Most verdicts in one transaction."""

_ANSWER = [
    answers.c[name]
    for name in (
        "id", "created_at", "response_id", "route", "mode", "status", "served_agrees",
        "raw_alpha", "raw_beta", "alpha", "beta", "perceived_alpha", "perceived_beta",
    )
]  # fmt: skip
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """A verdict as it comes in.

    Attributes:
        name: audit id, or the completion's own id.
        correct: 0 wrong .. 1 right.
        source: a short word for who says so, as that side names itself.
        actor: who exactly, where known.
    """

    name: str
    correct: float
    kind: Kind = "client"
    source: str = "client"
    actor: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """A verdict as it stands after it was told.

    Attributes:
        id: the audit id.
        scores: `fd_raw`, `fd`, `fd_perceived`, `brier_raw`, `brier`, `nll_raw`, `nll`; None where the row has no such confidence.
        changed: False where the same verdict had been told before.
        counts: whether it is the current verdict of its answer.
    """

    told: Told
    id: str
    route: str | None
    status: str
    scores: Mapping[str, float | None]
    changed: bool
    counts: bool

    @property
    def correct(self) -> float:
        """0 wrong .. 1 right."""
        return self.told.correct

    @property
    def fd_raw(self) -> float | None:
        """Faithfulness Divergence of the confidence before the map, nats."""
        return self.scores["fd_raw"]

    @property
    def fd(self) -> float | None:
        """Faithfulness Divergence of the calibrated confidence, nats."""
        return self.scores["fd"]


async def tell(store: AuditStore, told: Sequence[Told]) -> list[Settled | None]:
    """Write verdicts, at most `MAX_TOLD`, in one transaction; None in the place of each whose answer does not exist.

    Raises:
        StoreError: the store cannot be written.
    """
    await store.flush()
    return await anyio.to_thread.run_sync(write, store.engine, told)


def write(engine: sa.Engine, told: Sequence[Told]) -> list[Settled | None]:
    """As `tell`, without an event loop.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        return _write(connection, told)


def _write(connection: sa.Connection, told: Sequence[Told]) -> list[Settled | None]:
    found = _find(connection, [verdict.name for verdict in told])
    rows = [found.get(verdict.name) for verdict in told]
    known = [(verdict, row) for verdict, row in zip(told, rows, strict=True) if row is not None]
    scores = iter(settle([row for _, row in known], [verdict.correct for verdict, _ in known]))
    history = _History(connection, {row["id"] for _, row in known})
    settled = [
        None if row is None else history.add(verdict, row, next(scores))
        for verdict, row in zip(told, rows, strict=True)
    ]
    history.store(connection)
    return settled


class _History:
    """The verdicts of some answers, and what is added to them."""

    def __init__(self, connection: sa.Connection, ids: set[str]) -> None:
        self._last: dict[tuple[str, str, str], float] = {}
        self._current: dict[str, str] = {}
        self._added: list[dict[str, Any]] = []
        turn = sa.select(answers.c.id).where(answers.c.id.in_(ids)).order_by(answers.c.id).with_for_update()
        connection.execute(turn)  # two verdicts on one answer at once take turns (SQLite: writers do anyway)
        statement = sa.select(verdicts).where(verdicts.c.answer_id.in_(ids)).order_by(verdicts.c.id)
        for row in connection.execute(statement).mappings():
            self._last[row["answer_id"], row["kind"], row["source"]] = row["correct"]
            if row["current"]:
                self._current[row["answer_id"]] = row["kind"]

    def add(self, told: Told, row: Row, scores: dict[str, float | None]) -> Settled:
        """One verdict on top of those before it."""
        id, place = row["id"], (row["id"], told.kind, told.source)
        counts = told.kind != "grader" or self._current.get(id, "grader") == "grader"
        changed = self._last.get(place) != told.correct
        if changed:
            self._last[place] = told.correct
            if counts:
                self._current[id] = told.kind
                for earlier in self._added:
                    earlier["current"] = earlier["current"] and earlier["answer_id"] != id
            self._added.append(
                {"answer_id": id, "created_at": time.time(), "correct": told.correct, "source": told.source}
                | {"kind": told.kind, "actor": told.actor, "note": told.note, "current": counts}
                | scores
            )
        return Settled(told, id, row["route"], row["status"], scores, changed, counts)

    def store(self, connection: sa.Connection) -> None:
        """Write what was added; the mark of the current verdict is taken from the old ones first."""
        superseded = [verdict["answer_id"] for verdict in self._added if verdict["current"]]
        if superseded:
            old = verdicts.c.answer_id.in_(superseded) & verdicts.c.current
            connection.execute(sa.update(verdicts).where(old).values(current=False))
        if self._added:
            connection.execute(sa.insert(verdicts), self._added)


def _find(connection: sa.Connection, names: Sequence[str]) -> dict[str, Row]:
    """Answers by audit id first, then by the completion's id (the newest, should an upstream repeat itself)."""
    found: dict[str, Row] = {}
    for column in (answers.c.response_id, answers.c.id):
        statement = sa.select(*_ANSWER).where(column.in_(set(names))).order_by(answers.c.created_at)
        found |= {row[column.name]: row for row in connection.execute(statement).mappings()}
    return found


def settle(rows: Sequence[Row], correct: Sequence[float]) -> list[dict[str, float | None]]:
    """What each verdict says of the confidence before the map, after it, and as heard in the words.

    A graded verdict c in (0, 1) settles to the mean of both outcomes' scores, weighted by c and 1 - c. A row in shadow whose served answer
    means something else than the draft is not settled: the verdict is not about what the confidence is of.
    """
    import numpy as np

    from hedgerow.calibration import faithfulness_divergence
    from hedgerow.calibration.metrics import expected_brier, expected_nll

    metrics = dict(zip(_BETA, (faithfulness_divergence, expected_brier, expected_nll), strict=True))
    settled: list[dict[str, float | None]] = [dict.fromkeys(_SCORES) for _ in rows]
    for of, prefix, names in (("", "", _BETA), ("_raw", "raw_", _BETA), ("_perceived", "perceived_", ("fd",))):
        at = [i for i, row in enumerate(rows) if row[f"{prefix}alpha"] is not None and _is_about_the_draft(row)]
        if not at:
            continue
        alpha, beta = (np.array([rows[i][f"{prefix}{side}"] for i in at]) for side in ("alpha", "beta"))
        c = np.array([correct[i] for i in at])
        for name in names:
            metric = metrics[name]
            values = c * metric(alpha, beta, 1.0) + (1.0 - c) * metric(alpha, beta, 0.0)
            for i, value in zip(at, values.tolist(), strict=True):
                settled[i][name + of] = value
    return settled


_BETA = ("fd", "brier", "nll")
_SCORES = ("fd_raw", "fd", "fd_perceived", "brier_raw", "brier", "nll_raw", "nll")


def _is_about_the_draft(row: Row) -> bool:
    return not (row["mode"] == "shadow" and row["served_agrees"] is not None and not row["served_agrees"])
