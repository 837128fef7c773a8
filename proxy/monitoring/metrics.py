"""Prometheus counters, gauges and histograms of one process, or of all workers behind one port.

If `PROMETHEUS_MULTIPROC_DIR` names a folder (`hedgerow serve --workers` sets it), prometheus-client keeps the numbers of each process in a
file there, and a scrape of any worker adds up the files, so that the counts of a killed worker are kept.
"""

from __future__ import annotations

import math
import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from ..errors import ConfigError
from ..upstreams.circuits import CallCounter

if TYPE_CHECKING:
    from ..audit.store import AuditStore
    from ..types import Usage
    from .drift import RouteHealth
    from .figures import ArmComparison
    from .promises import RoutePromises

MOST_MODELS = 100
"""Largest number of model names used as labels; a series lives as long as the process."""


NOW_EVERY_S = 1.0
"""Seconds between updates of a process's requests in flight for the other workers."""


RESERVED_BYTES = 1 << 20
"""Room of each of a worker's files of metrics: some 3,000 series."""


class Metrics:
    """Counters of one process, in a registry of their own.

    Attributes:
        under_way: number of requests in flight; a plain number, because counting must cost almost nothing.
        shared: the folder shared by all workers; None for a single process.
        failed: told why something could not be counted.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.failed: Callable[[Exception], None] = lambda _: None
        self.shared = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        self._all: CollectorRegistry | MultiProcessCollector = self.registry
        if self.shared is not None:
            _reserve(Path(self.shared))
            self._all = MultiProcessCollector(None, self.shared)  # type: ignore[no-untyped-call]
        self._now: list[tuple[Gauge, Callable[[], float]]] = []
        self._count_requests()
        self._count_verdicts()
        self._watch_routes()
        self._count_promises()
        self._count_arms()
        self._count_keys()
        self._count_money()
        self._count_upstreams()
        self._count_audit()

    def _count_requests(self) -> None:
        self.under_way = 0
        in_flight = self._gauge(
            "requests_in_flight", "Requests for an upstream that are being answered.", mode="livesum"
        )
        self._now.append((in_flight, lambda: self.under_way))
        self._ends: dict[tuple[str, str, str, str], tuple[Counter, Histogram]] = {}
        self._requests = self._counter(
            "requests", "Requests by what became of them.", "route", "mode", "status", "reason"
        )
        self._request_seconds = self._histogram(
            "request_seconds",
            "Time from a request's arrival until its audit row.",
            *("route", "mode"),
            buckets=(0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60),
        )
        self.step_seconds = self._histogram(
            "step_seconds",
            "Time of one step of the pipeline.",
            *("route", "step"),
            buckets=(0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60),
        )
        self.tokens = self._counter("tokens", "Tokens spent, by purpose.", "route", "purpose")
        self.refused_rewrites = self._counter(
            "refused_rewrites", "Rewrites that the guard or a rewriter refused.", "route", "attempt"
        )
        self.edited = self._counter(
            "edited_answers",
            "Answers that an editor could word: not_needed, marked, left, or why the local way worded them.",
            "route",
            "outcome",
        )
        self.background_failures = self._counter(
            "background_failures", "Failures of work beside the requests, and jobs that the shutdown cut off.", "task"
        )

    def _count_verdicts(self) -> None:
        self.verdicts = self._counter("verdicts", "Verdicts on answers recorded.", "route", "kind")
        self.claim_verdicts = self._counter("claim_verdicts", "Verdicts on single claims recorded.", "route", "kind")
        self.ungraded = self._counter(
            "ungraded_answers", "Answers chosen for the grader that got no verdict from it.", "route"
        )
        self.settled_divergence = self._divergence(
            "settled_divergence_nats",
            "Faithfulness Divergence of each verdict on an answer that the review queue did not pick, by whose confidence: raw, calibrated, or perceived from the words.",
        )
        self.settled_claim_divergence = self._divergence(
            "settled_claim_divergence_nats",
            "Faithfulness Divergence of each verdict on a single claim of an answer that it did not pick, by whose confidence: raw or calibrated.",
        )

    def _watch_routes(self) -> None:
        self._health = {name: self._gauge(name, text, "route") for name, text in _HEALTH.items()}
        self._alarm = self._gauge("drift_alarm", "1 while an alarm stands.", "route", "kind")

    def _count_audit(self) -> None:
        self._problems = set[str]()
        self._wrong: Callable[[], set[str]] = set
        self._problem = self._gauge(
            "problem",
            "1 while something is wrong that `/health` names under `problems` or `dead`; of several workers, in how many.",
            "problem",
            mode="livesum",
        )
        self._log_lines_dropped = self._gauge(
            "log_lines_dropped",
            "Log lines dropped since the start because the log could not be written.",
            mode="livesum",
        )
        self.audit_rows_lost = self._counter("audit_rows_lost", "Audit rows that are not there and will not come.")
        self._audit_queue_batches = self._gauge(
            "audit_queue_batches", "Batches of audit rows that wait to be written.", mode="livesum"
        )
        self._audit_spooled_rows = self._gauge(
            "audit_spooled_rows", "Audit rows that wait in the spool while the store is down.", mode="livesum"
        )

        self.refused = self._counter(
            "refused_requests",
            "Requests that were refused (4xx) and never had a route, by place: http (not readable as HTTP), address (others may read another), own (our endpoints and pages).",
            *("place", "status"),
        )

    @contextmanager
    def spared(self) -> Iterator[None]:
        """Let no answer fail because it cannot be counted: the metrics of several workers are files."""
        try:
            yield
        except OSError as error:
            self.failed(error)

    def ended(self, route: str, mode: str, status: str, reason: str, seconds: float) -> None:
        """Count a request by outcome and duration."""
        end = route, mode, status, reason
        known = self._ends.get(end)
        if known is None:  # looking up labels costs more than counting
            known = self._ends[end] = self._requests.labels(*end), self._request_seconds.labels(route, mode)
        known[0].inc()
        known[1].observe(seconds)

    def _count_keys(self) -> None:
        self.key_requests = self._counter(
            "key_requests", "Requests of named keys by what became of them.", "key", "team", "status"
        )
        self.key_tokens = self._counter(
            "key_tokens", "Tokens spent on requests of named keys, by purpose.", "key", "team", "purpose"
        )
        self.tunnel_bytes = self._counter(
            "tunnel_bytes", "Bytes of WebSockets, sent by clients and received from upstreams.", "route", "direction"
        )
        self.key_refusals = self._counter(
            "key_refusals", "Requests refused because a limit of their key was used up.", "key", "team", "limit"
        )

    def _count_money(self) -> None:
        self._models: set[str] = set()
        self._spent_tokens = self._counter(
            "spent_tokens",
            "Tokens spent on calibrated requests: prompt (read anew), cached (read from the cache) and completion.",
            *("route", "key", "purpose", "model", "kind"),
        )
        self._cost = self._counter(
            "cost_dollars", "What calibrated requests cost, in US dollars.", "route", "key", "purpose", "model"
        )
        self.over_budget = self._counter(
            "over_budget",
            "Requests beyond a budget: soft (fewer answers drawn), hard (passed on plain), unknown (plain, because it could not be looked up).",
            *("route", "key", "limit"),
        )
        self._unpriced = self._counter(
            "unpriced_answers", "Calibrated requests whose cost is not known for a purpose.", "route", "key", "purpose"
        )

    def spent(
        self, route: str, key: str, spent: Mapping[str, Sequence[Usage]], costs: Mapping[str, float | None]
    ) -> None:
        """Count tokens and costs of a request, by purpose."""
        for purpose, calls in spent.items():
            for usage in calls:
                labels = (route, key, purpose, self._model(usage.model))
                kinds = {"prompt": usage.prompt - usage.cached, "cached": usage.cached, "completion": usage.completion}
                for kind, tokens in kinds.items():
                    if tokens > 0:
                        self._spent_tokens.labels(*labels, kind).inc(tokens)
            if (cost := costs.get(purpose)) is None:
                self._unpriced.labels(route, key, purpose).inc()
            elif cost > 0:
                self._cost.labels(route, key, purpose, self._model(calls[0].model)).inc(cost)

    def _model(self, name: str) -> str:
        """A model's name as a label, limited in number, because upstreams may invent names."""
        if name not in self._models and len(self._models) == MOST_MODELS:
            return "other"
        self._models.add(name)
        return name

    def _count_promises(self) -> None:
        self._promises_counting: dict[str, set[str]] = {}
        self.promised = self._counter(
            "promised_answers",
            "Calibrated answers of routes with promises: covered, or why not every promise covers them.",
            "route",
            "reason",
        )
        self._promise = {name: self._gauge(name, text, "route", "promise") for name, text in _PROMISES.items()}

    def _count_upstreams(self) -> None:
        calls = self._counter(
            "upstream_calls",
            "Calls of an upstream: ok, a class of statuses, or the code of an error.",
            "upstream",
            "outcome",
        )
        moved = self._counter(
            "upstream_fallbacks",
            "Answers that a group moved away from an upstream because it failed before they had begun.",
            "upstream",
        )
        is_open = self._gauge(
            "upstream_circuit_open",
            "1 from the failure that opened an upstream's circuit until a call succeeds; of several workers, in how many.",
            "upstream",
            mode="livesum",
        )
        self.upstreams = _Upstreams(calls, moved, is_open, self.spared)

    def _count_arms(self) -> None:
        self._arm_mean = self._gauge(
            "arm_mean",
            "Mean of a split route's arm: divergence in nats, feedback as a share, tokens and US dollars an answer.",
            *("route", "arm", "figure"),
        )
        self._arm_difference = self._gauge(
            "arm_difference",
            "Bounds of the arm `on` less the other one, at 95 %, valid at every look.",
            *("route", "figure", "end"),
        )

    def follow(self, store: AuditStore) -> None:
        """Read the store's queue lengths, and what is wrong in the process, at each scrape."""
        self._wrong = lambda: {*store.supervisor.problems, *store.supervisor.dead}
        self._now.append((self._audit_queue_batches, lambda: store.writer.queued))
        self._now.append((self._log_lines_dropped, lambda: store.supervisor.lines_dropped))
        self._now.append((self._audit_spooled_rows, lambda: store.writer.spooled))

    def set_gauges(self) -> None:
        """Set this process's gauges of what is so now."""
        for gauge, read in self._now:
            gauge.set(read())
        wrong = self._wrong()
        self._problems |= wrong
        for name in self._problems:
            self._problem.labels(name).set(name in wrong)

    def exposition(self) -> bytes:
        """All series in the text format, summed over all workers."""
        self.set_gauges()
        return generate_latest(_Known(self._all))

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"hedgerow_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(f"hedgerow_{name}", text, labels, buckets=buckets, registry=self.registry)

    def _divergence(self, name: str, text: str) -> Histogram:
        nats = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10)
        return self._histogram(name, text, "route", "confidence", buckets=nats)

    def _gauge(
        self, name: str, text: str, *labels: str, mode: Literal["livesum", "mostrecent"] = "mostrecent"
    ) -> Gauge:
        """Make a gauge. Over several workers it is their sum, or the last value that one of them set for all."""
        return Gauge(f"hedgerow_{name}", text, labels, registry=self.registry, multiprocess_mode=mode)

    def set_health(self, health: RouteHealth) -> None:
        """Set the drift watcher's figures of one route; figures without data are absent."""
        values = {
            "route_yellow": float(health.status == "yellow"),
            "map_age_seconds": health.map_age_s,
            "smooth_ece": health.smooth_ece,
            "faithfulness_divergence_nats": health.fd,
            "drift_evidence": health.evidence,
            "input_shift": health.input_shift,
        }
        for name, value in values.items():
            self._health[name].labels(health.route).set(_ABSENT if value is None else value)
        for kind in DRIFT_ALARMS:
            self._alarm.labels(health.route, kind).set(kind in health.alarms)

    def set_arms(self, arms: ArmComparison) -> None:
        """Set the figures of both arms of a split route; figures without values are absent."""
        for gap in arms.gaps:
            for arm, mean in (("on", gap.on), (arms.rest, gap.rest)):
                if mean is not None:
                    self._arm_mean.labels(arms.route, arm, gap.figure).set(mean)
            if gap.estimate is not None:
                for end, bound in (("low", gap.low), ("high", gap.high)):
                    self._arm_difference.labels(arms.route, gap.figure, end).set(bound)

    def set_promises(self, health: RoutePromises) -> None:
        """Set the watcher's figures of one route's promises."""
        promised = {promise.promise for promise in health.promises}
        for gone in self._promises_counting.get(health.route, set()) - promised:
            for gauge in self._promise.values():
                gauge.labels(health.route, gone).set(_ABSENT)
        self._promises_counting[health.route] = promised
        for promise in health.promises:
            values = {
                "promise_broken": float(promise.state == "broken"),
                "promise_upper_bound": promise.high,
                "promise_labels": promise.labels,
                "promise_broken_groups": len(promise.groups),
            }
            for name, value in values.items():
                self._promise[name].labels(health.route, promise.promise).set(value)


def _reserve(folder: Path) -> None:
    """Take the room on disk that this process's metrics need: a page of a mapped file for which there is none would kill the process.

    Raises:
        ConfigError: there is no room.
    """
    for kind in ("counter", "histogram", "gauge_livesum", "gauge_mostrecent"):
        try:
            file = os.open(folder / f"{kind}_{os.getpid()}.db", os.O_CREAT | os.O_RDWR, 0o600)
            try:
                os.posix_fallocate(file, 0, RESERVED_BYTES)
            finally:
                os.close(file)
        except OSError as error:
            raise ConfigError(
                f"the workers' metrics cannot be kept in {folder}: {error.strerror}; make room there, or set TMPDIR"
            ) from error


def release(folder: Path, pid: int) -> None:
    """Give back the room that a worker's metrics did not need; it has ended, and its counts stay."""
    for path in folder.glob(f"*_{pid}.db"):
        with path.open("r+b") as file:
            (used,) = struct.unpack(
                "i", file.read(4)
            )  # as prometheus-client keeps it, with 8 bytes before the first series
            file.truncate(max(8, used))


class _Known(CollectorRegistry):
    """The metrics of another collector without the figures that have no data: prometheus-client's files cannot remove a series."""

    def __init__(self, source: CollectorRegistry | MultiProcessCollector) -> None:
        super().__init__()
        self._source = source

    def collect(self) -> Iterable[Metric]:
        """Every metric with the samples that are numbers."""
        for metric in self._source.collect():
            metric.samples = [sample for sample in metric.samples if not math.isnan(sample.value)]
            yield metric


class _Upstreams(CallCounter):
    """Counts the outcomes of upstream calls."""

    def __init__(
        self, calls: Counter, moved: Counter, is_open: Gauge, spared: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._calls, self._moved, self._is_open, self._spared = calls, moved, is_open, spared
        self._known: dict[tuple[str, str], Counter] = {}

    def call(self, upstream: str, outcome: str) -> None:
        """See `CallCounter`."""
        with self._spared():
            counter = self._known.get((upstream, outcome))
            if counter is None:  # looking up labels costs more than counting
                counter = self._known[upstream, outcome] = self._calls.labels(upstream, outcome)
            counter.inc()

    def circuit(self, upstream: str, *, is_open: bool) -> None:
        """See `CallCounter`."""
        with self._spared():
            self._is_open.labels(upstream).set(is_open)

    def moved(self, upstream: str) -> None:
        """See `CallCounter`."""
        with self._spared():
            self._moved.labels(upstream).inc()


_ABSENT = math.nan
_PROMISES = {
    "promise_broken": "1 where verdicts prove a promise broken.",
    "promise_upper_bound": "Upper bound of the share that a promise limits, at 95 %, 0..1.",
    "promise_labels": "Verdicts that a promise is watched by.",
    "promise_broken_groups": "Groups of answers in which a promise is broken.",
}
DRIFT_ALARMS = ("outcomes", "inputs")
_HEALTH = {
    "route_yellow": "1 where the route's map is alarmed, stale, unusable or skipped.",
    "map_age_seconds": "Age of the route's calibration map.",
    "smooth_ece": "Smooth calibration error of the last verdicts, 0..1.",
    "faithfulness_divergence_nats": "Mean Faithfulness Divergence of the last verdicts.",
    "drift_evidence": "ln of the e-process against the map; 4.6 is odds of 100 to 1.",
    "input_shift": "1-Wasserstein distance of raw confidences from those of the fit, 0..1.",
}


# docs/metrics.md from the registry itself: `python -m hedgerow.proxy.monitoring.metrics > docs/metrics.md`. A test
# holds the file against it.

PAGE_HEAD = """# Metrics

What `/metrics` exposes for Prometheus; generated by `python -m hedgerow.proxy.monitoring.metrics`. Labels take values from the configuration and from fixed
lists only, never from a request; `model` is what upstreams call theirs, and `other` from the hundredth name on. With `--workers` above 1 a scrape of the
port is the sum over all workers, those that have ended included.

| series | kind | labels | what |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    metrics = Metrics()
    collectors = list(metrics.registry._collector_to_names)  # the library has no public attribute for labels
    labels = {metric._name: metric._labelnames for metric in collectors}  # type: ignore[attr-defined]
    rows = [
        (metric.name + "_total" * (metric.type == "counter"), metric.type, labels[metric.name], metric.documentation)
        for metric in metrics.registry.collect()
    ]
    lines = [
        f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in names)} | {text} |"
        for name, kind, names, text in sorted(rows)
    ]
    return PAGE_HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
