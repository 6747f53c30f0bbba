"""Wormhole's SDK: guardians over gRPC-web and wormholescan, with a network of this server as the only base URL.

`@certusone/wormhole-sdk-proto-web` 0.0.7 with its default transport, and `@wormhole-foundation/sdk-connect` 6.1.5. Each
reads every message of the store.
"""

import shutil
from pathlib import Path

import pytest

from tests.api.oracle import Json
from tests.api.wormhole_network import NETWORK, World, b64
from tests.clients.drive import Driver
from tests.clients.installs import HERE, Node
from tests.ledger.wormhole.cases import public_sets

pytestmark = pytest.mark.clients

NOT_FOUND, INVALID_ARGUMENT = 5, 3
"""Codes of gRPC."""


@pytest.fixture(scope="module", params=["", f"/api/{NETWORK}"], ids=["root", "network"])
def guardian(
    request: pytest.FixtureRequest, node: Node, server: str, tmp_path_factory: pytest.TempPathFactory
) -> Driver:
    return driver(node, server + request.param, tmp_path_factory.mktemp("guardian"))


@pytest.fixture(scope="module")
def scan(node: Node, server: str, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    return driver(node, f"{server}/api/{NETWORK}", tmp_path_factory.mktemp("scan"))


def driver(node: Node, base: str, folder: Path) -> Driver:
    (folder / "node_modules").symlink_to(node.modules)
    return Driver((node.node, shutil.copy(HERE / "drivers" / "wormhole.cjs", folder), base))


def place(record: Json) -> list[object]:
    return [record["emitter_chain"], record["emitter_address"], str(record["sequence"])]


def test_grpc_web_returns_every_verified_vaa(guardian: Driver, world: World) -> None:
    messages = list(world.canonical.values())
    answers = guardian.ask([["getSignedVAA", place(each.served)] for each in messages])
    for message, found in zip(messages, answers, strict=True):
        if message.served["quorum"]:
            assert found == {"answer": message.served["hex"]}
        else:
            assert found == {"refused": NOT_FOUND, "message": "requested VAA not found in store"}
    assert 5 < sum(each.served["quorum"] for each in messages) < len(messages) - 5


def test_grpc_web_returns_the_current_guardian_set(guardian: Driver) -> None:
    last = max(public_sets("mainnet"), key=int)
    (found,) = guardian.answers([["getCurrentGuardianSet"]])
    assert found["index"] == int(last)
    assert [each.lower() for each in found["addresses"]] == [
        each.lower() for each in public_sets("mainnet")[last]["addresses"]
    ]


def test_grpc_web_errors_reach_the_client_with_code_and_message(guardian: Driver) -> None:
    calls = [["getSignedVAA", [2, "abc", "1"]], ["getSignedVAA", [2, "ab" * 31, "1"]], ["getSignedVAAOfNothing"]]
    reasons = ["failed to decode address: expected hex", "address must be 32 bytes", "no message ID specified"]
    expected = [{"refused": INVALID_ARGUMENT, "message": each} for each in reasons]
    assert guardian.ask(calls) == expected


def by_message(scan: Driver, name: str, world: World) -> list[tuple[Json, Json | None]]:
    """The record of each message of a chain that the SDK knows, and what that function returns for it."""
    records = [each.served for each in world.canonical.values()]
    found = scan.ask([[name, place(each)] for each in records])
    unknown = {each["emitter_chain"] for each, one in zip(records, found, strict=True) if one.get("refused", 0) is None}
    known = [
        (each, one["answer"]) for each, one in zip(records, found, strict=True) if each["emitter_chain"] not in unknown
    ]
    assert len(known) > len(records) / 2
    return known


def test_the_sdk_reads_every_vaa(scan: Driver, world: World) -> None:
    for record, answer in by_message(scan, "getVaaBytes", world):
        assert answer == (record["hex"] if record["quorum"] else None), record["message_id"]


def test_the_sdk_reads_the_transaction_of_every_message(scan: Driver, world: World) -> None:
    for record, answer in by_message(scan, "getTransactionStatus", world):
        if record["quorum"]:
            assert answer is not None
            assert (answer["id"], answer["emitterChain"]) == (record["message_id"], record["emitter_chain"])
        else:
            assert answer is None


def test_the_sdk_finds_the_vaa_of_a_transaction(scan: Driver, world: World) -> None:
    sent = {each.tx_id for each in world.verified if each.tx_id}
    assert len(sent) > 5
    answers = scan.answers([["getVaaByTxHash", each] for each in sorted(sent)])
    for tx_id, answer in zip(sorted(sent), answers, strict=True):
        of_transaction = [each.served for each in world.verified if each.tx_id == tx_id]
        assert (answer["id"], answer["vaa"]) in [(each["message_id"], b64(each["hex"])) for each in of_transaction]
    assert scan.answers([["getVaaByTxHash", "0x" + "99" * 32]]) == [None]


def test_the_sdk_lists_the_transactions_of_an_address(scan: Driver, world: World) -> None:
    recipients = {
        each.served["decoded"]["to_address"]
        for each in world.verified
        if each.served["payload_kind"] == "token_transfer"
    }
    assert len(recipients) > 3
    for address, found in zip(
        sorted(recipients), scan.answers([["getTxsByAddress", each] for each in sorted(recipients)]), strict=True
    ):
        expected = {
            each.served["message_id"]
            for each in world.verified
            if (each.served.get("decoded") or {}).get("to_address") == address
        }
        assert expected <= {each["id"] for each in found}
    assert scan.answers([["getTxsByAddress", "99" * 32]]) == [None]
