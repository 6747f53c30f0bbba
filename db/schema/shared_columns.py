"""Columns that several tables share, as arguments of `db.model.columns`."""

from db.model import Type

MESSAGE_ID = ("message_id", Type.HEX, "BLAKE2b-256 of the message's canonical bytes")

MILESTONE_INDEX = ("milestone_index", Type.INT, "index of the milestone that references the message")

MS_TIMESTAMP = ("ms_timestamp", Type.TIMESTAMP, "timestamp of that milestone; never a key, because it need not rise")

MS_RANGE_ID = ("ms_range_id", Type.INT, "milestone_index // chunk_size")

PARTITION_ID = ("partition_id", Type.INT, "first milestone of the partition; 0 for the first of a range")

INCLUSION_STATE = ("inclusion_state", Type.TINYINT, "0 noTransaction, 1 included, 2 conflicting; null: not referenced")

TRANSACTION_ID = ("transaction_id", Type.HEX, "BLAKE2b-256 of the transaction payload")

OUTPUT_ID = ("output_id", Type.HEX, "transaction id and output index (u16, little-endian): 34 bytes")

OUTPUT_KIND = ("output_kind", Type.TEXT, "legacy, basic, alias, foundry or nft")

INCLUDED = ("included", Type.BOOLEAN, "created by an included message; conflicting attachments are separate")

OUTPUT_TYPE = ("output_type", Type.TINYINT, "protocol's output type number")

AMOUNT = ("amount", Type.BIGINT, "base tokens")

FILTERS = (
    ("sender", Type.HEX, "serialized address of the sender feature"),
    ("issuer", Type.HEX, "serialized address of the immutable issuer feature"),
    ("tag", Type.HEX, "bytes of the tag feature"),
    ("state_controller", Type.HEX, "serialized address that may change the alias' state"),
    ("governor", Type.HEX, "serialized address that may change the alias' controllers"),
    ("storage_deposit_return", Type.HEX, "serialized address to which the storage deposit must be returned"),
    ("storage_deposit_return_amount", Type.BIGINT, "base tokens to return"),
    ("timelock", Type.BIGINT, "seconds since 1970 before which nobody may spend it"),
    ("expiration", Type.BIGINT, "seconds since 1970 from which it belongs to the return address"),
    ("expiration_return", Type.HEX, "serialized return address after expiration"),
    ("native_tokens", Type.SMALLINT, "number of different native tokens in it; null: its protocol has none"),
)
"""Properties by which Stardust outputs can be filtered, in every lookup of outputs. Null if an output does not have
one.
"""
