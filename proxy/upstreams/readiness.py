"""Whether the editors of a process can be relied on: what each model replied so far, and which are not asked for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import structlog

from ..errors import StepFailed
from ..outcomes import Reason
from ..supervision import Checked

log = structlog.get_logger(__name__)

Key = tuple[str, str]
"""An upstream and a model of it."""
State = Literal["unknown", "ready", "off"]
MOST_FAILURES = 3
"""Failures in a row after which a model that has been ready is not asked any more."""
REST_S = 600.0
"""Seconds for which a model is not asked whose replies cannot be read; then one request tries it."""
SHORT_REST_S = 30.0
"""The same for one that does not reply, or not in time."""
UNREADABLE = (Reason.EDITOR_NONSENSE, Reason.EDITOR_TOO_LONG)
_MOST_MODELS = 1_000


@dataclass(slots=True)
class _Known:
    """What is known of one model.

    Attributes:
        proven: whether its last reply could be read; one that is not proven is tried by one request at a time.
        failures: in a row.
        rests_until: on the clock; until then it is not asked.
        reason: why it is off; None if it is not.
        is_plain: whether it refuses `temperature` and `max_tokens`.
        counted_on: whether it has replied as asked before, or is trusted to.
    """

    proven: bool = False
    failures: int = 0
    rests_until: float = 0.0
    reason: str | None = None
    is_plain: bool = False
    counted_on: bool = False


class Readiness:
    """The editors of one process, on one event loop; it outlives changes of the configuration.

    Args:
        clock: in seconds.
        checked: told of models that are to edit, and did or are trusted to, but are off.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        checked: Checked = lambda _check, _why: None,
    ) -> None:
        self._models: dict[Key, _Known] = {}
        self._clock, self._checked = clock, checked

    def admits(self, key: Key) -> bool:
        """Whether the model may be asked now."""
        return self._clock() >= self._of(key).rests_until

    def state(self, key: Key) -> State:
        """What is known of the model: nothing, that it replies as asked, or that it does not."""
        known = self._of(key)
        return "off" if known.reason is not None else "ready" if known.proven else "unknown"

    def is_plain(self, key: Key) -> bool:
        """Whether the model is asked without `temperature` and `max_tokens`."""
        return self._of(key).is_plain

    def learn_plain(self, key: Key) -> None:
        """Ask the model without `temperature` and `max_tokens` from now on."""
        self._of(key).is_plain = True

    def begin(self, key: Key, limit_s: float, *, is_trusted: bool = False) -> None:
        """The model is asked; one that is neither proven nor trusted by this request alone, until it replies or `limit_s` is over."""
        known = self._of(key)
        known.proven |= is_trusted and known.reason is None
        known.counted_on |= is_trusted
        if not known.proven:
            known.rests_until = self._clock() + limit_s

    def gave_up(self, key: Key) -> None:
        """The call ended for a reason that says nothing of the model (the client left)."""
        known = self._of(key)
        if not known.proven:
            known.rests_until = 0.0

    def succeeded(self, key: Key) -> None:
        """The reply could be read."""
        known = self._of(key)
        known.proven, known.failures, known.rests_until, known.reason = True, 0, 0.0, None
        known.counted_on = True
        self._checked(f"editor:{key[0]}", None)

    def failed(self, key: Key, failure: StepFailed) -> None:
        """No reply came in time, or it could not be read."""
        known = self._of(key)
        known.failures += 1
        if not known.proven or known.failures >= MOST_FAILURES:
            self.rest(key, failure.detail or failure.reason, REST_S if failure.reason in UNREADABLE else SHORT_REST_S)

    def rest(self, key: Key, reason: str, for_s: float = REST_S) -> None:
        """Do not ask the model for a while."""
        known = self._of(key)
        if known.counted_on:
            self._checked(f"editor:{key[0]}", f"{key[1]}: {reason}")
        elif known.reason is None:
            log.warning("editor_off", upstream=key[0], model=key[1], reason=reason)
        known.proven, known.rests_until, known.reason = False, self._clock() + for_s, reason

    def _of(self, key: Key) -> _Known:
        known = self._models.get(key)
        if known is None:
            if len(self._models) >= _MOST_MODELS:  # clients name models; the oldest is forgotten
                del self._models[next(iter(self._models))]
            known = self._models[key] = _Known()
        return known
