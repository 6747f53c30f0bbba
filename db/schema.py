"""Every table, once, as data. DDL for both stores, Spark schemas, migrations and docs/schema.md come from here.

Rules of this file: a column is described where it first appears; shared columns are named once below; ids are HEX;
an address is the hex of its serialized form (type byte + 32 bytes); amounts are integers. More than 350 lines, because
all tables in one place can be read and compared.
"""

from db.model import Lookup, Order, Table, Type, columns

LAYOUT = 2
"""The layout a complete milestone is written in; a later layout adds tables, `permanode rebuild` fills them."""

PENDING_RANGE = 2_147_483_647
"""ms_range_id of rows that no milestone references yet (seeds/003)."""

PENDING_TTL_S = 86_400
"""How long a pending row lives (seeds/003: TTL 86400)."""

PENDING_BUCKET = 10
"""Milestones that share one partition of the pending lookup."""

MESSAGE_ID = ("message_id", Type.HEX, "BLAKE2b-256 of the message's canonical bytes")
MILESTONE_INDEX = ("milestone_index", Type.INT, "index of the milestone that references the message")
MS_TIMESTAMP = ("ms_timestamp", Type.TIMESTAMP, "that milestone's timestamp; never a key, as it need not rise")
MS_RANGE_ID = ("ms_range_id", Type.INT, "milestone_index // chunk_size")
PARTITION_ID = ("partition_id", Type.INT, "first milestone of the partition; 0 for a range's first")
INCLUSION_STATE = ("inclusion_state", Type.TINYINT, "0 noTransaction, 1 included, 2 conflicting; null: not referenced")
TRANSACTION_ID = ("transaction_id", Type.HEX, "BLAKE2b-256 of the transaction payload")
OUTPUT_ID = ("output_id", Type.HEX, "transaction id and output index (u16, little-endian): 34 bytes")

messages = Table(
    "messages",
    "Every message of the archive, referenced by a milestone, with its canonical bytes",
    columns(
        MESSAGE_ID,
        ("version", Type.TINYINT, "protocol version whose codec reads the bytes: 1 Chrysalis, 2 Stardust"),
        ("message", Type.BLOB, "canonical bytes, nonce included"),
        MILESTONE_INDEX,
        MS_TIMESTAMP,
        ("white_flag_index", Type.INT, "position in the milestone's cone; null while the cone is not whole"),
        INCLUSION_STATE,
        ("conflict_reason", Type.SMALLINT, "Hornet's conflict code: the source's, else the ledger state's, if any"),
    ),
    partition=("message_id",),
)

messages_by_milestone = Table(
    "messages_by_milestone",
    "The cone of each milestone in white-flag order; only whole cones",
    columns(
        MILESTONE_INDEX,
        ("white_flag_index", Type.INT, "position in the cone; the milestone's own message comes last"),
        MESSAGE_ID,
        ("payload_kind", Type.TINYINT, "payload type number; null: no payload"),
        INCLUSION_STATE,
    ),
    partition=("milestone_index",),
    clustering=("white_flag_index", "message_id"),
    order=Order.ASC,
)

parents = Table(
    "parents",
    "Children of a message: one row a (parent, child)",
    columns(
        ("parent_id", Type.HEX, "the message that is approved"),
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
    "Messages by index (Chrysalis) or tag (Stardust), direct and inside transactions",
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
    "Which partitions of a tag hold rows: existence only, written after the rows",
    columns(
        ("tag", Type.HEX, "the index bytes"),
        ("table_kind", Type.TEXT, "message, basic or nft: which tag lookup"),
        MS_RANGE_ID,
        PARTITION_ID,
    ),
    partition=("tag", "table_kind"),
    clustering=("ms_range_id", "partition_id"),
)

transactions = Table(
    "transactions",
    "Inputs, outputs and spends of a transaction, for every attachment",
    columns(
        TRANSACTION_ID,
        ("idx", Type.INT, "input or output index"),
        ("variant", Type.TEXT, "input, output or unlock; an unlock row stands under the output it spends"),
        MESSAGE_ID,
        (
            "data",
            Type.BLOB,
            "input: input bytes then unlock block; output: output bytes; "
            "unlock: spending transaction id, input index (u16, little-endian), unlock block",
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

outputs = Table(
    "outputs",
    "Every output an included transaction created or spent; both halves are written on their own, in any order",
    columns(
        OUTPUT_ID,
        ("created_milestone_index", Type.INT, "milestone that created it"),
        ("created_white_flag_index", Type.INT, "position of its creator in that cone"),
        ("created_message_id", Type.HEX, "the included message"),
        ("output_kind", Type.TEXT, "legacy, basic, alias, foundry or nft"),
        ("address", Type.HEX, "owner, serialized"),
        ("amount", Type.BIGINT, "base tokens"),
        ("data", Type.BLOB, "serialized output"),
        ("spent_milestone_index", Type.INT, "milestone that spent it"),
        ("spent_white_flag_index", Type.INT, "position of its spender in that cone"),
        ("spent_transaction_id", Type.HEX, "the spending transaction"),
        ("spent_message_id", Type.HEX, "the included message of the spender"),
    ),
    partition=("output_id",),
)

outputs_by_address = Table(
    "outputs_by_address",
    "Outputs by the address in a role (variant)",
    columns(
        ("address", Type.HEX, "serialized address"),
        ("output_kind", Type.TEXT, "legacy, basic, alias, foundry or nft"),
        ("variant", Type.TEXT, "role of the address: address, sender, issuer, state_controller, governor, …"),
        ("included", Type.BOOLEAN, "created by an included message; conflicting attachments stand apart"),
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        OUTPUT_ID,
        MESSAGE_ID,
        MS_TIMESTAMP,
        ("output_type", Type.TINYINT, "protocol's output type number"),
        ("amount", Type.BIGINT, "base tokens"),
    ),
    partition=("address", "output_kind", "variant", "included", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id", "message_id"),
)

transactions_by_address = Table(
    "transactions_by_address",
    "The history of an address: each attachment that pays it or is signed by it, and what was migrated to it",
    columns(
        ("address", Type.HEX, "serialized address"),
        ("included", Type.BOOLEAN, "the attachment took effect; conflicting ones stand apart"),
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        ("transaction_id", Type.HEX, "the transaction; for migrated funds the milestone of the treasury they leave"),
        MESSAGE_ID,
        MS_TIMESTAMP,
        ("direction", Type.TEXT, "received, sent, both or migrated"),
        ("received", Type.BIGINT, "base tokens of its outputs to the address"),
        ("sent", Type.BIGINT, "base tokens of its inputs from the address; written by the ledger state, null: none"),
        ("inputs_count", Type.SMALLINT, "inputs of the transaction, whoever owned them"),
        ("outputs_count", Type.SMALLINT, "outputs of the transaction, whoever owns them"),
    ),
    partition=("address", "included", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "transaction_id", "message_id"),
    layout=2,
)

addresses_hints = Table(
    "addresses_hints",
    "Which partitions of an address hold rows, by kind and role",
    columns(
        ("address", Type.HEX, "serialized address"),
        ("output_kind", Type.TEXT, "legacy, basic, alias, foundry, nft, ledger, transaction, chain or balance"),
        ("variant", Type.TEXT, "role of the address"),
        ("included", Type.BOOLEAN, "as in the lookup"),
        MS_RANGE_ID,
        PARTITION_ID,
    ),
    partition=("address", "output_kind", "variant", "included"),
    clustering=("ms_range_id", "partition_id"),
)

milestones = Table(
    "milestones",
    "Milestones by index",
    columns(
        ("milestone_index", Type.INT, "the milestone"),
        MESSAGE_ID,
        ("milestone_id", Type.HEX, "BLAKE2b-256 of the milestone payload (Chrysalis), of its essence (Stardust)"),
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

pending_messages = Table(
    "pending_messages",
    "Messages seen but not referenced; they expire and never enter final tables",
    columns(MESSAGE_ID, ("version", Type.TINYINT, "protocol version"), ("message", Type.BLOB, "canonical bytes")),
    partition=("message_id",),
    ttl_s=PENDING_TTL_S,
)

pending = Table(
    "pending",
    "Lookup rows of pending messages",
    columns(
        ("lookup", Type.TEXT, "the final table it would stand in: parents, tags or outputs_by_address"),
        ("key", Type.TEXT, "that lookup's key columns as text, joined by ':'"),
        ("ms_range_id", Type.INT, "2147483647"),
        ("bucket", Type.INT, "est_milestone_index // 10"),
        ("est_milestone_index", Type.INT, "newest milestone known when it was seen, plus one"),
        ("row_id", Type.HEX, "message id, or output id then message id"),
        MESSAGE_ID,
    ),
    partition=("lookup", "key", "ms_range_id", "bucket"),
    clustering=("est_milestone_index", "row_id"),
    ttl_s=PENDING_TTL_S,
)

pending_hints = Table(
    "pending_hints",
    "Which pending partitions hold rows",
    columns(
        ("lookup", Type.TEXT, "as in pending"),
        ("key", Type.TEXT, "as in pending"),
        ("bucket", Type.INT, "as in pending"),
    ),
    partition=("lookup", "key"),
    clustering=("bucket",),
    ttl_s=PENDING_TTL_S,
)

receipts = Table(
    "receipts",
    "Receipts of migrated funds",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("migrated_at", Type.INT, "milestone of the legacy network whose funds it migrates"),
        MILESTONE_INDEX,
        ("payload", Type.BLOB, "serialized receipt payload"),
    ),
    partition=("network",),
    clustering=("migrated_at", "milestone_index"),
    layout=2,
)

treasury = Table(
    "treasury",
    "The treasury after each milestone that changed it",
    columns(
        ("network", Type.TEXT, "exact network name"),
        MILESTONE_INDEX,
        ("milestone_id", Type.HEX, "that milestone, whose receipt made the output"),
        ("amount", Type.BIGINT, "base tokens left for migration"),
    ),
    partition=("network",),
    clustering=("milestone_index",),
    layout=2,
)

ledger_frontier = Table(
    "ledger_frontier",
    "How far the ledger state is applied: the greatest ledger_index is the ledger index; appended, never changed",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("ledger_index", Type.INT, "the ledger state after this milestone is all there"),
    ),
    partition=("network",),
    clustering=("ledger_index",),
    layout=2,
)

ledger_updates_by_milestone = Table(
    "ledger_updates_by_milestone",
    "Outputs that a milestone created and spent",
    columns(
        MILESTONE_INDEX,
        OUTPUT_ID,
        ("is_spent", Type.BOOLEAN, "spent rather than created"),
        ("white_flag_index", Type.INT, "position of the message in the cone; the milestone's own for migrated funds"),
        ("idx", Type.INT, "index of the output, or of the input that spends it, in its transaction"),
        ("address", Type.HEX, "owner, serialized"),
        ("amount", Type.BIGINT, "base tokens"),
    ),
    partition=("milestone_index",),
    clustering=("output_id", "is_spent"),
    layout=2,
)

address_balances = Table(
    "address_balances",
    "An address after each milestone that changed it: found by hints of kind balance",
    columns(
        ("address", Type.HEX, "serialized address"),
        MS_RANGE_ID,
        MILESTONE_INDEX,
        ("balance", Type.BIGINT, "base tokens of its unspent outputs"),
        ("unspent_count", Type.INT, "its unspent outputs"),
        ("dust_allowance", Type.BIGINT, "base tokens in its unspent SigLockedDustAllowance outputs"),
        ("dust_outputs", Type.INT, "its unspent SigLockedSingle outputs below the dust threshold"),
    ),
    partition=("address", "ms_range_id"),
    clustering=("milestone_index",),
    layout=2,
)

ledger_updates_by_address = Table(
    "ledger_updates_by_address",
    "Outputs that an address received and spent, in the milestone that did it: found by hints of kind ledger",
    columns(
        ("address", Type.HEX, "serialized address"),
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        OUTPUT_ID,
        ("is_spent", Type.BOOLEAN, "spent rather than created"),
        ("amount", Type.BIGINT, "base tokens"),
        ("message_id", Type.HEX, "the included message; the milestone's own for migrated funds"),
        ("transaction_id", Type.HEX, "the transaction that created or spent it; the milestone for migrated funds"),
        MS_TIMESTAMP,
    ),
    partition=("address", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id", "is_spent"),
    layout=3,
)

unspent_outputs = Table(
    "unspent_outputs",
    "Outputs that are unspent, and those spent lately: who reads at a ledger index leaves out what was spent by then",
    columns(
        ("lookup", Type.TEXT, "what is asked for: address, or '' for all"),
        ("output_kind", Type.TEXT, "legacy, basic, alias, foundry or nft"),
        ("key", Type.TEXT, "the address in hex; for all '', of genesis the first byte of the output id in hex"),
        ("ms_range_id", Type.INT, "created milestone // chunk_size"),
        PARTITION_ID,
        ("milestone_index", Type.INT, "milestone that created it"),
        OUTPUT_ID,
        ("ms_timestamp", Type.TIMESTAMP, "that milestone's timestamp"),
        ("spent_milestone_index", Type.INT, "milestone that spent it; null: none yet"),
        ("output_type", Type.TINYINT, "protocol's output type number"),
        ("amount", Type.BIGINT, "base tokens"),
    ),
    partition=("lookup", "output_kind", "key", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id"),
    order=Order.ASC,
    layout=3,
)

unspent_hints = Table(
    "unspent_hints",
    "Which partitions of unspent_outputs hold rows; a hint goes when no row of its partition is alive",
    columns(
        ("lookup", Type.TEXT, "as in unspent_outputs"),
        ("output_kind", Type.TEXT, "as in unspent_outputs"),
        ("key", Type.TEXT, "as in unspent_outputs"),
        MS_RANGE_ID,
        PARTITION_ID,
    ),
    partition=("lookup", "output_kind", "key"),
    clustering=("ms_range_id", "partition_id"),
    layout=3,
)

distribution = Table(
    "distribution",
    "How tokens are spread over addresses, by power of ten of the balance; of the last few ledger indexes",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("ledger_index", Type.INT, "the ledger state that it tells of"),
        ("power", Type.TINYINT, "n: balances of 10^n to below 10^(n+1) base tokens"),
        ("addresses", Type.BIGINT, "how many own that much"),
        ("amount", Type.BIGINT, "base tokens that they own together"),
    ),
    partition=("network",),
    clustering=("ledger_index", "power"),
    layout=3,
)

rich_list = Table(
    "rich_list",
    "The richest addresses, more of them than are shown; of the last few ledger indexes",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("ledger_index", Type.INT, "the ledger state that it tells of"),
        ("rank", Type.INT, "from 1; of equal balances the smaller address comes first"),
        ("address", Type.HEX, "serialized address"),
        ("balance", Type.BIGINT, "base tokens of its unspent outputs"),
    ),
    partition=("network", "ledger_index"),
    clustering=("rank",),
    order=Order.ASC,
    layout=3,
)

date_cache = Table(
    "date_cache",
    "Milestones of a UTC day",
    columns(
        ("date", Type.DATE, "the day of the milestone timestamp"),
        ("start_ms", Type.INT, "lowest milestone of that day"),
        ("end_ms", Type.INT, "highest milestone of that day"),
    ),
    partition=("date",),
)

sync = Table(
    "sync",
    "State of each milestone",
    columns(
        MS_RANGE_ID,
        ("milestone_index", Type.INT, "the milestone"),
        MS_TIMESTAMP,
        ("synced_by", Type.TINYINT, "0 once every row of the milestone is durable here"),
        ("logged_by", Type.TINYINT, "0 once an archive file holds it"),
        ("message_count", Type.INT, "messages in the cone, the milestone's own included"),
        ("verified", Type.TEXT, "how far it was proved: ids"),
        ("layout", Type.SMALLINT, "store layout its rows were written in"),
    ),
    partition=("ms_range_id",),
    clustering=("milestone_index",),
)

ranges = Table(
    "ranges",
    "Sync, summed by range: gaps, status and time filters are one slice",
    columns(
        ("network", Type.TEXT, "exact network name"),
        MS_RANGE_ID,
        ("complete", Type.TEXT, "complete milestones as JSON intervals [[first, last], …], ascending"),
        ("incomplete", Type.TEXT, "milestones loaded with rejects, same form"),
        ("milestone_count", Type.INT, "complete milestones"),
        ("message_count", Type.BIGINT, "their messages"),
        ("min_timestamp", Type.TIMESTAMP, "smallest milestone timestamp"),
        ("max_timestamp", Type.TIMESTAMP, "largest milestone timestamp"),
        ("rising", Type.BOOLEAN, "timestamps never fall with the index inside the range"),
        ("layout", Type.SMALLINT, "layout of its complete milestones"),
    ),
    partition=("network",),
    clustering=("ms_range_id",),
)

splits = Table(
    "splits",
    "Where the partitions of hot keys begin",
    columns(
        ("lookup", Type.TEXT, "lookup table"),
        MS_RANGE_ID,
        ("key", Type.TEXT, "key columns as text, joined by ':'"),
        ("first_milestones", Type.TEXT, "JSON list of the milestones at which a partition begins, ascending"),
        ("open_count", Type.BIGINT, "rows counted into the open partition"),
        ("counted_to", Type.INT, "highest milestone counted: a run repeated after a crash counts nothing twice"),
    ),
    partition=("lookup", "ms_range_id"),
    clustering=("key",),
    order=Order.ASC,
)

tails = Table(
    "tails",
    "Highest milestone ever begun for a lookup in a range: only later ones are counted and may split",
    columns(("lookup", Type.TEXT, "lookup table"), MS_RANGE_ID, ("milestone_index", Type.INT, "the milestone")),
    partition=("lookup",),
    clustering=("ms_range_id",),
)

rejects = Table(
    "rejects",
    "What was refused, and why; a milestone's rejects are cleared when it completes",
    columns(
        ("milestone_index", Type.INT, "milestone of the line; -1 when the line does not tell"),
        ("file", Type.TEXT, "path as it was given"),
        ("line", Type.INT, "line in the file, from 1"),
        ("item", Type.TEXT, "message id, or '' for the whole line"),
        ("reason", Type.TEXT, "what was expected and what was found"),
    ),
    partition=("milestone_index",),
    clustering=("file", "line", "item"),
    order=Order.ASC,
)

keyspace_info = Table(
    "keyspace_info",
    "What this store was created for, where a differing setting is refused; and how far it is compacted",
    columns(
        ("name", Type.TEXT, "network, chunk_size, partition_size, layout, unspent_from, compacted_to"),
        ("value", Type.TEXT, "as text"),
    ),
    partition=("name",),
)

migrations = Table(
    "migrations",
    "Migration files applied to this store; a changed file is refused",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("name", Type.TEXT, "file name without its suffix"),
        ("checksum", Type.TEXT, "SHA-256 of the file, hex"),
        ("applied_at", Type.TIMESTAMP, "when"),
    ),
    partition=("network",),
    clustering=("name",),
    order=Order.ASC,
)

lease = Table(
    "lease",
    "The one writer",
    columns(
        ("name", Type.TEXT, "writer"),
        ("owner", Type.TEXT, "host and process"),
        ("run", Type.TEXT, "run id"),
        ("expires_at", Type.TIMESTAMP, "renewed while the run lives"),
    ),
    partition=("name",),
)

TABLES: tuple[Table, ...] = (
    messages,
    messages_by_milestone,
    parents,
    tags,
    tag_hints,
    transactions,
    transactions_by_state,
    outputs,
    outputs_by_address,
    transactions_by_address,
    addresses_hints,
    milestones,
    milestone_ids,
    receipts,
    treasury,
    ledger_frontier,
    ledger_updates_by_milestone,
    address_balances,
    ledger_updates_by_address,
    unspent_outputs,
    unspent_hints,
    distribution,
    rich_list,
    pending_messages,
    pending,
    pending_hints,
    date_cache,
    sync,
    ranges,
    splits,
    tails,
    rejects,
    keyspace_info,
    migrations,
    lease,
)

BY_NAME: dict[str, Table] = {table.name: table for table in TABLES}

LOOKUPS: tuple[Lookup, ...] = (
    Lookup(tags, tag_hints, ("tag",), (("table_kind", "message"),)),
    Lookup(outputs_by_address, addresses_hints, ("address", "output_kind", "variant", "included")),
    Lookup(
        transactions_by_address,
        addresses_hints,
        ("address", "included"),
        (("output_kind", "transaction"), ("variant", "address")),
    ),
)
"""Filled by a load, which counts their rows."""

LEDGER_LOOKUPS: tuple[Lookup, ...] = (
    Lookup(
        ledger_updates_by_address,
        addresses_hints,
        ("address",),
        (("output_kind", "ledger"), ("variant", "address"), ("included", True)),
    ),
    Lookup(unspent_outputs, unspent_hints, ("lookup", "output_kind", "key")),
)
"""Filled as the ledger state goes on; counted there."""
