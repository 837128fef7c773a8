"""The limits of named keys: requests and tokens in a clock minute, and concurrent requests.

Requests and slots are counted exactly, before a request is processed. Its tokens are not known then: an estimate is reserved and replaced
by the actual usage once that is known, in the minute of the request.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import anyio

from ..errors import RateLimited
from ..monitoring.metrics import Metrics
from ..types import BYTES_A_TOKEN, Key
from .counting import Ask, Counters, Taken

MINUTE = 60
FIRST_GUESS = 1000
"""Estimated tokens of an answer before the first answer for a key."""
FORGETTING = 0.9
"""Factor by which the estimate falls with each cheaper answer."""

Header = tuple[bytes, bytes]


class Visit:
    """A request that was admitted under the limits of its key.

    Attributes:
        headers: headers of the answer with the remaining limits.
    """

    def __init__(self, headers: Sequence[Header] = (), give_back: Callable[[], Awaitable[None]] | None = None) -> None:
        self.headers = headers
        self._give_back = give_back

    async def leave(self) -> None:
        """Release its slot, once. Called before the last byte of the answer is sent, so that the client can send its next request at once."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            with anyio.CancelScope(shield=True):
                await give_back()


class Limits:
    """The limits of named keys in one process."""

    def __init__(self, counters: Counters, metrics: Metrics) -> None:
        self._counters, self._metrics = counters, metrics
        self._set_aside: dict[str, tuple[float, int]] = {}
        self._usual: dict[str, int] = {}

    async def enter(self, key: Key, ticket: str) -> Visit:
        """Count a request and take a slot for it.

        Raises:
            RateLimited: a limit is exhausted.
        """
        asks = []
        if (limit := key.requests_per_minute) is not None:
            asks.append(Ask(_name(key, "requests"), 1, limit, MINUTE))
        if key.concurrency is not None:
            asks.append(Ask(_name(key, "concurrency"), 1, key.concurrency, 0))
        if not asks:
            return Visit()
        taken = await self._counters.take(asks, ticket)
        if taken.refused is not None:
            raise self._refusal(key, "requests" if asks[taken.refused].window_s else "concurrency", asks, taken)
        give_back = None if key.concurrency is None else partial(self._counters.leave, asks[-1].name, ticket)
        return Visit(_headers("requests", limit, taken.used[0], taken) if limit is not None else [], give_back)

    async def set_aside(self, key: Key, ticket: str, size: int, answers: int) -> list[Header]:
        """Reserve the estimated tokens of a request, from its size in bytes and number of answers. Returns the headers with the rest.

        Raises:
            RateLimited: not enough tokens are left in this minute. At the start of a minute any one request is admitted.
        """
        if (limit := key.tokens_per_minute) is None:
            return []
        guess = self._usual.get(key.name, FIRST_GUESS * answers)
        amount = min(max(guess, size // BYTES_A_TOKEN), limit)
        asks = [Ask(_name(key, "tokens"), amount, limit, MINUTE)]
        taken = await self._counters.take(asks, ticket)
        if taken.refused is not None:
            raise self._refusal(key, "tokens", asks, taken)
        self._set_aside[ticket] = taken.at, amount
        return _headers("tokens", limit, taken.used[0], taken)

    async def spend(self, key: Key, ticket: str, tokens: int) -> None:
        """Count tokens as a request uses them that has no end in sight; the first of them replace its reservation.

        Raises:
            RateLimited: they are more than were left in this minute.
        """
        if ticket in self._set_aside:
            await self.settle(key, ticket, tokens)
        elif (limit := key.tokens_per_minute) is not None and tokens:
            asks = [Ask(_name(key, "tokens"), tokens, limit, MINUTE)]
            taken = await self._counters.take(asks, ticket)
            if taken.refused is not None:
                await self._counters.add(asks[0].name, tokens, MINUTE, taken.at)  # they are spent
                raise self._refusal(key, "tokens", asks, taken)

    async def settle(self, key: Key, ticket: str, tokens: int, *, is_known: bool = True) -> None:
        """Replace the reservation by the actual usage, of which it is the least if not all is known. A request without a reservation is not counted."""
        if (held := self._set_aside.pop(ticket, None)) is None:
            return
        at, amount = held
        tokens = tokens if is_known else max(tokens, amount)
        if tokens and (is_known or tokens > amount):
            self._usual[key.name] = max(tokens, round(FORGETTING * self._usual.get(key.name, 0)))
        await self._counters.add(_name(key, "tokens"), tokens - amount, MINUTE, at)

    def _refusal(self, key: Key, kind: str, asks: list[Ask], taken: Taken) -> RateLimited:
        with self._metrics.spared():
            self._metrics.key_refusals.labels(key.name, key.team or "", kind).inc()
        ask = next(a for a in asks if a.name == _name(key, kind))
        if kind == "concurrency":
            message = f"the key {key.name!r} has {ask.limit} requests in flight, which is all it may have at once"
            return RateLimited(message, kind=kind, retry_after_s=1.0)
        wait = _resets_in(taken)
        message = f"the key {key.name!r} may use {ask.limit} {kind} a minute; the next minute begins in {wait} s"
        error = RateLimited(message, kind=kind, retry_after_s=wait)
        error.headers = _headers(kind, ask.limit, taken.used[asks.index(ask)], taken)
        return error


def _name(key: Key, kind: str) -> str:
    return f"key:{key.name}:{kind}"


def _resets_in(taken: Taken) -> int:
    """Whole seconds until the next minute, at least one."""
    return max(1, math.ceil(MINUTE - taken.at % MINUTE))


def _headers(kind: str, limit: int, used: int, taken: Taken) -> list[Header]:
    """Rate limit headers as OpenAI's API sends them."""
    figures = {"limit": str(limit), "remaining": str(max(0, limit - used)), "reset": f"{_resets_in(taken)}s"}
    return [(f"x-ratelimit-{name}-{kind}".encode(), value.encode()) for name, value in figures.items()]
