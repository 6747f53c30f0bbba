"""Tables of analytics: by milestone, day and address."""

from db.model import Order, Table, Type, columns
from db.schema.shared_columns import MS_RANGE_ID, MS_TIMESTAMP

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
