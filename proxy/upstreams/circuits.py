"""The state of an upstream: each call's outcome, a circuit that opens after consecutive failures, and whether it answers at all.

Closed: requests go there. Open: a group calls others during the cool-down. Half-open: one request is let through as a test; success closes the
circuit, failure opens it again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal

import structlog

from ..config import CircuitSettings as Settings
from ..errors import Overloaded, ProxyError, UpstreamError, UpstreamRejected
from ..protocols import Call, RawCall, Relay, Upstream
from ..types import Json

log = structlog.get_logger(__name__)

State = Literal["closed", "open", "half-open"]
LONGEST_REST_S = 60.0
"""Longest `Retry-After` in seconds that a group respects."""
PROBE_EVERY_S = 5.0
"""Seconds between two probes of an upstream that is not known to answer."""
PROBE_TIMEOUT_S = 2.0
"""Timeout of a probe in seconds."""
OF_THE_KEY = (401, 402, 403)
"""Statuses about the key: if it is the client's, another upstream would answer the same."""
NOBODY_THERE = (502, 503, 504)
"""Statuses by which a gateway reports that its server does not answer."""
FORBIDDEN = 403
"""Some providers refuse a single question with this status: another upstream may answer, and this one is not at fault."""
PASSING = (408, 429)
"""Statuses below 500 that do not mean a fault of the request."""


class CallCounter:
    """Counts outcomes of calls; this base class counts nothing, for commands."""

    def call(self, upstream: str, outcome: str) -> None:
        """A call has ended: "ok", a class of statuses, or the code of an error."""

    def circuit(self, upstream: str, *, is_open: bool) -> None:
        """The circuit has opened, or is closed again."""

    def moved(self, upstream: str) -> None:
        """An answer was moved from this upstream to another one of its group."""


class Circuit:
    """The circuit of one upstream, on a clock in seconds."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._failures = 0
        self._is_open = False
        self._closed_until_trial = 0.0

    @property
    def state(self) -> State:
        """The present state."""
        if not self._is_open:
            return "closed"
        return "open" if self._clock() < self._closed_until_trial else "half-open"

    @property
    def admits(self) -> bool:
        """Whether a request may be sent now."""
        return not self._is_open or self._clock() >= self._closed_until_trial

    def take(self) -> None:
        """Record that a request is sent; in a half-open circuit it is the test, for as long as a cool-down."""
        if self._is_open:
            self._closed_until_trial = self._clock() + self._settings.cool_down_s

    def succeeded(self) -> bool:
        """Record a successful call; True if it closes the circuit."""
        was_open, self._is_open, self._failures = self._is_open, False, 0
        return was_open

    def failed(self, rest_s: float | None = None) -> bool:
        """Record a failed call, or a `Retry-After`; True if it opens the circuit."""
        self._failures += 1
        if rest_s is None and not self._is_open and self._failures < self._settings.failures:
            return False
        was_open, self._is_open = self._is_open, True
        rest = max(self._settings.cool_down_s, min(rest_s or 0.0, LONGEST_REST_S))
        self._closed_until_trial = max(self._closed_until_trial, self._clock() + rest)
        return not was_open


class WatchedUpstream:
    """An upstream whose calls update its circuit and counters.

    Attributes:
        name: its name in the configuration.
        circuit: its circuit.
    """

    def __init__(self, name: str, inner: Upstream, settings: object, counter: CallCounter | None = None) -> None:
        self.name, self._inner = name, inner
        self.counter = counter or CallCounter()
        self.circuit = Circuit(getattr(settings, "circuit", Settings()))
        self._has_key = getattr(settings, "api_key", None) is not None
        self._answers: bool | None = None
        self._probed_at = -PROBE_EVERY_S
        self.honours_n = inner.honours_n
        self.counter.circuit(name, is_open=False)

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        try:
            answer = await self._inner.complete(call)
        except ProxyError as error:
            self.failed(error)
            raise
        self.answered(200)
        return answer

    def relay(self, call: RawCall) -> AbstractAsyncContextManager[Relay]:
        """See `Upstream`."""
        return _WatchedRelay(self, self._inner.relay(call))

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        return await self._inner.models(headers, query)

    async def aclose(self) -> None:
        """See `Upstream`."""
        await self._inner.aclose()

    def moves_on(self, error: ProxyError) -> bool:
        """Whether another upstream may answer after this error."""
        if isinstance(error, UpstreamRejected):
            return self.moves_on_from(error.status)
        return isinstance(error, UpstreamError | Overloaded)

    def moves_on_from(self, status: int) -> bool:
        """Whether another upstream may answer after this status."""
        return status >= 500 or status in PASSING or (self._has_key and status in OF_THE_KEY)

    def is_at_fault(self, status: int) -> bool:
        """Whether a status is a fault of the upstream. A rate limit on a client's own key is not."""
        if status < 400:
            return False
        if status == 429:
            return self._has_key
        return status != FORBIDDEN and self.moves_on_from(status)

    async def answers(self) -> bool:
        """Whether the upstream answers at all, by its last calls; if none has succeeded, by a periodic request for its models."""
        now = time.monotonic()
        if (self._answers is None or self.circuit.state != "closed") and now - self._probed_at >= PROBE_EVERY_S:
            self._probed_at = now
            self._answers = await self._probe()
        return self._answers is not False

    async def _probe(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                await self._inner.models({})
        except UpstreamRejected as error:  # it requires a key, or lists no models: that is an answer
            return error.status not in NOBODY_THERE
        except (ProxyError, TimeoutError):
            return False
        return True

    def answered(self, status: int, retry_after: str | None = None) -> None:
        """Record that a call was answered, whatever the answer."""
        if self.is_at_fault(status):
            return self._went_wrong(_outcome(status), _seconds(retry_after) if status == 429 else None)
        self._answers = True
        self.counter.call(self.name, _outcome(status))
        if self.circuit.succeeded():
            log.info("upstream_circuit_closed", upstream=self.name)
            self.counter.circuit(self.name, is_open=False)
        return None

    def failed(self, error: ProxyError) -> None:
        """Record that a call was not answered."""
        if isinstance(error, UpstreamRejected):
            self.answered(error.status, error.retry_after)
        elif isinstance(error, UpstreamError):
            self._went_wrong(error.code, cause=error.cause)
        else:  # a full queue, or a request that this upstream cannot serve: neither success nor failure
            self.counter.call(self.name, error.code)

    def _went_wrong(self, outcome: str, rest_s: float | None = None, cause: str | None = None) -> None:
        self.counter.call(self.name, outcome)
        if self.circuit.failed(rest_s):
            log.warning("upstream_circuit_open", upstream=self.name, outcome=outcome, cause=cause)
            self.counter.circuit(self.name, is_open=True)


class _WatchedRelay:
    """A relayed answer whose outcome is recorded."""

    def __init__(self, watched: WatchedUpstream, inner: AbstractAsyncContextManager[Relay]) -> None:
        self._watched, self._inner = watched, inner

    async def __aenter__(self) -> Relay:
        try:
            self._reply = await self._inner.__aenter__()
        except UpstreamError as error:
            self._watched.failed(error)
            raise
        return self._reply

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        try:
            await self._inner.__aexit__(kind, error, trace)
        except UpstreamError as failure:
            self._watched.failed(failure)
            raise
        if isinstance(error, UpstreamError):
            self._watched.failed(error)
        elif error is None:
            self._watched.answered(self._reply.status, _retry_after(self._reply))


def _retry_after(reply: Relay) -> str | None:
    """The `Retry-After` of an answer; only of one that refuses."""
    if reply.status < 400:
        return None
    after = next((value for name, value in reply.headers if name.lower() == b"retry-after"), None)
    return None if after is None else after.decode("latin-1")


def _outcome(status: int) -> str:
    """The class of a status as a word."""
    if status < 400:
        return "ok"
    return "status_429" if status == 429 else f"status_{status // 100}xx"


def _seconds(retry_after: str | None) -> float | None:
    """The seconds of a `Retry-After`; None without one."""
    try:
        return max(0.0, float(retry_after or ""))
    except ValueError:
        return None
