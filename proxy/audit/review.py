"""Which answers a person should look at next.

Half of the queue is drawn at random: only those say how good the route is as a whole. A quarter is what the map is least sure of (calibrated
mean nearest to 1/2), where a verdict moves a refit most. A quarter is where a verdict is expected to surprise most (highest expected
Faithfulness Divergence), where wording is worst if the map is wrong. All are answers of the last month on which, and on whose claims, nobody but a grader gave a verdict. Where
answers are under a promise, what a client volunteered does not keep them out: who complains is not a random sample.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from hedgerow.proxy.audit.engine import transaction
from hedgerow.proxy.audit.tables import answers, claim_verdicts, texts, verdicts

Why = Literal["random", "uncertain", "surprising"]
CANDIDATES = 2000
"""Newest answers that are chosen from."""
MAX_AGE_S = 30 * 86_400.0
_TURNS: tuple[Why, ...] = ("random", "uncertain", "random", "surprising")


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """An answer to look at.

    Attributes:
        answer: what the client read.
        mean: calibrated mean.
        graded: a grader's verdict, if there is one.
        why: how it came into the queue.
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


def review_queue(
    engine: sa.Engine, *, route: str | None = None, limit: int = 20, skip: Collection[str] = ()
) -> list[ReviewItem]:
    """The next answers, in the same order however often one asks, as long as no verdict and no answer comes in.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = [row for row in _candidates(engine, route) if row["id"] not in skip]
    return [_item(row, why) for row, why in choose(rows, limit)]


def choose(rows: Sequence[Any], limit: int) -> list[tuple[Any, Why]]:
    """Rows (`id`, `mean`, `fd_expected`) in turn from the three orders, none twice."""
    orders: dict[Why, Callable[[Any], Any]] = {
        "random": lambda row: row["id"][-16:],  # the random half of an audit id
        "uncertain": lambda row: abs(row["mean"] - 0.5),
        "surprising": lambda row: -(row["fd_expected"] or 0.0),
    }
    waiting = {why: iter(sorted(rows, key=order)) for why, order in orders.items()}
    chosen: dict[str, tuple[Any, Why]] = {}
    while len(chosen) < min(limit, len(rows)):
        why = _TURNS[len(chosen) % len(_TURNS)]
        row = next(row for row in waiting[why] if row["id"] not in chosen)
        chosen[row["id"]] = row, why
    return list(chosen.values())


def _candidates(engine: sa.Engine, route: str | None) -> list[dict[str, Any]]:
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
    with transaction(engine) as connection:
        rows = connection.execute(statement).mappings()
        return [dict(row) | {"mean": row["alpha"] / (row["alpha"] + row["beta"])} for row in rows]


def _item(row: dict[str, Any], why: Why) -> ReviewItem:
    answer = row["served"] or row["answer"] or row["draft"]
    kept = {
        name: row[name] for name in ("id", "created_at", "route", "question", "draft", "mean", "fd_expected", "graded")
    }
    return ReviewItem(answer=answer, why=why, **kept)
