"""Answers decided by a certificate, with their verdicts, which show whether its promises hold.

A verdict counts if the probability with which its answer was drawn is known: the judge gives it (`propensity`), or the answer is in the random
sample, which is drawn by audit id. Volunteered verdicts on other answers do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from ...calibration.clusters import first_of_each
from .engine import transaction
from .labelled import counted_by
from .retention import counted_until, not_given, read_kept_answers
from .tables import answers, promised_verdicts, verdicts
from .verdicts import PICKED

_TAIL = 16
"""Number of random hexadecimal digits at the end of an audit id."""


@dataclass(frozen=True, slots=True)
class PromisedAnswers:
    """Judged answers of one certificate, in the order of the verdicts that count; arrays of shape (n,).

    Attributes:
        wrong: 0..1.
        drawn: probability with which each was drawn for judging.
        told_at: time of each verdict, seconds since 1970.
        covered: the promises that cover each.
        groups: group of each, by name of the column; without the user if retention deleted the answer.
        sender: the key whose client sent each; None for people, graders, imports, and clients without a named key.
        volunteered: number of verdicts on answers that were not drawn; they do not count.
        first: whether each is the first of its user or conversation and of its question; the others depend on it. `counted_by`: what was known of these.
    """

    wrong: NDArray[np.float64]
    drawn: NDArray[np.float64]
    told_at: NDArray[np.float64]
    covered: tuple[frozenset[str], ...]
    groups: tuple[dict[str, str], ...]
    sender: NDArray[np.object_]
    first: NDArray[np.bool_]
    volunteered: int
    counted_by: tuple[str, ...] = ()


def in_sample(answer_id: str, share: float) -> bool:
    """Whether an answer is in the random sample, by the 64 random bits at the end of its id."""
    return int(answer_id[-_TAIL:], 16) < share * 2.0 ** (4 * _TAIL)


def read_promised(
    engine: sa.Engine,
    *,
    route: str,
    certificate: str,
    share: float,
    least: float,
    kinds: Sequence[str],
    since: float = 0.0,
) -> PromisedAnswers:
    """The judged answers of a certificate. Of several verdicts the latest counts, but a grader's never replaces another's.

    Args:
        share: share of answers in the random sample; 1: every verdict counts.
        least: lowest stated probability of drawing that counts.
        kinds: whose verdicts count; other verdicts on the same answer are ignored.
        since: verdicts before this time do not count; seconds since 1970.

    Raises:
        StoreError: the store cannot be read.
    """
    asked: dict[str, Any] = {"route": route, "certificate": certificate, "kinds": kinds, "since": since}
    both = sa.union_all(_stored(**asked), _outlasting(**asked)).subquery()
    statement = sa.select(both).order_by(both.c.created_at, both.c.verdict_id)
    with transaction(engine) as connection:
        rows = [dict(row) for row in connection.execute(statement).mappings()]
    lots = _own_lots(rows, least)
    alone = share < 1.0 and len(set(lots.values())) > 1
    counted = [
        (row, drawn)
        for row in _latest(rows)
        if (drawn := lots.get(row["id"]) if alone else _drawn(row, share, least)) is not None
    ]
    asker, question, sender = np.array(
        [(row["asker"], row["question_hash"], row["key"] if row["kind"] == "client" else None) for row, _ in counted],
        dtype=object,
    ).reshape(-1, 3).T  # fmt: skip
    return PromisedAnswers(
        wrong=np.array([1.0 - row["correct"] for row, _ in counted]),
        drawn=np.array([drawn for _, drawn in counted]),
        told_at=np.array([row["created_at"] for row, _ in counted]),
        covered=tuple(frozenset((row["promised"] or {}).get("covered", ())) for row, _ in counted),
        groups=tuple(_groups(row) for row, _ in counted),
        sender=sender,
        first=np.isin(np.arange(len(counted)), first_of_each(asker, question)),
        volunteered=len({row["id"] for row in rows}) - len(counted),
        counted_by=counted_by(asker, question),
    )


def _stored(*, route: str, certificate: str, kinds: Sequence[str], since: float) -> sa.Select[Any]:
    """Verdicts on answers that are in the audit."""
    a, v = answers.c, verdicts.c
    return (
        sa.select(v.id.label("verdict_id"), v.correct, v.kind, v.propensity, v.created_at, a.id, a.promised)
        .add_columns(a.model, a.signal, a.path, a.key, a.team, a.asker, a.question_hash, a.user_hash)
        .add_columns(a.story[("place", "regime")].as_integer().label("regime"), sa.false().label("outlasts"))
        .join_from(verdicts, answers)
        .where(a.route == route, a.certificate == certificate, v.fd.is_not(None), v.kind.in_(kinds))
        .where(v.created_at >= since)
    )


def _outlasting(*, route: str, certificate: str, kinds: Sequence[str], since: float) -> sa.Select[Any]:
    """Verdicts on answers that retention deleted, in the same columns."""
    c = promised_verdicts.c
    return (
        sa.select(c.verdict_id, c.correct, c.kind, c.propensity, c.created_at, c.answer_id.label("id"), c.promised)
        .add_columns(c.model, c.signal, c.path, c.key, c.team, c.asker, c.question_hash)
        .add_columns(sa.null().label("user_hash"), c.regime)
        .add_columns(sa.true().label("outlasts"))
        .where(c.route == route, c.certificate == certificate, c.kind.in_(kinds), c.created_at >= since)
    )


def _latest(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row an answer, in the order of the verdicts that count; a probability from another verdict is kept."""
    kept: dict[str, dict[str, Any]] = {}
    for row in rows:
        before = kept.get(row["id"])
        if before is not None and row["kind"] == "grader" and before["kind"] != "grader":
            before["propensity"] = _known(before["propensity"], row["propensity"])
            continue
        if before is not None:
            row["propensity"] = _known(row["propensity"], before["propensity"])
            del kept[row["id"]]
        kept[row["id"]] = row
    return list(kept.values())


def _known(told: float | None, other: float | None) -> float | None:
    """Combine two verdicts' information on how an answer was drawn: a random draw's probability if known; `PICKED` only if both come from selection."""
    return told or other or (PICKED if told == other == PICKED else None)


def _own_lots(rows: Sequence[dict[str, Any]], least: float) -> dict[str, float]:
    """By answer the probability with which whoever judges drew it, the grader's lot apart.

    Where these differ they count alone. The random sample beside them would give an answer that is drawn with probability p the weight
    p / p + (1 - p) = 2 - p, for a drawn one does not come up in the sample again: what is drawn rarely, the unsure say, would count for more.
    """
    told = [(row["id"], row["propensity"]) for row in rows if row["kind"] != "grader"]
    return {name: float(p) for name, p in told if p is not None and p >= least}


def _drawn(row: dict[str, Any], share: float, least: float) -> float | None:
    """Probability with which an answer was drawn; None if it was not drawn.

    The judge's probability has precedence over the random sample: an answer that the judge drew is weighted by that draw, whatever its id. Otherwise
    it would be weighted by `1 / share` although all answers were equally likely to be judged.
    """
    propensity = row["propensity"]
    if share == 1.0:
        return share
    if propensity is not None and propensity >= least:
        return float(propensity)
    # selection by confidence takes the unsure answers of a sample first
    in_turn = row["kind"] != "grader" and propensity != PICKED
    return share if in_turn and in_sample(row["id"], share) else None


def _groups(row: dict[str, Any]) -> dict[str, str]:
    named = {name: row[name] for name in ("model", "signal", "path", "key", "team", "regime")}
    named |= {"language": (row["promised"] or {}).get("language")}
    if not row["outlasts"]:
        named["user"] = row["user_hash"]
    return {name: "unknown" if value is None else str(value) for name, value in named.items()}


def read_not_given(engine: sa.Engine, *, route: str, certificate: str, since: float = 0.0) -> NDArray[np.float64]:
    """For every answer decided by a certificate, in the order of requests: 1 if it was not given, else 0.

    Raises:
        StoreError: the store cannot be read.
    """
    a = answers.c
    with transaction(engine, "snapshot") as connection:
        kept, _ = read_kept_answers(connection, route=route, certificate=certificate, since=since)
        start = max(since, counted_until(connection, route))
        wanted = (a.route == route, a.certificate == certificate, a.created_at >= start)
        statuses = connection.execute(sa.select(a.status).where(*wanted).order_by(a.created_at, a.id)).scalars()
        return np.array([*kept, *not_given(statuses)], dtype=np.float64)


def count_promised(engine: sa.Engine, *, route: str, certificate: str) -> dict[str, int]:
    """Number of answers decided by a certificate, by status.

    Raises:
        StoreError: the store cannot be read.
    """
    a = answers.c
    with transaction(engine, "snapshot") as connection:
        _, counts = read_kept_answers(connection, route=route, certificate=certificate, since=0.0)
        wanted = (a.route == route, a.certificate == certificate, a.created_at >= counted_until(connection, route))
        for status, count in connection.execute(sa.select(a.status, sa.func.count()).where(*wanted).group_by(a.status)):
            counts[status] += count
        return dict(counts)
