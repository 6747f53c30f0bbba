"""What a node would answer, whole, read off the oracle ledger: the expectation behind every client here.

Rules of this file: only the version comes from the project's code; a listing fits one page.
"""

from typing import Any

from api.version import program_version
from tests.api.oracle import Json, Oracle

PAGE_SIZE = 1000
"""What a page holds when nothing is said."""


def info(oracle: Oracle) -> Json:
    """A permanode's own words, and no rates or proof of work, as no traffic reaches it."""
    own = {"name": "Permanode", "version": program_version(), "minPoWScore": 0}
    rates = dict.fromkeys(("messagesPerSecond", "referencedMessagesPerSecond", "referencedRate"), 0)
    return {**oracle.expected["info"], **own, **rates}


def listing(items: str, ids: list[str], **head: Any) -> Json:
    assert len(ids) <= PAGE_SIZE
    return {**head, "maxResults": PAGE_SIZE, "count": len(ids), items: ids, "state": None}


def children(oracle: Oracle, message_id: str) -> Json:
    return listing("childrenMessageIds", oracle.children.get(message_id, []), messageId=message_id)


def tagged(oracle: Oracle, tag: str) -> Json:
    return listing("messageIds", oracle.tagged[tag], index=tag)


def address_outputs(oracle: Oracle, address: str, output_type: int | None = None, *, include_spent: bool) -> Json:
    ids = oracle.address_outputs(address, output_type=output_type, include_spent=include_spent)
    return listing("outputIds", ids, addressType=0, address=address, ledgerIndex=oracle.expected["milestones"])


def balance(oracle: Oracle, account: Json) -> Json:
    """Of one of `addresses` in expected.json."""
    own = {key: account[key] for key in ("address", "balance", "dustAllowed")}
    return {"addressType": 0, **own, "ledgerIndex": oracle.expected["milestones"]}


def milestone(line: Json) -> Json:
    return {key: line["milestone"][key] for key in ("index", "messageId", "timestamp")}


def milestone_messages(line: Json) -> Json:
    ids = [entry["id"] for entry in line["messages"]]
    return listing("messageIds", ids, index=line["milestone"]["index"])


def receipts(oracle: Oracle, migrated_at: int | None = None) -> Json:
    found = oracle.expected["receipts"]
    return {"receipts": [each for each in found if migrated_at in (None, each["receipt"]["migratedAt"])]}
