"""/metrics: how many requests of which operation were answered how, and how long that took, for Prometheus.

Rules of this file: labels are operations of the contract and status classes, never a path, so that no client can make
new ones. With several workers the counts lie in files of a folder that all of them share (prometheus-client's
multiprocess mode, chosen by an environment variable when it is imported), and any worker tells the sum.
"""

import os
from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the workers' folder."""

OTHER = "other"
"""The operation of what is none: pages, unknown paths, requests refused before they got to one."""

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)


class Metrics:
    """What one application answered."""

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
        """Counts one answer."""
        key = operation, status // 100
        observer = self._observers.get(key)
        if observer is None:
            observer = self._observers[key] = self._seconds.labels(operation, f"{key[1]}xx").observe
        observer(seconds)

    def routes(self) -> list[Route]:
        """The page, also where Chronicle had it."""

        async def metrics(_: Request) -> Response:
            return Response(generate_latest(self._registry), headers={"content-type": CONTENT_TYPE_LATEST})

        return [Route(path, metrics, methods=["GET"]) for path in ("/metrics", "/api/metrics")]
