"""Outputs and transactions of Stardust in the routes of node REST v1 and Chronicle v1, against the oracle ledger."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.chronicle_v1 import responses as responses_chronicle
from api.node_v1 import ledger_responses, responses
from db.store import WritableStore
from ledger.crypto.bech32 import format_address
from tests import reference_stardust
from tests.api.asgi import ask
from tests.api.conftest import Some
from tests.api.node_v1.test_listings import walk
from tests.api.oracle import Json
from tests.api.stardust import StardustLedger
from tests.reference_stardust import bare

PAGE_SIZES = (7, 1000)


class OfAddresses:
    """What the input files say about addresses: outputs by owner, and attachments that pay or are signed by them."""

    def __init__(self, stardust: StardustLedger) -> None:
        self.stardust = stardust
        self.milestone_of = {
            bare(entry["id"]): line["milestone"]["index"] for line in stardust.milestones for entry in line["blocks"]
        }

    @cached_property
    def owned(self) -> dict[str, list[tuple[str, Json]]]:
        """Serialized address → id and entry of the outputs that it owns, newest first."""
        found = defaultdict(list)
        for output_id, entry in self.stardust.outputs.items():
            found[reference_stardust.output_fact(entry["output"]).owner].append((bare(output_id), entry))
        for items in found.values():
            items.sort(key=lambda item: (item[1]["metadata"]["milestoneIndexBooked"], item[0]), reverse=True)
        return dict(found)

    @cached_property
    def attached(self) -> list[tuple[Json, reference_stardust.Message]]:
        """Every referenced attachment of a transaction."""
        entries = [entry for line in self.stardust.milestones for entry in line["blocks"] if "transactionId" in entry]
        return [(entry, reference_stardust.message_fact(entry)) for entry in entries]

    @cached_property
    def rejected(self) -> dict[str, list[tuple[int, str]]]:
        """Serialized address → milestone and id of outputs of transactions that were never included, each once."""
        last: dict[str, reference_stardust.Message] = {}
        for entry, message in self.attached:
            transaction_id = bare(entry["transactionId"])
            if entry["transactionId"] not in self.stardust.expected["transactions"] and (
                transaction_id not in last or message.message_id > last[transaction_id].message_id
            ):
                last[transaction_id] = message
        found = defaultdict(list)
        for transaction_id, message in last.items():
            assert message.transaction is not None
            for index, output in enumerate(message.transaction.outputs):
                output_id = f"{transaction_id}{index.to_bytes(2, 'little').hex()}"
                found[output.owner].append((self.milestone_of[message.message_id], output_id))
        return dict(found)

    @cached_property
    def histories(self) -> dict[str, list[Json]]:
        """Ed25519 address → entries of its attachments, newest first."""
        found = defaultdict(list)
        for entry, message in self.attached:
            assert message.transaction is not None
            concerned = {output.owner for output in message.transaction.outputs}
            concerned |= {spend.signer for spend in message.transaction.spends if spend.signer}
            key = (self.milestone_of[message.message_id], bare(entry["transactionId"]), message.message_id)
            for address in concerned:
                if address.startswith("00"):
                    found[address[2:]].append((key, entry))
        return {
            address: [entry for _, entry in sorted(items, key=lambda item: item[0], reverse=True)]
            for address, items in found.items()
        }

    def attachment(self, entry: Json) -> Json:
        """Chronicle's response for one attachment."""
        essence, transaction_id = entry["block"]["payload"]["essence"], entry["transactionId"]
        return {
            "messageId": bare(entry["id"]),
            "milestoneIndex": self.milestone_of.get(bare(entry["id"])),
            "outputs": [
                {"output": output, "spendingMessageId": self.spender.get(f"{transaction_id}{index:02x}00")}
                for index, output in enumerate(essence["outputs"])
            ],
            "inputs": essence["inputs"],
            "ledgerInclusionState": entry["metadata"].get("ledgerInclusionState"),
        }

    @cached_property
    def spender(self) -> dict[str, str]:
        """Output id → the included block that spends it."""
        return {
            f"{spent['transactionId']}{spent['transactionOutputIndex']:02x}00": bare(entry["id"])
            for entry in self.stardust.included.values()
            for spent in entry["block"]["payload"]["essence"]["inputs"]
        }


@pytest.fixture(scope="module")
def addresses(stardust: StardustLedger) -> OfAddresses:
    return OfAddresses(stardust)


@pytest.fixture(scope="module")
def stardust_app(stardust_store: WritableStore, stardust: StardustLedger) -> Any:
    return create_app({"testing": stardust.mount(stardust_store)}, "testing", ApiSettings())


def expected_output(output_id: str, entry: Json) -> Json:
    """An output in the form of v1: node v1's keys, the output as in Stardust's JSON."""
    metadata = entry["metadata"]
    head = {
        "messageId": bare(metadata["blockId"]),
        "transactionId": output_id[:64],
        "outputIndex": metadata["outputIndex"],
        "isSpent": metadata["isSpent"],
    }
    if metadata["isSpent"]:
        head["milestoneIndexSpent"] = metadata["milestoneIndexSpent"]
        head["transactionIdSpent"] = bare(metadata["transactionIdSpent"])
    return head | {"output": entry["output"], "ledgerIndex": metadata["ledgerIndex"]}


@pytest.mark.thorough
async def test_every_output_with_and_without_0x(stardust_app: Any, stardust: StardustLedger, some: Some[Any]) -> None:
    for output_id, entry in some(stardust.outputs.items()):
        expected = {"data": expected_output(bare(output_id), entry)}
        index = entry["metadata"]["outputIndex"]
        paths = (output_id, bare(output_id), f"{output_id[:66]}/{index}", f"{output_id[2:66]}/{index}")
        for path in paths:
            status, body = await ask(stardust_app, f"/api/testing/outputs/{path}", {})
            assert (status, body) == (200, expected), path
            responses.OutputResponse.model_validate(body, strict=True, extra="forbid")


async def test_ids_of_the_network_s_own_listing_are_outputs_there(stardust_app: Any, some: Some[Any]) -> None:
    _, listed = await ask(stardust_app, "/api/testing/outputs", {})
    assert len(listed["items"]) > 100
    for output_id in some(listed["items"]):
        status, body = await ask(stardust_app, f"/api/testing/outputs/{output_id}", {})
        assert status == 200, body
        assert body["data"]["isSpent"] is False


@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_every_address_lists_the_outputs_that_it_owns(
    stardust_app: Any, stardust: StardustLedger, addresses: OfAddresses, some: Some[Any], page_size: int
) -> None:
    types = set()

    def kinds(owned: list[tuple[str, Json]]) -> int:
        return len({entry["output"]["type"] for _, entry in owned})

    for address, owned in some(sorted(addresses.owned.items(), key=lambda item: -kinds(item[1]))):
        bech32 = format_address(stardust.expected["bech32Hrp"], bytes.fromhex(address))
        path = f"/api/testing/addresses/{bech32}/outputs"
        for include_spent in (True, False):
            shown = [each for each in owned if include_spent or not each[1]["metadata"]["isSpent"]]
            query: Json = {"include-spent": str(include_spent).lower(), "page_size": page_size}
            await both_ways(stardust_app, path, query, [output_id for output_id, _ in shown])
            for output_type in {entry["output"]["type"] for _, entry in owned}:
                types.add(output_type)
                of_type = [output_id for output_id, entry in shown if entry["output"]["type"] == output_type]
                await both_ways(stardust_app, path, query | {"type": output_type}, of_type)
    assert len(types) > 1


async def both_ways(app: Any, path: str, query: Json, newest: list[str]) -> None:
    assert await walk(app, path, "outputIds", sort="newest", **query) == newest
    assert await walk(app, path, "outputIds", sort="oldest", **query) == newest[::-1]


async def test_whole_bodies_with_the_type_of_the_address(
    stardust_app: Any, stardust: StardustLedger, addresses: OfAddresses
) -> None:
    for kind in (0, 8, 16):
        address, owned = max(
            (item for item in addresses.owned.items() if item[0].startswith(f"{kind:02x}")),
            key=lambda item: len(item[1]),
        )
        bech32 = format_address(stardust.expected["bech32Hrp"], bytes.fromhex(address))
        query = {"include-spent": "true", "expanded": "true"}
        _, body = await ask(stardust_app, f"/api/testing/addresses/{bech32}/outputs", query)
        assert body["data"] == {
            "addressType": kind,
            "address": address[2:],
            "maxResults": 1000,
            "count": len(owned),
            "outputIds": [
                {"id": each, "inclusionState": "included", "milestoneIndex": entry["metadata"]["milestoneIndexBooked"]}
                for each, entry in owned
            ],
            "state": None,
            "ledgerIndex": 50,
        }
        responses.AddressOutputsResponse.model_validate(body, strict=True, extra="forbid")


async def test_outputs_of_conflicting_transactions_are_there_on_request(
    stardust_app: Any, stardust: StardustLedger, addresses: OfAddresses, some: Some[Any]
) -> None:
    assert sum(map(len, addresses.rejected.values())) > 20
    for address, rejected in some(addresses.rejected.items()):
        owned = [(entry["metadata"]["milestoneIndexBooked"], each) for each, entry in addresses.owned.get(address, ())]
        bech32 = format_address(stardust.expected["bech32Hrp"], bytes.fromhex(address))
        query: Json = {"include-spent": "true", "included": "false", "page_size": 100}
        newest = [each for _, each in sorted([*owned, *rejected], reverse=True)]
        await both_ways(stardust_app, f"/api/testing/addresses/{bech32}/outputs", query, newest)


async def test_balances_and_histories_of_addresses_of_every_type(
    stardust_app: Any, stardust: StardustLedger, addresses: OfAddresses
) -> None:
    for kind in (0, 8, 16):
        address, owned = max(
            (item for item in addresses.owned.items() if item[0].startswith(f"{kind:02x}")),
            key=lambda item: len(item[1]),
        )
        path = f"/api/testing/addresses/{format_address(stardust.expected['bech32Hrp'], bytes.fromhex(address))}"
        unspent = [entry["output"] for _, entry in owned if not entry["metadata"]["isSpent"]]
        _, body = await ask(stardust_app, path, {})
        assert body["data"] == {
            "addressType": kind,
            "address": address[2:],
            "balance": sum(int(each["amount"]) for each in unspent),
            "dustAllowed": False,
            "ledgerIndex": 50,
        }
        ledger_responses.BalanceResponse.model_validate(body, strict=True, extra="forbid")
        _, body = await ask(stardust_app, f"{path}/tx-history", {})
        ledger_responses.HistoryResponse.model_validate(body, strict=True, extra="forbid")
        history = body["data"]
        assert (history["addressType"], history["address"]) == (kind, address[2:])
        created = {each[:64] for each, entry in owned if entry["metadata"]["milestoneIndexBooked"]}
        listed = {each["transactionId"] for each in history["history"] if each["ledgerInclusionState"] == "included"}
        assert listed >= {each for each in created if f"0x{each}" in stardust.expected["transactions"]} != set()


async def test_every_attachment_of_a_transaction_by_its_block(
    stardust_app: Any, addresses: OfAddresses, stardust: StardustLedger, some: Some[Any]
) -> None:
    pending = [entry for entry in stardust.pending if "transactionId" in entry]
    for entry in some([*(entry for entry, _ in addresses.attached), *pending]):
        status, body = await ask(stardust_app, f"/api/testing/transactions/{bare(entry['id'])}", {})
        assert (status, body) == (200, {"data": addresses.attachment(entry)})
        responses_chronicle.TransactionResponse.model_validate(body, strict=True, extra="forbid")


@pytest.mark.thorough
@pytest.mark.parametrize("states", [("included", "conflicting"), ("included",), ("conflicting",)])
@pytest.mark.parametrize("page_size", PAGE_SIZES)
async def test_transactions_of_every_address_and_no_empty_page_with_a_state(
    stardust_app: Any, addresses: OfAddresses, some: Some[Any], states: Iterable[str], page_size: int
) -> None:
    query = {f"ledger_{state}": str(state in states).lower() for state in ("included", "conflicting")}
    for address, entries in some(addresses.histories.items()):
        wanted = [each for each in entries if each["metadata"]["ledgerInclusionState"] in states]
        found, state = [], {}
        while True:
            path = f"/api/testing/transactions/ed25519/{address}"
            status, body = await ask(stardust_app, path, query | {"page_size": page_size} | state)
            assert status == 200, body
            page = body["data"]
            found += page["transactions"]
            if page["state"] is None:
                break
            assert page["transactions"], "an empty page with a state"
            state = {"state": page["state"]}
        assert found == [addresses.attachment(each) for each in wanted]
