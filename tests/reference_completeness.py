"""The rows of provable listings and the records of milestones, from the reference's rows of tables."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tests.ledger.completeness.reference import Listing, mth

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

NUMBERS = {
    ("legacy", "address"): 16,
    ("basic", "address"): 32,
    ("basic", "sender"): 33,
    ("basic", "storage_deposit_return"): 34,
    ("basic", "expiration_return"): 35,
    ("alias", "sender"): 48,
    ("alias", "issuer"): 49,
    ("alias", "state_controller"): 50,
    ("alias", "governor"): 51,
    ("foundry", "address"): 64,
    ("nft", "address"): 80,
    ("nft", "storage_deposit_return"): 81,
    ("nft", "sender"): 82,
    ("nft", "issuer"): 83,
    ("nft", "expiration_return"): 84,
}
"""Kind of outputs and role → number of the family, repeated here independently of the code."""


def listings(rows: Rows, genesis: int) -> dict[Listing, list[bytes]]:
    """The row ids of each listing above the genesis, from rows of a store's tables."""
    found: dict[Listing, set[bytes]] = defaultdict(set)

    def add(family: int, key: str, index: int, *parts: str) -> None:
        if index > genesis:
            found[family, bytes.fromhex(key)].add(index.to_bytes(4, "big") + bytes.fromhex("".join(parts)))

    for row in rows.get("tags", ()):
        add(1, row["tag"], row["milestone_index"], row["message_id"])
    for row in rows.get("parents", ()):
        add(2, row["parent_id"], row["milestone_index"], row["message_id"])
    for row in rows.get("outputs_by_address", ()):
        if row["included"]:
            family = NUMBERS[row["output_kind"], row["variant"]]
            add(family, row["address"], row["milestone_index"], row["output_id"], row["message_id"])
    for row in rows.get("outputs_by_tag", ()):
        if row["included"]:
            family = {"basic": 47, "nft": 94}[row["output_kind"]]
            add(family, row["tag"], row["milestone_index"], row["output_id"], row["message_id"])
    for table, family in (("alias_outputs", 63), ("foundry_outputs", 79), ("nft_outputs", 95)):
        for row in rows.get(table, ()):
            place = f"{row['white_flag_index']:08x}"
            add(family, row["chain_id"], row["milestone_index"], place, row["output_id"])
    for row in rows.get("ledger_updates_by_address", ()):
        add(112, row["address"], row["milestone_index"], row["output_id"], f"{row['is_spent']:02x}")
    for row in rows.get("transactions_by_address", ()):
        if row["included"]:
            add(113, row["address"], row["milestone_index"], row["transaction_id"], row["message_id"])
    return {listing: sorted(each) for listing, each in found.items()}


def milestone_record(rows: Rows, index: int, *, stardust: bool) -> bytes:
    """The record of a milestone in the log."""
    (milestone,) = [row for row in rows["milestones"] if row["milestone_index"] == index]
    cone = sorted(
        (row["white_flag_index"], row["message_id"])
        for row in rows["messages_by_milestone"]
        if row["milestone_index"] == index
    )
    changes = sorted(
        (row["white_flag_index"], row["idx"], row["is_spent"], row["output_id"])
        for row in rows.get("ledger_updates_by_milestone", ())
        if row["milestone_index"] == index
    )
    return (
        b"\xfe"
        + index.to_bytes(4, "big")
        + bytes.fromhex(milestone["milestone_id" if stardust else "message_id"])
        + milestone["timestamp"].to_bytes(8, "big")
        + len(cone).to_bytes(4, "big")
        + mth([bytes.fromhex(message_id) for _, message_id in cone])
        + mth([bytes.fromhex(output_id) + bytes([is_spent]) for _, _, is_spent, output_id in changes])
    )
