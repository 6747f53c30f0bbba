"""Tables of analytics: by milestone, day and address."""

from db.measures import MEASURES
from db.measures.measure import FIRST_LAYOUT, Kind
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

CALENDAR = {
    column.name: column.expression
    for measure in MEASURES.values()
    if measure.kind is Kind.CALENDAR
    for column in measure.columns
}
"""Column of ms_analytics → the UTC interval (weeks by ISO 8601) whose active addresses it counts."""

MEASURE_COLUMNS = tuple(
    column
    for measure in sorted(MEASURES.values(), key=lambda measure: measure.layout)
    for column in measure.table_columns
)
"""Columns of later layouts follow existing columns, as with ALTER TABLE."""

ms_analytics = Table(
    "ms_analytics",
    "Measures of each complete milestone; those of the ledger state up to the ledger index. The genesis "
    "row contains only the state",
    columns(
        MS_RANGE_ID,
        ("milestone_index", Type.INT, "the milestone"),
        MS_TIMESTAMP,
    )
    + MEASURE_COLUMNS,
    partition=("ms_range_id",),
    clustering=("milestone_index",),
    layout=FIRST_LAYOUT,
)

analytics_ranges = Table(
    "analytics_ranges",
    "Summary of ms_analytics by range, so that a sum over all history reads one slice",
    columns(
        ("network", Type.TEXT, "exact network name"),
        MS_RANGE_ID,
        (
            "runs",
            Type.TEXT,
            "consecutive milestones as JSON [[first, last, message_count, transaction_count, transferred_tokens],"
            " …], ascending, split at multiples of 10000",
        ),
    ),
    partition=("network",),
    clustering=("ms_range_id",),
    layout=7,
)

daily_analytics = Table(
    "daily_analytics",
    "Measures of each UTC day over its complete milestones",
    columns(
        ("year", Type.INT, "year of the day"),
        ("date", Type.DATE, "the day of the milestone timestamp"),
        ("total_addresses", Type.INT, "addresses that sent or received"),
        ("send_addresses", Type.INT, "addresses that signed an included transaction"),
        (
            "recv_addresses",
            Type.INT,
            "addresses that received an output of an included transaction, without dust allowances",
        ),
        ("used_indexes", Type.INT, "different indexes or tags of messages"),
        ("output_addresses", Type.INT, "addresses in outputs of any transaction, including conflicting ones"),
        ("output_count", Type.BIGINT, "those outputs"),
        ("max_outputs", Type.INT, "largest number of outputs of one address"),
        ("milestone_count", Type.INT, "complete milestones"),
        ("message_count", Type.BIGINT, "their messages"),
        ("transaction_count", Type.BIGINT, "included transactions"),
        ("conflicting_count", Type.BIGINT, "conflicting transactions"),
        ("transaction_payload_count", Type.BIGINT, "messages with a transaction, included or not"),
        ("transferred_tokens", Type.BIGINT, "base tokens of all outputs of included transactions"),
    ),
    partition=("year",),
    clustering=("date",),
    layout=7,
)

address_analytics = Table(
    "address_analytics",
    "Base tokens that an address sent and received in a milestone; hints have the kind ledger",
    columns(
        ("address", Type.HEX, "serialized address that owned the outputs at that time"),
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
    "Counts of a UTC day by value; daily_analytics has the sums",
    columns(
        ("date", Type.DATE, "the day of the milestone timestamp"),
        ("variant", Type.TEXT, "address or index"),
        ("metric", Type.TEXT, "sent, received or sent_or_received for addresses; used for indexes"),
        ("value", Type.HEX, "the serialized address, or the index bytes"),
        ("metric_value", Type.BIGINT, "count: signatures, outputs, or both together; messages with the index"),
    ),
    partition=("date",),
    clustering=("variant", "metric", "value"),
    order=Order.ASC,
    layout=7,
)
