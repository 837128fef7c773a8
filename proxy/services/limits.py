"""The limits of named keys: requests and tokens in a minute of the clock, and requests in flight at once.

Requests and places are counted before a request is looked at, exactly. What its tokens will be nobody knows by then: they are estimated and set aside,
and what was really spent takes the place of the estimate when it is known, in the minute in which the request came.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import anyio

from hedgerow.proxy.errors import RateLimited
from hedgerow.proxy.monitoring.metrics import Metrics
from hedgerow.proxy.services.counting import Ask, Counters, Taken
from hedgerow.proxy.types import BYTES_A_TOKEN, Key

MINUTE = 60
FIRST_GUESS = 1000
"""Tokens that an answer of a key is taken to need before one was seen."""
FORGETTING = 0.9
"""How fast the memory of a dear answer fades, with each that comes after it."""

Header = tuple[bytes, bytes]


class Visit:
    """A request within the limits of its key.

    Attributes:
        headers: of the answer, which say what is left of the limits.
    """

    def __init__(self, headers: Sequence[Header] = (), give_back: Callable[[], Awaitable[None]] | None = None) -> None:
        self.headers = headers
        self._give_back = give_back

    async def leave(self) -> None:
        """Give its place back, once. Done before the last byte of the answer is sent: a client that waits for it may ask again at once."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            with anyio.CancelScope(shield=True):
                await give_back()


class Limits:
    """What requests of named keys may still use, in a process."""

    def __init__(self, counters: Counters, metrics: Metrics) -> None:
        self._counters, self._metrics = counters, metrics
        self._set_aside: dict[str, tuple[float, int]] = {}
        self._usual: dict[str, int] = {}

    async def enter(self, key: Key, ticket: str) -> Visit:
        """Count a request, and take a place for it.

        Raises:
            RateLimited: a limit is used up.
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
        """Set the tokens aside that a request of so many bytes, for so many answers, is taken to need; the headers that tell of it.

        Raises:
            RateLimited: there are not as many left in this minute. A fresh minute has room for any one request.
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

    async def settle(self, key: Key, ticket: str, tokens: int) -> None:
        """Count what a request has really spent; one that nothing was set aside for is not counted."""
        if (held := self._set_aside.pop(ticket, None)) is None:
            return
        at, amount = held
        if tokens:
            self._usual[key.name] = max(tokens, round(FORGETTING * self._usual.get(key.name, 0)))
        await self._counters.add(_name(key, "tokens"), tokens - amount, MINUTE, at)

    def _refusal(self, key: Key, kind: str, asks: list[Ask], taken: Taken) -> RateLimited:
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
    """The headers that OpenAI's clients and its own servers know."""
    figures = {"limit": str(limit), "remaining": str(max(0, limit - used)), "reset": f"{_resets_in(taken)}s"}
    return [(f"x-ratelimit-{name}-{kind}".encode(), value.encode()) for name, value in figures.items()]
