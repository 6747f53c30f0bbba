"""Pending transactions and their outputs in every role, read from the blocks of later milestones of both ledgers."""

from collections import defaultdict
from typing import Any

import pytest

from api.app import ApiSettings, create_app
from api.explorer_v2 import pending_responses as responses
from api.network import NetworkMount
from db.store import WritableStore
from ledger.crypto.bech32 import format_address
from tests import reference, reference_stardust
from tests.api.asgi import ask
from tests.api.conftest import Filled, Some, filled_with, new_store
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.reference_rows import Rows

LOADED, UP_TO = 10, 40
"""Milestones that are loaded; the messages of the others up to there are pending."""

PENDING = 2**31
"""The milestone of a pending message, in sort keys."""

EVERY_STORE = [
    pytest.param(("sqlite", "default"), id="sqlite"),
    pytest.param(("cassandra", ""), id="cassandra", marks=[pytest.mark.cassandra, pytest.mark.slow]),
]

ROLES = {
    "address": "address",
    "sender": "sender",
    "issuer": "issuer",
    "stateController": "state_controller",
    "governor": "governor",
    "storageDepositReturn": "storage_deposit_return",
    "expirationReturn": "expiration_return",
}
BASE = "/api/testing/explorer/v2/pending"


class Waiting:
    """What the input files say about the pending messages of one ledger."""

    def __init__(self, name: str, lines: list[Json], hrp: str) -> None:
        self.hrp, self.lines = hrp, lines
        self.is_stardust = name == "stardust"
        self.of = reference_stardust if self.is_stardust else reference
        self.message, messages = ("block", "blocks") if self.is_stardust else ("message", "messages")
        self.entries = [entry for line in lines[LOADED:UP_TO] for entry in line[messages]]
        self.outputs: dict[str, dict[str, list[Json]]] = defaultdict(lambda: defaultdict(list))
        self.attachments: dict[str, list[Json]] = defaultdict(list)
        for entry in self.entries:
            if "transactionId" in entry:
                self._add(entry)

    def rows(self) -> Rows:
        return self.of.reference_rows(self.lines[:LOADED], self.entries, 100_000, 100_000, "pending-1")

    def _add(self, entry: Json) -> None:
        transaction_id, payload = entry["transactionId"].removeprefix("0x"), entry[self.message]["payload"]
        block_id = f"0x{entry['id'].removeprefix('0x')}"
        self.attachments[transaction_id].append({"blockId": block_id, "payload": payload})
        fact = self.of.message_fact(entry).transaction
        assert fact is not None
        for index, (output, known) in enumerate(zip(payload["essence"]["outputs"], fact.outputs, strict=True)):
            output_id = transaction_id + index.to_bytes(2, "little").hex()
            item = {"outputId": f"0x{output_id}", "blockId": block_id, "output": output}
            for role, key in known.keys(output_id).items():
                self.outputs[role][key].append(item)

    def of_address(self, address: str, role: str | None) -> list[Json]:
        """The items of an address in one role or in all, each once, newest first."""
        found = [item for each in ([role] if role else ROLES.values()) for item in self.outputs[each].get(address, ())]
        return newest_first({item["outputId"] + item["blockId"]: item for item in found}.values())


def newest_first(items: Any) -> list[Json]:
    """All were received at once, so the order is that of the ids."""
    return sorted(items, key=lambda item: (item.get("outputId", ""), item["blockId"]), reverse=True)


@pytest.fixture(scope="module")
def waiting(oracle: Oracle, stardust: StardustLedger, era: str) -> Waiting:
    ledger = stardust if era == "stardust" else oracle
    return Waiting(era, list(ledger.milestones), ledger.expected["bech32Hrp"])


@pytest.fixture(scope="module", params=["stardust", "chrysalis"])
def era(request: pytest.FixtureRequest) -> str:
    era: str = request.param
    return era


@pytest.fixture(scope="module", params=EVERY_STORE)
def pending_app(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    waiting: Waiting,
    era: str,
    filled: Filled,
) -> Any:
    key = (f"pending{era}", *request.param)
    if key not in filled:
        filled[key] = filled_with(new_store(request, tmp_path_factory, f"pending{era}", "pending-1"), waiting.rows())
    return app_of(filled[key], waiting)


def app_of(store: WritableStore, waiting: Waiting) -> Any:
    return create_app({"testing": NetworkMount(store, "pending-1", waiting.hrp)}, "testing", ApiSettings())


async def walk(app: Any, path: str, **query: Any) -> list[Json]:
    """All items of a listing; no page but the last is short."""
    found: list[Json] = []
    while True:
        status, body = await ask(app, path, query)
        assert status == 200, body
        found += body["items"]
        if body["cursor"] is None:
            return found
        assert len(body["items"]) == query["pageSize"]
        query["cursor"] = body["cursor"]


@pytest.mark.thorough
async def test_outputs_of_every_address_in_every_role(pending_app: Any, waiting: Waiting, some: Some[Any]) -> None:
    held = {variant for variant, keys in waiting.outputs.items() if keys}
    assert held == ({*ROLES.values(), "tag", "chain"} if waiting.is_stardust else {"address"})
    addresses = {address for variant in ROLES.values() for address in waiting.outputs[variant]}
    for address in some(sorted(addresses)):
        path = f"{BASE}/outputs/by-address/{format_address(waiting.hrp, bytes.fromhex(address))}"
        for role, variant in [(None, None), *ROLES.items()]:
            query = {} if role is None else {"role": role}
            expected = waiting.of_address(address, variant)
            for page_size in (3, 1000):
                assert await walk(pending_app, path, pageSize=page_size, **query) == expected
            assert await walk(pending_app, path, pageSize=7, sort="oldest", **query) == expected[::-1]


@pytest.mark.thorough
async def test_outputs_of_every_tag_and_every_chain(pending_app: Any, waiting: Waiting, some: Some[Any]) -> None:
    for key, items in some(waiting.outputs["chain"].items()):
        for text in (key, f"0x{key}"):
            path = f"{BASE}/outputs/by-chain/{text}"
            assert await walk(pending_app, path, pageSize=2) == newest_first(items)
    for key, items in some(waiting.outputs["tag"].items()):
        queries: list[Json] = [{"tag": key}, {"tag": f"0x{key}"}]
        if bytes.fromhex(key).isascii():
            queries.append({"tag": bytes.fromhex(key).decode(), "utf8": "true"})
        for query in queries:
            assert await walk(pending_app, f"{BASE}/outputs", pageSize=2, **query) == newest_first(items)


async def test_every_transaction_by_id(pending_app: Any, waiting: Waiting, some: Some[Any]) -> None:
    assert len(waiting.attachments) > 50
    for transaction_id, items in some(waiting.attachments.items()):
        for text in (transaction_id, f"0x{transaction_id}"):
            status, body = await ask(pending_app, f"{BASE}/transactions/{text}", {})
            assert (status, body) == (
                200,
                {"transactionId": f"0x{transaction_id}", "items": newest_first(items), "cursor": None},
            )
            responses.PendingTransaction.model_validate(body, strict=True, extra="forbid")


@pytest.mark.thorough
async def test_whole_bodies_and_what_is_not_pending(pending_app: Any, waiting: Waiting) -> None:
    address = max(waiting.outputs["address"], key=lambda each: len(waiting.outputs["address"][each]))
    bech32 = format_address(waiting.hrp, bytes.fromhex(address))
    _, body = await ask(pending_app, f"{BASE}/outputs/by-address/{bech32}", {"role": "address", "pageSize": 1000})
    items = waiting.of_address(address, "address")
    assert body == {"address": bech32, "role": "address", "items": items, "cursor": None}
    responses.PendingOutputsOfAddress.model_validate(body, strict=True, extra="forbid")
    settled = [
        entry["transactionId"]
        for line in waiting.lines[:LOADED]
        for entry in line[f"{waiting.message}s"]
        if "transactionId" in entry
    ]
    assert settled
    for transaction_id in {*settled} - {*waiting.attachments} - {f"0x{each}" for each in waiting.attachments}:
        _, body = await ask(pending_app, f"{BASE}/transactions/{transaction_id}", {})
        assert body["items"] == []
    assert (await ask(pending_app, f"{BASE}/transactions/{settled[0]}", {"unknown": "1"}))[0] == 400


@pytest.mark.thorough
@pytest.mark.parametrize("era", ["stardust"], indirect=True)
async def test_what_a_milestone_references_since_is_not_pending(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, waiting: Waiting
) -> None:
    """The pending rows of such messages live on for the rest of their day."""
    rows = waiting.rows()
    later = waiting.of.reference_rows(waiting.lines[: UP_TO - 10], [], 100_000, 100_000, "pending-1")
    later |= {name: rows[name] for name in ("pending", "pending_hints", "pending_messages")}
    request.param = ("sqlite", "default")
    store = filled_with(new_store(request, tmp_path_factory, "since", "pending-1"), later)
    rest = Waiting("stardust", waiting.lines, waiting.hrp)
    still = {entry["id"] for line in waiting.lines[UP_TO - 10 : UP_TO] for entry in line["blocks"]}
    for address in rest.outputs["address"]:
        path = f"{BASE}/outputs/by-address/{format_address(waiting.hrp, bytes.fromhex(address))}"
        expected = [item for item in rest.of_address(address, None) if item["blockId"] in still]
        assert await walk(app_of(store, waiting), path, pageSize=5) == expected
    store.close()


class Owned:
    """The outputs of v1's listings with `included=false`: of included, conflicting and pending transactions."""

    def __init__(self, waiting: Waiting) -> None:
        facts = [waiting.of.milestone_fact(line) for line in waiting.lines[:LOADED]]
        loaded = [
            (milestone.index, message)
            for milestone in facts
            for message in milestone.messages
            if message.transaction is not None
        ]
        self.spent = {spend.output_id for _, each in loaded if each.state == 1 for spend in each.transaction.spends}
        chosen: dict[str, Any] = {}
        for index, message in loaded:
            place = message.state == 1, message.message_id
            if place >= chosen.get(message.transaction.transaction_id, ((False, ""),))[0]:
                chosen[message.transaction.transaction_id] = place, index, message
        self.final: dict[str, list[tuple[int, str, Json]]] = defaultdict(list)
        self.types: dict[str, int] = {}
        for (is_included, _), index, message in chosen.values():
            state = "included" if is_included else "conflicting"
            self._add(message, lambda name, index=index, state=state: (index, name, record(name, state, index)))
        for milestone in facts:
            for at, fund in enumerate(milestone.receipt.funds if milestone.receipt else ()):
                name = f"{milestone.milestone_id}{at.to_bytes(2, 'little').hex()}"
                self.types[name] = fund.output_type
                self.final[fund.owner].append((milestone.index, name, record(name, "included", milestone.index)))
        last: dict[str, Any] = {}
        for entry in waiting.entries:
            message = waiting.of.message_fact(entry)
            if message.transaction is not None and message.transaction.transaction_id not in chosen:
                before = last.setdefault(message.transaction.transaction_id, message)
                last[message.transaction.transaction_id] = max(before, message, key=lambda each: each.message_id)
        self.reattached = len(waiting.attachments) - len(last)
        for message in last.values():
            self._add(message, lambda name: (PENDING, name, record(name, None, None)))

    def _add(self, message: Any, row_of: Any) -> None:
        for at, output in enumerate(message.transaction.outputs):
            name = f"{message.transaction.transaction_id}{at.to_bytes(2, 'little').hex()}"
            self.types[name] = output.output_type
            for owner in {output.roles.get("address"), output.roles.get("state_controller")} - {None}:
                self.final[owner].append(row_of(name))

    def of_address(self, address: str, output_type: int | None, *, include_spent: bool) -> list[Json]:
        """Records of outputs, newest first: pending ones by id, then others by milestone and id."""
        return [
            shown
            for _, name, shown in sorted(self.final[address], key=lambda each: each[:2], reverse=True)
            if output_type in (None, self.types[name])
            and (include_spent or name not in self.spent or shown["inclusionState"] != "included")
        ]


def record(name: str, state: str | None, milestone: int | None) -> Json:
    return {"id": name, "inclusionState": state, "milestoneIndex": milestone}


async def v1(app: Any, path: str, page_size: int, **query: Any) -> list[Any]:
    """All items of a listing of v1, page by page."""
    found: list[Any] = []
    while True:
        status, body = await ask(app, path, query | {"page_size": page_size})
        assert status == 200, body
        found += body["data"]["outputIds"]
        assert body["data"]["ledgerIndex"] == LOADED
        if body["data"]["state"] is None:
            return found
        query["state"] = body["data"]["state"]


@pytest.mark.thorough
async def test_pending_outputs_of_every_address_in_v1(pending_app: Any, waiting: Waiting, some: Some[Any]) -> None:
    owned = Owned(waiting)
    seen: set[Any] = set()
    for address in some(sorted(owned.final)):
        path = f"/api/testing/addresses/{format_address(waiting.hrp, bytes.fromhex(address))}/outputs"
        for output_type in (None, *some(sorted({*owned.types.values()}))):
            for spent in ("true", "false"):
                query: Json = {"included": "false", "include-spent": spent, "expanded": "true"}
                query |= {} if output_type is None else {"type": output_type}
                expected = owned.of_address(address, output_type, include_spent=spent == "true")
                seen |= {each["inclusionState"] for each in expected}
                assert await v1(pending_app, path, 3, **query) == expected
                assert await v1(pending_app, path, 1000, sort="oldest", **query) == expected[::-1]
        ids = [each["id"] for each in owned.of_address(address, None, include_spent=True)]
        query = {"included": "false", "include-spent": "true"}
        assert await v1(pending_app, path, 1000, **query) == ids
        final = [each for each in owned.of_address(address, None, include_spent=True) if each["milestoneIndex"]]
        assert await v1(pending_app, path, 1000, **query, start=1) == [each["id"] for each in final]
        included = [each["id"] for each in final if each["inclusionState"] == "included"]
        assert await v1(pending_app, path, 1000, **query | {"included": "true"}) == included
    assert seen >= {"included", None}
    assert owned.reattached or not waiting.is_stardust
