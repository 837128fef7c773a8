"""Data on both arms of a split route: requests, tokens, feedback, and perceived confidence of answers with a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from ...calibration.arrays import FloatArray
from ...calibration.clusters import first_of_each
from .engine import Connection
from .queries import of_route
from .tables import answers, verdicts
from .verdicts import PICKED

MOST_TOKENS, MOST_DOLLARS = 20_000, 0.2
"""Limits at which one answer's tokens and cost are cut in a comparison: an interval needs a bound known in advance."""


@dataclass(frozen=True, slots=True)
class ArmRows:
    """One arm of a route since the split began.

    Attributes:
        requests: number of users or conversations with an answered request, by the first of which all figures of requests are; errors and requests
            whose client left do not count.
        rated: number of them with a client's verdict.
        tokens, token_counts: distinct sizes in tokens, up to `MOST_TOKENS`, and the number of requests with each.
        cost, cost_counts: the same for an answer's known cost in US dollars, up to `MOST_DOLLARS`.
        alpha, beta: perceived confidence of the served words, for each labelled answer with a known one.
        correct: 0..1.
    """

    requests: int
    rated: int
    tokens: FloatArray
    token_counts: FloatArray
    cost: FloatArray
    cost_counts: FloatArray
    alpha: FloatArray
    beta: FloatArray
    correct: FloatArray


def arm_rows(connection: Connection, route: str) -> Mapping[str, ArmRows]:
    """The rows by arm; empty if the route was never split."""
    counted: dict[str, list[tuple[int, float, float]]] = {}
    a = answers.c
    whole = a.tokens_answer + a.tokens_samples + a.tokens_rewrite + a.tokens_escalation
    shown = sa.case((a.arm == "on", whole), else_=a.tokens_answer)  # clients see nothing of the work in the other arm
    rated = sa.exists().where(verdicts.c.answer_id == a.id, verdicts.c.current, verdicts.c.kind == "client")
    statement = (
        sa.select(a.arm, shown, sa.func.count(), sa.func.sum(sa.case((rated, 1), else_=0)))
        .where(a.id.in_(_first_requests(route)))
        .group_by(a.arm, shown)
    )
    for arm, size, number, feedback in connection.execute(statement):
        counted.setdefault(arm, []).append((int(feedback), min(float(size), MOST_TOKENS), float(number)))
    arms = {}
    for arm, cells in counted.items():
        feedback, tokens, counts = np.array(cells, dtype=np.float64).T
        known = *_costs(connection, route, arm), *_labelled(connection, route, arm)
        arms[arm] = ArmRows(int(counts.sum()), int(feedback.sum()), tokens, counts, *known)
    return arms


def _first_requests(route: str) -> sa.Select[tuple[str]]:
    """The first answered request of each user or conversation in an arm: later ones depend on it."""
    a = answers.c
    chosen = (a.arm.is_not(None), a.status.not_in(("failed", "cancelled")), *of_route(route))
    whose = sa.func.row_number().over(
        partition_by=(a.arm, sa.func.coalesce(a.asker, a.id)), order_by=(a.created_at, a.id)
    )
    numbered = sa.select(a.id, whose.label("number")).where(*chosen).subquery()
    return sa.select(numbered.c.id).where(numbered.c.number == 1)


def _costs(connection: Connection, route: str, arm: str) -> tuple[FloatArray, FloatArray]:
    """Costs of answers, rounded to a millionth of a dollar, and the number of answers with each."""
    a = answers.c
    whole = a.cost_answer + a.cost_calibration if arm == "on" else a.cost_answer
    millionths = sa.cast(sa.func.floor(whole * 1e6 + 0.5), sa.Integer).label("millionths")
    chosen = (a.arm == arm, whole.is_not(None), a.id.in_(_first_requests(route)))
    rows = connection.execute(sa.select(millionths, sa.func.count()).where(*chosen).group_by(millionths)).all()
    cost, counts = np.array([tuple(row) for row in rows], dtype=np.float64).reshape(-1, 2).T
    return np.minimum(cost / 1e6, MOST_DOLLARS), counts


def _labelled(connection: Connection, route: str, arm: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Perceived confidences and labels of an arm, without answers that the review queue selected by confidence.

    In the other arm these are all answers with a verdict, with the confidence of the draft's words: an answer served in shadow is another
    sample of the same model, and leaving out those with another meaning would leave out unsure ones. In the arm `on`, refusals and a stronger
    model's answers are left out.
    """
    a, v = answers.c, verdicts.c
    alpha: sa.ColumnElement[float] = a.own_alpha
    beta: sa.ColumnElement[float] = a.own_beta
    chosen = [v.current, sa.func.coalesce(v.propensity, 1.0) > PICKED, a.arm == arm, *of_route(route)]
    if arm == "on":
        alpha, beta = sa.func.coalesce(a.perceived_alpha, alpha), sa.func.coalesce(a.perceived_beta, beta)
        chosen.append(v.fd.is_not(None))
    statement = sa.select(alpha, beta, v.correct, a.asker, a.question_hash).join(verdicts, v.answer_id == a.id)
    rows = connection.execute(statement.where(alpha.is_not(None), *chosen).order_by(v.id)).all()
    kept = first_of_each([row.asker for row in rows], [row.question_hash for row in rows])
    columns = np.array([tuple(rows[i][:3]) for i in kept], dtype=np.float64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]
