"""What the operator sees: one structured line a request, and counters.

Lines hold codes and figures, never a user's text; a processor takes out whatever looks like a key.
"""

from __future__ import annotations

import atexit
import logging
import re
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import orjson
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from proxy.config import Log

if TYPE_CHECKING:
    from proxy.operating.drift import RouteHealth

_KEY = re.compile(r"\b(?:sk-|hf_|xox[bp]-|AIza)[\w-]{6,}|\bBearer\s+\S+", re.IGNORECASE)
_REDACTED = "[redacted]"
GATHER_S = 0.05
"""Longest that a log line waits to be written."""


def redact(_logger: Any, _method: str, line: dict[str, Any]) -> dict[str, Any]:
    """Take keys out of every string of a line; exceptions may quote what they choked on."""
    return {name: _KEY.sub(_REDACTED, value) if isinstance(value, str) else value for name, value in line.items()}


def set_up_logging(settings: Log) -> None:
    """Configure structlog: JSON lines on standard error, or coloured ones on a terminal."""
    json = settings.format == "json" or (settings.format == "auto" and not sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if json:
        finish: list[Any] = [
            structlog.processors.format_exc_info,
            redact,
            structlog.processors.JSONRenderer(orjson.dumps),
        ]
        factory: Any = structlog.BytesLoggerFactory(cast(BinaryIO, _Gathered(sys.stderr.buffer)))
    else:
        finish = [redact, structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        factory = structlog.WriteLoggerFactory(sys.stderr)
    structlog.configure(
        processors=shared + finish,
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, settings.level.upper())),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )


class _Gathered:
    """Lines are gathered for a moment and written by a thread of their own.

    A write to a terminal or a full pipe may block, and must not block the event loop. What is gathered is written at the exit.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lines: deque[bytes] = deque()
        self._some = threading.Event()
        atexit.register(self._write)
        threading.Thread(target=self._write_all, name="log-writer", daemon=True).start()

    def write(self, data: bytes) -> int:
        """Keep a line for the writer."""
        self._lines.append(data)
        if not self._some.is_set():
            self._some.set()
        return len(data)

    def flush(self) -> None:
        """Nothing: the writer flushes."""

    def _write_all(self) -> None:
        while True:
            self._some.wait()
            time.sleep(GATHER_S)
            self._some.clear()
            self._write()

    def _write(self) -> None:
        while self._lines:
            self._out.write(self._lines.popleft())
        self._out.flush()


class Metrics:
    """Counters of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "hedgerow_requests",
            "Requests by what became of them.",
            ("route", "mode", "status", "reason"),
            registry=self.registry,
        )
        self.step_seconds = Histogram(
            "hedgerow_step_seconds",
            "Time of one step of the pipeline.",
            ("route", "step"),
            buckets=(0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60),
            registry=self.registry,
        )
        self.tokens = Counter(
            "hedgerow_tokens", "Tokens spent, by purpose.", ("route", "purpose"), registry=self.registry
        )
        self.refused_rewrites = Counter(
            "hedgerow_refused_rewrites",
            "Rewrites that the guard or a rewriter refused.",
            ("route", "attempt"),
            registry=self.registry,
        )
        self.audit_rows_lost = Counter(
            "hedgerow_audit_rows_lost", "Audit rows that could not be written.", registry=self.registry
        )
        self.verdicts = Counter("hedgerow_verdicts", "Verdicts told.", ("route", "kind"), registry=self.registry)
        self.ungraded = Counter(
            "hedgerow_ungraded_answers",
            "Answers chosen for the grader that got no verdict from it.",
            ("route",),
            registry=self.registry,
        )
        self._health = {name: self._gauge(name, text) for name, text in _HEALTH.items()}
        self._alarm = Gauge(
            "hedgerow_drift_alarm", "1 while an alarm stands.", ("route", "kind"), registry=self.registry
        )

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"hedgerow_{name}", text, ("route",), registry=self.registry)

    def tell_health(self, health: RouteHealth) -> None:
        """What the drift watcher found of one route; a figure that it has no data for is absent."""
        values = {
            "route_yellow": float(health.status == "yellow"),
            "map_age_seconds": health.map_age_s,
            "smooth_ece": health.smooth_ece,
            "faithfulness_divergence_nats": health.fd,
            "drift_evidence": health.evidence,
            "input_shift": health.input_shift,
        }
        for name, value in values.items():
            if value is not None:
                self._health[name].labels(health.route).set(value)
            else:
                self._health[name].remove_by_labels({"route": health.route})
        for kind in DRIFT_ALARMS:
            self._alarm.labels(health.route, kind).set(kind in health.alarms)


DRIFT_ALARMS = ("outcomes", "inputs")
_HEALTH = {
    "route_yellow": "1 where the route's map is alarmed, stale or passed over.",
    "map_age_seconds": "Age of the route's calibration map.",
    "smooth_ece": "Smooth calibration error of the last verdicts, 0..1.",
    "faithfulness_divergence_nats": "Mean Faithfulness Divergence of the last verdicts.",
    "drift_evidence": "ln of the e-process against the map; 4.6 is odds of 100 to 1.",
    "input_shift": "1-Wasserstein distance of raw confidences from those of the fit, 0..1.",
}
