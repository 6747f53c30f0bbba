"""Wiring: networks and API families become one ASGI application. This module decides only which path serves what.

- `/api/v1` and `/api/core/v1` serve the default network.
- `/api/{network}` serves any network with the same operations, Chronicle's defaults and Chronicle's own operations.
  A network therefore cannot have the name of a mount.
- `/api/core/v2` serves one network: the default one, unless a setting names another. `/api/{network}/core/v2` serves
  any network.
- `/v1` and `/api/wormhole/v1` serve one Wormhole network.
- wormholescan's own prefix `/api/v1` serves the default network if it is a Wormhole network, `/api/{network}/api/v1`
  any Wormhole network: Wormhole's SDK has one base URL for guardians and wormholescan.

A family of one protocol never serves a network of the other.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.telemetry import TelemetryConfig
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from api.analytics_v2.routes import ANALYTICS_V2
from api.chronicle_v1.routes import CHRONICLE_SERVICE, CHRONICLE_SYNC, CHRONICLE_V1, Service
from api.completeness.routes import LISTING_PROOFS
from api.core_v2.routes import CORE_V2
from api.description import CHRYSALIS_EXAMPLE, DESCRIPTION, STARDUST_ADDRESSES, STARDUST_EXAMPLE, TAGS, WORMHOLE_EXAMPLE
from api.events.routes import EVENTS_OF_LEDGER
from api.explorer_v2.routes import EXPLORER_V2
from api.families import WORMHOLE_V1
from api.fields.params import CHRONICLE
from api.gauges import GAUGES, Gauges
from api.health import HEALTH, INDEX, ROUTES
from api.http.auth import Credentials
from api.http.compression import Compression
from api.http.content_negotiation import JSON
from api.http.contract import OF_NETWORK, describe_credentials, described, share_errors
from api.http.docs_page import docs_routes
from api.http.metrics import Metrics
from api.http.operation_route import OperationRoute
from api.http.operations import Mount, query_names
from api.http.params import NETWORK
from api.http.rate_limit import RateLimit
from api.http.request_middleware import RequestMiddleware
from api.http.root_path import BelowRootPath
from api.http.router import OperationRouter
from api.http.sending import Sending
from api.indexer_v1.routes import INDEXER_V1, SEED_INDEXER
from api.mqtt.endpoint import MqttEndpoint
from api.network import NetworkMount, find_network, first_of
from api.node_v1.routes import NODE_V1
from api.participation_v1 import PARTICIPATION_V1
from api.poi_v1.routes import POI_V1
from api.search import SEARCH, SEARCH_IN_NETWORK
from api.settings import ApiSettings as ApiSettings
from api.supply_v1 import SUPPLY_V1
from api.transparency.routes import TRANSPARENCY_LOG
from api.version import VERSION
from api.web.explorer import Explorer
from api.wormhole.events.routes import EVENTS
from api.wormhole.guardian.grpc_web import grpc_web_routes
from api.wormhole.guardian.routes import GUARDIAN_V1
from api.wormhole.selected_emitters import of_selected_emitters
from db.schema.protocols import IOTA, WORMHOLE

FAMILIES = frozenset(
    {"v1", "core", "indexer", "explorer", "analytics", "poi", "supply", "participation", "wormhole", "plugins", "mqtt"}
)
PAGES = frozenset({"docs", "health", "info", "login", "metrics", "openapi.json", "routes", "search", "service", "sync"})
TOP = frozenset({"api", "web", "publicrpc.v1.PublicRPCService"})
RESERVED = FAMILIES | PAGES | TOP
"""First path segments, and segments after /api, that this server uses or reserves. No network can have such a name."""

NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}
"""The check for listeners would take 5 µs per request."""

Context: TypeAlias = Callable[[Mapping[str, str]], NetworkMount]

NETWORK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Permanode(FastAPI):
    """FastAPI for the OpenAPI document and its pages; requests go through RequestMiddleware and OperationRouter."""

    def __init__(
        self, settings: ApiSettings, networks: Mapping[str, NetworkMount], chrysalis: str, stardust: str
    ) -> None:
        """`chrysalis` and `stardust` are the networks of MQTT paths without a network."""
        super().__init__(
            title="Permanode",
            version=VERSION,
            description=DESCRIPTION,
            openapi_tags=[{"name": name, "description": meaning} for name, meaning in TAGS.items()],
            license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
            docs_url=None,
            redoc_url=None,
            telemetry=NO_TELEMETRY,
        )
        self.settings, self.networks = settings, networks
        self._document: bytes | None = None
        self._building = asyncio.Lock()
        self.mqtt_defaults = chrysalis, stardust
        self.metrics = Metrics(GAUGES, Gauges(networks).read)
        url = str(self.openapi_url)
        self.router.routes[:] = [each for each in self.router.routes if getattr(each, "path", "") != url]
        self.router.routes.append(Route(url, self.document, methods=["GET"]))
        self.router.routes.extend([*docs_routes(self.title, url), *self.metrics.routes()])

    async def document(self, _: Request) -> Response:
        """Returns the OpenAPI document. One thread builds it, because that takes seconds."""
        async with self._building:
            if self._document is None:
                self._document = await asyncio.to_thread(lambda: orjson.dumps(self.openapi()))
        return Response(self._document, media_type=JSON)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, built on the first call."""
        if self.openapi_schema is None:
            self.openapi_schema = get_openapi(
                title=self.title,
                version=self.version,
                openapi_version=self.openapi_version,
                description=self.description,
                license_info=self.license_info,
                tags=self.openapi_tags,
                servers=[{"url": self.settings.root_path}] if self.settings.root_path else None,
                routes=described(each for each in self.routes if isinstance(each, OperationRoute)),
            )
            share_errors(self.openapi_schema)
            describe_credentials(self.openapi_schema)
        return self.openapi_schema

    def build_middleware_stack(self) -> ASGIApp:
        """Builds the whole stack. FastAPI's own stack has other error bodies and tries the routes one by one."""
        settings = self.settings
        router = OperationRouter(self.routes)
        answering: ASGIApp = Explorer(router, self.networks) if settings.explorer else router
        credentials = rate_limit = None
        if settings.compress_from:
            answering = Compression(answering, settings.compress_from)
        if settings.keys or settings.jwt_secret:
            answering = credentials = Credentials(answering, settings.keys, settings.jwt_secret)
        if settings.rate_limit:
            answering = rate_limit = RateLimit(answering, settings.rate_limit)
        answering = RequestMiddleware(
            answering,
            MqttEndpoint(
                self.networks,
                *self.mqtt_defaults,
                credentials,
                rate_limit,
                settings.mqtt_connections,
                settings.deadline_s,
            ),
            self.router,
            self.metrics,
            router.error_body_of,
            Sending(settings.send_s, settings.unsent_bytes),
            deadline_s=settings.deadline_s,
            access_log=settings.access_log,
        )
        return BelowRootPath(answering, settings.root_path) if settings.root_path else answering


def routes(
    networks: Mapping[str, NetworkMount], default: str, stardust: str, wormhole: str
) -> Iterator[OperationRoute]:
    """Yields every operation at each of its paths.

    Args:
        networks: the served networks by name.
        default: the network of paths that name none, except the following. If it is a Wormhole network, node REST v1
            serves the first IOTA network.
        stardust: the network of /api/core/v2, /api/explorer/v2, /api/analytics/v2, /api/indexer/v1, /api/poi/v1,
            /api/supply/v1 and /api/participation/v1.
        wormhole: the network of /v1, /api/wormhole/v1 and /api/wormhole/events.
    """
    up_since_ns = time.time_ns()

    def one(name: str, protocol: str) -> Context:
        return lambda _: find_network(networks, name, protocol)

    def named(protocol: str) -> Context:
        return lambda path: find_network(networks, path["network"], protocol)

    def running(path: Mapping[str, str]) -> Service:
        return Service({path["network"]: find_network(networks, path["network"], IOTA)}, up_since_ns)

    def searched(path: Mapping[str, str]) -> Mapping[str, NetworkMount]:
        return {path["network"]: find_network(networks, path["network"])}

    first, newer = one(first_of(networks, IOTA, default), IOTA), one(stardust, IOTA)
    signed = one(wormhole, WORMHOLE)

    def below(prefix: str, example: str, kind: str = "") -> Mount:
        protocol = WORMHOLE if example == WORMHOLE_EXAMPLE else IOTA
        addresses = STARDUST_ADDRESSES if example == STARDUST_EXAMPLE else {}
        network = replace(NETWORK, example=example)
        return Mount(f"/api/{{network}}{prefix}", named(protocol), kind + OF_NETWORK, (network,), examples=addresses)

    of_chrysalis = replace(below("", CHRYSALIS_EXAMPLE), dialect=CHRONICLE)
    of_stardust = replace(below("", STARDUST_EXAMPLE), dialect=CHRONICLE)
    iota = (
        (NODE_V1, Mount("/api/v1", first)),
        # Where inx-api-core-v1 mounts it.
        (NODE_V1, Mount("/api/core/v1", first, "_of_core")),
        (NODE_V1, of_chrysalis),
        (CORE_V2, Mount("/api/core/v2", newer, "_v2")),
        (CORE_V2, below("/core/v2", STARDUST_EXAMPLE, "_v2")),
        (EXPLORER_V2, Mount("/api/explorer/v2", newer)),
        (EXPLORER_V2, below("/explorer/v2", STARDUST_EXAMPLE)),
        (ANALYTICS_V2, Mount("/api/analytics/v2", newer, "_of_analytics")),
        (ANALYTICS_V2, below("/analytics/v2", STARDUST_EXAMPLE, "_of_analytics")),
        (POI_V1, Mount("/api/poi/v1", newer)),
        (POI_V1, below("/poi/v1", STARDUST_EXAMPLE)),
        (INDEXER_V1, Mount("/api/indexer/v1", newer)),
        (INDEXER_V1, below("/indexer/v1", STARDUST_EXAMPLE)),
        (SUPPLY_V1, Mount("/api/supply/v1", newer)),
        (SUPPLY_V1, below("/supply/v1", STARDUST_EXAMPLE)),
        (PARTICIPATION_V1, Mount("/api/participation/v1", newer)),
        (PARTICIPATION_V1, below("/participation/v1", STARDUST_EXAMPLE)),
        (SEED_INDEXER, of_stardust),
        (CHRONICLE_V1, of_chrysalis),
        (CHRONICLE_SYNC, of_chrysalis),
        (CHRONICLE_SERVICE, replace(of_chrysalis, context=running)),
        (EVENTS_OF_LEDGER, below("", STARDUST_EXAMPLE)),
        (TRANSPARENCY_LOG, below("", CHRYSALIS_EXAMPLE)),
        (LISTING_PROOFS, below("", CHRYSALIS_EXAMPLE)),
    )
    of_wormhole = tuple(
        (of_selected_emitters(family), mount)
        for family, mount in (
            (GUARDIAN_V1, Mount("/v1", signed)),
            (GUARDIAN_V1, below("/v1", WORMHOLE_EXAMPLE)),
            (WORMHOLE_V1, Mount("/api/wormhole/v1", signed)),
            (WORMHOLE_V1, below("/wormhole/v1", WORMHOLE_EXAMPLE)),
            (WORMHOLE_V1, Mount("/api/v1", one(default, WORMHOLE), is_alias=True)),
            (WORMHOLE_V1, replace(below("/api/v1", WORMHOLE_EXAMPLE), is_alias=True)),
            (EVENTS, Mount("/api/wormhole/events", signed)),
            (EVENTS, below("/wormhole/events", WORMHOLE_EXAMPLE)),
        )
    )

    def mounted(_: Mapping[str, str]) -> list[str]:
        protocols = {mount.protocol for mount in networks.values()}
        served = [*(iota if IOTA in protocols else ()), *(of_wormhole if WORMHOLE in protocols else ())]
        # Wallets look here for nodes that count votes.
        prefixes = {mount.prefix for family, mount in served if family is not PARTICIPATION_V1}
        prefixes |= {"/api/mqtt/v1"} if IOTA in protocols else set()
        fixed = {each.removeprefix("/api/") for each in prefixes if each.startswith("/api/") and "{" not in each}
        return sorted(fixed | networks.keys())

    of_all = (
        (INDEX, Mount("", lambda _: networks)),
        (HEALTH, Mount("", lambda _: networks)),
        (ROUTES, Mount("", mounted)),
        (SEARCH, Mount("/api", lambda _: networks)),
        (SEARCH_IN_NETWORK, replace(below("", CHRYSALIS_EXAMPLE), context=searched)),
        *iota,
        (CHRONICLE_SERVICE, Mount("/api", lambda _: Service(networks, up_since_ns))),
    )
    # The first family at a prefix writes the errors of unknown paths below it.
    is_wormhole = default in networks and networks[default].protocol == WORMHOLE
    for mounts in (of_wormhole, of_all) if is_wormhole else (of_all, of_wormhole):
        documented = query_names(family for family, _ in mounts)
        for family, mount in mounts:
            for operation in family.operations:
                # An operation that only rejects gives its reason whatever the query.
                yield OperationRoute(operation, family, mount, documented if operation.status == 200 else frozenset())


def create_app(networks: Mapping[str, NetworkMount], default: str, settings: ApiSettings) -> FastAPI:
    """Returns the application.

    Args:
        networks: the served networks by their name under /api.
        default: the network of paths that name none. Paths of the other protocol use the first network of theirs.
        settings: the server's settings.

    Raises:
        ValueError: a network's name is reserved or does not fit into a path, or `default` is not among the networks.
    """
    for name in networks:
        if name in RESERVED or not NETWORK_NAME.fullmatch(name):
            taken = "it is a path of this server" if name in RESERVED else "a name is letters, digits, '.', '_', '-'"
            raise ValueError(f"network {name} cannot be mounted at /api/{name}: {taken}")
    if default not in networks:
        raise ValueError(f"the default network {default} is not among {', '.join(sorted(networks)) or 'none'}")
    iota = first_of(networks, IOTA, default)
    stardust = chosen(networks, "stardust_network", settings.stardust_network, IOTA) or iota
    app = Permanode(settings, networks, iota, stardust)
    wormhole = chosen(networks, "wormhole_network", settings.wormhole_network, WORMHOLE)
    wormhole = wormhole or first_of(networks, WORMHOLE, default)
    app.router.routes.extend(routes(networks, default, stardust, wormhole))
    app.router.routes.extend(
        [
            *grpc_web_routes("", lambda _: find_network(networks, wormhole, WORMHOLE)),
            *grpc_web_routes("/api/{network}", lambda path: find_network(networks, path["network"], WORMHOLE)),
        ]
    )
    return app


def chosen(networks: Mapping[str, NetworkMount], setting: str, name: str | None, protocol: str) -> str | None:
    """The network that a setting names; ValueError for one that is not there, or of another protocol."""
    found = [each for each, mount in networks.items() if mount.protocol == protocol]
    if name is not None and name not in found:
        raise ValueError(f"api.{setting}: {name} is not among {', '.join(sorted(found)) or 'none'}")
    return name
