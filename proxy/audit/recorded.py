"""Recorded answers with their samples, to measure them again offline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from .queries import of_route, oldest_first
from .tables import answers, texts, verdicts


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
