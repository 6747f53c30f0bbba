"""The tables whose rows each follow from one message, one output or one input of the lake."""

from collections.abc import Collection

from pyspark.sql import Column
from pyspark.sql import functions as F

from db import schema
from etl.engine.columns import bytes_at, present
from etl.tables.frames import (
    SPENT_COLUMNS,
    is_created,
    is_spent,
    ms_timestamp,
    output_kind,
    tag_of_message,
    took_effect,
)
from etl.tables.kept_keys import is_kept
from etl.tables.row_frames import RowFrame
from ledger.selection import TAG, Selection


def messages() -> RowFrame:
    """All messages, without their conflict reasons."""
    return RowFrame(
        schema.messages,
        F.expr("message_id IS NOT NULL"),
        {"ms_timestamp": ms_timestamp()},
        without=["conflict_reason"],
    )


def conflict_reasons() -> RowFrame:
    """The conflict reasons that are not null. They are separate so that a source without reasons does not erase reasons
    that the ledger state found.
    """
    return RowFrame(schema.messages, F.expr("conflict_reason IS NOT NULL"), only=["conflict_reason"])


def messages_by_milestone() -> RowFrame:
    """The messages of complete cones."""
    return RowFrame(schema.messages_by_milestone, F.expr("message_id IS NOT NULL AND white_flag_index IS NOT NULL"))


def message_proofs() -> RowFrame:
    """The proofs of messages of a selective lake."""
    return RowFrame(schema.message_proofs, F.expr("proof IS NOT NULL"))


def parents() -> RowFrame:
    """A row per (parent, child)."""
    return RowFrame(
        schema.parents,
        computed={"ms_timestamp": ms_timestamp()},
        items=F.col("parents"),
        item_columns=["parent_id"],
    )


def tags(selection: Selection | None = None) -> RowFrame:
    """Tags of payloads, both direct and inside transactions. `selection`: only tags that a selective store lists."""
    tag = tag_of_message()
    has_row = tag.isNotNull() if selection is None else tag.isNotNull() & is_kept(selection, TAG, tag)
    items = F.when(has_row, F.array(tag))
    return RowFrame(schema.tags, computed={"ms_timestamp": ms_timestamp()}, items=items, item_columns=["tag"])


def transactions_by_state() -> RowFrame:
    """Attachments that have a state."""
    transaction_id = F.col("transaction.transaction_id")
    has_row = transaction_id.isNotNull() & F.col("inclusion_state").isNotNull()
    items = F.when(has_row, F.array(transaction_id))
    return RowFrame(schema.transactions_by_state, items=items, item_columns=["transaction_id"])


def created_outputs() -> RowFrame:
    """The columns of `outputs` that the creating transaction determines, of `etl.tables.frames.owned`."""
    return RowFrame(
        schema.outputs,
        is_created(),
        {
            "created_milestone_index": F.col("milestone_index"),
            "created_white_flag_index": F.col("white_flag_index"),
            "created_message_id": F.col("message_id"),
            "output_kind": output_kind(F.col("output_type")),
        },
        without=SPENT_COLUMNS,
    )


def spent_outputs() -> RowFrame:
    """The columns of `outputs` that the spending transaction of an included message determines, of
    `etl.tables.frames.inputs`.
    """
    return RowFrame(
        schema.outputs,
        is_spent(),
        {
            "spent_milestone_index": F.col("milestone_index"),
            "spent_white_flag_index": F.col("white_flag_index"),
            "spent_transaction_id": F.col("transaction_id"),
            "spent_message_id": F.col("message_id"),
        },
        only=SPENT_COLUMNS,
    )


def ids(fields: Collection[str]) -> RowFrame:
    """The ids of messages, transactions and milestones. With the field `stardust` of OUTPUT_FIELDS also those of
    aliases, NFTs and foundries, for each of their states.
    """
    # A block of Stardust contains an earlier milestone than the one that references it.
    is_own = F.expr("milestone.milestone_index = milestone_index")
    milestone_id = F.when(is_own, F.col("milestone.milestone_id"))
    own = present(F.array(F.col("message_id"), F.col("transaction.transaction_id"), milestone_id))
    if "stardust" not in fields:
        return _ids(own)
    chains = F.transform("transaction.outputs", lambda output: output["stardust"]["chain_id"])
    has_place, has_outputs = F.col("white_flag_index").isNotNull(), F.col("transaction.transaction_id").isNotNull()
    is_state = took_effect("transaction.transaction_id") & has_place & has_outputs
    states = F.when(is_state, present(chains)).otherwise(F.expr("CAST(array() AS ARRAY<BINARY>)"))
    return _ids(F.concat(own, states))


def booked_outputs() -> RowFrame:
    """The milestones that booked outputs, of the rows of the lake's genesis, if it is not milestone 0."""
    return RowFrame(
        schema.booked_outputs,
        F.expr("milestone_index > 0 AND booked_milestone_index IS NOT NULL"),
        {"milestone_index": F.col("booked_milestone_index"), "ms_timestamp": F.col("booked_ms_timestamp")},
    )


def genesis_ids() -> RowFrame:
    """The ids of genesis outputs (etl.ledger_state.changes.genesis_outputs), and of the aliases, NFTs and foundries in
    them.
    """
    return _ids(present(F.array("output_id", "stardust.chain_id")))


def _ids(found: Column) -> RowFrame:
    def row_of(each: Column) -> Column:
        return F.struct(bytes_at(each, 1, schema.PREFIX_BYTES).alias("prefix"), each.alias("id"))

    return RowFrame(schema.ids_by_prefix, items=F.transform(found, row_of), item_columns=("prefix", "id"))
