"""Figures of both arms of a split route and their differences, with intervals that are valid at every look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ...calibration.arms import difference
from ...calibration.metrics import faithfulness_divergence
from ..audit.arms import MOST_DOLLARS, MOST_TOKENS, ArmRows, Floats, arm_rows
from ..audit.engine import Connection, Engine, transaction
from ..config import Route
from ..types import Json

MOST_NATS = 5.0
"""Upper limit in nats at which one answer's Faithfulness Divergence is cut: the interval needs a bound known in advance."""
NOBODY = ArmRows(0, 0, *(np.zeros(0) for _ in range(7)))


@dataclass(frozen=True, slots=True)
class Gap:
    """The difference between the arm `on` and the other one.

    Attributes:
        figure: "divergence" (nats), "feedback" (share of requests), "tokens" or "cost" (of an answer, in US dollars).
        on, rest: means of the two arms; None without values.
        low, high: 95 % interval of the difference, valid at every look; the whole range of the figure without values.
        n_on, n_rest: values of each arm.
    """

    figure: str
    on: float | None
    rest: float | None
    low: float
    high: float
    n_on: int
    n_rest: int

    @property
    def estimate(self) -> float | None:
        """The difference of the means."""
        return None if self.on is None or self.rest is None else self.on - self.rest

    @property
    def settled(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """A split route's arms.

    Attributes:
        share: present share of the arm `on`; None if the split has ended.
        rest: the other arm's mode.
        requests: by arm.
        accuracy: share of labelled answers that were right, by arm; None without any.
    """

    route: str
    share: float | None
    rest: str
    requests: Mapping[str, int]
    accuracy: Mapping[str, float | None]
    gaps: Sequence[Gap]

    def to_dict(self) -> Json:
        """The comparison as a JSON object."""
        return asdict(self) | {"gaps": [asdict(gap) | {"difference": gap.estimate} for gap in self.gaps]}


def compare(engine: Engine, routes: Sequence[Route]) -> dict[str, Comparison]:
    """Every route that is split, or was.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        comparisons = {route.name: comparison(connection, route) for route in routes}
    return {name: each for name, each in comparisons.items() if each is not None}


def comparison(connection: Connection, route: Route) -> Comparison | None:
    """The arms of a route; None if it was never split."""
    rows = arm_rows(connection, route.name)
    if not rows and route.split is None:
        return None
    rest = route.split.rest if route.split else next((arm for arm in rows if arm != "on"), "shadow")
    arms = [rows.get(arm, NOBODY) for arm in ("on", rest)]
    return Comparison(
        route=route.name,
        share=route.split.on if route.split else None,
        rest=rest,
        requests={arm: each.requests for arm, each in zip(("on", rest), arms, strict=True)},
        accuracy={arm: _mean(each.correct) for arm, each in zip(("on", rest), arms, strict=True)},
        gaps=(
            _gap("divergence", MOST_NATS, [(_divergence(each), np.ones(each.correct.size)) for each in arms]),
            _gap("feedback", 1.0, [_feedback(each) for each in arms]),
            _gap("tokens", MOST_TOKENS, [(each.tokens, each.token_counts) for each in arms]),
            _gap("cost", MOST_DOLLARS, [(each.cost, each.cost_counts) for each in arms]),
        ),
    )


def _gap(figure: str, most: float, columns: Sequence[tuple[Floats, Floats]]) -> Gap:
    (on, on_counts), (rest, rest_counts) = columns
    gap = difference(on / most, rest / most, first_counts=on_counts, second_counts=rest_counts)
    on_mean, rest_mean = (None if mean is None else mean * most for mean in (gap.first, gap.second))
    numbers = int(on_counts.sum()), int(rest_counts.sum())
    return Gap(figure, on_mean, rest_mean, gap.low * most, gap.high * most, *numbers)


def _divergence(arm: ArmRows) -> Floats:
    if not arm.correct.size:
        return arm.correct
    return np.clip(faithfulness_divergence(arm.alpha, arm.beta, arm.correct), 0.0, MOST_NATS)


def _feedback(arm: ArmRows) -> tuple[Floats, Floats]:
    """Feedback per request as values 1 and 0, with the number of each."""
    counts = np.array([arm.rated, arm.requests - arm.rated], dtype=np.float64)
    return np.array([1.0, 0.0])[counts > 0], counts[counts > 0]


def _mean(column: Floats) -> float | None:
    return float(column.mean()) if column.size else None
