"""The review queue: answers of the last month without a verdict, on them or their claims, other than a grader's. For answers under a promise a
client's volunteered verdict does not count as one, because complaints are not a random sample.

Two orders. `random`: by the random end of the audit id. `mixed`: half at random, a quarter where the map is least sure, a quarter
where a verdict is expected to surprise most. Answers that `mixed` selects by confidence do not represent the route, so they are selected from one
half of the ids and random ones from the other: neither takes answers from the other, and `is_picked` distinguishes them by id.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from .engine import Connection, transaction
from .promised import in_sample
from .tables import answers, claim_verdicts, texts, verdicts

Order = Literal["mixed", "random"]
Why = Literal["random", "uncertain", "surprising"]
LOTS = 0.5
"""Share of the ids from which `mixed` draws at random; from the others it selects by confidence."""
CANDIDATES = 2000
"""Number of newest answers to choose from."""
_OWN_ID = re.compile("hr_[0-9a-f]{27}")
MAX_AGE_S = 30 * 86_400.0
_TURNS: tuple[Why, ...] = ("random", "uncertain", "random", "surprising")


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """An answer to review.

    Attributes:
        answer: the text that the client read.
        mean: calibrated mean.
        graded: a grader's verdict, if there is one.
        why: the reason why it is in the queue.
    """

    id: str
    created_at: float
    route: str
    question: str
    draft: str
    answer: str
    mean: float
    fd_expected: float | None
    graded: float | None
    why: Why


def is_picked(answer_id: str, order: Order) -> bool:
    """Whether this order selects the answer by confidence, not at random: a verdict on it counts for maps and alarms, not for figures of a route."""
    return order == "mixed" and _OWN_ID.fullmatch(answer_id) is not None and not in_sample(answer_id, LOTS)


def review_queue(
    engine: sa.Engine,
    *,
    route: str | None = None,
    limit: int = 20,
    skip: Collection[str] = (),
    order: Order = "mixed",
) -> list[ReviewItem]:
    """The next answers; the order is stable until a verdict or an answer is added.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        rows = [row for row in _candidates(connection, route) if row["id"] not in skip]
    if order == "random":
        return [_item(row, "random") for row in sorted(rows, key=_lot)[:limit]]
    return [_item(row, why) for row, why in choose(rows, limit)]


def _lot(row: Any) -> str:
    """The random half of an audit id."""
    return str(row["id"])[-16:]


def choose(rows: Sequence[Any], limit: int) -> list[tuple[Any, Why]]:
    """Rows (`id`, `mean`, `fd_expected`) in turn at random and by their value for the map, none twice; when one side is exhausted, from the other."""
    orders: dict[Why, Callable[[Any], Any]] = {
        "random": _lot,
        "uncertain": lambda row: abs(row["mean"] - 0.5),
        "surprising": lambda row: -(row["fd_expected"] or 0.0),
    }
    picked = [row for row in rows if is_picked(row["id"], "mixed")]
    by_lot = [row for row in rows if not is_picked(row["id"], "mixed")]
    waiting = {why: iter(sorted(by_lot if why == "random" else picked, key=order)) for why, order in orders.items()}
    chosen: dict[str, tuple[Any, Why]] = {}
    turn = 0
    while len(chosen) < min(limit, len(rows)):
        why = _TURNS[turn % len(_TURNS)]
        row = next((row for row in waiting[why] if row["id"] not in chosen), None)
        if row is not None:
            chosen[row["id"]] = row, why
        turn += 1
    return list(chosen.values())


def _candidates(connection: Connection, route: str | None) -> list[dict[str, Any]]:
    a, t = answers.c, texts.c
    graded = sa.select(verdicts.c.correct).where(verdicts.c.answer_id == a.id, verdicts.c.current).scalar_subquery()
    looked_at = verdicts.c.kind.in_(("human", "import"))
    settled = sa.and_(verdicts.c.current, verdicts.c.kind == "client", a.certificate.is_(None))
    people = sa.exists().where(verdicts.c.answer_id == a.id, sa.or_(looked_at, settled))
    of_claims = sa.exists().where(
        claim_verdicts.c.answer_id == a.id, claim_verdicts.c.current, claim_verdicts.c.kind != "grader"
    )
    statement = (
        sa.select(a.id, a.created_at, a.route, a.alpha, a.beta, a.fd_expected, t.question, t.draft, t.answer, t.served)
        .add_columns(graded.label("graded"))
        .join_from(answers, texts)
        .where(a.alpha.is_not(None), a.created_at >= time.time() - MAX_AGE_S, ~people, ~of_claims)
        .where(t.question.is_not(None), t.draft.is_not(None), sa.func.coalesce(a.served_agrees, sa.true()))
        .order_by(a.created_at.desc())
        .limit(CANDIDATES)
    )
    if route is not None:
        statement = statement.where(a.route == route)
    rows = connection.execute(statement).mappings()
    return [dict(row) | {"mean": row["alpha"] / (row["alpha"] + row["beta"])} for row in rows]


def _item(row: dict[str, Any], why: Why) -> ReviewItem:
    answer = row["served"] or row["answer"] or row["draft"]
    kept = {
        name: row[name] for name in ("id", "created_at", "route", "question", "draft", "mean", "fd_expected", "graded")
    }
    return ReviewItem(answer=answer, why=why, **kept)
