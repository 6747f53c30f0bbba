"""The listings that can be proved complete: family number, name, bytes of the key, bytes of a row id.

A row id is the milestone index (u32, big-endian) and the ids by which the listing's table is clustered, so that byte
order is the listing's order, oldest first. A page with the newest row first has the same rows reversed.

Listings of messages contain every referenced message. The others contain only rows of included transactions, whose
set the milestone's Merkle root proves. Rows of a genesis or snapshot are in no family, because it is not a milestone.

The numbers are hashed: never change one, never use one again. A new family starts a new log.
"""

from collections.abc import Mapping
from dataclasses import dataclass

U16_BYTES, U32_BYTES, ID_BYTES, OUTPUT_ID_BYTES, FLAG_BYTES = 2, 4, 32, 34, 1

ADDRESS_BYTES, FOUNDRY_ID_BYTES, TAG_MOST = 33, 38, 64

MESSAGE_ROW = U32_BYTES + ID_BYTES
"""Milestone index, message id."""

OUTPUT_ROW = U32_BYTES + OUTPUT_ID_BYTES + ID_BYTES
"""Milestone index, output id, message id."""

CHAIN_ROW = U32_BYTES + U32_BYTES + OUTPUT_ID_BYTES
"""Milestone index, white-flag index (u32, big-endian), output id."""

UPDATE_ROW = U32_BYTES + OUTPUT_ID_BYTES + FLAG_BYTES
"""Milestone index, output id, 1 if it was spent and 0 if it was created."""

TRANSACTION_ROW = U32_BYTES + ID_BYTES + ID_BYTES
"""Milestone index, transaction id, message id."""


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of listing. Its keys have `key_least` to `key_most` bytes, its row ids `row_bytes`."""

    number: int
    name: str
    key_least: int
    key_most: int
    row_bytes: int

    def has_key(self, key: bytes) -> bool:
        """Whether the family can have this key."""
        return self.key_least <= len(key) <= self.key_most


def _fixed(number: int, name: str, key_bytes: int, row_bytes: int) -> Family:
    return Family(number, name, key_bytes, key_bytes, row_bytes)


def _tags(number: int, name: str, row_bytes: int) -> Family:
    return Family(number, name, 0, TAG_MOST, row_bytes)


def _addresses(number: int, output_kind: str, *variants: str) -> tuple[Family, ...]:
    """Families of outputs by the serialized address in a role, with consecutive numbers."""
    return tuple(
        _fixed(number + offset, f"{output_kind}_outputs_by_{variant}", ADDRESS_BYTES, OUTPUT_ROW)
        for offset, variant in enumerate(variants)
    )


FAMILIES: tuple[Family, ...] = (
    _tags(1, "messages_by_tag", MESSAGE_ROW),
    _fixed(2, "messages_by_parent", ID_BYTES, MESSAGE_ROW),
    *_addresses(16, "legacy", "address"),
    *_addresses(32, "basic", "address", "sender", "storage_deposit_return", "expiration_return"),
    _tags(47, "basic_outputs_by_tag", OUTPUT_ROW),
    *_addresses(48, "alias", "sender", "issuer", "state_controller", "governor"),
    _fixed(63, "alias_outputs_by_chain", ID_BYTES, CHAIN_ROW),
    *_addresses(64, "foundry", "address"),
    _fixed(79, "foundry_outputs_by_chain", FOUNDRY_ID_BYTES, CHAIN_ROW),
    *_addresses(80, "nft", "address", "storage_deposit_return", "sender", "issuer", "expiration_return"),
    _tags(94, "nft_outputs_by_tag", OUTPUT_ROW),
    _fixed(95, "nft_outputs_by_chain", ID_BYTES, CHAIN_ROW),
    _fixed(112, "ledger_updates_by_address", ADDRESS_BYTES, UPDATE_ROW),
    _fixed(113, "transactions_by_address", ADDRESS_BYTES, TRANSACTION_ROW),
)

BY_NAME: Mapping[str, Family] = {each.name: each for each in FAMILIES}

BY_NUMBER: Mapping[int, Family] = {each.number: each for each in FAMILIES}


def milestone_of(row: bytes) -> int:
    """The milestone index in a row id."""
    return int.from_bytes(row[:U32_BYTES], "big")
