"""Verdicts on answers and on single claims, from clients, people, files and graders: scored against the confidence, and kept with their history in
two tables.

One verdict on an answer or claim is current: the latest, except that a grader's never replaces another's. A repeated verdict (same kind, source and
outcome) changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import sqlalchemy as sa

from ... import calibration  # lazy: modules are imported when a name is used
from .engine import transaction
from .rows import redact
from .tables import answers, claim_verdicts, verdicts

Kind = Literal["client", "human", "import", "grader"]
PICKED = 0.0
"""The propensity of a verdict on an answer that the review queue selected by confidence, not at random."""
MAX_VERDICTS = 1000
"""Maximum number of verdicts in one transaction."""

_ANSWER = [
    answers.c[name]
    for name in (
        "id", "created_at", "response_id", "key", "route", "mode", "status", "served_agrees", "store_text",
        "raw_alpha", "raw_beta", "alpha", "beta", "perceived_alpha", "perceived_beta",
    )
]  # fmt: skip
Row = Mapping[str, Any]
Place = tuple[str, int | None]
"""An answer and, for a verdict on a claim, the claim."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A statement on whether an answer, or one of its claims, was right.

    Attributes:
        name: audit id, or the completion's own id.
        correct: 0 wrong .. 1 right.
        source: a short name of its source, as the source names itself.
        actor: the person, if known.
        claim: index into the claims of a long answer or the fields of a JSON answer; None for the answer as a whole.
        path: JSONPath of a field, in place of `claim`.
        owner: name of the key to whose answers the verdict is restricted; None for all answers.
        propensity: probability, in (0, 1], with which the answer was drawn at random for judging; or `PICKED`; None if unknown.
    """

    name: str
    correct: float
    kind: Kind = "client"
    source: str = "client"
    actor: str | None = None
    note: str | None = None
    claim: int | None = None
    path: str | None = None
    propensity: float | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class VerdictResult:
    """A stored verdict with its scores.

    Attributes:
        id: the audit id.
        scores: `fd_raw`, `fd`, `fd_perceived`, `brier_raw`, `brier`, `nll_raw`, `nll`; None if the row lacks that confidence.
        changed: False if the same verdict existed.
        counts: whether it is the current verdict on its answer, or on its claim.
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


def write_verdicts(engine: sa.Engine, added: Sequence[Verdict]) -> list[VerdictResult | None]:
    """Write at most `MAX_VERDICTS` verdicts in one transaction; None in place of a verdict whose answer or claim does not exist. Blocks.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        parts = any(verdict.claim is not None or verdict.path is not None for verdict in added)
        rows = _find(connection, [verdict.name for verdict in added], claims=parts)
        added = [_numbered(verdict, rows.get(verdict.name)) for verdict in added]
        judged = [_judged(_open_to(verdict, rows.get(verdict.name)), verdict.claim) for verdict in added]
        known = [(verdict, row) for verdict, row in zip(added, judged, strict=True) if row is not None]
        scores = iter(score([row for _, row in known], [verdict.correct for verdict, _ in known]))
        ids = {row["id"] for _, row in known}
        histories = {
            table.name: _History(connection, ids, table) for table in {_table(verdict) for verdict, _ in known}
        }
        results = [
            None if row is None else histories[_table(verdict).name].add(verdict, row, next(scores))
            for verdict, row in zip(added, judged, strict=True)
        ]
        for history in histories.values():
            history.store(connection)
        return results


def _table(verdict: Verdict) -> sa.Table:
    return verdicts if verdict.claim is None else claim_verdicts


def _numbered(verdict: Verdict, row: Row | None) -> Verdict:
    """A verdict on a field with the field's number; -1 if the answer has no such field."""
    if verdict.path is None:
        return verdict
    paths = [claim.get("path") for claim in (row or {}).get("claims") or ()]
    return replace(verdict, claim=paths.index(verdict.path) if verdict.path in paths else -1)


def _open_to(verdict: Verdict, row: Row | None) -> Row | None:
    """The answer; None if the verdict is restricted to a named key and the answer belongs to another."""
    return None if row is not None and verdict.owner not in (None, row["key"]) else row


def _judged(row: Row | None, claim: int | None) -> Row | None:
    """The subject of a verdict: an answer, or an answer with the confidence of its claim; None if the claim does not exist."""
    if row is None or claim is None:
        return row
    claims = row["claims"] or []
    if not 0 <= claim < len(claims):
        return None
    (raw_alpha, raw_beta), (alpha, beta) = claims[claim]["raw"], claims[claim]["calibrated"]
    own = {"raw_alpha": raw_alpha, "raw_beta": raw_beta, "alpha": alpha, "beta": beta}
    return {**row, **own, "perceived_alpha": None, "perceived_beta": None}


class _History:
    """The verdicts on some answers or claims, and those to be added."""

    def __init__(self, connection: sa.Connection, ids: set[str], table: sa.Table) -> None:
        self._table = table
        self._columns = frozenset(str(column.name) for column in table.columns)
        self._last: dict[tuple[Place, str, str], float] = {}
        self._current: dict[Place, str] = {}
        self._drawn: dict[Place, float] = {}
        self._added: list[dict[str, Any]] = []
        turn = sa.select(answers.c.id, answers.c.erased_at).where(answers.c.id.in_(ids)).order_by(answers.c.id)
        # concurrent verdicts on one answer, and its erasure, are serialised (SQLite has one writer anyway)
        locked = connection.execute(turn.with_for_update()).all()
        self._erased = {row.id for row in locked if row.erased_at is not None}
        statement = sa.select(table).where(table.c.answer_id.in_(ids)).order_by(table.c.id)
        for row in connection.execute(statement).mappings():
            place = row["answer_id"], row.get("claim")
            self._last[place, row["kind"], row["source"]] = row["correct"]
            self._drawn[place] = row["propensity"] or self._drawn.get(place, PICKED)
            if row["current"]:
                self._current[place] = row["kind"]

    def add(self, verdict: Verdict, row: Row, scores: dict[str, float | None]) -> VerdictResult:
        """Add one verdict to the earlier ones.

        An answer that was drawn at random keeps this probability if the review queue selects it later: else a grader's sample would lose unsure answers.
        """
        place = row["id"], verdict.claim
        if verdict.propensity == PICKED:
            verdict = replace(verdict, propensity=self._drawn.get(place, PICKED))
        self._drawn[place] = verdict.propensity or self._drawn.get(place, PICKED)
        counts = verdict.kind != "grader" or self._current.get(place, "grader") == "grader"
        changed = self._last.get((place, verdict.kind, verdict.source)) != verdict.correct
        if changed:
            self._last[place, verdict.kind, verdict.source] = verdict.correct
            if counts:
                self._current[place] = verdict.kind
                for earlier in self._added:
                    earlier["current"] = earlier["current"] and (earlier["answer_id"], earlier.get("claim")) != place
            stored = {"answer_id": row["id"], "created_at": time.time(), "current": counts, "claim": verdict.claim}
            stored |= {name: getattr(verdict, name) for name in ("correct", "source", "kind", "actor", "propensity")}
            stored["note"] = None if row["id"] in self._erased else _kept(verdict.note, row["store_text"])
            stored |= {name: row[name] for name in ("raw_alpha", "raw_beta", "alpha", "beta")} | scores
            self._added.append({name: value for name, value in stored.items() if name in self._columns})
        return VerdictResult(verdict, row["id"], row["route"], row["status"], scores, changed, counts)

    def store(self, connection: sa.Connection) -> None:
        """Write the added verdicts; the mark of the current verdict is removed from the old ones first."""
        table, superseded = self._table, [verdict for verdict in self._added if verdict["current"]]
        if superseded:
            old = table.c.answer_id.in_([verdict["answer_id"] for verdict in superseded])
            if table is claim_verdicts:
                places = [(verdict["answer_id"], verdict["claim"]) for verdict in superseded]
                old = sa.tuple_(table.c.answer_id, table.c.claim).in_(places)
            connection.execute(sa.update(table).where(old, table.c.current).values(current=False))
        if self._added:
            connection.execute(sa.insert(table), self._added)


def _kept(note: str | None, store_text: str | None) -> str | None:
    """A note as far as the answer's texts are kept; a hash of it would tell nobody anything."""
    if note is None or store_text not in ("full", "redacted"):
        return None
    return note if store_text == "full" else redact(note)


def _find(connection: sa.Connection, names: Sequence[str], *, claims: bool) -> dict[str, Row]:
    """Answers by audit id first, then by the completion's id (the newest, if an upstream repeats ids)."""
    rows: dict[str, Row] = {}
    columns = [*_ANSWER, answers.c.claims] if claims else _ANSWER
    for column in (answers.c.response_id, answers.c.id):
        statement = sa.select(*columns).where(column.in_(set(names))).order_by(answers.c.created_at)
        rows |= {row[column.name]: row for row in connection.execute(statement).mappings()}
    return rows


def score(rows: Sequence[Row], correct: Sequence[float]) -> list[dict[str, float | None]]:
    """Scores of the raw, the calibrated and the perceived confidence under each verdict.

    A fractional verdict c in (0, 1) scores the mean of both outcomes' scores, weighted by c and 1 - c. A row in shadow whose served answer differs in
    meaning from the draft is not scored: the verdict is not about the answer whose confidence is known.
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
