"""A judge with an upstream behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hedgerow.proxy.config import Upstream as UpstreamSettings
from hedgerow.proxy.grading.judge import JudgeGrader
from hedgerow.proxy.protocols import Call
from hedgerow.proxy.services.services import open_upstream
from hedgerow.proxy.upstreams.answers import sample_of


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
