"""Short answers: one confidence for the whole answer."""

from __future__ import annotations

from ..types import Clustering
from .result import Run
from .steps import RoutePipeline, calibrated
from .wording import Measured


async def measure_short(run: Run, pipeline: RoutePipeline, clustering: Clustering) -> Measured:
    """Measure the confidence with the route's signal and calibrate it with the route's map.

    Raises:
        StepFailed: the signal could not be measured.
    """
    job, drawn = run.job, run.result.drawn
    with run.step("confidence"):
        signal = pipeline.signal(job, run.spend)
        raw = await signal.measure(job.question, [drawn.samples[i] for i in drawn.compared], clustering)
    with run.step("calibrate"):
        active = pipeline.active_map(job.answering_model)
        placed = await pipeline.placer.placed(active, job.question)
        return Measured(calibrated(job.route.signal, raw, placed.active, placed.place))
