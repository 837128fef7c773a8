"""Caches of sample sets: in this process, or in Redis for several processes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable

import orjson
import structlog

from ...config.redis import SharedRedis
from ...errors import StoreError
from ...types import Completion, Json

log = structlog.get_logger(__name__)
_PLACE = "hedgerow:samples:2:"
"""Prefix of the keys in Redis, with the version of the stored format."""
_DRAWING = "hedgerow:drawing:2:"
"""Prefix of the keys that mark a set as being drawn by a process."""
DRAWING_S = 5.0
"""Redis: seconds until the lock of a process that died expires. A living process renews it three times as often."""
POLL_S = 0.1
"""Redis: seconds between two queries for a set that another process is drawing."""


MOST_BYTES = 64 * 1024 * 1024
"""Memory: bytes of all sets of a route together."""


class MemoryCache:
    """Keeps the newest sets in memory, each for a limited time, as far as their number and bytes allow."""

    def __init__(self, ttl_s: float, max_entries: int) -> None:
        self._ttl_s, self._max_entries = ttl_s, max_entries
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0

    async def get(self, key: str) -> list[Json] | None:
        """The set, if it is cached and not expired."""
        if key not in self._kept:
            return None
        until, data = self._kept[key]
        if time.monotonic() >= until:
            self._drop(key)
            return None
        return _loaded(data)

    async def put(self, key: str, answers: list[Json]) -> None:
        """Keep a set; the oldest are dropped if the cache is full, and one that is larger than it is not kept."""
        data = _dumped(answers)
        self._drop(key)
        if len(data) > MOST_BYTES:
            return
        self._kept[key] = (time.monotonic() + self._ttl_s, data)
        self._bytes += len(data)
        while len(self._kept) > self._max_entries or self._bytes > MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: str) -> None:
        _, data = self._kept.pop(key, (0.0, b""))
        self._bytes -= len(data)

    @contextlib.asynccontextmanager
    async def turn(self, _key: str) -> AsyncIterator[list[Json] | None]:
        """No other process has these sets."""
        yield None

    async def clear(self) -> None:
        """Forget all sets."""
        self._kept.clear()
        self._bytes = 0

    async def aclose(self) -> None:
        """Nothing to close."""


class RedisCache:
    """Sets in Redis under "hedgerow:samples:2:<key>", which expire there. They hold the texts of answers. "hedgerow:drawing:2:<key>" exists while a
    process draws the set.

    Raises:
        ConfigError: the client library is not installed, or the address is not valid.
    """

    def __init__(self, url: str, ttl_s: float, checked: Callable[[str | None], None] = lambda _why: None) -> None:
        self._server = SharedRedis("sampling.cache", url)
        self._checked = checked
        self._redis, self._ask = self._server.client, self._server.ask
        self._ttl_ms = _ms(ttl_s)

    async def get(self, key: str) -> list[Json] | None:
        """The set, if it is cached; None also if Redis cannot be reached."""
        try:
            data = await self._ask(self._redis.get, f"{_PLACE}{key}")
        except StoreError as error:
            self._checked(str(error))
            return None
        return _loaded(data) if data is not None else None

    async def put(self, key: str, answers: list[Json]) -> None:
        """Keep a set, if Redis can be reached."""
        try:
            await self._ask(self._redis.set, f"{_PLACE}{key}", _dumped(answers), px=self._ttl_ms)
        except StoreError as error:
            return self._checked(str(error))
        return self._checked(None)

    @contextlib.asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[list[Json] | None]:
        """Wait for the set that another process is drawing. Yields None if the caller must draw it while others wait: nobody was drawing it, the
        other process failed or died, or Redis cannot be reached.

        The lock has no owner: if it expires while its process is stalled and another takes it, the set is drawn twice, and nothing else.
        """
        lock, mine, data = f"{_DRAWING}{key}", None, None
        with contextlib.suppress(StoreError):
            mine = await self._ask(self._redis.set, lock, b"", nx=True, px=_ms(DRAWING_S))
            while True:  # with the lock in hand look again: the set may have arrived in the meantime
                data, drawing = await self._ask(self._redis.mget, f"{_PLACE}{key}", lock)
                if mine or data is not None or drawing is None:
                    break
                await asyncio.sleep(POLL_S)
        keeping = asyncio.ensure_future(self._keep(lock)) if mine else None
        try:
            yield _loaded(data) if data is not None else None
        finally:
            if keeping is not None:
                keeping.cancel()
                await asyncio.wait({keeping})
                await self._end(lock)

    async def _keep(self, lock: str) -> None:
        """Renew the lock every `DRAWING_S / 3` seconds until cancelled, so that others go on waiting."""
        while True:
            await asyncio.sleep(DRAWING_S / 3)
            with contextlib.suppress(StoreError):
                await self._ask(self._redis.pexpire, lock, _ms(DRAWING_S))

    async def _end(self, lock: str) -> None:
        with contextlib.suppress(StoreError):  # the lock expires by itself
            await self._ask(self._redis.unlink, lock)

    async def clear(self) -> None:
        """Delete the sets of all processes, also of a server that is left alone; if it cannot be reached they expire."""
        try:
            async for name in self._redis.scan_iter(match=f"{_PLACE}*", count=1000):
                await self._redis.unlink(name)
        except self._server.failures as error:
            log.warning("sample_cache_not_cleared", error=type(error).__name__)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()


def _ms(seconds: float) -> int:
    return max(1, round(1000 * seconds))


def _dumped(answers: list[Json]) -> bytes:
    """Serialize a set of completion objects, each with the member of a group that it came from."""
    origins = [(a.upstream, a.model) if isinstance(a, Completion) else ("", "") for a in answers]
    return orjson.dumps([[*origin, answer] for origin, answer in zip(origins, answers, strict=True)])


def _loaded(data: bytes | str) -> list[Json]:
    """Read a set that `_dumped` serialized."""
    kept: list[Json] = []
    for upstream, model, answer in orjson.loads(data):
        completion = Completion(answer)
        completion.upstream, completion.model = upstream, model
        kept.append(completion)
    return kept
