"""Where sample sets are kept for a while: in this process, or in Redis for several processes."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import orjson
import structlog

from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.types import Json

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = structlog.get_logger(__name__)


class MemoryCache:
    """The newest sets, each for so many seconds."""

    def __init__(self, ttl_s: float, max_entries: int) -> None:
        self._ttl_s, self._max_entries = ttl_s, max_entries
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    async def get(self, key: str) -> list[Json] | None:
        """The set, if it is there and not too old."""
        if key not in self._kept:
            return None
        until, data = self._kept[key]
        if time.monotonic() >= until:
            del self._kept[key]
            return None
        answers: list[Json] = orjson.loads(data)
        return answers

    async def put(self, key: str, answers: list[Json]) -> None:
        """Keep a set; the oldest makes room."""
        self._kept[key] = (time.monotonic() + self._ttl_s, orjson.dumps(answers))
        self._kept.move_to_end(key)
        while len(self._kept) > self._max_entries:
            self._kept.popitem(last=False)

    async def aclose(self) -> None:
        """Nothing is open."""


class RedisCache:
    """Sets in Redis under "hedgerow:samples:<key>", which expire there. They hold the texts of answers.

    Raises:
        ConfigError: the client library is not installed, or the address is none.
    """

    def __init__(self, url: str, ttl_s: float) -> None:
        try:
            from redis.asyncio import from_url
        except ImportError as error:
            raise ConfigError(
                "sampling.cache.store is 'redis', which needs the library redis (extra `redis`)"
            ) from error
        try:
            self._redis: Redis = from_url(url, socket_timeout=1.0, socket_connect_timeout=1.0)
        except ValueError as error:
            raise ConfigError(f"sampling.cache.url: {error}") from error
        self._ttl_ms = max(1, round(1000 * ttl_s))

    async def get(self, key: str) -> list[Json] | None:
        """The set, if it is there; a store that cannot be reached has none."""
        from redis.exceptions import RedisError

        try:
            data = await self._redis.get(f"hedgerow:samples:{key}")
        except (RedisError, OSError) as error:
            log.warning("sample_cache_unreachable", error=type(error).__name__)
            return None
        answers: list[Json] | None = orjson.loads(data) if data is not None else None
        return answers

    async def put(self, key: str, answers: list[Json]) -> None:
        """Keep a set, if the store can be reached."""
        from redis.exceptions import RedisError

        try:
            await self._redis.set(f"hedgerow:samples:{key}", orjson.dumps(answers), px=self._ttl_ms)
        except (RedisError, OSError) as error:
            log.warning("sample_cache_unreachable", error=type(error).__name__)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()
