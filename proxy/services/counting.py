"""Counters for limits: in this process, or in Redis for all processes that share it.

A window is an interval of the clock: with 60 seconds a minute, with 86,400 a day in UTC. Requested amounts are taken together or not at
all, in one atomic step, so that concurrent requests never get more than a limit allows.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from ..config.redis import SharedRedis
from ..config.settings import Counting
from ..errors import StoreError
from ..supervision import Checked

LEASE_S = 900
"""Redis: seconds after which a slot that was never released (its process died) is free again."""
MOST_OWED = 1000
"""Redis: maximum number of slots, oldest first, that are released when the server is back; others are free after `LEASE_S`."""


@dataclass(frozen=True, slots=True)
class Ask:
    """An amount that a request takes from a limit.

    Attributes:
        name: name of the counter, e.g. "key:search:requests".
        amount: how much to take; 0 only checks.
        limit: the maximum, including this amount.
        window_s: seconds of the window; 0 for slots, which are taken until they are released.
    """

    name: str
    amount: int
    limit: int
    window_s: int


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of `Counters.take`.

    Attributes:
        at: the time in seconds since 1970; amounts added or returned later count in the window of this time.
        refused: the index of the first amount that does not fit; None if all were taken.
        used: for each amount, the present use of its limit.
    """

    at: float
    refused: int | None
    used: Sequence[int]


class Counters(Protocol):
    """Counts of use, by name and window."""

    async def take(self, asks: Sequence[Ask], ticket: str) -> Taken:
        """Take all amounts, or none if one does not fit. `ticket` identifies the slots."""
        ...

    async def add(self, name: str, amount: int, window_s: int, at: float) -> None:
        """Add an amount, negative to return unused ones, in the window of the given time."""
        ...

    async def leave(self, name: str, ticket: str) -> None:
        """Release a slot."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


class MemoryCounters:
    """Counters of this process. One number a name: a past window is not needed."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], tuple[int, int]] = {}
        self._places: dict[str, set[str]] = {}

    async def take(self, asks: Sequence[Ask], ticket: str) -> Taken:
        """See `Counters`. Atomic, because nothing is awaited between check and update."""
        now = time.time()
        used = [self._used(ask, now) for ask in asks]
        refused = next((i for i, ask in enumerate(asks) if used[i] + ask.amount > ask.limit), None)
        if refused is not None:
            return Taken(now, refused, used)
        for ask, before in zip(asks, used, strict=True):
            if ask.window_s:
                self._counts[ask.name, ask.window_s] = int(now // ask.window_s), before + ask.amount
            elif ask.amount:
                self._places.setdefault(ask.name, set()).add(ticket)
        return Taken(now, None, [before + ask.amount for ask, before in zip(asks, used, strict=True)])

    def _used(self, ask: Ask, now: float) -> int:
        if not ask.window_s:
            return len(self._places.get(ask.name, ()))
        window, count = self._counts.get((ask.name, ask.window_s), (-1, 0))
        return count if window == int(now // ask.window_s) else 0

    async def add(self, name: str, amount: int, window_s: int, at: float) -> None:
        """See `Counters`. Past windows are ignored."""
        wanted = int(at // window_s)
        window, count = self._counts.get((name, window_s), (wanted, 0))
        if window == wanted:
            self._counts[name, window_s] = window, count + amount

    async def leave(self, name: str, ticket: str) -> None:
        """See `Counters`."""
        places = self._places.get(name, set())
        places.discard(ticket)
        if not places:
            self._places.pop(name, None)

    async def aclose(self) -> None:
        """Nothing to close."""


_TAKE = """
local now, lease, ticket = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local used, refused = {}, 0
for i, key in ipairs(KEYS) do
  local amount, limit, keep = tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2]), tonumber(ARGV[3 * i + 3])
  if keep == 0 then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    used[i] = redis.call('ZCARD', key)
  else
    used[i] = tonumber(redis.call('GET', key) or '0')
  end
  if refused == 0 and used[i] + amount > limit then refused = i end
end
if refused > 0 then return {refused, unpack(used)} end
for i, key in ipairs(KEYS) do
  local amount, keep = tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 3])
  if amount > 0 and keep == 0 then
    redis.call('ZADD', key, now + lease, ticket)
    redis.call('PEXPIRE', key, lease)
  elseif amount > 0 then
    redis.call('INCRBY', key, amount)
    redis.call('PEXPIRE', key, keep)
  end
  used[i] = used[i] + amount
end
return {0, unpack(used)}
"""
"""Script that checks all counts and takes all or nothing, atomically on the server."""


class RedisCounters:
    """Counters shared by all processes that use one server, under "hedgerow:count:<name>:<window>".

    While the server does not answer, or refuses, nothing is refused: limits protect models from overuse and must not make them unavailable.
    `checked` is told.

    Raises:
        ConfigError: the client library is not installed, or the address is not valid.
    """

    def __init__(self, url: str, checked: Checked = lambda _check, _why: None) -> None:
        self._redis = SharedRedis("access.counting", url)
        self._checked = partial(checked, "limits")
        self._take: Any = self._redis.client.register_script(_TAKE)
        self._owed: deque[tuple[str, str]] = deque()

    async def take(self, asks: Sequence[Ask], ticket: str) -> Taken:
        """See `Counters`."""
        await self._give_back()
        now = time.time()
        names = [_place(ask.name, ask.window_s, now) for ask in asks]
        arguments: list[Any] = [round(now * 1000), LEASE_S * 1000, ticket]
        for ask in asks:
            arguments += [ask.amount, ask.limit, 2000 * ask.window_s]
        try:
            answer = await self._redis.ask(self._take, names, arguments)
        except StoreError as error:
            self._checked(str(error))
            return Taken(now, None, [0] * len(asks))
        self._checked(None)
        return Taken(now, answer[0] - 1 if answer[0] else None, answer[1:])

    async def add(self, name: str, amount: int, window_s: int, at: float) -> None:
        """See `Counters`."""
        place = _place(name, window_s, at)
        await self._ask(self._redis.client.incrby, place, amount)
        await self._ask(self._redis.client.pexpire, place, 2000 * window_s)

    async def leave(self, name: str, ticket: str) -> None:
        """See `Counters`."""
        if len(self._owed) < MOST_OWED:
            self._owed.append((_place(name, 0, 0.0), ticket))
        await self._give_back()

    async def _give_back(self) -> None:
        """Release slots. What the server does not receive now is sent with the next request."""
        while self._owed:
            place, ticket = self._owed.popleft()
            if await self._ask(self._redis.client.zrem, place, ticket) is None:
                self._owed.appendleft((place, ticket))
                return

    async def _ask(self, command: Any, *arguments: Any) -> Any:
        """The server's answer; None if it does not answer, or did not a moment ago."""
        try:
            return await self._redis.ask(command, *arguments)
        except StoreError:
            return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


def _place(name: str, window_s: int, at: float) -> str:
    return f"hedgerow:count:{name}:{int(at // window_s) if window_s else 'places'}"


def open_counters(settings: Counting, checked: Checked) -> Counters:
    """Counters as configured.

    Raises:
        ConfigError: the client library is not installed, or the address is not valid.
    """
    return (
        MemoryCounters() if settings.url is None or settings.store == "memory" else RedisCounters(settings.url, checked)
    )
