"""A node's expected responses, computed from the oracle ledger. All client tests here use them.

Only the version comes from project code. A listing fits on one page.
"""

from collections.abc import Mapping
from typing import Any

from api.version import VERSION
from tests.api.chronicle_v1.test_chronicle_listings import record
from tests.api.chronicle_v1.test_chronicle_v1 import attached
from tests.api.oracle import Json, Oracle

PAGE_SIZE = 1000
"""The default page size of a node."""


def info(oracle: Oracle) -> Json:
    """The fields that only a permanode has, and no rates or proof of work, as it receives no traffic."""
    own = {"name": "Permanode", "version": VERSION, "minPoWScore": 0}
    rates = dict.fromkeys(("messagesPerSecond", "referencedMessagesPerSecond", "referencedRate"), 0)
    return {**oracle.expected["info"], **own, **rates}


def listing(name: str, items: list[Any], page_size: int = PAGE_SIZE, **head: Any) -> Json:
    assert len(items) <= page_size
    return {**head, "maxResults": page_size, "count": len(items), name: items, "state": None}


def children(message_id: str, items: list[Any], page_size: int = PAGE_SIZE) -> Json:
    return listing("childrenMessageIds", items, page_size, messageId=message_id)


def tagged(tag: str, items: list[Any]) -> Json:
    return listing("messageIds", items, index=tag)


def address_outputs(oracle: Oracle, address: str, items: list[Any], page_size: int = PAGE_SIZE) -> Json:
    ledger_index = oracle.expected["milestones"]
    return listing("outputIds", items, page_size, addressType=0, address=address, ledgerIndex=ledger_index)


def message_records(oracle: Oracle, message_ids: list[str]) -> list[Json]:
    """The objects with which `expanded` replaces message ids."""
    return [record(oracle, each, each) for each in message_ids]


def output_records(oracle: Oracle, output_ids: list[str]) -> list[Json]:
    """The objects with which `expanded` replaces output ids, newest first; conflicting ones too."""
    known = oracle.conflicting_outputs | oracle.outputs
    records = [record(oracle, each, known[each]["messageId"]) for each in output_ids]
    return sorted(records, key=lambda each: (each["milestoneIndex"], each["id"]), reverse=True)


def transactions(oracle: Oracle, address: str, states: tuple[str, ...]) -> Json:
    """The transactions of an address that have one of those inclusion states, in Chronicle's spelling."""
    items = [item for item in oracle.histories.get(address, []) if item["ledgerInclusionState"] in states]
    return {"transactions": [attached(oracle, oracle.by_id[item["messageId"]]) for item in items], "state": None}


def history(oracle: Oracle, address: str, page_size: int = PAGE_SIZE) -> Json:
    items = oracle.histories.get(address, [])
    ledger_index = oracle.expected["milestones"]
    return listing("history", items, page_size, addressType=0, address=address, ledgerIndex=ledger_index)


def sync(milestones: int) -> Json:
    """Everything from the first milestone to the last, and nothing after; no archive file is recorded for any."""
    end = milestones + 1
    gap = {"start": end, "end": 2147483647}
    all_of_them = [{"start": 1, "end": end}]
    proved = {"believed": [], "merkle": [], "signed": all_of_them, "full": []}
    return {"completed": all_of_them, "synced_but_unlogged": all_of_them, "gaps": [gap], "proved": proved}


SERVICE = {
    "status": "Running",
    "name": "Permanode",
    "up_since": {"secs_since_epoch": 1640995200, "nanos_since_epoch": 0},
    "downtime_ms": 0,
    "microservices": {},
    "log_path": None,
}
"""The server's own state, with any start time."""


def balance(oracle: Oracle, account: Json) -> Json:
    """The balance of one of `addresses` in expected.json."""
    own = {key: account[key] for key in ("address", "balance", "dustAllowed")}
    return {"addressType": 0, **own, "ledgerIndex": oracle.expected["milestones"]}


def milestone(line: Json) -> Json:
    return {key: line["milestone"][key] for key in ("index", "messageId", "timestamp")}


def milestone_messages(line: Json) -> Json:
    ids = [entry["id"] for entry in line["messages"]]
    return listing("messageIds", ids, index=line["milestone"]["index"])


def receipts(oracle: Oracle, migrated_at: int | None = None) -> Json:
    found = oracle.expected["receipts"]
    chosen = [each for each in found if migrated_at in (None, each["receipt"]["migratedAt"])]
    return {"receipts": chosen, "state": None}


def index(networks: Mapping[str, str]) -> Json:
    """The answer of /. `networks`: name → protocol."""
    return {
        "name": "Permanode",
        "version": VERSION,
        "networks": [
            {"name": name, "protocol": protocol, "url": f"/api/{name}"} for name, protocol in sorted(networks.items())
        ],
        "docs": "/docs",
        "openapi": "/openapi.json",
    }
