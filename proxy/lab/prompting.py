"""A language model that is asked one prompt at a time, without randomness; used by judges of recorded answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from ..config import Upstream as UpstreamSettings
from ..protocols import Call
from ..services.services import open_upstream
from ..upstreams.answers import sample_of

Ask = Callable[[str], Awaitable[str]]
"""The reply to a prompt; raises `ProxyError` if the model cannot be asked."""


@asynccontextmanager
async def open_prompting(name: str, upstreams: Mapping[str, UpstreamSettings], model: str) -> AsyncIterator[Ask]:
    """Open one of these upstreams for as long as its model is used.

    Raises:
        ConfigError: the upstream cannot be opened.
    """
    upstream = await open_upstream(name, upstreams)

    async def ask(prompt: str) -> str:
        body = {"model": model, "temperature": 0.0, "messages": [{"role": "user", "content": prompt}]}
        answer = await upstream.complete(Call("/chat/completions", body))
        return sample_of(answer["choices"][0]).text

    try:
        yield ask
    finally:
        await upstream.aclose()
