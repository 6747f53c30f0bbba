"""Prometheus metrics at /metrics: number and duration of requests by operation and status class.

Labels are operations of openapi.yaml and status classes, never paths, so clients cannot create labels. With several
workers, the counts are in files of a shared folder (prometheus-client's multiprocess mode, enabled by an environment
variable at import), and every worker returns the sum.
"""

import os
from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the shared folder of the workers."""

OTHER = "other"
"""Label of requests without an operation: pages, unknown paths, requests rejected before routing."""

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)


class Metrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        shared = SHARED_FOLDER in os.environ
        if shared:
            MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._seconds = Histogram(
            "permanode_request_seconds",
            "Seconds from a request's head to the end of its answer",
            ("operation", "status"),
            buckets=SECONDS,
            registry=None if shared else self._registry,
        )
        self._observers: dict[tuple[str, int], Callable[[float], None]] = {}

    def observe(self, operation: str, status: int, seconds: float) -> None:
        """Counts one response."""
        key = operation, status // 100
        observer = self._observers.get(key)
        if observer is None:
            observer = self._observers[key] = self._seconds.labels(operation, f"{key[1]}xx").observe
        observer(seconds)

    def routes(self) -> list[Route]:
        """Returns the routes of the metrics, including Chronicle's path."""

        async def metrics(_: Request) -> Response:
            return Response(generate_latest(self._registry), headers={"content-type": CONTENT_TYPE_LATEST})

        return [Route(path, metrics, methods=["GET"]) for path in ("/metrics", "/api/metrics")]
