"""Counters, gauges and histograms of one process, for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

if TYPE_CHECKING:
    from hedgerow.proxy.audit.store import AuditStore
    from hedgerow.proxy.monitoring.drift import RouteHealth
    from hedgerow.proxy.monitoring.promises import RoutePromises


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
        self.verdicts = self._counter("verdicts", "Verdicts on answers recorded.", "route", "kind")
        self.claim_verdicts = self._counter("claim_verdicts", "Verdicts on single claims recorded.", "route", "kind")
        self.ungraded = self._counter(
            "ungraded_answers", "Answers chosen for the grader that got no verdict from it.", "route"
        )
        self.background_failures = self._counter(
            "background_failures", "Failures of work beside the requests, and jobs that the shutdown cut off.", "task"
        )
        self._health = {name: self._gauge(name, text) for name, text in _HEALTH.items()}
        self._count_promises()
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
        self.settled_divergence = self._divergence(
            "settled_divergence_nats",
            "Faithfulness Divergence of each verdict on an answer, by whose confidence: raw, calibrated, or perceived from the words.",
        )
        self.settled_claim_divergence = self._divergence(
            "settled_claim_divergence_nats",
            "Faithfulness Divergence of each verdict on a single claim, by whose confidence: raw or calibrated.",
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

    def _count_promises(self) -> None:
        self.promised = self._counter(
            "promised_answers",
            "Calibrated answers of routes with promises: covered, or why not every promise covers them.",
            "route",
            "reason",
        )
        self._promise = {
            name: Gauge(f"hedgerow_{name}", text, ("route", "promise"), registry=self.registry)
            for name, text in _PROMISES.items()
        }
        self._in_force = self._gauge("promises_in_force", "1 while a certificate stands for what the route promises.")

    def follow(self, store: AuditStore) -> None:
        """Ask the store itself at each scrape."""
        self.audit_queue_batches.set_function(lambda: store.writer.queued)
        self.audit_spooled_rows.set_function(lambda: store.writer.spooled)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"hedgerow_{name}", text, labels, registry=self.registry)

    def _divergence(self, name: str, text: str) -> Histogram:
        nats = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10)
        return Histogram(f"hedgerow_{name}", text, ("route", "confidence"), buckets=nats, registry=self.registry)

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

    def tell_promises(self, found: RoutePromises) -> None:
        """What the watcher found of one route's promises."""
        self._in_force.labels(found.route).set(found.reason is None)
        for gauge in self._promise.values():
            gauge.remove_by_labels({"route": found.route})
        for promise in found.promises:
            values = {
                "promise_broken": float(promise.state == "broken"),
                "promise_upper_bound": promise.high,
                "promise_labels": promise.labels,
                "promise_broken_groups": len(promise.groups),
            }
            for name, value in values.items():
                self._promise[name].labels(found.route, promise.promise).set(value)


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
