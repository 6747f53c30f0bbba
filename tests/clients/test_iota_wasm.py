"""The Rust clients compiled to WebAssembly, as in web pages: @iota/sdk-wasm 1.1.3 and @iota/client-wasm 0.4.0.

This server is their only node. sdk-wasm also sends what the IOTA explorer sends through it: an empty `cursor` with
every list, and requests of the node's plugins.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import reference_indexer as reference
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.clients import bodies
from tests.clients.api_requests_indexer import outputs_of, some_filters
from tests.clients.api_requests_plugins import NOT_COUNTED, circulating
from tests.clients.drive import ApiRequests, Driver
from tests.clients.installs import HERE, Node
from tests.clients.test_iota_client_stardust import spelled
from tests.clients.test_iota_sdk import REQUESTS as SDK_REQUESTS
from tests.reference_indexer import TAKES

pytestmark = pytest.mark.clients

SDK_METHODS = {
    "getInfo": "get_info",
    "getBlock": "get_block_data",
    "getBlockMetadata": "get_block_metadata",
    "getIncludedBlock": "get_included_block",
    "getOutputs": "get_outputs",
    "getMilestoneById": "get_milestone_by_id",
    "getMilestoneByIndex": "get_milestone_by_index",
    "getUtxoChangesById": "get_utxo_changes_by_id",
    "getUtxoChangesByIndex": "get_utxo_changes_by_index",
    "callPluginRoute": "call_plugin_route",
}
"""Method → the one in Python with the same answers."""

SDK_LISTS = {route: "outputIds" if route == "all" else f"{route}OutputIds" for route in TAKES}

KINDS = {0: "SignatureLockedSingle", 1: "SignatureLockedDustAllowance"}


def driver(node: Node, kind: str, base: str, folder: Path) -> Driver:
    (folder / "node_modules").symlink_to(node.modules)
    return Driver((node.node, shutil.copy(HERE / "drivers" / "iota_wasm.cjs", folder), kind, base))


@pytest.fixture(scope="module")
def sdk(node: Node, server: str, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return driver(node, "sdk", server, tmp_path_factory.mktemp("sdk_wasm"))


@pytest.fixture(scope="module")
def client(node: Node, server: str, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return driver(node, "client", server, tmp_path_factory.mktemp("client_wasm"))


def as_in_the_sdk(value: Any) -> Any:
    """The SDK's class of protocol parameters has the type of receipts."""
    if isinstance(value, list):
        return [as_in_the_sdk(each) for each in value]
    if isinstance(value, dict):
        changed = {"type": 0} if "targetMilestoneIndex" in value else {}
        return {key: as_in_the_sdk(each) for key, each in value.items()} | changed
    return value


@pytest.mark.parametrize("method", SDK_METHODS)
def test_the_sdk_reads_what_the_ledger_holds(sdk: Driver, stardust: StardustLedger, method: str) -> None:
    requests = [
        (tuple(map(spelled, arguments)), as_in_the_sdk(answer))
        for arguments, answer in SDK_REQUESTS[SDK_METHODS[method]](stardust)
    ]
    sdk.check(method, requests)


@pytest.mark.parametrize("route", SDK_LISTS)
def test_the_sdk_finds_what_a_scan_finds_with_an_empty_cursor(
    sdk: Driver, stardust: StardustLedger, route: str
) -> None:
    outputs, index = outputs_of(stardust), stardust.expected["milestones"]
    requests: ApiRequests = [
        (
            ([*({name: value} for name, value in filters.items()), {"cursor": ""}],),
            {"ledgerIndex": index, "cursor": None, "items": reference.found(outputs, route, filters)},
        )
        for filters in some_filters(outputs, route)
    ]
    sdk.check(SDK_LISTS[route], requests)


def test_the_sdk_reads_the_plugins_of_the_explorer(sdk: Driver, stardust: StardustLedger) -> None:
    sdk.check("callPluginRoute", [(("api/supply/v1/", "GET", "circulating"), circulating(stardust))])
    event = f"events/0x{'ab' * 32}"
    for found in sdk.ask(
        [["callPluginRoute", "api/participation/v1/", "GET", each] for each in (event, f"{event}/status")]
    ):
        assert found["refused"] == 501
        assert NOT_COUNTED in found["message"]


def test_an_error_reaches_the_sdk(sdk: Driver) -> None:
    unknown = f"0x{'ab' * 32}"
    calls = [["getBlock", unknown], ["getOutput", f"{unknown}0000"], ["getMilestoneByIndex", 51], ["getTips"]]
    assert [each["refused"] for each in sdk.ask(calls)] == [404, 404, 404, 501]


def outputs_of_addresses(oracle: Oracle) -> ApiRequests:
    for account in oracle.expected["addresses"]:
        for kind, name in ((None, None), *KINDS.items()):
            ids = oracle.address_outputs(account["address"], output_type=kind, include_spent=True)
            yield (account["bech32"], {"includeSpent": True, "outputType": name}), ids


def output(oracle: Oracle, entry: Json) -> Json:
    """An output as the client writes it."""
    bech32 = {each["address"]: each["bech32"] for each in oracle.expected["addresses"]}
    kept = {key: entry[key] for key in ("messageId", "transactionId", "outputIndex", "isSpent", "ledgerIndex")}
    held = entry["output"]
    return {
        **kept,
        "address": bech32[held["address"]["address"]],
        "amount": held["amount"],
        "kind": KINDS[held["type"]],
    }


def balance(account: Json, ledger_index: int) -> Json:
    known = {"address": account["bech32"], "balance": account["balance"], "dustAllowed": account["dustAllowed"]}
    return {**known, "ledgerIndex": ledger_index}


CLIENT_REQUESTS: dict[str, Callable[[Oracle], ApiRequests]] = {
    "getHealth": lambda _: [((), True)],
    "message.data": lambda oracle: [
        ((each["id"],), {"messageId": each["id"], "message": each["message"]}) for each in oracle.entries
    ],
    "message.metadata": lambda oracle: [((each["id"],), each["metadata"]) for each in oracle.entries],
    "message.children": lambda oracle: [
        ((each["id"],), oracle.children.get(each["id"], [])) for each in oracle.entries
    ],
    "getOutput": lambda oracle: [
        ((key,), output(oracle, each))
        for key, each in oracle.outputs.items()
        if each["output"]["address"]["address"] in {one["address"] for one in oracle.expected["addresses"]}
    ],
    "address.balance": lambda oracle: [
        ((each["bech32"],), balance(each, oracle.expected["milestones"])) for each in oracle.expected["addresses"]
    ],
    "address.outputs": outputs_of_addresses,
    "getMilestone": lambda oracle: [
        ((each["index"],), each) for each in (bodies.milestone(line) for line in oracle.milestones)
    ],
    "getMilestoneUtxoChanges": lambda oracle: [
        ((line["milestone"]["index"],), line["milestone"]["utxoChanges"]) for line in oracle.milestones
    ],
    "getTreasury": lambda oracle: [((), oracle.expected["treasury"])],
    "getReceipts": lambda oracle: [((), oracle.expected["receipts"])],
    "getReceiptsMigratedAt": lambda oracle: [
        ((index,), bodies.receipts(oracle, index)["receipts"])
        for index in sorted({each["receipt"]["migratedAt"] for each in oracle.expected["receipts"]})
    ],
}
"""Method of client-wasm → its arguments and the expected answer, mostly the node's own JSON."""


@pytest.mark.parametrize("method", CLIENT_REQUESTS)
def test_the_client_reads_what_the_ledger_holds(client: Driver, oracle: Oracle, method: str) -> None:
    client.check(method, CLIENT_REQUESTS[method](oracle))


def test_the_client_reads_info(client: Driver, oracle: Oracle, server: str) -> None:
    (found,) = client.answers([["getInfo"]])
    assert found["nodeinfo"] == bodies.info(oracle)
    assert server.startswith(f"{found['url']}:"), "it leaves out the port"


def test_an_error_reaches_the_client(client: Driver) -> None:
    missing, tips = client.ask([["getMilestone", 51], ["getTips"]])
    assert (missing["refused"], "milestone 51 is not in this archive" in missing["message"]) == (404, True)
    assert (tips["refused"], "an archive has no tips" in tips["message"]) == (501, True)
