"""Verdicts on answers, from clients, people, files and graders: scored against the answer's confidence, kept with their history.

Of an answer's verdicts one is current: the latest, except that a grader's never takes the place of anybody else's. A repeated
verdict (same kind, same source, same outcome) changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import anyio.to_thread
import sqlalchemy as sa

from hedgerow import calibration  # lazy: what a name needs is imported when it is used
from hedgerow.proxy.audit.engine import transaction
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.audit.tables import answers, verdicts

Kind = Literal["client", "human", "import", "grader"]
MAX_VERDICTS = 1000
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
class Verdict:
    """Whether an answer was right, as somebody says.

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
class VerdictResult:
    """A stored verdict with its scores.

    Attributes:
        id: the audit id.
        scores: `fd_raw`, `fd`, `fd_perceived`, `brier_raw`, `brier`, `nll_raw`, `nll`; None where the row has no such confidence.
        changed: False where the same verdict stood already.
        counts: whether it is the current verdict of its answer.
    """

    verdict: Verdict
    id: str
    route: str | None
    status: str
    scores: Mapping[str, float | None]
    changed: bool
    counts: bool

    @property
    def correct(self) -> float:
        """0 wrong .. 1 right."""
        return self.verdict.correct

    @property
    def fd_raw(self) -> float | None:
        """Faithfulness Divergence of the confidence before the map, nats."""
        return self.scores["fd_raw"]

    @property
    def fd(self) -> float | None:
        """Faithfulness Divergence of the calibrated confidence, nats."""
        return self.scores["fd"]


async def add_verdicts(store: AuditStore, added: Sequence[Verdict]) -> list[VerdictResult | None]:
    """Write verdicts, at most `MAX_VERDICTS`, in one transaction; None in the place of each whose answer does not exist.

    Raises:
        StoreError: the store cannot be written.
    """
    await store.flush()
    return await anyio.to_thread.run_sync(write_verdicts, store.engine, added)


def write_verdicts(engine: sa.Engine, added: Sequence[Verdict]) -> list[VerdictResult | None]:
    """As `add_verdicts`, without an event loop.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        answers_of = _find(connection, [verdict.name for verdict in added])
        known = [(verdict, answers_of[verdict.name]) for verdict in added if verdict.name in answers_of]
        scores = iter(score([row for _, row in known], [verdict.correct for verdict, _ in known]))
        history = _History(connection, {row["id"] for _, row in known})
        results = [
            history.add(verdict, answers_of[verdict.name], next(scores)) if verdict.name in answers_of else None
            for verdict in added
        ]
        history.store(connection)
        return results


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

    def add(self, verdict: Verdict, row: Row, scores: dict[str, float | None]) -> VerdictResult:
        """One verdict on top of those before it."""
        id, place = row["id"], (row["id"], verdict.kind, verdict.source)
        counts = verdict.kind != "grader" or self._current.get(id, "grader") == "grader"
        changed = self._last.get(place) != verdict.correct
        if changed:
            self._last[place] = verdict.correct
            if counts:
                self._current[id] = verdict.kind
                for earlier in self._added:
                    earlier["current"] = earlier["current"] and earlier["answer_id"] != id
            self._added.append(
                {"answer_id": id, "created_at": time.time(), "correct": verdict.correct, "source": verdict.source}
                | {"kind": verdict.kind, "actor": verdict.actor, "note": verdict.note, "current": counts}
                | scores
            )
        return VerdictResult(verdict, id, row["route"], row["status"], scores, changed, counts)

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
    rows: dict[str, Row] = {}
    for column in (answers.c.response_id, answers.c.id):
        statement = sa.select(*_ANSWER).where(column.in_(set(names))).order_by(answers.c.created_at)
        rows |= {row[column.name]: row for row in connection.execute(statement).mappings()}
    return rows


def score(rows: Sequence[Row], correct: Sequence[float]) -> list[dict[str, float | None]]:
    """Scores of the raw, the calibrated and the perceived confidence under each verdict.

    A graded verdict c in (0, 1) scores the mean of both outcomes' scores, weighted by c and 1 - c. A row in shadow whose served answer
    means something else than the draft is not scored: the verdict is not about what the confidence is of.
    """
    import numpy as np

    metrics = {
        "fd": calibration.faithfulness_divergence,
        "brier": calibration.expected_brier,
        "nll": calibration.expected_nll,
    }
    scores: list[dict[str, float | None]] = [dict.fromkeys(_SCORES) for _ in rows]
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
                scores[i][name + of] = value
    return scores


_BETA = ("fd", "brier", "nll")
_SCORES = ("fd_raw", "fd", "fd_perceived", "brier_raw", "brier", "nll_raw", "nll")


def _is_about_the_draft(row: Row) -> bool:
    return not (row["mode"] == "shadow" and row["served_agrees"] is not None and not row["served_agrees"])
