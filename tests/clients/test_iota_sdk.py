"""PyPI iota-sdk 1.1.4, the Rust client of Stardust, with this server as its only node.

An answer is the client's own objects, as JSON. The client cannot read receipts from any node (it expects funds as a
number, Hornet writes a string): there the test expects its error, and reads the same receipts as bytes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.api.oracle import Json
from tests.api.stardust import StardustLedger, milestone_bytes
from tests.clients.drive import ApiRequests, Driver
from tests.clients.installs import HERE, IOTA_SDK_WHEELS, find_interpreter, python_programs

pytestmark = pytest.mark.clients

ANY_URL = "http://127.0.0.1"
"""The client's fields about the node from which it got its info."""

AT_ONCE = 20
"""Objects that one call of the client can request together."""


UNORDERED = ("find_blocks",)
"""Methods that request many objects at once and return them in the order of arrival."""


def octets(text: str) -> list[int]:
    return list(bytes.fromhex(text))


def has_receipt(milestone: Json) -> bool:
    return any(option["type"] == 0 for option in milestone.get("options", ()))


def is_readable(entry: Json) -> bool:
    """Whether the client can read a block: it cannot if the block contains a receipt."""
    return not has_receipt(entry["block"].get("payload", {}))


def readable_milestones(ledger: StardustLedger) -> list[Json]:
    return [each for each in ledger.milestone_entries if not has_receipt(each["payload"])]


def of_blocks(key: str) -> Callable[[StardustLedger], ApiRequests]:
    return lambda ledger: [((entry["id"],), entry[key]) for entry in ledger.entries if is_readable(entry)]


def of_transactions(key: str) -> Callable[[StardustLedger], ApiRequests]:
    return lambda ledger: [((transaction_id,), entry[key]) for transaction_id, entry in ledger.included.items()]


def of_milestones(name: str) -> Callable[[StardustLedger], ApiRequests]:
    return lambda ledger: [((each[name],), each["payload"]) for each in readable_milestones(ledger)]


def of_milestone_bytes(name: str) -> Callable[[StardustLedger], ApiRequests]:
    return lambda ledger: [((each[name],), octets(milestone_bytes(each))) for each in ledger.milestone_entries]


def of_utxo_changes(name: str) -> Callable[[StardustLedger], ApiRequests]:
    return lambda ledger: [((each[name],), each["utxoChanges"]) for each in ledger.milestone_entries]


def many_outputs(ledger: StardustLedger) -> ApiRequests:
    for start in range(0, len(ledger.outputs), AT_ONCE):
        some = dict(list(ledger.outputs.items())[start : start + AT_ONCE])
        yield ([{"outputId": output_id} for output_id in some],), list(some.values())


def outputs_or_nothing(ledger: StardustLedger) -> ApiRequests:
    """With an id that does not exist."""
    unknown = {"outputId": f"0x{'ab' * 32}0000"}
    return [(([*requested, unknown],), answer) for (requested,), answer in many_outputs(ledger)]


def find_blocks(ledger: StardustLedger) -> ApiRequests:
    entries = list(filter(is_readable, ledger.entries))
    for start in range(0, len(entries), AT_ONCE):
        some = entries[start : start + AT_ONCE]
        yield ([entry["id"] for entry in some],), [entry["block"] for entry in some]


def network_info(ledger: StardustLedger) -> Json:
    """The part of info that the client keeps beside its own settings."""
    return {"protocolParameters": ledger.expected["info"]["protocol"], "localPow": True, "tipsInterval": 5}


REQUESTS: dict[str, Callable[[StardustLedger], ApiRequests]] = {
    "get_info": lambda ledger: [((), {"nodeInfo": ledger.info(), "url": ANY_URL})],
    "get_network_info": lambda ledger: [((), network_info(ledger))],
    "get_network_id": lambda ledger: [((), int(ledger.expected["networkId"]))],
    "get_bech32_hrp": lambda ledger: [((), ledger.expected["bech32Hrp"])],
    "get_min_pow_score": lambda ledger: [((), ledger.expected["info"]["protocol"]["minPowScore"])],
    "unhealthy_nodes": lambda _: [((), [])],
    "get_block_data": of_blocks("block"),
    "get_block_metadata": lambda ledger: [((entry["id"],), entry["metadata"]) for entry in ledger.entries],
    "get_block_raw": lambda ledger: [((entry["id"],), octets(entry["bytes_hex"])) for entry in ledger.entries],
    "find_blocks": find_blocks,
    "get_included_block": of_transactions("block"),
    "get_included_block_metadata": of_transactions("metadata"),
    "get_output": lambda ledger: [((output_id,), each) for output_id, each in ledger.outputs.items()],
    "get_output_metadata": lambda ledger: [((key,), each["metadata"]) for key, each in ledger.outputs.items()],
    "get_outputs": many_outputs,
    "get_outputs_ignore_errors": outputs_or_nothing,
    "get_milestone_by_id": of_milestones("milestoneId"),
    "get_milestone_by_index": of_milestones("index"),
    "get_milestone_by_id_raw": of_milestone_bytes("milestoneId"),
    "get_milestone_by_index_raw": of_milestone_bytes("index"),
    "get_utxo_changes_by_id": of_utxo_changes("milestoneId"),
    "get_utxo_changes_by_index": of_utxo_changes("index"),
    "get_treasury": lambda ledger: [((), ledger.expected["treasury"])],
    "call_plugin_route": lambda ledger: [
        (("api/core/v2/", "GET", "receipts"), ledger.receipts()),
        (("api/core/v2/", "GET", "treasury"), ledger.expected["treasury"]),
    ],
}
"""Method of the client → its arguments and the expected answer."""


@pytest.fixture(scope="module")
def client(cache: Path, server: str) -> Driver:
    interpreter = find_interpreter("iota-sdk", IOTA_SDK_WHEELS)
    python = python_programs(cache, "iota_sdk", interpreter) / "python"
    return Driver((str(python), str(HERE / "drivers" / "sdk_client.py"), server))


@pytest.mark.parametrize("method", REQUESTS)
def test_it_reads_what_the_ledger_holds(client: Driver, stardust: StardustLedger, method: str) -> None:
    client.check(method, REQUESTS[method](stardust), ordered=method not in UNORDERED)


def test_it_finds_us_healthy(client: Driver, stardust: StardustLedger, server: str) -> None:
    client.check("get_health", [((server,), True)])
    client.check("get_node_info", [((server,), stardust.info())])


def test_receipts_it_rejects_as_from_any_node(client: Driver, stardust: StardustLedger) -> None:
    carriers = [each for each in stardust.milestone_entries if has_receipt(each["payload"])]
    calls: list[list[Any]] = [["get_receipts"], *(["get_receipts_migrated_at", each] for each in stardust.migrated_at)]
    calls += [["get_milestone_by_id", each["milestoneId"]] for each in carriers]
    calls += [["get_milestone_by_index", each["index"]] for each in carriers]
    assert len(calls) == 10
    for found in client.ask(calls):
        assert found["refused"] is None
        assert "expected u64" in found["message"]
    unread = [entry for entry in stardust.entries if not is_readable(entry)]
    assert len(unread) == 3
    for entry in unread:
        # If none of its payload types fits, it takes the first one without required fields.
        found = {**entry["block"], "payload": {"type": 5}}
        client.check("get_block_data", [((entry["id"],), found)])


def test_an_error_reaches_it_with_its_status(client: Driver) -> None:
    unknown = f"0x{'ab' * 32}"
    calls: list[list[Any]] = [
        ["get_block_data", unknown],
        ["get_block_raw", unknown],
        ["get_output", f"{unknown}0000"],
        ["get_milestone_by_index", 51],
        ["get_included_block", unknown],
    ]
    for (_, requested), found in zip(calls, client.ask(calls), strict=True):
        assert found["refused"] == 404
        assert str(requested) in found["message"]


@pytest.mark.parametrize("method", ["get_peers", "get_tips", "post_block_raw"])
def test_what_only_a_node_can_do_is_rejected(client: Driver, stardust: StardustLedger, method: str) -> None:
    arguments = [octets(stardust.entries[0]["bytes_hex"])] if method == "post_block_raw" else []
    (found,) = client.ask([[method, *arguments]])
    assert found["refused"] == 501
    assert '"code":"501"' in found["message"]
