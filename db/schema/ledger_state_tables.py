"""Tables of the ledger state: balances, unspent outputs, updates, receipts, the treasury, the richest addresses."""

from db.model import Order, Table, Type, columns
from db.schema.shared_columns import (
    AMOUNT,
    FILTERS,
    MILESTONE_INDEX,
    MS_RANGE_ID,
    MS_TIMESTAMP,
    OUTPUT_ID,
    OUTPUT_KIND,
    OUTPUT_TYPE,
    PARTITION_ID,
)

receipts = Table(
    "receipts",
    "Receipts of migrated funds",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("migrated_at", Type.INT, "milestone of the legacy network from which funds are migrated"),
        MILESTONE_INDEX,
        ("payload", Type.BLOB, "serialized receipt: a payload (Chrysalis) or a milestone option (Stardust)"),
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
        ("milestone_id", Type.HEX, "the milestone whose receipt created the treasury output"),
        ("amount", Type.BIGINT, "base tokens left for migration"),
    ),
    partition=("network",),
    clustering=("milestone_index",),
    layout=2,
)

protocol_parameters = Table(
    "protocol_parameters",
    "Protocol parameters announced by Stardust milestones; the first ones are a setting",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("milestone_index", Type.INT, "first milestone for which they apply"),
        ("announced_by", Type.INT, "milestone that announced them"),
        ("protocol_version", Type.SMALLINT, "their protocol version"),
        ("params", Type.BLOB, "serialized parameters: network name, Bech32 prefix, rent structure, token supply, …"),
    ),
    partition=("network",),
    clustering=("milestone_index", "announced_by"),
    layout=4,
)

ledger_frontier = Table(
    "ledger_frontier",
    "Progress of the ledger state: the greatest ledger_index is the current one; rows are appended and never changed",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("ledger_index", Type.INT, "the ledger state is complete up to this milestone"),
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
        ("is_spent", Type.BOOLEAN, "spent, not created"),
        (
            "white_flag_index",
            Type.INT,
            "position of the message in the cone; the milestone's own message for migrated funds",
        ),
        ("idx", Type.INT, "index of the output in its transaction, or of the input that spends it"),
        ("address", Type.HEX, "owner at that time, serialized; after expiration the return address"),
        ("amount", Type.BIGINT, "base tokens"),
    ),
    partition=("milestone_index",),
    clustering=("output_id", "is_spent"),
    layout=2,
)

address_balances = Table(
    "address_balances",
    "State of an address after each milestone that changed it; hints have the kind balance",
    columns(
        ("address", Type.HEX, "serialized address"),
        MS_RANGE_ID,
        MILESTONE_INDEX,
        ("balance", Type.BIGINT, "base tokens of the unspent outputs that it owns"),
        ("unspent_count", Type.INT, "number of its unspent outputs"),
        ("dust_allowance", Type.BIGINT, "base tokens in its unspent SigLockedDustAllowance outputs"),
        ("dust_outputs", Type.INT, "number of its unspent SigLockedSingle outputs below the dust threshold"),
    ),
    partition=("address", "ms_range_id"),
    clustering=("milestone_index",),
    layout=2,
)

ledger_updates_by_address = Table(
    "ledger_updates_by_address",
    "Outputs that an address received and spent, by milestone; hints have the kind ledger",
    columns(
        ("address", Type.HEX, "serialized address"),
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        OUTPUT_ID,
        ("is_spent", Type.BOOLEAN, "spent, not created"),
        ("amount", Type.BIGINT, "base tokens"),
        ("message_id", Type.HEX, "the included message; the milestone's own for migrated funds"),
        ("transaction_id", Type.HEX, "transaction that created or spent it; milestone id for migrated funds"),
        MS_TIMESTAMP,
    ),
    partition=("address", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id", "is_spent"),
    layout=3,
)

native_token_updates = Table(
    "native_token_updates",
    "Outputs with a native token that genesis or transactions created and that transactions spent, by milestone",
    columns(
        ("token_id", Type.HEX, "id of the token and of its foundry: 38 bytes"),
        MS_RANGE_ID,
        PARTITION_ID,
        MILESTONE_INDEX,
        OUTPUT_ID,
        ("is_spent", Type.BOOLEAN, "spent, not created"),
        ("address", Type.HEX, "owner at that time, serialized; after expiration the return address"),
        ("token_amount", Type.BLOB, "amount of the token in the output: u256, 32 bytes, little-endian"),
        ("message_id", Type.HEX, "the included message; zeros for genesis outputs"),
        ("transaction_id", Type.HEX, "transaction that created or spent it"),
        MS_TIMESTAMP,
    ),
    partition=("token_id", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id", "is_spent"),
    layout=12,
)

address_movements = Table(
    "address_movements",
    "Transactions, migrations and genesis outputs that changed the balance of an address; hints have the kind movement",
    columns(
        ("address", Type.HEX, "serialized address that the outputs name as their owner, as in address_balances"),
        MS_RANGE_ID,
        ("partition_id", Type.INT, "first milestone of the partition, of which a range has 100"),
        MILESTONE_INDEX,
        (
            "white_flag_index",
            Type.INT,
            "position of the message in the cone; 2147483647 for genesis outputs and if a receipt has no message",
        ),
        ("transaction_id", Type.HEX, "the transaction; for migrated funds the milestone id"),
        ("kind", Type.TEXT, "genesis, migration or transaction"),
        ("amount", Type.BIGINT, "change of the balance in base tokens, negative if it decreased"),
        (
            "counterparties",
            Type.BLOB,
            "33 bytes each, ascending: for an increase the owners of the inputs, for a decrease those of the outputs, "
            "without the address itself",
        ),
        MS_TIMESTAMP,
    ),
    partition=("address", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "white_flag_index", "transaction_id"),
    order=Order.ASC,
    layout=13,
)

unspent_outputs = Table(
    "unspent_outputs",
    "Unspent outputs and recently spent ones; readers omit outputs that are spent at their ledger index",
    columns(
        ("lookup", Type.TEXT, "lookup: a variant of outputs_by_address, tag, chain, native_token, or '' for all"),
        OUTPUT_KIND,
        (
            "key",
            Type.TEXT,
            "address, tag, chain id or token id in hex; for all outputs '', or the first byte of the output id in hex "
            "for genesis outputs",
        ),
        ("ms_range_id", Type.INT, "created milestone // chunk_size"),
        PARTITION_ID,
        ("milestone_index", Type.INT, "milestone that created it"),
        OUTPUT_ID,
        ("ms_timestamp", Type.TIMESTAMP, "timestamp of that milestone"),
        ("spent_milestone_index", Type.INT, "milestone that spent it; null: unspent"),
        OUTPUT_TYPE,
        AMOUNT,
    )
    + columns(*FILTERS, layout=5)
    + columns(
        ("address", Type.HEX, "owner, serialized, of an output with native tokens"),
        ("token_amount", Type.BLOB, "as in native_token_updates, for lookup native_token"),
        layout=12,
    ),
    partition=("lookup", "output_kind", "key", "ms_range_id", "partition_id"),
    clustering=("milestone_index", "output_id"),
    order=Order.ASC,
    layout=3,
)

unspent_hints = Table(
    "unspent_hints",
    "Partitions of unspent_outputs that have rows; a hint is deleted with the last unspent row of its partition",
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
    "Distribution of tokens over addresses by power of ten of the balance, for the last few ledger indexes",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("ledger_index", Type.INT, "ledger index of the state"),
        ("power", Type.TINYINT, "n: balances from 10^n to below 10^(n+1) base tokens"),
        ("addresses", Type.BIGINT, "number of addresses"),
        ("amount", Type.BIGINT, "total base tokens of these addresses"),
    ),
    partition=("network",),
    clustering=("ledger_index", "power"),
    layout=3,
)

rich_list = Table(
    "rich_list",
    "The richest addresses (more than the API returns), for the last few ledger indexes",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("ledger_index", Type.INT, "ledger index of the state"),
        (
            "rank",
            Type.INT,
            "rank from 1; ties are ordered by address; a load writes rank 1 after the rest and `distribution`",
        ),
        ("address", Type.HEX, "serialized address"),
        ("balance", Type.BIGINT, "base tokens of the unspent outputs that it owns"),
    ),
    partition=("network", "ledger_index"),
    clustering=("rank",),
    order=Order.ASC,
    layout=3,
)
