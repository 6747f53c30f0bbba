"""Prometheus metrics at /metrics: number and duration of requests by operation and status class, and gauges of each
network.

Labels are operations of openapi.yaml and status classes, never paths, so clients cannot create labels. With several
workers, the counts are in files of a shared folder (prometheus-client's multiprocess mode, enabled by an environment
variable at import), and every worker returns the sum.
"""

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the shared folder of the workers."""

OTHER = "other"
"""Label of requests without an operation: pages, unknown paths, requests rejected before routing."""

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)


@dataclass(frozen=True, slots=True)
class GaugeKind:
    """A gauge: its name, which ends with the unit, its HELP text, and the names of its labels."""

    name: str
    meaning: str
    labels: tuple[str, ...] = ("network",)


class Sample(NamedTuple):
    """The value of a gauge, with one value for each of its labels."""

    gauge: GaugeKind
    labels: tuple[str, ...]
    value: float


ReadGauges: TypeAlias = Callable[[], Awaitable[Iterable[Sample]]]


class Metrics:
    """The metrics of one application.

    Args:
        gauges: all gauges.
        read_gauges: reads their values for each response.
    """

    def __init__(self, gauges: Sequence[GaugeKind], read_gauges: ReadGauges) -> None:
        self._gauges = gauges
        self._read_gauges = read_gauges
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
            text = generate_latest(self._registry) + generate_latest(await self._gauges_now())
            return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})

        return [Route(path, metrics, methods=["GET"]) for path in ("/metrics", "/api/metrics")]

    async def _gauges_now(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        known = {each.name: Gauge(each.name, each.meaning, each.labels, registry=registry) for each in self._gauges}
        for gauge, labels, value in await self._read_gauges():
            known[gauge.name].labels(*labels).set(value)
        return registry
