"""Grading recorded answers: the draft that the proxy would have worded is what is right or wrong."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hedgerow.proxy.config import Upstream as UpstreamSettings
from hedgerow.proxy.grading import Grader, JudgeGrader
from hedgerow.proxy.lab.datasets import Sampled, parse_row
from hedgerow.proxy.protocols import Call, Clusterer
from hedgerow.proxy.services.services import open_upstream
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.answers import sample_of


def sampled(content: Json) -> Sampled:
    """A row that can be graded.

    Raises:
        ValueError: it cannot be graded; the reason is the message.
    """
    row = parse_row(content)
    if not isinstance(row, Sampled) or not all(sample.text for sample in row.samples):
        raise ValueError("expected 'samples' with a text each")
    if not row.gold:
        raise ValueError("expected 'gold': the answers known to be right")
    return row


def key_of(content: Json, row: Sampled) -> str:
    """The key that a row is found by again."""
    key = content.get("key")
    return key if isinstance(key, str) else hashlib.sha256(row.question.encode()).hexdigest()[:16]


async def grade_row(content: Json, *, grader: Grader, equivalence: Clusterer) -> Json:
    """A gradable row with `correct`, and `grade` for how that came about.

    Raises:
        StepFailed, ProxyError: a judge cannot be asked.
        ValueError: the row cannot be graded.
    """
    row = sampled(content)
    clustering = await equivalence.cluster(row.question, [sample.text for sample in row.samples])
    draft = row.samples[clustering.draft_index].text
    grade = await grader.grade(row.question, draft, row.gold, row.wrong)
    how = {"draft": clustering.draft_index, "reason": grade.reason}
    return content | {"correct": None if grade.correct is None else grade.correct == 1.0, "grade": how}


@asynccontextmanager
async def open_judge(name: str, settings: UpstreamSettings, model: str) -> AsyncIterator[JudgeGrader]:
    """Open an upstream for as long as there is something to grade. A grade raises `ProxyError` where the judge cannot be asked."""
    upstream = await open_upstream(name, settings)

    async def ask(prompt: str) -> str:
        body = {"model": model, "temperature": 0.0, "messages": [{"role": "user", "content": prompt}]}
        answer = await upstream.complete(Call("/chat/completions", body))
        return sample_of(answer["choices"][0]).text

    try:
        yield JudgeGrader(ask)
    finally:
        await upstream.aclose()
