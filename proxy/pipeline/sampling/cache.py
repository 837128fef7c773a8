"""Where sample sets are kept for a while: in this process, or in Redis for several processes."""

from __future__ import annotations

import time
from collections import OrderedDict

import orjson
import structlog

from hedgerow.proxy.config.redis import redis_client
from hedgerow.proxy.types import Completion, Json

log = structlog.get_logger(__name__)
_PLACE = "hedgerow:samples:2:"
"""How keys in Redis begin, with the version of what is kept."""


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
        return _loaded(data)

    async def put(self, key: str, answers: list[Json]) -> None:
        """Keep a set; the oldest makes room."""
        self._kept[key] = (time.monotonic() + self._ttl_s, _dumped(answers))
        self._kept.move_to_end(key)
        while len(self._kept) > self._max_entries:
            self._kept.popitem(last=False)

    async def clear(self) -> None:
        """Forget all sets."""
        self._kept.clear()

    async def aclose(self) -> None:
        """Nothing is open."""


class RedisCache:
    """Sets in Redis under "hedgerow:samples:2:<key>", which expire there. They hold the texts of answers.

    Raises:
        ConfigError: the client library is not installed, or the address is none.
    """

    def __init__(self, url: str, ttl_s: float) -> None:
        self._redis = redis_client("sampling.cache", url)
        self._ttl_ms = max(1, round(1000 * ttl_s))

    async def get(self, key: str) -> list[Json] | None:
        """The set, if it is there; a store that cannot be reached has none."""
        from redis.exceptions import RedisError

        try:
            data = await self._redis.get(f"{_PLACE}{key}")
        except (RedisError, OSError) as error:
            log.warning("sample_cache_unreachable", error=type(error).__name__)
            return None
        return _loaded(data) if data is not None else None

    async def put(self, key: str, answers: list[Json]) -> None:
        """Keep a set, if the store can be reached."""
        from redis.exceptions import RedisError

        try:
            await self._redis.set(f"{_PLACE}{key}", _dumped(answers), px=self._ttl_ms)
        except (RedisError, OSError) as error:
            log.warning("sample_cache_unreachable", error=type(error).__name__)

    async def clear(self) -> None:
        """Delete all sets, whichever process keeps them; where the store cannot be reached they expire."""
        from redis.exceptions import RedisError

        try:
            async for name in self._redis.scan_iter(match=f"{_PLACE}*", count=1000):
                await self._redis.unlink(name)
        except (RedisError, OSError) as error:
            log.warning("sample_cache_not_cleared", error=type(error).__name__)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


def _dumped(answers: list[Json]) -> bytes:
    """A set of completion objects, each with the member of a group that it came from."""
    origins = [(a.upstream, a.model) if isinstance(a, Completion) else ("", "") for a in answers]
    return orjson.dumps([[*origin, answer] for origin, answer in zip(origins, answers, strict=True)])


def _loaded(data: bytes | str) -> list[Json]:
    """The set in what `_dumped` made."""
    kept: list[Json] = []
    for upstream, model, answer in orjson.loads(data):
        completion = Completion(answer)
        completion.upstream, completion.model = upstream, model
        kept.append(completion)
    return kept
