"""Requests for search, with ids of both oracle ledgers, and the expected bodies."""

from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.clients.api_requests import ApiRequest, ApiRequests


def of_one_network(oracle: Oracle, stardust: StardustLedger) -> ApiRequests:
    """The requests for a network's own mount."""
    found = [*named(oracle, stardust), {"q": "no such text", "results": []}]
    networks = (oracle.expected["network"], stardust.network)
    return {
        "/search": [
            request(each["q"], [result for result in each["results"] if result["network"] == network], network=network)
            for each in found
            for network in networks
        ]
    }


def of_all_networks(oracle: Oracle, stardust: StardustLedger) -> ApiRequests:
    """The requests outside all mounts."""
    return {"/api/search": [request(each["q"], each["results"]) for each in named(oracle, stardust)]}


def request(text: str, results: list[Json], **given: str) -> ApiRequest:
    return ApiRequest({"q": text} | given, {"results": results, "more": False})


def named(oracle: Oracle, stardust: StardustLedger) -> list[Json]:
    """Texts and what they find: the milestone 5 of both, a message, a block, an included transaction."""
    old, new = oracle.expected["network"], stardust.network
    message = oracle.entries[3]["id"]
    block = next(entry["id"] for entry in stardust.entries if "transactionId" not in entry)
    transaction = next(iter(stardust.expected["transactions"]))
    milestone = result("milestone", old, "5", "milestones/5")
    later = result("milestone", new, "5", "core/v2/milestones/by-index/5")
    return [
        {"q": "5", "results": sorted([milestone, later], key=lambda each: each["network"])},
        {"q": message[:8], "results": [result("message", old, message, f"messages/{message}")]},
        {"q": block[:12], "results": [result("block", new, block, f"core/v2/blocks/{block}")]},
        {
            "q": transaction,
            "results": [result("transaction", new, transaction, f"core/v2/transactions/{transaction}/included-block")],
        },
    ]


def result(kind: str, network: str, id_: str, path: str) -> Json:
    return {"kind": kind, "network": network, "id": id_, "url": f"/api/{network}/{path}"}
