"""A Redis server named in a section of the configuration: asked while it answers, left alone for a while when it does not."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, StoreError

if TYPE_CHECKING:
    from redis.asyncio import Redis

TIMEOUT_S = 1.0
"""Seconds to wait for an answer."""
DOWN_S, LONGEST_DOWN_S = 1.0, 8.0
"""Seconds for which a server that failed is not called again, so that requests do not wait for it one after the other; doubled by each failure."""


class SharedRedis:
    """A server that other processes use too. Nothing connects before the first call.

    Args:
        section: of the configuration, such as "sampling.cache".
        rests: whether a server that failed is left alone for a while.

    Attributes:
        client: its commands are given to `ask`.
        failures: what they raise.

    Raises:
        ConfigError: the client library is not installed, or the address is not valid.
    """

    def __init__(self, section: str, url: str, *, rests: bool = True) -> None:
        try:
            from redis.asyncio import from_url
            from redis.exceptions import RedisError
        except ImportError as error:
            raise ConfigError(f"{section}.store is 'redis', which needs the library redis (extra `redis`)") from error
        try:
            self.client: Redis = from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        except ValueError as error:
            raise ConfigError(f"{section}.url: {error}") from error
        self._section, self._rests, self.failures = section, rests, (RedisError, OSError)
        self._until = self._pause = 0.0
        self._why = ""

    async def ask(self, command: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
        """The server's answer to a command of `client`.

        Raises:
            StoreError: it cannot be reached or refuses, or did so a moment ago; says why.
        """
        if time.monotonic() < self._until:
            raise StoreError(self._why)
        try:
            answer = await command(*arguments, **named)
        except self.failures as error:
            raise StoreError(self._failed(error)) from error
        self._pause = 0.0
        return answer

    def _failed(self, error: Exception) -> str:
        """Leave the server alone; returns why."""
        if self._rests and time.monotonic() >= self._until:  # of several that waited for it, the first counts
            self._pause = min(2 * self._pause or DOWN_S, LONGEST_DOWN_S)
            self._until = time.monotonic() + self._pause
        reason = (str(error).splitlines() or [""])[0][:200]
        self._why = f"the Redis of {self._section} fails: {type(error).__name__}" + (f" ({reason})" if reason else "")
        return self._why

    async def aclose(self) -> None:
        """Close the connections."""
        await self.client.aclose()


async def redis_state(section: str, url: str) -> tuple[str, bool]:
    """A server's answer for `config check --online` and `doctor`, and whether that is good."""
    try:
        server = SharedRedis(section, url)
        await server.ask(server.client.set, "hedgerow:check", b"", px=1000)
    except (ConfigError, StoreError) as error:
        return str(error), False
    await server.aclose()
    return "answers, and can be written", True
