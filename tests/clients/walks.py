"""Calls of every route that openapi.yaml describes for IOTA networks, and the expected output of a driver for each.

Requests are keyed by their path below the mount, so every mount of a kind gets the same requests.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.api.contract import Described, described
from tests.api.oracle import Json, Oracle
from tests.api.paths import OF_WORMHOLE
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import NETWORK as WORMHOLE
from tests.clients.api_requests import ApiRequests, of_networks, of_nodes, of_the_server
from tests.clients.api_requests_analytics import of_analytics
from tests.clients.api_requests_events import of_events
from tests.clients.api_requests_explorer import of_explorer
from tests.clients.api_requests_indexer import of_indexer, of_seeds
from tests.clients.api_requests_log import of_listing_proofs, of_log
from tests.clients.api_requests_plugins import of_participation, of_supply
from tests.clients.api_requests_poi import BODY, of_poi
from tests.clients.api_requests_search import of_all_networks, of_one_network
from tests.clients.api_requests_v2 import of_core_v2
from tests.conftest import ROOT

CONTRACT = ROOT / "openapi.yaml"

NETWORK_MOUNT = "/api/{network}"

STARDUST_MOUNT = f"{NETWORK_MOUNT}/core/v2"

EXPLORER_MOUNT = f"{NETWORK_MOUNT}/explorer/v2"

ANALYTICS_MOUNT = f"{NETWORK_MOUNT}/analytics/v2"

POI_MOUNT = f"{NETWORK_MOUNT}/poi/v1"

INDEXER_MOUNT = f"{NETWORK_MOUNT}/indexer/v1"

SUPPLY_MOUNT = f"{NETWORK_MOUNT}/supply/v1"

PARTICIPATION_MOUNT = f"{NETWORK_MOUNT}/participation/v1"

MOUNTS = (
    "/api/v1", "/api/core/v1", "/api/core/v2", "/api/explorer/v2", "/api/analytics/v2", "/api/indexer/v1",
    "/api/poi/v1", "/api/supply/v1", "/api/participation/v1", STARDUST_MOUNT, EXPLORER_MOUNT, ANALYTICS_MOUNT,
    INDEXER_MOUNT, POI_MOUNT, SUPPLY_MOUNT, PARTICIPATION_MOUNT, NETWORK_MOUNT,
)  # fmt: skip
"""A longer prefix comes before a shorter one that begins it."""


@dataclass(frozen=True)
class Walk:
    """One call of an operation. `given`: parameter, as on the wire → value. `answer`: a JSON body, or hex of bytes.

    `varying`: keys of the body with unpredictable values.
    """

    method: str
    path: str
    operation: str
    status: int
    given: Mapping[str, Any]
    answer: Any
    varying: tuple[str, ...]
    is_alias: bool

    @property
    def is_bytes(self) -> bool:
        return isinstance(self.answer, str)

    @property
    def url(self) -> str:
        """The path with its parameters."""
        return self.path.format(**{name: quote(str(each)) for name, each in self.given.items()})

    @property
    def query(self) -> Json:
        """The other parameters, without the request body, as texts."""
        given = {name: each for name, each in self.given.items() if name != BODY and f"{{{name}}}" not in self.path}
        return {name: str(each).lower() if isinstance(each, bool) else each for name, each in given.items()}

    def check(self, printed: Json) -> None:
        """Compares the whole output of a driver; an error includes its whole body."""
        if self.status != 200:
            assert printed == {"refused": self.status, "message": self.answer}, self
            return
        foretold = {key: self.answer[key] for key in self.varying if key in printed["answer"]}
        found = printed["answer"] | foretold if foretold else printed["answer"]
        assert found == self.answer, self


def contract(*, of_wormhole: bool = False) -> list[Described]:
    """Every route that openapi.yaml describes for IOTA networks, or for Wormhole networks."""
    return [each for each in described() if bool(OF_WORMHOLE.search(each.path)) == of_wormhole]


def place(path: str, method: str) -> tuple[str, str]:
    """The mount of a path ("" outside all mounts), and the path of its requests."""
    mount = next((mount for mount in MOUNTS if path.startswith(f"{mount}/")), "")
    below = path.removeprefix(mount)
    return mount, below if method == "get" else f"{method} {below}"


def api_requests(oracle: Oracle, stardust: StardustLedger) -> dict[str, ApiRequests]:
    """Mount → its requests."""
    nodes, core_v2, indexer = of_nodes(oracle), of_core_v2(stardust), of_indexer(stardust)
    explorer, analytics, supply = of_explorer(stardust), of_analytics(stardust), of_supply(stardust)
    return {
        "": of_the_server([oracle.expected["network"], stardust.network, WORMHOLE]) | of_all_networks(oracle, stardust),
        "/api/v1": nodes,
        "/api/core/v1": nodes,
        NETWORK_MOUNT: of_networks(oracle)
        | of_seeds(stardust)
        | of_events(oracle, stardust)
        | of_log(oracle)
        | of_listing_proofs(oracle)
        | of_one_network(oracle, stardust),
        "/api/core/v2": core_v2,
        STARDUST_MOUNT: core_v2,
        "/api/explorer/v2": explorer,
        EXPLORER_MOUNT: explorer,
        "/api/analytics/v2": analytics,
        ANALYTICS_MOUNT: analytics,
        "/api/indexer/v1": indexer,
        INDEXER_MOUNT: indexer,
        "/api/supply/v1": supply,
        SUPPLY_MOUNT: supply,
        "/api/participation/v1": of_participation(),
        PARTICIPATION_MOUNT: of_participation(),
        "/api/poi/v1": of_poi("stardust"),
        POI_MOUNT: of_both_eras(stardust),
    }


def of_both_eras(stardust: StardustLedger) -> ApiRequests:
    """Proofs of inclusion of the Chrysalis network and, by its name, of the Stardust network."""
    named = {
        path: [each._replace(given={"network": stardust.network} | each.given) for each in requests]
        for path, requests in of_poi("stardust").items()
    }
    return {path: requests + named[path] for path, requests in of_poi("chrysalis").items()}


def walks(oracle: Oracle, stardust: StardustLedger) -> Iterator[Walk]:
    """At least one call for each route of openapi.yaml, in order. KeyError names a path without a request.

    An operation without a documented 200 has to answer 501.
    """
    requests = api_requests(oracle, stardust)
    chrysalis = oracle.expected["network"]
    networks = {NETWORK_MOUNT: chrysalis, POI_MOUNT: chrysalis}
    of_stardust = (STARDUST_MOUNT, EXPLORER_MOUNT, ANALYTICS_MOUNT, INDEXER_MOUNT, SUPPLY_MOUNT, PARTICIPATION_MOUNT)
    networks |= dict.fromkeys(of_stardust, stardust.network)
    for path, method, operation, is_alias in contract():
        mount, below = place(path, method)
        network = {"network": networks[mount]} if mount in networks else {}
        for each in requests[mount][below]:
            given = network | each.given
            error = each.answer.get("error") if isinstance(each.answer, dict) else None
            status = int(error["code"]) if error else 200
            yield Walk(method, path, operation["operationId"], status, given, each.answer, each.varying, is_alias)
