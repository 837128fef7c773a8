"""Adaptive drawing: the active adaptive map decides, from the question and the answers so far, whether further ones are worth their price.

A random share of the requests is drawn in full, so that the map can be fitted again and checked on answers that it did not choose; the
audit records that probability. If the map cannot decide, all answers are drawn, and the audit records the reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ...config.routes import Adaptive
from ...types import Drawing, Sample
from ..job import Job
from ..placing import ADAPTIVE, Answered, Embeddings
from ..steps import RoutePipeline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ....calibration.maps.adaptive import AdaptiveMap


@dataclass(frozen=True, slots=True)
class Worth:
    """How many answers of one request to draw.

    Attributes:
        record: the values for the `hedgerow` field and the audit.
        map: the adaptive map; None if all answers are drawn.
        embedding: of the question; None if the counts alone decide.
        budget: maximum number of answers.
        batch: maximum number of answers drawn at a time.
    """

    record: Drawing
    map: AdaptiveMap | None
    embedding: NDArray[np.float32] | None
    budget: int
    batch: int

    def wanted(self, question: str, drawn: int, agreeing: Sequence[Sample]) -> int:
        """Number of answers to draw now; 0 = stop."""
        left = self.budget - drawn
        if self.map is None or left <= 0:
            return max(0, left)
        if not agreeing:
            return 1
        context = Answered.of(agreeing).context(self.map, question, self.embedding)
        wanted = self.map.wanted(len(agreeing), max(drawn, len(agreeing)), left, context, self.record.price)
        return min(wanted, self.batch)


async def worth_of(job: Job, asked: Adaptive, pipeline: RoutePipeline, known: Embeddings) -> Worth:
    """How to draw this request, from its route's settings, the active map, its question and its random draw; `known` as in `Placer`."""
    sampling, active = job.route.sampling, pipeline.active_map(job.model)

    def in_full(price: float, why: str | None, *, by_lot: bool = False) -> Worth:
        """Draw all answers."""
        record = Drawing(sampling.n, price, by_lot, asked.full_share if by_lot else 1.0, why)
        return Worth(record, None, None, sampling.n, sampling.batch)

    if active.map.kind != ADAPTIVE or job.route.signal != "semantic":
        return in_full(0.0, "no adaptive map is active for the signal semantic: all answers are drawn")
    made = cast("AdaptiveMap", active.map)
    price = made.price if asked.price is None else asked.price
    if not made.pays(price):
        why = f"price {price:g} of map {active.version} was no better than a fixed number of answers: all are drawn"
        return in_full(price, why)
    if _lot(job.id) < asked.full_share:
        return in_full(price, None, by_lot=True)
    embedding, why_not = await pipeline.placer.embedding(active, job.question, known)
    record = Drawing(min(sampling.n, made.budget), price, False, 1.0 - asked.full_share, why_not)
    return Worth(record, made, embedding, record.of, sampling.batch)


def _lot(name: str) -> float:
    """A pseudo-random number in [0, 1), derived from the request's id."""
    return int.from_bytes(hashlib.sha256(f"full\0{name}".encode()).digest()[:8], "big") / 2.0**64
