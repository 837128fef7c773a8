"""Counters of spending: in the audit's database, or in Redis if that also counts the use of keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

import anyio.to_thread

from ..audit import budgets
from ..audit.budgets import FORGETTING, LEASE_S, Ask, Spent, Standing, Taken
from ..audit.store import AuditStore
from ..config.redis import SharedRedis
from ..config.settings import Counting
from ..errors import StoreError

TIMEOUT_S = 2.0
"""Seconds that a request waits for its budgets to be read."""
KEPT_S = 2 * 86_400
"""Redis: seconds for which a day's count is kept."""


class Spending(Protocol):
    """Counters of daily spending, shared by several processes."""

    async def take(self, ticket: str, asks: Sequence[Ask], day: str) -> Taken:
        """See `budgets.take`. If this fails or is cancelled, a reservation may remain; it expires after `LEASE_S`.

        Raises:
            StoreError: it cannot be counted just now.
        """
        ...

    async def settle(self, spent: Sequence[Spent]) -> None:
        """See `budgets.settle`.

        Raises:
            StoreError: it cannot be counted just now.
        """
        ...

    async def standing(self, names: Sequence[str], day: str) -> list[Standing]:
        """See `budgets.standing`.

        Raises:
            StoreError: it cannot be read just now.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


class AuditSpending:
    """Counters in the audit's database. One transaction at a time, because they would only wait for each other."""

    def __init__(self, store: AuditStore) -> None:
        self._store, self._holder = store, uuid4().hex
        self._turn = asyncio.Lock()

    async def take(self, ticket: str, asks: Sequence[Ask], day: str) -> Taken:
        """See `Spending`."""
        if self._store.down:
            raise StoreError("The audit store is down.")
        counting = partial(budgets.take, self._store.engine, ticket, asks, day)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._turn.acquire()
                taking = asyncio.ensure_future(anyio.to_thread.run_sync(counting))
                taking.add_done_callback(self._end_turn)
                return await asyncio.shield(
                    taking
                )  # a database that stands still keeps its turn, and nobody else waits
        except TimeoutError as error:
            raise StoreError("The audit store is too slow to count in.") from error

    def _end_turn(self, taken: asyncio.Future[Taken]) -> None:
        self._turn.release()
        if not taken.cancelled():
            taken.exception()  # its request was told, or has given up

    async def settle(self, spent: Sequence[Spent]) -> None:
        """See `Spending`."""
        async with self._turn:
            await anyio.to_thread.run_sync(budgets.settle, self._store.engine, self._holder, spent)

    async def standing(self, names: Sequence[str], day: str) -> list[Standing]:
        """See `Spending`."""
        return await anyio.to_thread.run_sync(budgets.standing, self._store.engine, names, day)

    async def aclose(self) -> None:
        """Nothing to close: the store is closed by its owner."""


_TAKE = """
local now, lease, keep, ticket = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local used, amounts, refused = {}, {}, 0
for i, key in ipairs(KEYS) do
  local guess, least, limit = tonumber(ARGV[3 * i + 2]), tonumber(ARGV[3 * i + 3]), ARGV[3 * i + 4]
  local spent, all, largest = 0, redis.call('HGETALL', key), 0
  local holds, since = {}, {}
  for n = 1, #all, 2 do
    local kind, name, value = string.sub(all[n], 1, 1), string.sub(all[n], 2), tonumber(all[n + 1])
    if kind == 'u' then spent = spent + value elseif kind == 'l' then largest = value
    elseif kind == 'h' then holds[name] = value elseif kind == 's' then since[name] = value end
  end
  local now_held = 0
  for name, value in pairs(holds) do if (since[name] or 0) > now - lease then now_held = now_held + value end end
  amounts[i] = math.max(least, largest > 0 and largest or guess)
  used[i] = string.format('%.17g', spent + now_held)
  local fits = limit == '' or spent + now_held + amounts[i] <= tonumber(limit) or (largest == 0 and now_held <= 0 and spent + least <= tonumber(limit))
  if refused == 0 and not fits then refused = i end
end
if refused == 0 then
  for i, key in ipairs(KEYS) do
    redis.call('HSET', key, 'h' .. ticket, amounts[i], 's' .. ticket, now)
    redis.call('EXPIRE', key, keep)
  end
end
for i, amount in ipairs(amounts) do amounts[i] = string.format('%.17g', amount) end
return {refused, used, amounts}
"""
_SETTLE = """
local keep, holder, forgetting = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
for i, key in ipairs(KEYS) do
  local ticket, spent, total, passed = ARGV[4 * i], tonumber(ARGV[4 * i + 1]), tonumber(ARGV[4 * i + 2]), ARGV[4 * i + 3] == '1'
  if ticket ~= '' then redis.call('HDEL', key, 'h' .. ticket, 's' .. ticket) end
  local counted = tonumber(redis.call('HGET', key, 'u' .. holder) or '0')
  redis.call('HSET', key, 'u' .. holder, math.max(counted, total))
  local largest = tonumber(redis.call('HGET', key, 'l') or '0')
  if spent > 0 and not passed then redis.call('HSET', key, 'l', math.max(spent, forgetting * largest)) end
  redis.call('EXPIRE', key, keep)
end
"""
"""Scripts for the same steps as in the database, each atomic. A script whose answer is late may have been executed."""


class RedisSpending:
    """In Redis under "hedgerow:spent:<name>:<day>": u is what a process has used, l the dearest request, h and s what a request holds and since when.

    Raises:
        ConfigError: the client library is not installed, or the address is not valid.
    """

    def __init__(self, url: str) -> None:
        self._redis = SharedRedis("access.counting", url, rests=False)
        self._take: Any = self._redis.client.register_script(_TAKE)
        self._settle: Any = self._redis.client.register_script(_SETTLE)
        self._holder = uuid4().hex

    async def take(self, ticket: str, asks: Sequence[Ask], day: str) -> Taken:
        """See `Spending`."""
        arguments: list[Any] = [time.time(), LEASE_S, KEPT_S, ticket]
        for ask in asks:
            arguments += [ask.guess, ask.least, "" if ask.limit is None else ask.limit]
        refused, used, held = await self._redis.ask(self._take, [_place(ask.name, day) for ask in asks], arguments)
        before, amounts = ([float(value) for value in values] for values in (used, held))
        return Taken(before, refused=refused - 1) if refused else Taken(before, amounts)

    async def settle(self, spent: Sequence[Spent]) -> None:
        """See `Spending`."""
        arguments: list[Any] = [KEPT_S, self._holder, FORGETTING]
        for one in spent:
            arguments += [one.ticket, one.spent, one.total, int(one.passed)]
        await self._redis.ask(self._settle, [_place(one.name, one.day) for one in spent], arguments)

    async def standing(self, names: Sequence[str], day: str) -> list[Standing]:
        """See `Spending`."""
        return [_read(await self._redis.ask(self._redis.client.hgetall, _place(name, day))) for name in names]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


def _read(kept: Mapping[bytes, bytes]) -> Standing:
    """Parse a stored counter: the first letter of a field is its kind, the rest names the process or the request."""
    values = {name.decode(): float(value) for name, value in kept.items()}
    since = time.time() - LEASE_S
    held = (value for name, value in values.items() if name[0] == "h" and values.get("s" + name[1:], 0.0) > since)
    used = (value for name, value in values.items() if name[0] == "u")
    return Standing(sum(used), sum(held), values.get("l", 0.0))


def _place(name: str, day: str) -> str:
    return f"hedgerow:spent:{name}:{day}"


def open_spending(settings: Counting, store: AuditStore) -> Spending:
    """Open the counters: in Redis if it counts the use of keys, else in the audit.

    Raises:
        ConfigError: the client library is not installed, or the address is not valid.
    """
    return AuditSpending(store) if settings.store != "redis" or settings.url is None else RedisSpending(settings.url)
