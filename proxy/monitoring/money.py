"""Cost of answers in a period, and the estimated cost of a shadow route in mode `on`. Pure computation over the audit's sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np

from ..audit.counts import Tally
from ..types import Json
from .figures import DAY, HOUR, Buckets


@dataclass(frozen=True, slots=True)
class Projection:
    """Cost in dollars a day of the requests on shadow routes: as plain answers, and if the routes were on."""

    plain: float
    on: float

    @property
    def sentence(self) -> str:
        """The projection as a sentence.

        >>> Projection(17.9, 41.17).sentence
        'In mode on it would cost 2.3 times as much as plain: $41.17 a day instead of $17.90.'
        """
        times, daily = self.on / self.plain, f"{dollars(self.on)} a day instead of {dollars(self.plain)}"
        return f"In mode on it would cost {times:.1f} times as much as plain: {daily}."


@dataclass(frozen=True, slots=True)
class Money:
    """Known cost of calibrated requests, in dollars.

    Attributes:
        answers: the answers, as plain calls would have cost.
        calibration: further samples, judges, rewriting and stronger models.
        unpriced: number of answers with a confidence but unknown cost.
        projection: None if no request in shadow has a known cost.
    """

    answers: float
    calibration: float
    unpriced: int
    projection: Projection | None = None

    @property
    def total(self) -> float:
        """The sum of both."""
        return self.answers + self.calibration

    def to_json(self) -> Json:
        """The JSON object in `hedgerow audit summary --json`."""
        would = self.projection
        return {
            "answers": self.answers,
            "calibration": self.calibration,
            "unpriced_answers": self.unpriced,
            "projection": would and {"plain_a_day": would.plain, "on_a_day": would.on, "times": would.on / would.plain},
        }


def money(counted: Sequence[Tally], buckets: Buckets) -> Money:
    """The cost of the counted requests."""
    answers, calibration = _sums(counted)
    return Money(answers, calibration, sum(tally.unpriced for tally in counted), _projected(counted, buckets))


def over_time(counted: Sequence[Tally], buckets: Buckets) -> list[list[float]]:
    """Dollars over time, as columns for the chart: answers, and calibration."""
    spent = np.zeros((2, buckets.number))
    for tally in counted:
        spent[:, min(tally.bucket, buckets.number - 1)] += tally.costs
    return [buckets.starts, *spent.tolist()] if spent.any() else []


def _projected(counted: Sequence[Tally], buckets: Buckets) -> Projection | None:
    shadow = [tally for tally in counted if tally.mode == "shadow"]
    plain, calibration = _sums(shadow)
    if not plain:
        return None
    began = buckets.starts[min(min(tally.bucket, buckets.number - 1) for tally in shadow)]
    days = max(buckets.period.until - began, HOUR) / DAY
    return Projection(plain / days, (plain + calibration) / days)


def _sums(counted: Sequence[Tally]) -> tuple[float, float]:
    return sum(tally.costs[0] for tally in counted), sum(tally.costs[1] for tally in counted)


def dollars(amount: float) -> str:
    """An amount with cents, or as many decimals as small amounts need.

    >>> dollars(1234.5), dollars(0.25), dollars(0.001234), dollars(0.0)
    ('$1,234.50', '$0.25', '$0.0012', '$0')
    """
    if amount <= 0:
        return "$0"
    decimals = 2 if amount >= 0.1 else min(9, 1 - floor(log10(amount)))
    return f"${amount:,.{decimals}f}"
