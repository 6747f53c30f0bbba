"""iota.js 2.0.0-rc.4 as in a wallet or explorer: every reading method of core v2, over the whole oracle ledger."""

from collections.abc import Callable

import pytest

from tests.api.stardust import StardustLedger, milestone_bytes
from tests.clients import drive
from tests.clients.drive import ApiRequests, Driver
from tests.clients.installs import Node

pytestmark = pytest.mark.clients

NEVER = {
    "blockSubmit": 501,
    "blockSubmitRaw": 501,
    "peer": 501,
    "peerAdd": 405,
    "peerDelete": 405,
    "peers": 501,
    "tips": 501,
}
"""Methods that only a node supports, because a permanode stores history, and the error for each."""

FAMILIES = (
    "analytics/v2", "core/v1", "core/v2", "explorer/v2", "indexer/v1", "mqtt/v1", "poi/v1", "supply/v1", "v1",
    "wormhole/events", "wormhole/v1",
)  # fmt: skip
NETWORKS_BESIDE = ("permatest-1", "wormhole-mainnet")

PLUMBING = {"constructor", "combineQueryParams", "fetchBinary", "fetchJson", "fetchStatus", "fetchWithTimeout"}
"""What the client's methods are built from."""


def of_blocks(key: str) -> Callable[[StardustLedger], ApiRequests]:
    return lambda ledger: [((entry["id"],), entry[key]) for entry in ledger.entries]


def of_transactions(key: str) -> Callable[[StardustLedger], ApiRequests]:
    return lambda ledger: [((transaction_id,), entry[key]) for transaction_id, entry in ledger.included.items()]


def of_milestones(name: str, key: str) -> Callable[[StardustLedger], ApiRequests]:
    """By index or by id, according to `name`; `key`: the part of a milestone that is returned."""
    return lambda ledger: [((each[name],), each[key]) for each in ledger.milestone_entries]


def of_milestone_bytes(name: str) -> Callable[[StardustLedger], ApiRequests]:
    return lambda ledger: [((each[name],), milestone_bytes(each)) for each in ledger.milestone_entries]


def receipts(ledger: StardustLedger) -> ApiRequests:
    return [((), ledger.receipts()), *(((index,), ledger.receipts(index)) for index in ledger.migrated_at)]


def retrieve_data(ledger: StardustLedger) -> ApiRequests:
    """Tag and data, each omitted if empty."""
    for entry in ledger.entries:
        payload = entry["block"].get("payload", {})
        carried = payload["essence"].get("payload") if payload.get("type") == 6 else payload
        tagged = carried and carried["type"] == 5
        found = {key: carried[key][2:] for key in ("tag", "data") if key in carried} if tagged else None
        yield (entry["id"],), found


REQUESTS: dict[str, Callable[[StardustLedger], ApiRequests]] = {
    "health": lambda _: [((), True)],
    "routes": lambda ledger: [((), {"routes": sorted([*FAMILIES, *NETWORKS_BESIDE, ledger.network])})],
    "info": lambda ledger: [((), ledger.info())],
    "protocolInfo": lambda ledger: [((), ledger.expected["info"]["protocol"])],
    "block": of_blocks("block"),
    "blockMetadata": of_blocks("metadata"),
    "blockRaw": of_blocks("bytes_hex"),
    "transactionIncludedBlock": of_transactions("block"),
    "transactionIncludedBlockRaw": of_transactions("bytes_hex"),
    "output": lambda ledger: [((output_id,), each) for output_id, each in ledger.outputs.items()],
    "outputMetadata": lambda ledger: [((key,), each["metadata"]) for key, each in ledger.outputs.items()],
    "milestoneById": of_milestones("milestoneId", "payload"),
    "milestoneByIndex": of_milestones("index", "payload"),
    "milestoneByIdRaw": of_milestone_bytes("milestoneId"),
    "milestoneByIndexRaw": of_milestone_bytes("index"),
    "milestoneUtxoChangesById": of_milestones("milestoneId", "utxoChanges"),
    "milestoneUtxoChangesByIndex": of_milestones("index", "utxoChanges"),
    "treasury": lambda ledger: [((), ledger.expected["treasury"])],
    "receipts": receipts,
    "pluginFetch": lambda ledger: [(("core/v2/", "get", "treasury"), ledger.expected["treasury"])],
    "retrieveData": retrieve_data,
}
"""Method of SingleNodeClient, or function over it → its arguments and the expected results."""


@pytest.fixture(scope="module")
def iota_js(node: Node, server: str, stardust: StardustLedger, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    folder, mnemonic = tmp_path_factory.mktemp("iota_js_stardust"), stardust.expected["mnemonic"]
    return drive.iota_js(node, folder, "iota-stardust.js", server, "/api/", mnemonic)


@pytest.mark.parametrize("method", REQUESTS)
def test_it_reads_what_the_ledger_holds(iota_js: Driver, stardust: StardustLedger, method: str) -> None:
    iota_js.check(method, REQUESTS[method](stardust))


def test_the_bytes_of_an_output_are_those_that_it_makes_of_the_output_itself(
    iota_js: Driver, stardust: StardustLedger
) -> None:
    expected = iota_js.answers([["serializeOutput", each["output"]] for each in stardust.outputs.values()])
    assert len({data[:2] for data in expected}) == 4, "outputs of every kind"
    iota_js.check("outputRaw", [((key,), data) for key, data in zip(stardust.outputs, expected, strict=True)])


def test_what_is_not_there_is_an_error_of_its_own_kind_that_names_it(iota_js: Driver) -> None:
    unknown = f"0x{'ab' * 32}"
    calls = [
        ["block", unknown],
        ["blockRaw", unknown],
        ["output", f"{unknown}0000"],
        ["milestoneById", unknown],
        ["milestoneByIndex", 51],
        ["transactionIncludedBlock", unknown],
        ["block", "0xabc"],
    ]
    found = iota_js.ask(calls)
    assert [each["refused"] for each in found] == [404] * 6 + [400]
    for (_, requested), each in zip(calls, found, strict=True):
        assert str(requested).removeprefix("0x") in each["message"]


@pytest.mark.parametrize("method", NEVER)
def test_what_only_a_node_can_do_is_rejected(iota_js: Driver, stardust: StardustLedger, method: str) -> None:
    entry = stardust.entries[0]
    arguments = {"blockSubmit": [entry["block"]], "blockSubmitRaw": [{"hex": entry["bytes_hex"]}]}
    (found,) = iota_js.ask([[method, *arguments.get(method, ["id"] if method.startswith("peer") else [])]])
    assert found["refused"] == NEVER[method]
    assert found["message"]


def test_no_method_of_the_client_is_left_out(iota_js: Driver) -> None:
    (methods,) = iota_js.answers([[""]])
    assert {"retrieveData"} <= set(REQUESTS)
    assert set(methods) == {*REQUESTS, *NEVER, *PLUMBING, "outputRaw"} - {"retrieveData"}
