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
