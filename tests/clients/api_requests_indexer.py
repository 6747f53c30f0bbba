"""Requests for every list and object of the indexer, with data of the Stardust oracle ledger, and the expected bodies.

The expected lists come from a scan of the outputs (tests.reference_indexer).
"""

from typing import Any

from tests import reference_indexer as reference
from tests.api.oracle import Json
from tests.api.stardust import StardustLedger
from tests.clients.api_requests import ApiRequest, ApiRequests
from tests.reference_indexer import KINDS, NAMES_KEY, TAKES, Indexed

PAGE_SIZE = 1000

PATHS = {"all": "/outputs"} | {route: f"/outputs/{route}" for route in TAKES if route != "all"}
CHAINS = {"alias": "aliasId", "foundry": "foundryId", "nft": "nftId"}
"""Route of chain objects → the parameter that contains their id."""


def outputs_of(ledger: StardustLedger) -> list[Indexed]:
    """Every output of the ledger."""
    hrp = ledger.expected["bech32Hrp"]
    return [Indexed(output_id, entry, hrp) for output_id, entry in ledger.outputs.items()]


def body(ledger: StardustLedger, items: list[str], page_size: int = PAGE_SIZE) -> Json:
    """The whole response of a list that fits on one page."""
    assert len(items) <= PAGE_SIZE
    return {"ledgerIndex": ledger.expected["milestones"], "pageSize": page_size, "items": items}


def some_filters(outputs: list[Indexed], route: str) -> list[Json]:
    """Each filter of a route alone, with up to two matching values; no filter; and many at once."""
    of_route = [each for each in outputs if each.output["type"] in KINDS[route]]
    found: list[Json] = [{}]
    for name in TAKES[route]:
        values = dict.fromkeys(value for each in of_route for value in reference.hits(each, name))
        found += [{name: value} for value in list(values)[:2]]
    richest = max(of_route, key=lambda each: sum(bool(reference.hits(each, name)) for name in TAKES[route]))
    usable = {name: reference.hits(richest, name) for name in TAKES[route]}
    return [*found, {name: values[0] for name, values in usable.items() if values}]


def of_indexer(ledger: StardustLedger) -> ApiRequests:
    """The requests for a mount of the indexer."""
    outputs = outputs_of(ledger)
    requests: ApiRequests = {
        PATHS[route]: [
            ApiRequest(filters, body(ledger, reference.found(outputs, route, filters)))
            for filters in some_filters(outputs, route)
        ]
        for route in TAKES
    }
    address = ledger.expected["addresses"][0]["bech32"]
    for route in ("all", "basic", "nft"):
        given: Json = {"unlockableByAddress": address, "spent": "any", "sort": "newest"}
        every = reference.found(outputs, route, {"unlockableByAddress": address}, "any")
        requests[PATHS[route]].append(ApiRequest(given, body(ledger, every[::-1])))
    for route, name in CHAINS.items():
        requests[f"{PATHS[route]}/{{{name}}}"] = [
            ApiRequest({name: chain_id, **given}, answer)
            for chain_id, states in reference.chains(outputs, route).items()
            for given, answer in of_chain(ledger, states)
        ]
    return requests


def of_chain(ledger: StardustLedger, states: list[Indexed]) -> list[tuple[Json, Json]]:
    """The parameters beside a chain object's id, and the responses."""
    living = [each.output_id for each in states if not each.metadata["isSpent"]]
    every = [each.output_id for each in states]
    alive: list[tuple[Json, Json]] = [({}, body(ledger, living, 0))] if living else []
    return [*alive, ({"spent": "any"}, body(ledger, every))]


SEED_PATHS = {"basic": "/outputs", "alias": "/aliases", "nft": "/nft", "foundry": "/foundries"}
SEED_NAMES = {
    "basic": {"address": "address", "requiresDustReturn": "hasStorageDepositReturn", "sender": "sender", "tag": "tag"},
    "alias": {
        "stateController": "stateController", "governer": "governor", "governor": "governor", "issuer": "issuer",
        "sender": "sender",
    },
    "nft": {
        "address": "address", "requiresDustReturn": "hasStorageDepositReturn", "issuer": "issuer", "sender": "sender",
        "tag": "tag",
    },
    "foundry": {"address": "aliasAddress"},
}  # fmt: skip
"""Route → filter names in the Stardust schema plan → those of TIP-26."""


def of_seeds(ledger: StardustLedger) -> ApiRequests:
    """The requests for a network's own mount by the names of the Stardust schema plan, for the Stardust network."""
    outputs, network = outputs_of(ledger), {"network": ledger.network}
    requests: ApiRequests = {}
    for route, path in SEED_PATHS.items():
        api_requests: list[ApiRequest] = []
        for name, own in SEED_NAMES[route].items():
            of_route = (each for each in outputs if each.output["type"] in KINDS[route])
            values: list[Any] = list(dict.fromkeys(value for each in of_route for value in reference.hits(each, own)))
            for value in values[:2]:
                for spent in ("unspent", "any") if own in NAMES_KEY else ("unspent",):
                    found = reference.found(outputs, route, {own: value}, spent)
                    api_requests.append(ApiRequest({**network, name: value, "spent": spent}, body(ledger, found)))
        requests[path] = [ApiRequest(network, body(ledger, reference.found(outputs, route, {}))), *api_requests]
        if route in CHAINS:
            requests[f"{path}/{{{CHAINS[route]}}}"] = [
                ApiRequest({**network, CHAINS[route]: chain_id, **given}, answer)
                for chain_id, states in reference.chains(outputs, route).items()
                for given, answer in of_chain(ledger, states)
            ]
    return requests
