"""Where sample sets are kept for a while: in this process, or in Redis for several processes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator

import orjson
import structlog

from hedgerow.proxy.config.redis import DOWN_S, redis_client
from hedgerow.proxy.types import Completion, Json

log = structlog.get_logger(__name__)
_PLACE = "hedgerow:samples:2:"
"""How keys in Redis begin, with the version of what is kept."""
_DRAWING = "hedgerow:drawing:2:"
"""The same, of keys that say that a process draws the set."""
DRAWING_S = 5.0
"""Redis: longest that a process which died while it drew keeps others waiting. One that lives says so three times as often."""
POLL_S = 0.1
"""Redis: seconds between two queries for a set that another process draws."""


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

    @contextlib.asynccontextmanager
    async def turn(self, _key: str) -> AsyncIterator[list[Json] | None]:
        """No other process has these sets."""
        yield None

    async def clear(self) -> None:
        """Forget all sets."""
        self._kept.clear()

    async def aclose(self) -> None:
        """Nothing is open."""


class RedisCache:
    """Sets in Redis under "hedgerow:samples:2:<key>", which expire there. They hold the texts of answers. "hedgerow:drawing:2:<key>" is there while a
    process draws the set.

    Raises:
        ConfigError: the client library is not installed, or the address is not valid.
    """

    def __init__(self, url: str, ttl_s: float) -> None:
        self._redis = redis_client("sampling.cache", url)
        from redis.exceptions import RedisError

        self._unreachable = (RedisError, OSError)
        self._ttl_ms = _ms(ttl_s)
        self._down_until = 0.0

    async def get(self, key: str) -> list[Json] | None:
        """The set, if it is there; a store that cannot be reached has none."""
        if self._is_down:
            return None
        try:
            data = await self._redis.get(f"{_PLACE}{key}")
        except self._unreachable as error:
            self._go_down(error)
            return None
        return _loaded(data) if data is not None else None

    async def put(self, key: str, answers: list[Json]) -> None:
        """Keep a set, if the store can be reached."""
        if self._is_down:
            return
        try:
            await self._redis.set(f"{_PLACE}{key}", _dumped(answers), px=self._ttl_ms)
        except self._unreachable as error:
            self._go_down(error)

    @contextlib.asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[list[Json] | None]:
        """The set that another process was drawing, once it is there. None: it is ours to draw, and others wait for us, because nobody drew it, or
        whoever did failed or died, or the store cannot be reached.

        The lock has no owner: one that outlived its process's silence and was taken by another costs a set drawn twice, and nothing else.
        """
        lock, mine, data = f"{_DRAWING}{key}", None, None
        try:
            mine = None if self._is_down else await self._redis.set(lock, b"", nx=True, px=_ms(DRAWING_S))
            while not self._is_down:  # even who may draw looks: the set may have come since it was missed
                data, drawing = await self._redis.mget(f"{_PLACE}{key}", lock)
                if mine or data is not None or drawing is None:
                    break
                await asyncio.sleep(POLL_S)
        except self._unreachable as error:
            self._go_down(error)
        keeping = asyncio.ensure_future(self._keep(lock)) if mine else None
        try:
            yield _loaded(data) if data is not None else None
        finally:
            if keeping is not None:
                keeping.cancel()
                await asyncio.wait({keeping})
                await self._end(lock)

    @property
    def _is_down(self) -> bool:
        """Whether the server did not answer a moment ago: nobody waits for it then."""
        return time.monotonic() < self._down_until

    def _go_down(self, error: Exception) -> None:
        if not self._is_down:  # one line, however many were waiting
            log.warning("sample_cache_unreachable", error=type(error).__name__)
        self._down_until = time.monotonic() + DOWN_S

    async def _keep(self, lock: str) -> None:
        """Renew the lock every `DRAWING_S / 3` seconds until cancelled, so that others go on waiting."""
        while True:
            await asyncio.sleep(DRAWING_S / 3)
            with contextlib.suppress(*self._unreachable):
                await self._redis.pexpire(lock, _ms(DRAWING_S))

    async def _end(self, lock: str) -> None:
        with contextlib.suppress(*self._unreachable):  # it ends by itself
            await self._redis.unlink(lock)

    async def clear(self) -> None:
        """Delete all sets, whichever process keeps them; where the store cannot be reached they expire."""
        try:
            async for name in self._redis.scan_iter(match=f"{_PLACE}*", count=1000):
                await self._redis.unlink(name)
        except self._unreachable as error:
            log.warning("sample_cache_not_cleared", error=type(error).__name__)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


def _ms(seconds: float) -> int:
    return max(1, round(1000 * seconds))


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
