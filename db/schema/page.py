"""Renders docs/schema.md: the content and key of each table, and where the plans' tables are stored.

The text comes from db/schema and db/schema/dialects.py. The mapping of the plans' names is data here.
"""

from db import schema
from db.measures import MEASURES
from db.measures.measure import Kind
from db.model import Table, Type
from db.schema.dialects import cql_type, spark_type, sqlite_type
from db.schema.selects import selects_text
from db.schema.wormhole_page import wormhole_text

CHRYSALIS_PLAN: tuple[tuple[str, str, str], ...] = (
    (
        "messages",
        "messages",
        "metadata in columns; the canonical bytes with their nonce; proofs are computed on request",
    ),
    ("parents", "parents", "not partitioned: parents must be recent, so children are in few milestones"),
    ("indexes", "tags", "keyed by the index itself: its hash has no advantage"),
    ("addresses", "outputs_by_address", "keyed by output id, not (transaction id, index), and by the message"),
    ("hints", "tag_hints, addresses_hints", "one row per partition that has rows, without a milestone that goes stale"),
    ("transactions", "transactions, outputs", "`data` is not a key column; outputs contain creator and spender"),
    (
        "milestones",
        "milestones, milestone_ids",
        "one row per milestone: a reattachment is a message, not a milestone",
    ),
    ("sync (key, …)", "sync, ranges", "by range, because a single partition would grow without limit"),
)
"""Table of the Chrysalis schema plan → tables here → why they differ."""

STARDUST_PLAN: tuple[tuple[str, str, str], ...] = (
    ("messages", "messages", "`version` and `message` are not key columns"),
    ("messages_by_milestone", "messages_by_milestone", "a table in white-flag order instead of a secondary index"),
    ("messages (unreferenced)", "pending_messages", "rows that expire are never in a final table"),
    ("transactions_by_state", "transactions_by_state", "a table that the load writes, not a materialized view"),
    ("tag_hints", "tag_hints", "`table_kind` is part of the partition key"),
    ("addresses_hints", "addresses_hints", "same key as the lookup, so a hint identifies one partition"),
    (
        "legacy_outputs, …_by_address",
        "outputs, outputs_by_address",
        "kind and role are key columns, not names of views",
    ),
    (
        "basic_, alias_, foundry_, nft_outputs and their views by address and role",
        "outputs, outputs_by_address",
        "with `output_id`; a view must have all key columns of its table",
    ),
    ("…_outputs_by_tag", "outputs_by_tag", "the same"),
    (
        "alias_outputs, nft_outputs, foundry_outputs by id",
        "alias_outputs, nft_outputs, foundry_outputs",
        "with `white_flag_index` and `output_id`: an object may have two states in a milestone",
    ),
    ("dust_return_address", "outputs_by_address", "variant storage_deposit_return, the protocol's final name"),
    ("unspent outputs", "unspent_outputs, unspent_hints", "by the same keys, at a ledger index"),
    ("tags", "tags", "with `message_id`: two messages may share tag and milestone; milestone before time"),
    ("parents, parents_by_ms", "parents", "one table, by milestone and not by time, which need not rise"),
    (
        "inserts with ms_range_id 2147483647, TTL 86400",
        "pending, pending_hints",
        "separate tables with the same range and TTL",
    ),
    ("sync", "sync, ranges", "sums by range, so that no query reads all of it"),
    ("date_cache", "date_cache", "written by every load"),
    ("ms_analytics", "ms_analytics", "with the measures of inx-chronicle"),
    ("daily_analytics", "daily_analytics", "with the measures of Chronicle's daily report"),
    ("address_analytics", "address_analytics", "by range, because the milestones of an address have no limit"),
    ("metrics_cache", "metrics_cache", "`metric_value` is a number: how often the day had that value"),
    ("est_milestone_index", "pending", "only pending messages have an estimate"),
)
"""Table of the Stardust schema plan → tables here → why they differ."""

NOT_KEPT: tuple[tuple[str, str], ...] = (
    ("metadata blob", "stored in columns"),
    ("is_solid, should_promote, should_reattach", "the state of a live node; all archived messages were solid"),
    ("proof blob", "computed from the cone on request"),
    ("updated_at", "rows depend only on the data, not on when they were written"),
    ("address_type, sender_type", "the first byte of the serialized address"),
    ("data blobs in lookups", "stored once, in `outputs` and `transactions`"),
    ("inclusion_state of outputs", "`included` is part of the key: attachments without effect are separate"),
    ("is_used, ms_timestamp as key columns", "spent is a column of `outputs`; rows are sorted by milestone"),
    ("hashed_index", "the index has at most 64 bytes and is the key"),
)


def schema_page() -> str:
    """Renders the page."""
    parts = [_HEAD, _types(), "\n## Tables\n"]
    for table in schema.TABLES:
        parts.append(_table(table))
        if table is schema.ms_analytics:
            parts.append(_measures())
    parts.append("\n## From the plans to these tables\n\n[Origins](origins.md) explains the plans.\n")
    for plan, tables in (("Chrysalis", CHRYSALIS_PLAN), ("Stardust", STARDUST_PLAN)):
        parts.append(f"\n### Tables of the {plan} schema plan\n\n| plan | here | difference |\n|---|---|---|\n")
        parts += [f"| {name} | {here} | {difference} |\n" for name, here, difference in tables]
    parts.append("\n### Columns that are not stored\n\n| plan | reason |\n|---|---|\n")
    parts += [f"| {name} | {reason} |\n" for name, reason in NOT_KEPT]
    parts.append(selects_text())
    parts.append(wormhole_text(_table))
    return "".join(parts)


def _types() -> str:
    lines = [f"| {kind} | {cql_type(kind)} | {sqlite_type(kind)} | {spark_type(kind)} |\n" for kind in Type]
    return "| type | CQL | SQLite | Spark |\n|---|---|---|---|\n" + "".join(lines)


def _table(table: Table) -> str:
    clustering = "".join(f", {name} {table.order.value}" for name in table.clustering)
    text = f"\n### {table.name}\n\n{table.meaning}.\n\nKey: `(({', '.join(table.partition)}){clustering})`"
    if table.ttl_s is not None:
        text += f"; rows expire after {table.ttl_s} s"
    text += "\n\n| column | type | CQL | SQLite | meaning |\n|---|---|---|---|---|\n"
    for column in table.columns:
        kinds = f"{column.type} | {cql_type(column.type)} | {sqlite_type(column.type)}"
        text += f"| {column.name} | {kinds} | {column.meaning} |\n"
    return text


def _measures() -> str:
    text = "\nThe columns by measure, and how the milestones of an hour or a day combine:\n\n"
    text += "| measure | kind | hour, day | columns |\n|---|---|---|---|\n"
    for name, measure in MEASURES.items():
        combined = "last value" if measure.kind in (Kind.STATE, Kind.CALENDAR) else "sum"
        combined = combined if measure.is_summable else "not available"
        text += f"| {name} | {measure.kind.value} | {combined} | {', '.join(measure.names)} |\n"
    return text


_HEAD = f"""\
# Schema

This page lists every table of a store. A store contains one network. In a key, the inner brackets are the partition
key; a query reads one partition. The other key columns sort its rows, so a listing is a slice, read forwards or
backwards.

`ms_range_id` is `milestone_index // chunk_size`. Pending rows, which no milestone references yet, are in separate
tables, in range {schema.PENDING_RANGE}. The statements that create the tables are in [migrations](../migrations),
rendered from the same source.

In queries, ids are lowercase hex without 0x; in SQLite and in Spark frames they are bytes. An address is the hex of its
serialized form: type byte and payload.

A SQLite store shows some of these tables as views of smaller tables, see [0050](decisions/0050-storage.md).

"""
