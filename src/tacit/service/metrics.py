"""What operators watch: requests, latencies, and where each deployment stands. Nothing about rewards or arms."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

#: Seconds that are shown, and latencies that quantiles are taken of.
_SECONDS, _LATENCIES = 60, 2000


class Metrics:
    """Counts of this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("tacit_requests", "Requests answered", ["what", "status"], registry=self.registry)
        self._seconds = Histogram(
            "tacit_request_seconds",
            "Time to answer",
            ["what"],
            registry=self.registry,
            buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5),
        )
        gauges = {
            "tacit_decisions": "Decisions made",
            "tacit_view_version": "Version of the published view",
            "tacit_view_age_seconds": "Age of the published view",
            "tacit_learning": "1 while it learns; 0 once its horizon is spent, and while it is paused or failed",
            "tacit_rounds_left": "Rounds, or reports, that are still learned from",
            "tacit_epsilon": "Accounted epsilon, all known copies together",
            "tacit_pending": "Open decisions (not covered by the guarantee)",
            "tacit_holds_lease": "1 if this process holds the lease",
        }
        self.gauges = {name: Gauge(name, text, ["deployment"], registry=self.registry) for name, text in gauges.items()}
        self.available = Gauge("tacit_store_available", "1 while the store can be written", registry=self.registry)
        self.started = time.time()
        self.total = self.errors = 0
        self._per_second: deque[list[int]] = deque(maxlen=_SECONDS)
        self._latencies: deque[float] = deque(maxlen=_LATENCIES)
        self._children: dict[tuple[str, int], Any] = {}

    def observe(self, what: str, status: int, seconds: float) -> None:
        """One request that was answered."""
        pair = self._children.get((what, status))
        if pair is None:
            pair = self._children[what, status] = (
                self._requests.labels(what, str(status)),
                self._seconds.labels(what),
            )
        pair[0].inc()
        pair[1].observe(seconds)
        self.total += 1
        if status >= 500:
            self.errors += 1
        self._latencies.append(seconds)
        second = int(time.monotonic())
        if self._per_second and self._per_second[-1][0] == second:
            self._per_second[-1][1] += 1
        else:
            self._per_second.append([second, 1])

    def requests(self) -> dict[str, Any]:
        """For the dashboard."""
        ordered = sorted(self._latencies)

        def quantile(share: float) -> float | None:
            return None if not ordered else round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

        now = int(time.monotonic())
        counts = {one[0]: one[1] for one in self._per_second}
        return {
            "total": self.total,
            "errors": self.errors,
            "per_second": [counts.get(now - back, 0) for back in range(_SECONDS, 0, -1)],
            "latency_ms": {"p50": quantile(0.5), "p95": quantile(0.95), "p99": quantile(0.99)},
        }

    def text(self) -> bytes:
        """For Prometheus."""
        return generate_latest(self.registry)
