"""What both arms of a split route saw: requests, tokens, feedback, and what readers believed where a verdict is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from hedgerow.proxy.audit.engine import Connection
from hedgerow.proxy.audit.queries import of_route
from hedgerow.proxy.audit.tables import answers, verdicts
from hedgerow.proxy.audit.verdicts import PICKED

Floats = NDArray[np.float64]
MOST_TOKENS, MOST_DOLLARS = 20_000, 0.2
"""Of one answer in a comparison: more count as so many, for an interval needs a bound that is known beforehand."""


@dataclass(frozen=True, slots=True)
class ArmRows:
    """One arm of a route since its first lot.

    Attributes:
        requests: answered ones; errors and those whose client left do not count.
        rated: how many of them a client gave a verdict on.
        tokens, token_counts: distinct sizes in tokens, up to `MOST_TOKENS`, and how many requests had them.
        cost, cost_counts: the same of what an answer cost in US dollars, up to `MOST_DOLLARS`, where that is known.
        alpha, beta: perceived confidence of the words that the reader saw, of each labelled answer where it is known.
        correct: 0..1.
    """

    requests: int
    rated: int
    tokens: Floats
    token_counts: Floats
    cost: Floats
    cost_counts: Floats
    alpha: Floats
    beta: Floats
    correct: Floats


def arm_rows(connection: Connection, route: str) -> Mapping[str, ArmRows]:
    """By arm; empty where the route was never split."""
    counted: dict[str, list[tuple[int, float, float]]] = {}
    a = answers.c
    whole = a.tokens_answer + a.tokens_samples + a.tokens_rewrite + a.tokens_escalation
    shown = sa.case((a.arm == "on", whole), else_=a.tokens_answer)  # of the other arm's work the client sees nothing
    rated = sa.exists().where(verdicts.c.answer_id == a.id, verdicts.c.current, verdicts.c.kind == "client")
    chosen = (a.arm.is_not(None), a.status.not_in(("failed", "cancelled")), *of_route(route))
    statement = (
        sa.select(a.arm, shown, sa.func.count(), sa.func.sum(sa.case((rated, 1), else_=0)))
        .where(*chosen)
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


def _costs(connection: Connection, route: str, arm: str) -> tuple[Floats, Floats]:
    """What answers cost, to a millionth of a dollar, and how many cost that."""
    a = answers.c
    whole = a.cost_answer + a.cost_calibration if arm == "on" else a.cost_answer
    millionths = sa.cast(sa.func.floor(whole * 1e6 + 0.5), sa.Integer).label("millionths")
    chosen = (a.arm == arm, whole.is_not(None), a.status.not_in(("failed", "cancelled")), *of_route(route))
    rows = connection.execute(sa.select(millionths, sa.func.count()).where(*chosen).group_by(millionths)).all()
    cost, counts = np.array([tuple(row) for row in rows], dtype=np.float64).reshape(-1, 2).T
    return np.minimum(cost / 1e6, MOST_DOLLARS), counts


def _labelled(connection: Connection, route: str, arm: str) -> tuple[Floats, Floats, Floats]:
    """What readers of an arm believed and what was so, without the answers that the review queue picked for their confidence.

    In the other arm these are all answers with a verdict, read in the words of the draft: those served in shadow are another draw of
    the same voice. To leave out those whose draw meant something else would leave out the unsure ones. In the arm `on` a refusal and a
    stronger model's answer have no words of ours.
    """
    a, v = answers.c, verdicts.c
    alpha: sa.ColumnElement[float] = a.own_alpha
    beta: sa.ColumnElement[float] = a.own_beta
    chosen = [v.current, sa.func.coalesce(v.propensity, 1.0) > PICKED, a.arm == arm, *of_route(route)]
    if arm == "on":
        alpha, beta = sa.func.coalesce(a.perceived_alpha, alpha), sa.func.coalesce(a.perceived_beta, beta)
        chosen.append(v.fd.is_not(None))
    statement = sa.select(alpha, beta, v.correct).join(verdicts, v.answer_id == a.id).where(alpha.is_not(None), *chosen)
    rows = connection.execute(statement).all()
    columns = np.array([tuple(row) for row in rows], dtype=np.float64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]
