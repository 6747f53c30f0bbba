"""Tables of messages (by id, milestone, parent, tag and transaction), of milestones, of ids by their first digits, and
of pending messages, which no milestone references yet.
"""

from db.model import Order, Table, Type, columns
from db.schema.shared_columns import (
    INCLUSION_STATE,
    MESSAGE_ID,
    MILESTONE_INDEX,
    MS_RANGE_ID,
    MS_TIMESTAMP,
    PARTITION_ID,
    TRANSACTION_ID,
)

PENDING_RANGE = 2_147_483_647
"""ms_range_id of pending rows (Stardust schema plan)."""

PENDING_TTL_S = 86_400
"""Lifetime of a pending row (Stardust schema plan: TTL 86400)."""

PENDING_BUCKET = 10
"""Milestones per partition of the pending lookup."""

PREFIX_BYTES = 2
"""Bytes of an id that a partition of ids_by_prefix shares: a billion ids have partitions of 15,000."""

messages = Table(
    "messages",
    "Every message that a milestone references, with its canonical bytes",
    columns(
        MESSAGE_ID,
        ("version", Type.TINYINT, "protocol version whose codec reads the bytes: 1 Chrysalis, 2 Stardust"),
        ("message", Type.BLOB, "canonical bytes, including the nonce"),
        MILESTONE_INDEX,
        MS_TIMESTAMP,
        ("white_flag_index", Type.INT, "position in the milestone's cone; null while the cone is incomplete"),
        INCLUSION_STATE,
        ("conflict_reason", Type.SMALLINT, "Hornet's conflict code: the source's, else the ledger state's, else null"),
    ),
    partition=("message_id",),
)

messages_by_milestone = Table(
    "messages_by_milestone",
    "The cone of each milestone in white-flag order; complete cones only",
    columns(
        MILESTONE_INDEX,
        ("white_flag_index", Type.INT, "position in the cone; the milestone's own message is last"),
        MESSAGE_ID,
        ("payload_kind", Type.TINYINT, "payload type number; null: no payload"),
        INCLUSION_STATE,
    ),
    partition=("milestone_index",),
    clustering=("white_flag_index", "message_id"),
    order=Order.ASC,
)

message_proofs = Table(
    "message_proofs",
    "Proofs of the messages of a selective store, which has no whole cones (decision 0044)",
    columns(
        MESSAGE_ID,
        MILESTONE_INDEX,
        ("proof", Type.BLOB, "audit paths or path of parents from the milestone (ledger/message_proof.py)"),
    ),
    partition=("message_id",),
    layout=17,
)

parents = Table(
    "parents",
    "Children of a message: one row per (parent, child)",
    columns(
        ("parent_id", Type.HEX, "the parent message"),
        MILESTONE_INDEX,
        MESSAGE_ID,
        MS_TIMESTAMP,
        INCLUSION_STATE,
    ),
    partition=("parent_id",),
    clustering=("milestone_index", "message_id"),
)

tags = Table(
    "tags",
    "Messages by index (Chrysalis) or tag (Stardust), directly or inside transactions",
    columns(
        ("tag", Type.HEX, "the index bytes"),
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        MESSAGE_ID,
        MS_TIMESTAMP,
        INCLUSION_STATE,
    ),
    partition=("tag", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "message_id"),
)

tag_hints = Table(
    "tag_hints",
    "Partitions of a tag that have rows, written after the rows",
    columns(
        ("tag", Type.HEX, "the index bytes"),
        ("table_kind", Type.TEXT, "lookup: message, basic or nft"),
        MS_RANGE_ID,
        PARTITION_ID,
    ),
    partition=("tag", "table_kind"),
    clustering=("ms_range_id", "partition_id"),
)

transactions = Table(
    "transactions",
    "Inputs, outputs and unlocks of a transaction, for every attachment. Empty in a selective store (decision 0051)",
    columns(
        TRANSACTION_ID,
        ("idx", Type.INT, "input or output index"),
        ("variant", Type.TEXT, "input, output or unlock; an unlock row has the key of the output that it spends"),
        MESSAGE_ID,
        (
            "data",
            Type.BLOB,
            "input: input bytes then unlock block; output: output bytes; unlock: spending transaction id, input "
            "index (u16, little-endian), unlock block",
        ),
        MILESTONE_INDEX,
        INCLUSION_STATE,
    ),
    partition=("transaction_id",),
    clustering=("idx", "variant", "message_id"),
    order=Order.ASC,
)

transactions_by_state = Table(
    "transactions_by_state",
    "Referenced attachments of a transaction by inclusion state",
    columns(TRANSACTION_ID, INCLUSION_STATE, MESSAGE_ID, MILESTONE_INDEX),
    partition=("transaction_id",),
    clustering=("inclusion_state", "message_id"),
    order=Order.ASC,
)

transactions_by_address = Table(
    "transactions_by_address",
    "History of an address: each attachment that pays it or that it signed, and funds migrated to it",
    columns(
        ("address", Type.HEX, "serialized address"),
        ("included", Type.BOOLEAN, "the attachment took effect; conflicting attachments are separate"),
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        (
            "transaction_id",
            Type.HEX,
            "the transaction; for migrated funds the milestone of the treasury they come from",
        ),
        MESSAGE_ID,
        MS_TIMESTAMP,
        ("direction", Type.TEXT, "received, sent, both or migrated"),
        ("received", Type.BIGINT, "base tokens of its outputs to the address"),
        ("sent", Type.BIGINT, "base tokens of its inputs from the address, written by the ledger state; null: none"),
        ("inputs_count", Type.SMALLINT, "number of inputs of the transaction, of any owner"),
        ("outputs_count", Type.SMALLINT, "number of outputs of the transaction, of any owner"),
    ),
    partition=("address", "included", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "transaction_id", "message_id"),
    layout=2,
)

milestones = Table(
    "milestones",
    "Milestones by index",
    columns(
        ("milestone_index", Type.INT, "the milestone"),
        MESSAGE_ID,
        ("milestone_id", Type.HEX, "BLAKE2b-256 of the milestone payload (Chrysalis) or of its essence (Stardust)"),
        ("timestamp", Type.BIGINT, "seconds since 1970"),
        ("payload", Type.BLOB, "serialized milestone payload"),
    ),
    partition=("milestone_index",),
)

milestone_ids = Table(
    "milestone_ids",
    "Milestone index by milestone id",
    columns(("milestone_id", Type.HEX, "the id"), ("milestone_index", Type.INT, "its milestone")),
    partition=("milestone_id",),
)

ids_by_prefix = Table(
    "ids_by_prefix",
    "Ids by their first digits, for search; other tables say what an id is",
    columns(
        ("prefix", Type.HEX, "the first two bytes of the id"),
        ("id", Type.HEX, "id of a message, transaction, milestone, alias, NFT or foundry, or of a genesis output"),
    ),
    partition=("prefix",),
    clustering=("id",),
    order=Order.ASC,
    layout=14,
)

pending_messages = Table(
    "pending_messages",
    "Pending messages, which no milestone references yet; rows expire and never become final rows",
    columns(MESSAGE_ID, ("version", Type.TINYINT, "protocol version"), ("message", Type.BLOB, "canonical bytes")),
    partition=("message_id",),
    ttl_s=PENDING_TTL_S,
)

pending = Table(
    "pending",
    "Lookup rows of pending messages",
    columns(
        ("lookup", Type.TEXT, "the final table: parents, tags, transactions, or a lookup table of outputs"),
        ("key", Type.TEXT, "that lookup's key columns as text, joined by ':'"),
        ("ms_range_id", Type.INT, "2147483647"),
        ("bucket", Type.INT, "est_milestone_index // 10"),
        ("est_milestone_index", Type.INT, "newest known milestone when the message was received, plus one"),
        ("row_id", Type.HEX, "message id, or output id then message id"),
        MESSAGE_ID,
    ),
    partition=("lookup", "key", "ms_range_id", "bucket"),
    clustering=("est_milestone_index", "row_id"),
    ttl_s=PENDING_TTL_S,
)

pending_hints = Table(
    "pending_hints",
    "Pending partitions that have rows",
    columns(
        ("lookup", Type.TEXT, "as in pending"),
        ("key", Type.TEXT, "as in pending"),
        ("bucket", Type.INT, "as in pending"),
    ),
    partition=("lookup", "key"),
    clustering=("bucket",),
    ttl_s=PENDING_TTL_S,
)

proofs = Table(
    "proofs",
    "Summary of sync by range: complete milestones by verification level, each under the strongest level reached",
    columns(
        ("network", Type.TEXT, "exact network name"),
        MS_RANGE_ID,
        ("levels", Type.TEXT, "JSON object, level → milestones as intervals [[first, last], …], ascending"),
    ),
    partition=("network",),
    clustering=("ms_range_id",),
    layout=6,
)
