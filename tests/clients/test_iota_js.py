"""iota.js 1.8.6 as in a wallet or explorer: every reading method, over the whole oracle ledger."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.api.oracle import Json, Oracle
from tests.clients import bodies, drive
from tests.clients.drive import ApiRequests, Driver
from tests.clients.installs import Node

pytestmark = pytest.mark.clients

NEVER = {
    "messageSubmit": 501,
    "messageSubmitRaw": 501,
    "peer": 501,
    "peerAdd": 405,
    "peerDelete": 405,
    "peers": 501,
    "tips": 501,
}
"""Methods that only a node supports, because a permanode stores history, and the error for each."""

PLUMBING = {"constructor", "combineQueryParams", "fetchBinary", "fetchJson", "fetchStatus", "fetchWithTimeout"} | {
    "getPoWInfo"
}
"""What the client's methods are built from."""


def message(oracle: Oracle) -> ApiRequests:
    return [((entry["id"],), entry["message"]) for entry in oracle.entries]


def message_metadata(oracle: Oracle) -> ApiRequests:
    return [((entry["id"],), entry["metadata"]) for entry in oracle.entries]


def message_raw(oracle: Oracle) -> ApiRequests:
    return [((entry["id"],), entry["bytes_hex"]) for entry in oracle.entries]


def message_children(oracle: Oracle) -> ApiRequests:
    return [
        ((entry["id"],), bodies.children(entry["id"], oracle.children.get(entry["id"], []))) for entry in oracle.entries
    ]


def messages_find(oracle: Oracle) -> ApiRequests:
    as_bytes = [(({"hex": tag},), bodies.tagged(tag, ids)) for tag, ids in oracle.tagged.items()]
    tag = b"permanode".hex()
    return [*as_bytes, (("permanode",), bodies.tagged(tag, oracle.tagged[tag]))]


def transaction_included_message(oracle: Oracle) -> ApiRequests:
    return [((transaction_id,), entry["message"]) for transaction_id, entry in oracle.included.items()]


def output(oracle: Oracle) -> ApiRequests:
    return [((output_id,), each) for output_id, each in oracle.outputs.items()]


FILTERS: tuple[tuple[tuple[Any, ...], int | None, bool], ...] = (
    ((), None, False),
    ((0,), 0, False),
    ((None, True), None, True),
    ((1, True), 1, True),
)
"""(arguments after the address, output type, include spent)."""


def address_outputs(oracle: Oracle) -> ApiRequests:
    for account in oracle.expected["addresses"]:
        for given, kind, spent in FILTERS:
            ids = oracle.address_outputs(account["address"], output_type=kind, include_spent=spent)
            yield (account["bech32"], *given), bodies.address_outputs(oracle, account["address"], ids)


def address_ed25519_outputs(oracle: Oracle) -> ApiRequests:
    for address in oracle.addresses:
        for given, kind, spent in FILTERS:
            ids = oracle.address_outputs(address, output_type=kind, include_spent=spent)
            yield (address, *given), bodies.address_outputs(oracle, address, ids)


def address(oracle: Oracle) -> ApiRequests:
    return [((account["bech32"],), bodies.balance(oracle, account)) for account in oracle.expected["addresses"]]


def address_ed25519(oracle: Oracle) -> ApiRequests:
    return [((account["address"],), bodies.balance(oracle, account)) for account in oracle.expected["addresses"]]


def milestone(oracle: Oracle) -> ApiRequests:
    return [((line["milestone"]["index"],), bodies.milestone(line)) for line in oracle.milestones]


def milestone_utxo_changes(oracle: Oracle) -> ApiRequests:
    return [((line["milestone"]["index"],), line["milestone"]["utxoChanges"]) for line in oracle.milestones]


def receipts(oracle: Oracle) -> ApiRequests:
    migrated_at = sorted({each["receipt"]["migratedAt"] for each in oracle.expected["receipts"]})
    return [((), bodies.receipts(oracle)), *(((index,), bodies.receipts(oracle, index)) for index in migrated_at)]


def retrieve_data(oracle: Oracle) -> ApiRequests:
    for entry in oracle.entries:
        payload = entry["message"]["payload"]
        carried = payload["essence"]["payload"] if payload and payload["type"] == 0 else payload
        tagged = carried is not None and carried["type"] == 2
        data = {"data": carried["data"]} if tagged and carried["data"] else {}
        yield (entry["id"],), {"index": carried["index"], **data} if tagged else None


def unspent_addresses(oracle: Oracle) -> list[Json]:
    """As a wallet finds them: in the order of their paths."""
    accounts = [account for account in oracle.expected["addresses"] if account["balance"]]
    return [{"address": each["bech32"], "path": each["bip44"], "balance": each["balance"]} for each in accounts]


def calculate_inputs(oracle: Oracle) -> ApiRequests:
    """Inputs for one token more than the first address has: all of its outputs, and one of the next address."""
    first, second = oracle.expected["addresses"][:2]
    inputs, amount = [], 0
    for account in (first, second):
        ids = oracle.address_outputs(account["address"], output_type=None, include_spent=False)
        for output_id in ids[:1] if account is second else ids:
            found = oracle.outputs[output_id]
            spent = {"type": 0, "transactionId": output_id[:64], "transactionOutputIndex": found["outputIndex"]}
            inputs.append({"input": spent, "publicKey": account["publicKey"]})
            amount += found["output"]["amount"] if account is first else 0
    return [((amount + 1,), inputs)]


REQUESTS: dict[str, Callable[[Oracle], ApiRequests]] = {
    "health": lambda _: [((), True)],
    "info": lambda oracle: [((), bodies.info(oracle))],
    "message": message,
    "messageMetadata": message_metadata,
    "messageRaw": message_raw,
    "messageChildren": message_children,
    "messagesFind": messages_find,
    "transactionIncludedMessage": transaction_included_message,
    "output": output,
    "address": address,
    "addressOutputs": address_outputs,
    "addressEd25519": address_ed25519,
    "addressEd25519Outputs": address_ed25519_outputs,
    "milestone": milestone,
    "milestoneUtxoChanges": milestone_utxo_changes,
    "treasury": lambda oracle: [((), oracle.expected["treasury"])],
    "receipts": receipts,
    "retrieveData": retrieve_data,
    "calculateInputs": calculate_inputs,
    "getBalance": lambda oracle: [((0,), sum(each["balance"] for each in unspent_addresses(oracle)))],
    "getUnspentAddress": lambda oracle: [((0,), unspent_addresses(oracle)[0])],
    "getUnspentAddresses": lambda oracle: [((0,), unspent_addresses(oracle))],
}
"""Method of SingleNodeClient, or function over it → its arguments and the expected results."""


@pytest.fixture(scope="module")
def iota_js(node: Node, server: str, oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return driver(node, tmp_path_factory.mktemp("iota_js"), server, "/api/v1/", oracle)


def driver(node: Node, folder: Path, endpoint: str, base_path: str, oracle: Oracle) -> Driver:
    return drive.iota_js(node, folder, "@iota/iota.js", endpoint, base_path, oracle.expected["mnemonic"])


@pytest.mark.parametrize("method", REQUESTS)
def test_it_reads_what_the_ledger_holds(iota_js: Driver, oracle: Oracle, method: str) -> None:
    iota_js.check(method, REQUESTS[method](oracle))


@pytest.mark.parametrize("base_path", ["/api/core/v1/", "/api/permatest-1/"])
def test_it_reads_equally_at_every_mount(
    node: Node, server: str, oracle: Oracle, tmp_path: Path, base_path: str
) -> None:
    client = driver(node, tmp_path, server, base_path, oracle)
    line = oracle.milestones[20]
    entry = line["messages"][0]
    calls = [["info"], ["milestone", 21], ["message", entry["id"]], ["messageRaw", entry["id"]]]
    expected = [bodies.info(oracle), bodies.milestone(line), entry["message"], entry["bytes_hex"]]
    assert client.answers(calls) == expected


def test_what_is_not_there_is_an_error_of_its_own_kind_that_names_it(iota_js: Driver) -> None:
    unknown = "ab" * 32
    calls = [["message", unknown], ["output", f"{unknown}0000"], ["milestone", 51], ["message", "abc"]]
    found = iota_js.ask(calls)
    assert [each["refused"] for each in found] == [404, 404, 404, 400]
    for (_, requested), each in zip(calls, found, strict=True):
        assert str(requested) in each["message"]


@pytest.mark.parametrize("method", NEVER)
def test_what_only_a_node_can_do_is_rejected(iota_js: Driver, oracle: Oracle, method: str) -> None:
    entry = oracle.entries[0]
    arguments = {"messageSubmit": [entry["message"]], "messageSubmitRaw": [{"hex": entry["bytes_hex"]}]}
    (found,) = iota_js.ask([[method, *arguments.get(method, ["id"] if method.startswith("peer") else [])]])
    assert found["refused"] == NEVER[method]
    assert found["message"]


def test_no_method_of_the_client_is_left_out(iota_js: Driver) -> None:
    (methods,) = iota_js.answers([[""]])
    functions = {"calculateInputs", "getBalance", "getUnspentAddress", "getUnspentAddresses", "retrieveData"}
    assert functions <= set(REQUESTS)
    assert set(methods) == {*REQUESTS, *NEVER, *PLUMBING} - functions
