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
OUTPUT_KIND = ("output_kind", Type.TEXT, "legacy, basic, alias, foundry or nft")
INCLUDED = ("included", Type.BOOLEAN, "created by an included message; conflicting attachments stand apart")
OUTPUT_TYPE = ("output_type", Type.TINYINT, "protocol's output type number")
AMOUNT = ("amount", Type.BIGINT, "base tokens")

FILTERS = (
    ("sender", Type.HEX, "serialized address of the sender feature"),
    ("issuer", Type.HEX, "serialized address of the immutable issuer feature"),
    ("tag", Type.HEX, "bytes of the tag feature"),
    ("state_controller", Type.HEX, "serialized address that may change an alias' state"),
    ("governor", Type.HEX, "serialized address that may change an alias' controllers"),
    ("storage_deposit_return", Type.HEX, "serialized address that a storage deposit goes back to"),
    ("storage_deposit_return_amount", Type.BIGINT, "base tokens that go back to it"),
    ("timelock", Type.BIGINT, "seconds since 1970 before which nobody may spend it"),
    ("expiration", Type.BIGINT, "seconds since 1970 from which it is the return address's"),
    ("expiration_return", Type.HEX, "serialized address whose it is then"),
    ("native_tokens", Type.SMALLINT, "distinct native tokens in it; null: of a time without them"),
)
"""What a Stardust output may be filtered by, in every lookup of outputs; null where an output has no such thing."""

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
        OUTPUT_KIND,
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
        OUTPUT_KIND,
        (
            "variant",
            Type.TEXT,
            "role of the address: address, sender, issuer, state_controller, governor, storage_deposit_return "
            "or expiration_return",
        ),
        INCLUDED,
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        OUTPUT_ID,
        MESSAGE_ID,
        MS_TIMESTAMP,
        OUTPUT_TYPE,
        AMOUNT,
    )
    + columns(*FILTERS, layout=5),
    partition=("address", "output_kind", "variant", "included", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id", "message_id"),
)

outputs_by_tag = Table(
    "outputs_by_tag",
    "Basic and NFT outputs by their tag feature",
    columns(
        ("tag", Type.HEX, "the tag's bytes"),
        OUTPUT_KIND,
        INCLUDED,
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        OUTPUT_ID,
        MESSAGE_ID,
        MS_TIMESTAMP,
        OUTPUT_TYPE,
        AMOUNT,
        *(each for each in FILTERS if each[0] != "tag"),
    ),
    partition=("tag", "output_kind", "included", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id", "message_id"),
    layout=5,
)


def _chain_outputs(name: str, meaning: str, chain_id: str) -> Table:
    return Table(
        name,
        meaning,
        columns(
            ("chain_id", Type.HEX, chain_id),
            MS_RANGE_ID,
            PARTITION_ID,
            MILESTONE_INDEX,
            ("white_flag_index", Type.INT, "position of the creator in the cone; 0 of what genesis holds"),
            OUTPUT_ID,
            MS_TIMESTAMP,
            OUTPUT_TYPE,
            AMOUNT,
            *FILTERS,
        ),
        partition=("chain_id", "ms_range_id", "partition_id"),
        clustering=("milestone_index", "white_flag_index", "output_id"),
        layout=5,
    )


alias_outputs = _chain_outputs("alias_outputs", "Every state that an alias ever had", "alias id: 32 bytes")
nft_outputs = _chain_outputs("nft_outputs", "Every state that an NFT ever had", "NFT id: 32 bytes")
foundry_outputs = _chain_outputs(
    "foundry_outputs", "Every state that a foundry ever had", "foundry id: address of its alias, serial number, kind"
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
        ("address", Type.HEX, "serialized address; of kind chain the chain id"),
        ("output_kind", Type.TEXT, "legacy, basic, alias, foundry, nft, ledger, transaction, chain or balance"),
        ("variant", Type.TEXT, "role of the address; of kind chain alias, nft or foundry"),
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
        ("payload", Type.BLOB, "the serialized receipt: a payload (Chrysalis), a milestone option (Stardust)"),
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

protocol_parameters = Table(
    "protocol_parameters",
    "Protocol parameters that a Stardust milestone announced; those that held before are a setting",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("milestone_index", Type.INT, "the first milestone that they hold for"),
        ("announced_by", Type.INT, "the milestone that announced them, some milestones before"),
        ("protocol_version", Type.SMALLINT, "protocol version that they are of"),
        ("params", Type.BLOB, "serialized parameters: network name, Bech32 prefix, rent structure, token supply, …"),
    ),
    partition=("network",),
    clustering=("milestone_index", "announced_by"),
    layout=4,
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
        ("address", Type.HEX, "owner at that time, serialized: once the output has expired, the return address"),
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
        ("balance", Type.BIGINT, "base tokens of the unspent outputs that name it their owner"),
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
        ("lookup", Type.TEXT, "what is asked for: a variant of outputs_by_address, tag, chain, or '' for all"),
        OUTPUT_KIND,
        (
            "key",
            Type.TEXT,
            "the address, tag or chain id in hex; for all '', of genesis the first byte of the output id in hex",
        ),
        ("ms_range_id", Type.INT, "created milestone // chunk_size"),
        PARTITION_ID,
        ("milestone_index", Type.INT, "milestone that created it"),
        OUTPUT_ID,
        ("ms_timestamp", Type.TIMESTAMP, "that milestone's timestamp"),
        ("spent_milestone_index", Type.INT, "milestone that spent it; null: none yet"),
        OUTPUT_TYPE,
        AMOUNT,
    )
    + columns(*FILTERS, layout=5),
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
        ("balance", Type.BIGINT, "base tokens of the unspent outputs that name it their owner"),
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

SIZES_OF_TRANSACTIONS = ("1", "2", "3", "4", "5", "6", "7", "small", "medium", "large", "huge")
"""Buckets of inputs or outputs of a transaction: so many; small from 8, medium from 16, large from 32, huge from 64."""

OUTPUT_KINDS = ("legacy", "basic", "alias", "foundry", "nft")

CALENDAR = {"day_addresses": "day", "week_addresses": "week", "month_addresses": "month", "year_addresses": "year"}
"""Column of ms_analytics → the interval of UTC, ISO 8601's weeks, whose addresses it counts."""

ms_analytics = Table(
    "ms_analytics",
    "Each complete milestone in numbers; what depends on the ledger state only up to the ledger index. The row of "
    "genesis has the state alone",
    columns(
        MS_RANGE_ID,
        ("milestone_index", Type.INT, "the milestone"),
        MS_TIMESTAMP,
        ("message_count", Type.INT, "messages in the cone, of Chrysalis the milestone's own included"),
        ("transaction_count", Type.INT, "transactions that took effect"),
        ("transferred_tokens", Type.BIGINT, "base tokens of all their outputs, what goes back to the sender included"),
        ("conflicting_count", Type.INT, "transactions that conflict"),
        ("no_transaction_count", Type.INT, "messages without a transaction"),
        ("transaction_payload_count", Type.INT, "messages with a transaction, whatever became of it"),
        ("treasury_transaction_payload_count", Type.INT, "messages with a treasury transaction"),
        ("milestone_payload_count", Type.INT, "messages with a milestone"),
        ("tagged_data_payload_count", Type.INT, "messages with tagged data or an indexation"),
        ("no_payload_count", Type.INT, "messages without a payload"),
        ("message_bytes", Type.BIGINT, "bytes of all messages"),
        ("transaction_bytes", Type.BIGINT, "of those with a transaction"),
        ("treasury_transaction_bytes", Type.BIGINT, "of those with a treasury transaction"),
        ("milestone_bytes", Type.BIGINT, "of those with a milestone"),
        ("tagged_data_bytes", Type.BIGINT, "of those with tagged data or an indexation"),
        *((f"inputs_{size}", Type.INT, "transactions that took effect by inputs") for size in SIZES_OF_TRANSACTIONS),
        *((f"outputs_{size}", Type.INT, "transactions that took effect by outputs") for size in SIZES_OF_TRANSACTIONS),
        *((f"{kind}_created_count", Type.INT, f"{kind} outputs created") for kind in OUTPUT_KINDS),
        *((f"{kind}_created_amount", Type.BIGINT, "base tokens in them") for kind in OUTPUT_KINDS),
        ("active_addresses", Type.INT, "addresses whose outputs were created or spent"),
        ("transferred_amount", Type.BIGINT, "base tokens that owners gained in a transaction, summed"),
        ("alias_new_count", Type.INT, "aliases that were not there before their transaction"),
        ("alias_state_changed_count", Type.INT, "aliases whose state index rose"),
        ("alias_governor_changed_count", Type.INT, "aliases that got another governor"),
        ("alias_destroyed_count", Type.INT, "aliases that ended"),
        ("foundry_new_count", Type.INT, "foundries that were not there before"),
        ("foundry_transferred_count", Type.INT, "foundries that went on"),
        ("foundry_destroyed_count", Type.INT, "foundries that ended"),
        ("nft_new_count", Type.INT, "NFTs that were not there before"),
        ("nft_transferred_count", Type.INT, "NFTs that went on, to whomever"),
        ("nft_destroyed_count", Type.INT, "NFTs that ended"),
        ("native_tokens_minted_count", Type.INT, "native tokens of which a transaction had more than it took"),
        ("native_tokens_transferred_count", Type.INT, "native tokens that a transaction took and passed on"),
        ("native_tokens_burned_count", Type.INT, "native tokens of which a transaction had less than it took"),
        ("holders", Type.BIGINT, "addresses that own base tokens after the milestone"),
        *((f"{kind}_count", Type.BIGINT, f"unspent {kind} outputs after the milestone") for kind in OUTPUT_KINDS),
        *((f"{kind}_amount", Type.BIGINT, "base tokens in them") for kind in OUTPUT_KINDS),
        ("key_bytes", Type.BIGINT, "of unspent Stardust outputs: bytes of key, 34 each"),
        ("data_bytes", Type.BIGINT, "bytes of data: their own and 40 that a node keeps beside them"),
        ("unclaimed_count", Type.BIGINT, "unspent outputs of the genesis that was loaded, at milestone 0 or later"),
        ("unclaimed_amount", Type.BIGINT, "base tokens in them"),
        ("expiration_count", Type.BIGINT, "unspent outputs that expire, or have"),
        ("expiration_amount", Type.BIGINT, "base tokens in them"),
        ("timelock_count", Type.BIGINT, "unspent outputs with a timelock, be it over"),
        ("timelock_amount", Type.BIGINT, "base tokens in them"),
        ("storage_deposit_return_count", Type.BIGINT, "unspent outputs that owe a storage deposit"),
        ("storage_deposit_return_amount", Type.BIGINT, "base tokens in them"),
        ("storage_deposit_owed", Type.BIGINT, "base tokens that they owe"),
    )
    + columns(
        *(
            (name, Type.BIGINT, f"addresses whose outputs were created or spent so far in its UTC {interval}")
            for name, interval in CALENDAR.items()
        ),
        layout=10,
    ),
    partition=("ms_range_id",),
    clustering=("milestone_index",),
    layout=7,
)

analytics_ranges = Table(
    "analytics_ranges",
    "ms_analytics, summed by range, so that a sum over all of history is one slice",
    columns(
        ("network", Type.TEXT, "exact network name"),
        MS_RANGE_ID,
        (
            "runs",
            Type.TEXT,
            "consecutive milestones as JSON [[first, last, message_count, transaction_count, transferred_tokens], …], "
            "ascending; cut at multiples of 10000",
        ),
    ),
    partition=("network",),
    clustering=("ms_range_id",),
    layout=7,
)

daily_analytics = Table(
    "daily_analytics",
    "Each UTC day in numbers: of its complete milestones",
    columns(
        ("year", Type.INT, "of the day"),
        ("date", Type.DATE, "the day of the milestone timestamp"),
        ("total_addresses", Type.INT, "addresses that sent or received"),
        ("send_addresses", Type.INT, "addresses that signed for a transaction that took effect"),
        ("recv_addresses", Type.INT, "addresses that such a transaction paid, dust allowances apart"),
        ("used_indexes", Type.INT, "different indexes or tags of messages"),
        ("output_addresses", Type.INT, "addresses that outputs of any transaction name, also of conflicting ones"),
        ("output_count", Type.BIGINT, "those outputs"),
        ("max_outputs", Type.INT, "most of them of one address"),
        ("milestone_count", Type.INT, "complete milestones"),
        ("message_count", Type.BIGINT, "their messages"),
        ("transaction_count", Type.BIGINT, "transactions that took effect"),
        ("conflicting_count", Type.BIGINT, "transactions that conflict"),
        ("transaction_payload_count", Type.BIGINT, "messages with a transaction, whatever became of it"),
        ("transferred_tokens", Type.BIGINT, "base tokens of all outputs of transactions that took effect"),
    ),
    partition=("year",),
    clustering=("date",),
    layout=7,
)

address_analytics = Table(
    "address_analytics",
    "Base tokens that an address sent and received in a milestone: found by hints of kind ledger",
    columns(
        ("address", Type.HEX, "serialized address whose outputs they were then"),
        MS_RANGE_ID,
        ("milestone_index", Type.INT, "the milestone"),
        MS_TIMESTAMP,
        ("sent_tokens", Type.BIGINT, "in its outputs that were spent"),
        ("recv_tokens", Type.BIGINT, "in its outputs that were created"),
    ),
    partition=("address", "ms_range_id"),
    clustering=("milestone_index",),
    layout=7,
)

metrics_cache = Table(
    "metrics_cache",
    "What a UTC day counts: daily_analytics has the sums",
    columns(
        ("date", Type.DATE, "the day of the milestone timestamp"),
        ("variant", Type.TEXT, "address or index"),
        ("metric", Type.TEXT, "sent, received or sent_or_received of an address; used of an index"),
        ("value", Type.HEX, "the serialized address, or the index bytes"),
        ("metric_value", Type.BIGINT, "how often: signatures, outputs, both together; messages with the index"),
    ),
    partition=("date",),
    clustering=("variant", "metric", "value"),
    order=Order.ASC,
    layout=7,
)

sync = Table(
    "sync",
    "State of each milestone",
    columns(
        MS_RANGE_ID,
        ("milestone_index", Type.INT, "the milestone"),
        MS_TIMESTAMP,
        ("synced_by", Type.TINYINT, "0 once every row of the milestone is durable here"),
        ("logged_by", Type.TINYINT, "0 once an archive file that holds it whole is durable"),
        ("message_count", Type.INT, "messages in the cone, the milestone's own included"),
        ("verified", Type.TEXT, "how far it was proved: believed, merkle, signed or full (proofs.md)"),
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
    )
    + columns(
        ("logged", Type.TEXT, "milestones that durable archive files hold, as intervals like `complete`"), layout=9
    ),
    partition=("network",),
    clustering=("ms_range_id",),
)

proofs = Table(
    "proofs",
    "Sync, summed by range: how far complete milestones are proved, each under the strongest level it reached",
    columns(
        ("network", Type.TEXT, "exact network name"),
        MS_RANGE_ID,
        ("levels", Type.TEXT, "JSON object, level → milestones as intervals [[first, last], …], ascending"),
    ),
    partition=("network",),
    clustering=("ms_range_id",),
    layout=6,
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
    "What was refused, and why; a complete milestone's are what its sources said against what is proved",
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
    "What this store was created for, where a differing setting is refused; and how far it is compacted and analysed",
    columns(
        (
            "name",
            Type.TEXT,
            "network, chunk_size, partition_size, layout, unspent_from, compacted_to, analysed, analysed_by, "
            "analysed_to",
        ),
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
    outputs_by_tag,
    alias_outputs,
    nft_outputs,
    foundry_outputs,
    transactions_by_address,
    addresses_hints,
    milestones,
    milestone_ids,
    receipts,
    treasury,
    protocol_parameters,
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
    ms_analytics,
    analytics_ranges,
    daily_analytics,
    address_analytics,
    metrics_cache,
    sync,
    ranges,
    proofs,
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


def _chain_lookup(table: Table, output_kind: str) -> Lookup:
    constants = (("output_kind", "chain"), ("variant", output_kind), ("included", True))
    return Lookup(table, addresses_hints, ("chain_id",), constants, (("address", "chain_id"),))


STARDUST_LOOKUPS: tuple[Lookup, ...] = (
    Lookup(outputs_by_tag, tag_hints, ("tag", "output_kind"), hint_names=(("table_kind", "output_kind"),)),
    _chain_lookup(alias_outputs, "alias"),
    _chain_lookup(nft_outputs, "nft"),
    _chain_lookup(foundry_outputs, "foundry"),
)
"""The same, of milestones that may hold a Stardust output."""

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

ALL_LOOKUPS: tuple[Lookup, ...] = (*LOOKUPS, *STARDUST_LOOKUPS, *LEDGER_LOOKUPS)
