"""A rehearsal of the routes' first answers, in a worker thread: what is read from files and compiled when it is first needed would hold up
every other request for a tenth of a second and more if the event loop did it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from hedgerow.calibration import Beta
from hedgerow.lexicon.perception.markers import marker_of
from hedgerow.proxy.clustering.rules import judge_pair
from hedgerow.proxy.config import Route
from hedgerow.proxy.pipeline.claims import claims_of, statements
from hedgerow.proxy.pipeline.eligibility import comparable, draft_reason, skip_reason
from hedgerow.proxy.pipeline.job import job_of
from hedgerow.proxy.pipeline.steps import RoutePipeline, hedges_in
from hedgerow.proxy.rewriting.step import reword
from hedgerow.proxy.types import RewriteRequest, Sample

QUESTION, DRAFT = "What is the capital of Australia?", "The capital of Australia is Canberra."
TARGET = Beta(13.0, 7.0)


def rehearse(routes: Iterable[Route], pipelines: Mapping[str, RoutePipeline]) -> None:
    """Read and word an answer by the rules of every route that may calibrate: no upstream is asked, no editor, and nothing is counted."""
    for route in routes:
        if (pipeline := pipelines.get(route.name)) is not None:
            asyncio.run(_rehearse(route, pipeline))


async def _rehearse(route: Route, pipeline: RoutePipeline) -> None:
    job = job_of(route, "/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]}, {})
    skip_reason(job)
    draft_reason(Sample(DRAFT))
    judge_pair(QUESTION, DRAFT, "Canberra.")
    comparable([DRAFT, DRAFT], 2)
    statements(DRAFT, QUESTION, claims_of(DRAFT, QUESTION))
    marker_of(DRAFT)
    hedges = pipeline.retriever.nearest(TARGET, route.rewriting.k, DRAFT, hedges_in(DRAFT))
    request = RewriteRequest(QUESTION, DRAFT, TARGET, hedges, language="en")
    by_rules = [rewriter for rewriter in pipeline.rewriters(job) if rewriter.name == "template"]
    await reword(request, rewriters=by_rules, guard=pipeline.guard, reader=pipeline.reader)
