"""Recorded answers with their samples, to measure them again offline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from .engine import transaction
from .queries import of_route
from .tables import answers, texts, verdicts

_AT_A_TIME = 500


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
    after = ""
    while rows := _page(engine, since, after, route):
        for row in rows:
            if isinstance(row.samples, list) and len(row.samples) > 1:
                yield Recorded(
                    row.id, row.route or "", row.model or "", row.question or "", row.draft,
                    row.draft if row.answer is None else row.answer, tuple(map(str, row.samples)), None if row.correct not in (0.0, 1.0) else bool(row.correct),
                )  # fmt: skip
        after = rows[-1].id


def _page(engine: sa.Engine, since: float, after: str, route: str | None) -> list[sa.Row[tuple[object, ...]]]:
    current = sa.and_(verdicts.c.answer_id == answers.c.id, verdicts.c.current)
    wanted = [
        answers.c.id > after,
        answers.c.created_at >= since,
        texts.c.draft.is_not(None),
        texts.c.samples.is_not(None),
    ]
    wanted += [answers.c.store_text.in_(("full", "redacted")), *of_route(route)]
    query = (
        sa.select(answers.c.id, answers.c.route, answers.c.model, texts.c.question, texts.c.draft, texts.c.answer, texts.c.samples, verdicts.c.correct)
        .join(texts, texts.c.answer_id == answers.c.id)
        .outerjoin(verdicts, current)
        .where(*wanted)
        .order_by(answers.c.id)
        .limit(_AT_A_TIME)
    )  # fmt: skip
    with transaction(engine) as connection:
        return list(connection.execute(query))
