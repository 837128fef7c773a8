"""Figures of named keys from the audit: requests, tokens, confidence and verdicts."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from .engine import transaction
from .tables import answers, verdicts


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The figures of one key.

    Attributes:
        failed: number of requests answered with an error.
        tokens: spent on its answers and on measuring them.
        confidence: mean calibrated confidence of its measured answers, 0..1; None without any.
        verdicts: number of answers with a verdict.
        right: mean of these, 0..1; None without any.
        last_used: seconds since 1970.
    """

    requests: int
    failed: int
    tokens: int
    measured: int
    confidence: float | None
    verdicts: int
    right: float | None
    last_used: float


def figures_of_keys(engine: sa.Engine, since: float) -> dict[str, KeyFigures]:
    """Figures of all keys used since a time, by name.

    Raises:
        StoreError: the store cannot be read.
    """
    a, count = answers.c, sa.func.count
    tokens = a.tokens_answer + a.tokens_samples + a.tokens_rewrite + a.tokens_escalation
    wanted = (
        sa.select(
            a.key,
            count().label("requests"),
            count(sa.case((a.status == "failed", 1))).label("failed"),
            sa.func.sum(tokens).label("tokens"),
            count(a.alpha).label("measured"),
            sa.func.avg(a.alpha / (a.alpha + a.beta)).label("confidence"),
            count(verdicts.c.correct).label("verdicts"),
            sa.func.avg(verdicts.c.correct).label("right"),
            sa.func.max(a.created_at).label("last_used"),
        )
        .outerjoin(verdicts, sa.and_(verdicts.c.answer_id == a.id, verdicts.c.current))
        .where(a.key.is_not(None), a.created_at >= since)
        .group_by(a.key)
    )
    with transaction(engine) as connection:
        rows = connection.execute(wanted).mappings()
        return {row["key"]: KeyFigures(**{name: row[name] for name in KeyFigures.__slots__}) for row in rows}
