"""Wiring: networks and families become one application.

Rules of this file: nothing is decided here but what stands where. `/api/v1` and `/api/core/v1` are the default
network's, `/api/{network}` any network's, all the same operations, there with Chronicle's defaults and its own
operations beside them; so no network may be named like a mount. `/api/core/v2` is one network's, the default one unless
a setting names another, `/api/{network}/core/v2` any network's; `/v1` and `/api/wormhole/v1` are those of one Wormhole
network. A family of one protocol never answers for a network of the other.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.telemetry import TelemetryConfig
from limits import parse
from starlette.types import ASGIApp

from api.analytics_v2.routes import ANALYTICS_V2
from api.chronicle_v1.routes import CHRONICLE_SERVICE, CHRONICLE_SYNC, CHRONICLE_V1, Service
from api.core_v2.routes import CORE_V2
from api.explorer_v2.routes import EXPLORER_V2
from api.families import WORMHOLE_V1
from api.fields.params import CHRONICLE
from api.health import HEALTH, ROUTES
from api.http.auth import JWT_SECRET_BYTES_MIN, Credentials
from api.http.compression import Compression
from api.http.docs_page import docs_routes
from api.http.metrics import Metrics
from api.http.operations import Mount, OperationRoute
from api.http.params import NETWORK
from api.http.rate_limit import RateLimit
from api.http.request_middleware import RequestMiddleware
from api.http.router import OperationRouter
from api.indexer_v1.routes import INDEXER_V1, SEED_INDEXER
from api.network import NetworkMount, find_network, first_of
from api.node_v1.routes import NODE_V1
from api.poi_v1.routes import POI_V1
from api.wormhole.events.routes import EVENTS
from api.wormhole.guardian.routes import GUARDIAN_V1
from db.schema.protocols import IOTA, WORMHOLE

CONTRACT_VERSION = "1.0.0"
"""Version of openapi.yaml; rises with what clients can see."""

FAMILIES = frozenset({"v1", "core", "indexer", "explorer", "analytics", "poi", "wormhole", "plugins"})
PAGES = frozenset({"docs", "health", "info", "login", "metrics", "openapi.json", "routes", "service", "sync"})
RESERVED = FAMILIES | PAGES
"""What follows /api in this server's own paths, now or in families to come."""

NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}
"""Asking at every request whether anybody listens takes 5 µs."""

Context: TypeAlias = Callable[[Mapping[str, str]], NetworkMount]

NETWORK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Settings of the HTTP server."""

    host: str = field(default="127.0.0.1", metadata={"help": "address to listen on"})
    port: int = field(default=8000, metadata={"help": "port to listen on"})
    workers: int = field(default=1, metadata={"help": "number of server processes; each opens the stores itself"})
    access_log: bool = field(default=False, metadata={"help": "log one line per request, with its id"})
    deadline_s: float = field(default=10.0, metadata={"help": "timeout of a request in seconds; the response is a 503"})
    shutdown_s: int = field(default=30, metadata={"help": "seconds that open requests have to finish after SIGTERM"})
    stardust_network: str | None = field(
        default=None,
        metadata={"help": "network of /api/core/v2; default: the default network"},
    )
    wormhole_network: str | None = field(
        default=None,
        metadata={
            "help": "network of /v1 and /api/wormhole/v1; default: the default network if it is a Wormhole network, "
            "else the first Wormhole network"
        },
    )
    compress_from: int = field(
        default=2048,
        metadata={"help": "minimum bytes of a compressed response, if the client accepts compression; 0: never"},
    )
    keys: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "API keys; every request must contain one of them; default: no authentication",
            "secret": True,
        },
    )
    jwt_secret: str | None = field(
        default=None,
        metadata={
            "help": "HS256 secret; requests with a JWT that it signed are accepted like API keys",
            "secret": True,
        },
    )
    rate_limit: str | None = field(
        default=None,
        metadata={"help": "maximum of requests per client, e.g. 100/minute; each worker counts separately"},
    )

    def __post_init__(self) -> None:
        for name, least in (("workers", 1), ("deadline_s", 0.001), ("shutdown_s", 0), ("compress_from", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be {least} or more, not {getattr(self, name)}")
        if self.jwt_secret is not None and len(self.jwt_secret.encode()) < JWT_SECRET_BYTES_MIN:
            raise ValueError(f"jwt_secret must have {JWT_SECRET_BYTES_MIN} bytes or more")
        if self.rate_limit is not None:
            try:
                parse(self.rate_limit)
            except ValueError as error:
                raise ValueError(f"rate_limit must have the form 100/minute, not {self.rate_limit!r}") from error


class Permanode(FastAPI):
    """FastAPI for the contract and its pages; requests go through RequestMiddleware and OperationRouter."""

    def __init__(self, settings: ApiSettings) -> None:
        super().__init__(
            title="Permanode",
            version=CONTRACT_VERSION,
            description="The whole history of a ledger whose nodes prune it.",
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
            docs_url=None,
            redoc_url=None,
            telemetry=NO_TELEMETRY,
        )
        self.settings = settings
        self.metrics = Metrics()
        self.router.routes.extend([*docs_routes(self.title, str(self.openapi_url)), *self.metrics.routes()])

    def openapi(self) -> dict[str, Any]:
        """The contract; made when it is first asked for."""
        if self.openapi_schema is None:
            documented = [each.documented() for each in self.routes if isinstance(each, OperationRoute)]
            self.openapi_schema = get_openapi(
                title=self.title,
                version=self.version,
                openapi_version=self.openapi_version,
                description=self.description,
                license_info=self.license_info,
                routes=documented,
            )
        return self.openapi_schema

    def build_middleware_stack(self) -> ASGIApp:
        """The whole stack: FastAPI's own would answer errors in other bodies and match routes one by one."""
        settings = self.settings
        router = OperationRouter(self.routes)
        answering: ASGIApp = router
        if settings.compress_from:
            answering = Compression(answering, settings.compress_from)
        if settings.keys or settings.jwt_secret:
            answering = Credentials(answering, settings.keys, settings.jwt_secret)
        if settings.rate_limit:
            answering = RateLimit(answering, settings.rate_limit)
        return RequestMiddleware(
            answering,
            self.router,
            self.metrics,
            router.error_body_of,
            deadline_s=settings.deadline_s,
            access_log=settings.access_log,
        )


def routes(
    networks: Mapping[str, NetworkMount], default: str, stardust: str, wormhole: str
) -> Iterator[OperationRoute]:
    """Every operation at every place it stands. Where a path names no network, `stardust` is that of /api/core/v2,
    /api/explorer/v2, /api/analytics/v2, /api/indexer/v1 and /api/poi/v1, `wormhole` that of /v1 and /api/wormhole/v1,
    `default` that of all others.
    """
    up_since_ns = time.time_ns()

    def one(name: str, protocol: str) -> Context:
        return lambda _: find_network(networks, name, protocol)

    def named(protocol: str) -> Context:
        return lambda path: find_network(networks, path["network"], protocol)

    def running(path: Mapping[str, str]) -> Service:
        return Service({path["network"]: find_network(networks, path["network"], IOTA)}, up_since_ns)

    of_network = Mount("/api/{network}", named(IOTA), "_of_network", (NETWORK,), CHRONICLE)
    first, newer = one(default, IOTA), one(stardust, IOTA)
    iota = (
        (NODE_V1, Mount("/api/v1", first)),
        # Where inx-api-core-v1 mounts it.
        (NODE_V1, Mount("/api/core/v1", first, "_of_core")),
        (NODE_V1, of_network),
        (CORE_V2, Mount("/api/core/v2", newer, "_v2")),
        (CORE_V2, Mount("/api/{network}/core/v2", named(IOTA), "_v2_of_network", (NETWORK,))),
        (EXPLORER_V2, Mount("/api/explorer/v2", newer)),
        (EXPLORER_V2, Mount("/api/{network}/explorer/v2", named(IOTA), "_of_network", (NETWORK,))),
        (ANALYTICS_V2, Mount("/api/analytics/v2", newer, "_of_analytics")),
        (ANALYTICS_V2, Mount("/api/{network}/analytics/v2", named(IOTA), "_of_analytics_of_network", (NETWORK,))),
        (POI_V1, Mount("/api/poi/v1", newer)),
        (POI_V1, Mount("/api/{network}/poi/v1", named(IOTA), "_of_network", (NETWORK,))),
        (INDEXER_V1, Mount("/api/indexer/v1", newer)),
        (INDEXER_V1, Mount("/api/{network}/indexer/v1", named(IOTA), "_of_network", (NETWORK,))),
        (SEED_INDEXER, of_network),
        (CHRONICLE_V1, of_network),
        (CHRONICLE_SYNC, of_network),
        (CHRONICLE_SERVICE, replace(of_network, context=running)),
    )
    of_wormhole = one(wormhole, WORMHOLE)
    signed = (
        (GUARDIAN_V1, Mount("/v1", of_wormhole)),
        (GUARDIAN_V1, Mount("/api/{network}/v1", named(WORMHOLE), "_of_network", (NETWORK,))),
        (WORMHOLE_V1, Mount("/api/wormhole/v1", of_wormhole)),
        (WORMHOLE_V1, Mount("/api/{network}/wormhole/v1", named(WORMHOLE), "_of_network", (NETWORK,))),
        (EVENTS, Mount("/api/wormhole/events", of_wormhole)),
        (EVENTS, Mount("/api/{network}/wormhole/events", named(WORMHOLE), "_of_network", (NETWORK,))),
    )

    def mounted(_: Mapping[str, str]) -> list[str]:
        protocols = {mount.protocol for mount in networks.values()}
        served = [*(iota if IOTA in protocols else ()), *(signed if WORMHOLE in protocols else ())]
        below = {mount.prefix.removeprefix("/api/") for _, mount in served if mount.prefix.startswith("/api/")}
        return sorted({each for each in below if "{" not in each} | networks.keys())

    mounts = (
        (HEALTH, Mount("", lambda _: networks)),
        (ROUTES, Mount("", mounted)),
        *iota,
        (CHRONICLE_SERVICE, Mount("/api", lambda _: Service(networks, up_since_ns))),
        *signed,
    )
    for family, mount in mounts:
        for operation in family.operations:
            yield OperationRoute(operation, family, mount)


def create_app(networks: Mapping[str, NetworkMount], default: str, settings: ApiSettings) -> FastAPI:
    """The application. `networks`: name under /api → network; `default`: the one that answers where a path names none,
    if it is of that path's protocol; else the first one that is.

    ValueError for a name that is a mount's, or that no path can hold, and for a default that is not among them.
    """
    for name in networks:
        if name in RESERVED or not NETWORK_NAME.fullmatch(name):
            taken = "it is a path of this server" if name in RESERVED else "a name is letters, digits, '.', '_', '-'"
            raise ValueError(f"network {name} cannot be mounted at /api/{name}: {taken}")
    if default not in networks:
        raise ValueError(f"the default network {default} is not among {', '.join(sorted(networks)) or 'none'}")
    app = Permanode(settings)
    iota = first_of(networks, IOTA, default)
    stardust = chosen(networks, "stardust_network", settings.stardust_network, IOTA) or iota
    wormhole = chosen(networks, "wormhole_network", settings.wormhole_network, WORMHOLE)
    wormhole = wormhole or first_of(networks, WORMHOLE, default)
    app.router.routes.extend(routes(networks, iota, stardust, wormhole))
    return app


def chosen(networks: Mapping[str, NetworkMount], setting: str, name: str | None, protocol: str) -> str | None:
    """The network that a setting names; ValueError for one that is not there, or of another protocol."""
    found = [each for each, mount in networks.items() if mount.protocol == protocol]
    if name is not None and name not in found:
        raise ValueError(f"api.{setting}: {name} is not among {', '.join(sorted(found)) or 'none'}")
    return name
