"""What the operator sees: one structured line a request, and counters.

Lines hold codes and figures, never a user's text; processors take out the messages of exceptions, and whatever looks like a key.
"""

from __future__ import annotations

import atexit
import logging
import re
import sys
import threading
import time
import traceback
from collections import deque
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

import orjson
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from hedgerow.proxy.config import Log

if TYPE_CHECKING:
    from hedgerow.proxy.audit.store import AuditStore
    from hedgerow.proxy.monitoring.drift import RouteHealth

_KEY = re.compile(rb"\b(?:sk-|hf_|xox[bp]-|AIza)[\w-]{6,}|\bBearer\s+[^\s\"\\]+", re.IGNORECASE)
_REDACTED = b"[redacted]"
CAUSES = 5
"""How many exceptions of a chain are told."""
GATHER_S = 0.05
"""Longest that a log line waits to be written."""


def redact(_logger: Any, _method: str, line: Any) -> Any:
    """Take keys out of a rendered line: an address may hold one. Once a line, not once a value."""
    if isinstance(line, str):
        return _KEY.sub(_REDACTED, line.encode(errors="replace")).decode(errors="replace")
    return _KEY.sub(_REDACTED, line)


def without_words(exc_info: Any) -> str:
    """An exception and its causes: their kinds and where they came from. A message may quote what was said, so only those of the
    machine (files, modules, memory) are kept.
    """
    told: list[str] = []
    error: BaseException | None = exc_info[1]
    while error is not None and len(told) < CAUSES:
        words = f": {error}" if isinstance(error, ImportError | OSError | MemoryError) else ""
        frames = "".join(traceback.format_tb(error.__traceback__))
        told.append(f"{frames}{type(error).__qualname__}{words}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\nwhich came of this:\n\n".join(told)


def _on_terminal(out: TextIO, info: Any) -> None:
    out.write("\n" + without_words(info))


def set_up_logging(settings: Log) -> None:
    """Configure structlog: JSON lines on standard error, or coloured ones on a terminal."""
    json = settings.format == "json" or (settings.format == "auto" and not sys.stderr.isatty())
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if json:
        finish: list[Any] = [
            structlog.processors.ExceptionRenderer(without_words),
            structlog.processors.JSONRenderer(orjson.dumps),
            redact,
        ]
        factory: Any = structlog.BytesLoggerFactory(cast(BinaryIO, _Gathered(sys.stderr.buffer)))
    else:
        finish = [structlog.dev.ConsoleRenderer(exception_formatter=_on_terminal), redact]
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
    """Counters of one process, in a registry of their own.

    Attributes:
        under_way: requests being answered; a plain number, because counting them must cost nothing.
    """

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
        self.verdicts = self._counter("verdicts", "Verdicts told.", "route", "kind")
        self.ungraded = self._counter(
            "ungraded_answers", "Answers chosen for the grader that got no verdict from it.", "route"
        )
        self.background_failures = self._counter(
            "background_failures", "Failures of work beside the requests, and jobs that the shutdown cut off.", "task"
        )
        self._health = {name: self._gauge(name, text) for name, text in _HEALTH.items()}
        self._alarm = Gauge(
            "hedgerow_drift_alarm", "1 while an alarm stands.", ("route", "kind"), registry=self.registry
        )

        self.request_seconds = Histogram(
            "hedgerow_request_seconds",
            "Time from a request's arrival until its audit row.",
            ("route", "mode"),
            buckets=(0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60),
            registry=self.registry,
        )
        self.settled_divergence = Histogram(
            "hedgerow_settled_divergence_nats",
            "Faithfulness Divergence of each verdict, by whose confidence: raw, calibrated, or perceived from the words.",
            ("route", "confidence"),
            buckets=(0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10),
            registry=self.registry,
        )
        self.audit_queue_batches = Gauge(
            "hedgerow_audit_queue_batches", "Batches of audit rows that wait to be written.", registry=self.registry
        )
        self.audit_spooled_rows = Gauge(
            "hedgerow_audit_spooled_rows",
            "Audit rows that wait in the spool while the store is down.",
            registry=self.registry,
        )
        self.under_way = 0
        Gauge(
            "hedgerow_requests_in_flight", "Requests for an upstream that are being answered.", registry=self.registry
        ).set_function(lambda: self.under_way)

    def follow(self, store: AuditStore) -> None:
        """Ask the store itself at each scrape."""
        self.audit_queue_batches.set_function(lambda: store.writer.queued)
        self.audit_spooled_rows.set_function(lambda: store.writer.spooled)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"hedgerow_{name}", text, labels, registry=self.registry)

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
    "route_yellow": "1 where the route's map is alarmed, stale, unusable or skipped.",
    "map_age_seconds": "Age of the route's calibration map.",
    "smooth_ece": "Smooth calibration error of the last verdicts, 0..1.",
    "faithfulness_divergence_nats": "Mean Faithfulness Divergence of the last verdicts.",
    "drift_evidence": "ln of the e-process against the map; 4.6 is odds of 100 to 1.",
    "input_shift": "1-Wasserstein distance of raw confidences from those of the fit, 0..1.",
}
