"""Warm-up in a worker thread at the start. Files read and patterns compiled on first use would otherwise block the event loop, and every
other request, for 0.1 s and more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from ...calibration import Beta
from ...lexicon.reading.local import read
from ..clustering.rules import judge_pair
from ..computing import compute
from ..config import Route
from ..rewriting.wordings import RETRIEVED
from ..types import RewriteRequest, Sample
from .claims import claims_of, statements
from .eligibility import comparable, draft_reason, skip_reason
from .job import job_of
from .steps import RoutePipeline, hedges_in

QUESTION, DRAFT = "What is the capital of Australia?", "The capital of Australia is Canberra."
TARGET = Beta(13.0, 7.0)


def rehearse(routes: Iterable[Route], pipelines: Mapping[str, RoutePipeline]) -> None:
    """Word a sample answer by the rules of every route that may calibrate. No upstream and no editor is called, and nothing is counted."""
    for route in routes:
        if (pipeline := pipelines.get(route.name)) is not None:
            asyncio.run(compute(_rehearse, route, pipeline))


def _rehearse(route: Route, pipeline: RoutePipeline) -> None:
    job = job_of(route, "/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]}, {})
    skip_reason(job)
    draft_reason(Sample(DRAFT))
    judge_pair(QUESTION, DRAFT, "Canberra.")
    comparable([DRAFT, DRAFT], 2)
    reading = read(DRAFT, QUESTION)
    statements(reading, claims_of(reading))
    hedges = pipeline.retriever.nearest(TARGET, RETRIEVED, hedges_in(DRAFT))
    pipeline.local.word(RewriteRequest(QUESTION, DRAFT, TARGET, hedges, language="en"), reading)
