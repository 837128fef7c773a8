"""Decides when to answer, hedge, abstain or escalate, from the costs of wrong and of withheld answers.

The expected cost of each action is linear in the calibrated mean. So the best policy is the lower envelope of four
lines, and its corners are the thresholds. It is only as good as the calibration of the mean.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite
from typing import Literal

from .errors import RangeError

Action = Literal["answer", "hedge", "abstain", "escalate"]


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of outcomes, all >= 0, in any common unit; only their ratios matter.

    Attributes
    ----------
    wrong : float
        A wrong answer, stated plainly; > 0.
    needless_abstention : float
        A refusal where the answer would have been right.
    escalation : float
        Asking the stronger model; infinite (the default) where there is none.
    escalated_accuracy : float
        Share of its answers that are right, in [0, 1]; its wrong ones cost `wrong`.
    hedged_wrong : float or None
        A wrong answer that was hedged. None: as much as a plain one; what is answered is then always "hedge", and the wording
        follows the confidence alone.
    hedged_right : float
        A right answer that was hedged.

    Raises
    ------
    RangeError
        If a cost is negative or not a number, or `escalated_accuracy` lies outside [0, 1].
    """

    wrong: float
    needless_abstention: float
    escalation: float = inf
    escalated_accuracy: float = 1.0
    hedged_wrong: float | None = None
    hedged_right: float = 0.0

    def __post_init__(self) -> None:
        finite = {
            "wrong": self.wrong,
            "needless_abstention": self.needless_abstention,
            "hedged_right": self.hedged_right,
        }
        if self.hedged_wrong is not None:
            finite["hedged_wrong"] = self.hedged_wrong
        for name, value in finite.items():
            if not (isfinite(value) and value >= 0.0):
                raise RangeError(f"{name} must be finite and >= 0, got {value!r}")
        if self.wrong == 0.0:
            raise RangeError("wrong must be > 0: where wrong answers cost nothing there is nothing to decide")
        if not self.escalation >= 0.0:
            raise RangeError(f"escalation must be >= 0, got {self.escalation!r}")
        if not 0.0 <= self.escalated_accuracy <= 1.0:
            raise RangeError(f"escalated_accuracy must be in [0, 1], got {self.escalated_accuracy!r}")

    def lines(self) -> dict[Action, tuple[float, float]]:
        """Expected cost of each action at a mean of 0 (surely wrong) and of 1 (surely right); linear in between."""
        escalated = self.escalation + (1.0 - self.escalated_accuracy) * self.wrong
        hedged_wrong = self.wrong if self.hedged_wrong is None else self.hedged_wrong
        return {
            "abstain": (0.0, self.needless_abstention),
            "escalate": (escalated, escalated),
            "hedge": (hedged_wrong, self.hedged_right),
            "answer": (self.wrong, 0.0),
        }


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The action for each range of the calibrated mean.

    Attributes
    ----------
    starts : tuple[float, ...]
        Ascending strictly, in [0, 1]; the first is 0.
    actions : tuple[Action, ...]
        One for each start.

    Raises
    ------
    RangeError
        If the starts do not ascend from 0 within [0, 1], or the numbers of starts and actions differ.
    """

    starts: tuple[float, ...]
    actions: tuple[Action, ...]

    def __post_init__(self) -> None:
        ascending = all(a < b for a, b in pairwise(self.starts))
        if not self.starts or self.starts[0] != 0.0 or self.starts[-1] > 1.0 or not ascending:
            raise RangeError(f"starts must ascend from 0 within [0, 1], got {self.starts!r}")
        if len(self.starts) != len(self.actions):
            raise RangeError(f"{len(self.starts)} starts and {len(self.actions)} actions")


def thresholds(costs: Costs) -> Thresholds:
    """The policy with the lowest expected cost.

    Parameters
    ----------
    costs : Costs

    Returns
    -------
    Thresholds
        At most four steps; among equally cheap actions the first of hedge, answer, escalate, abstain.

    Notes
    -----
    **Source**: Chow 1970 for answering and rejecting: answer from wrong / (wrong + needless_abstention) on. **Deviates**:
    escalation and hedging are further lines of the same envelope.

    Examples
    --------
    >>> thresholds(Costs(wrong=4.0, needless_abstention=1.0))
    Thresholds(starts=(0.0, 0.8), actions=('abstain', 'hedge'))
    >>> thresholds(Costs(wrong=4.0, needless_abstention=1.0, escalation=0.4))
    Thresholds(starts=(0.0, 0.4, 0.9), actions=('abstain', 'escalate', 'hedge'))
    """
    lines = {action: line for action, line in costs.lines().items() if isfinite(line[0])}
    corners = {0.0, 1.0}
    for first, (low, high) in lines.items():
        for second, (other_low, other_high) in lines.items():
            bend = (high - low) - (other_high - other_low)
            if first < second and bend != 0.0:
                corners.add((other_low - low) / bend)
    inside = sorted(corner for corner in corners if 0.0 <= corner <= 1.0)
    starts: list[float] = []
    actions: list[Action] = []
    for left, right in pairwise(inside):
        best = _cheapest((left + right) / 2.0, lines)
        if not actions or actions[-1] != best:
            starts.append(left)
            actions.append(best)
    return Thresholds(tuple(starts), tuple(actions))


def _cheapest(mean: float, lines: dict[Action, tuple[float, float]]) -> Action:
    """The action with the lowest expected cost; on ties the first of hedge, answer, escalate, abstain."""
    order: tuple[Action, ...] = ("hedge", "answer", "escalate", "abstain")
    available = [action for action in order if action in lines]
    costs = [lines[action][0] * (1.0 - mean) + lines[action][1] * mean for action in available]
    least = min(costs)
    tolerance = 1e-12 * max(map(abs, costs), default=0.0)
    return next(action for action, cost in zip(available, costs, strict=True) if cost <= least + tolerance)


def decide(mean: float, policy: Thresholds) -> Action:
    """The action at a calibrated mean in [0, 1]; a mean on a threshold gets the action that starts there.

    Raises
    ------
    RangeError
        If the mean lies outside [0, 1].

    Examples
    --------
    >>> policy = thresholds(Costs(wrong=4.0, needless_abstention=1.0))
    >>> decide(0.79, policy), decide(0.8, policy)
    ('abstain', 'hedge')
    """
    if not 0.0 <= mean <= 1.0:
        raise RangeError(f"mean must be in [0, 1], got {mean!r}")
    return policy.actions[bisect_right(policy.starts, mean) - 1]
