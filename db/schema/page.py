"""docs/schema.md, rendered from the schema: what each table holds, how it is keyed, and where the plans' tables went.

Rules of this file: text out of db/schema and db/schema/dialects.py; what cannot be read there, the way from the
seeds' names to ours, stands here as data.
"""

from db import schema
from db.measures import MEASURES
from db.measures.measure import Kind
from db.model import Table, Type
from db.schema.dialects import cql_type, spark_type, sqlite_type
from db.schema.selects import selects_text
from db.schema.wormhole_page import wormhole_text

SEEDS: tuple[tuple[str, str, str], ...] = (
    (
        "004 messages",
        "messages",
        "metadata in columns; the canonical bytes with their nonce; a proof is made when asked for",
    ),
    ("004 parents", "parents", "no partition: parents must be recent, so a message has few milestones of children"),
    ("004 indexes", "tags", "keyed by the index itself, not its hash, which collides for nothing"),
    ("004 addresses", "outputs_by_address", "keyed by output id, not (transaction id, index), and by the message"),
    ("004 hints", "tag_hints, addresses_hints", "one row a partition that holds rows; no milestone, which went stale"),
    ("004 transactions", "transactions, outputs", "`data` is no key column; outputs keep creator and spender"),
    (
        "004 milestones",
        "milestones, milestone_ids",
        "one row a milestone: a reattachment is a message, not a milestone",
    ),
    ("004 sync (key, …)", "sync, ranges", "by range, as one partition for all of it would grow for ever"),
    ("003 messages", "messages", "`version` and `message` are no key columns"),
    ("003 messages_by_milestone", "messages_by_milestone", "a table in white-flag order for a secondary index"),
    ("003 messages (unreferenced)", "pending_messages", "rows that expire never stand in a final table"),
    ("003 transactions_by_state", "transactions_by_state", "a table that is written for a view that is maintained"),
    ("003 tag_hints", "tag_hints", "`table_kind` belongs to the key that queries name"),
    ("003 addresses_hints", "addresses_hints", "keyed exactly as the lookup, so a hint names one of its partitions"),
    (
        "003 legacy_outputs, …_by_address",
        "outputs, outputs_by_address",
        "kind and role are key columns, not view names",
    ),
    (
        "003 basic_, alias_, foundry_, nft_outputs and their views by address and role",
        "outputs, outputs_by_address",
        "with `output_id`; a view whose key lacks its table's key columns cannot be made",
    ),
    ("003 …_outputs_by_tag", "outputs_by_tag", "the same"),
    (
        "003 alias_outputs, nft_outputs, foundry_outputs by id",
        "alias_outputs, nft_outputs, foundry_outputs",
        "with `white_flag_index` and `output_id`: an object may have two states in a milestone",
    ),
    ("003 dust_return_address", "outputs_by_address", "variant storage_deposit_return, as the protocol names it since"),
    ("003 outputs that are unspent", "unspent_outputs, unspent_hints", "by the same keys, at a ledger index"),
    ("003 tags", "tags", "with `message_id`: two messages may share tag and milestone; milestone before time"),
    ("003 parents, parents_by_ms", "parents", "one table, by milestone and not by time, which need not rise"),
    (
        "003 inserts with ms_range_id 2147483647, TTL 86400",
        "pending, pending_hints",
        "tables of their own; same range, same TTL",
    ),
    ("003 sync", "sync, ranges", "sums by range, so that no question reads all of it"),
    ("003 date_cache", "date_cache", "written by every load"),
    ("003 ms_analytics", "ms_analytics", "with the measures of inx-chronicle"),
    ("003 daily_analytics", "daily_analytics", "with those of Chronicle's daily report"),
    ("003 address_analytics", "address_analytics", "by range, as an address' milestones never end"),
    ("003 metrics_cache", "metrics_cache", "`metric_value` is a number: how often the day had that value"),
    ("003 est_milestone_index", "pending", "only what no milestone references has an estimate"),
)
"""Seed and table → ours → why it differs."""

NOT_KEPT: tuple[tuple[str, str], ...] = (
    ("metadata blob", "its values are columns"),
    ("is_solid, should_promote, should_reattach", "a live node's view; all that an archive holds was solid"),
    ("proof blob", "made from the cone when asked for"),
    ("updated_at", "rows depend on the data only, never on when they were written"),
    ("address_type, sender_type", "the first byte of the serialized address"),
    ("data blobs in lookups", "kept once, in `outputs` and `transactions`"),
    ("inclusion_state of outputs", "`included` is a part of the key: what took no effect stands apart"),
    ("is_used, ms_timestamp as key columns", "spent is a column of `outputs`; order is by milestone"),
    ("hashed_index", "the index has at most 64 bytes and is the key"),
)


def schema_page() -> str:
    """The page's text."""
    parts = [_HEAD, _types(), "\n## Tables\n"]
    for table in schema.TABLES:
        parts.append(_table(table))
        if table is schema.ms_analytics:
            parts.append(_measures())
    parts.append("\n## From the plans' tables to these\n\n| plan | here | why |\n|---|---|---|\n")
    parts += [f"| seeds/{seed} | {ours} | {why} |\n" for seed, ours, why in SEEDS]
    parts.append(
        "\nNot kept, as nothing asks for it or it follows from what is kept:\n\n| plan | reason |\n|---|---|\n"
    )
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

Every table of a store; one store holds one network. In a key, the inner brackets are the partition: what one question
reads. Rows of a partition run as the key says, so a listing is a slice, read forwards or backwards.

`ms_range_id` is `milestone_index // chunk_size`. Rows wait for a milestone in the pending tables, in range
{schema.PENDING_RANGE}. The statements that create all this are in [migrations](../migrations), rendered from the same
source; the layout they make is {schema.LAYOUT}.

Ids are lowercase hex without 0x wherever a store is asked, and bytes in SQLite and in Spark frames. An address is the
hex of its serialized form: type byte and payload.

"""
