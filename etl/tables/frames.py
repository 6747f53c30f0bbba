"""Computes table frames from lake rows, in native Spark columns.

Invariants of this package:
1. Each function maps a frame to a frame and ends in `conform`, which selects the table's columns with their types.
2. Nothing reads or writes.
3. Ids are binary; the writer of a store that needs text converts them.
4. Fields of structs are selected first, and a condition after that names one of them. With Sail, a condition on other
   columns alone, or below the selection, reads and copies whole structs (decisions/0054).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Protocol, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from db.model import Lookup, Table
from db.roles import KIND_OF_TYPE
from db.schema.dialects import EXPIRES_AT as EXPIRES_AT
from db.schema.dialects import spark_type
from db.schema.protocols import LOOKUPS
from etl.engine.columns import bytes_at, inline
from etl.lake.output_rows import STARDUST_OUTPUT
from etl.sources.cone import INCLUDED
from etl.tables.byte_columns import u8_bytes, u16, u16_bytes

SINGLE_OUTPUT = 0
DUST_ALLOWANCE_OUTPUT = 1
TREASURY_OUTPUT = 2

OUTPUT_FIELDS = ("output_id", "kind", "address", "amount", "data", "stardust")
UNLOCK_FIELDS = ("kind", "public_key", "signature", "reference", "address")
"""The lake's fields of each output and each unlock (etl/lake/message_rows.py)."""

LEGACY_FIELDS = OUTPUT_FIELDS[:-1]
"""The fields of Chrysalis outputs."""

SPENT_COLUMNS = [name for name in schema.outputs.names if name.startswith("spent_")]
"""The columns of `outputs` that the spending transaction determines. The creating one determines all others."""


def ms_timestamp() -> Column:
    """The timestamp of the referencing milestone, in milliseconds since 1970."""
    return F.unix_millis("timestamp")


def took_effect(transaction_id: str) -> Column:
    """Whether a transaction or receipt changed the ledger state. A receipt has no `transaction_id`."""
    return F.col(transaction_id).isNull() | F.col("inclusion_state").eqNullSafe(F.lit(INCLUDED))


def is_created() -> Column:
    """Whether an output of `owned` changed the ledger."""
    return F.when(F.col("included"), F.col("output_id")).isNotNull()


def is_spent() -> Column:
    """Whether an input of `inputs` changed the ledger."""
    return F.when(F.col("inclusion_state") == INCLUDED, F.col("kind")) == 0


def carrier() -> Column:
    """The message of an output. Migrated Stardust outputs have none; nodes return zeros for it."""
    return F.coalesce("message_id", F.lit(bytes(32)))


class EarlierFrames(Protocol):
    """Frames of the same batch that were prepared before."""

    def read(self, table: Table) -> DataFrame:
        """Returns the rows of a lookup table. Waits until they are prepared."""

    def rows(self, table: Table) -> pa.Table:
        """Returns the rows of a lookup table of a small run. Waits until they are prepared."""


FACT = "fact"
"""An additional column of a frame: the milestone that its cells belong to, or Batch.last_fact. Clusters order writes by
it (decisions/0007).
"""


WHOLE = "whole"
"""An additional column of parts of messages: the message in the row of it that is sorted first, null in others.
The embedded store keeps the places of parts, and would read the message to find them.
"""


@dataclass(frozen=True)
class TableFrame:
    """Rows for one table. Only `columns` are written; other columns of existing rows do not change.

    The engine is not queried for a frame's columns, because it would analyse the whole plan.

    Attributes:
        shares: the rows, in one or several frames with `columns` in this order, and FACT if `has_fact`. An engine that
            holds what it joins or aggregates computes one share after the other.
        columns: the written columns.
        has_fact: whether the frame has the column FACT.
        has_expiry: whether the frame has the column EXPIRES_AT, as for tables whose rows expire.
        has_whole: whether the frame has the column WHOLE.
    """

    table: Table
    shares: tuple[DataFrame, ...]
    columns: Sequence[str]
    has_fact: bool = False
    has_expiry: bool = False
    has_whole: bool = False

    @property
    def frame(self) -> DataFrame:
        """The rows of all shares."""
        return reduce(DataFrame.unionByName, self.shares)

    def mapped(self, function: Callable[[DataFrame], DataFrame]) -> "TableFrame":
        """The frame with this function of each share."""
        return replace(self, shares=tuple(map(function, self.shares)))

    @property
    def ddl(self) -> str:
        """The written columns with their types."""
        return ddl_of(self.table, self.columns)


def ddl_of(table: Table, columns: Iterable[str]) -> str:
    """Columns of a table with their types."""
    return ", ".join(f"{name} {spark_type(table.column(name).type)}" for name in columns)


class ReadyRows(Protocol):
    """Rows of a small run that were computed with others (etl.writers.few_rows.Collected)."""

    @property
    def columns(self) -> Sequence[str]:
        """The written columns."""


FrameMaker: TypeAlias = Callable[[EarlierFrames], TableFrame | ReadyRows]
"""Makes a frame, perhaps from frames before it in the same batch."""


def conform(
    frame: DataFrame,
    table: Table,
    *,
    only: Collection[str] = (),
    without: Collection[str] = (),
    has_fact: bool = False,
    has_expiry: bool = False,
    has_whole: bool = False,
) -> TableFrame:
    """Selects the table's columns in its order and with its types.

    Args:
        frame: has at least the selected columns.
        table: the table of the rows.
        only: columns that the frame has beside the table's key. Default: all of the table.
        without: columns that the frame does not have.
        has_fact: whether the frame has the column FACT.
        has_expiry: whether the frame has the column EXPIRES_AT.
        has_whole: whether the frame has the column WHOLE.
    """
    present = {*table.key, *only} if only else set(table.names).difference(without)
    columns = [each for each in table.columns if each.name in present]
    # As text: with Spark, each part of a Column is a call to the JVM.
    selected = [f"CAST(`{each.name}` AS {spark_type(each.type)}) AS `{each.name}`" for each in columns]
    if has_fact:
        selected.append(FACT)
    if has_expiry:
        selected.append(EXPIRES_AT)
    if has_whole:
        selected.append(WHOLE)
    names = [each.name for each in columns]
    return TableFrame(table, (frame.selectExpr(*selected),), names, has_fact, has_expiry, has_whole)


def tagged(lake: DataFrame, *columns: str) -> DataFrame:
    """These columns and the tag of messages that have one."""
    rows = lake.select(*columns, F.col("tagged_data.tag").alias("own"), F.expr("transaction.tagged_data.tag AS inner"))
    return rows.where("own IS NOT NULL OR inner IS NOT NULL").select(*columns, F.coalesce("own", "inner").alias("tag"))


def tag_of_message() -> Column:
    """The tag of a payload, direct or inside a transaction."""
    return F.coalesce("tagged_data.tag", "transaction.tagged_data.tag")


def hints(read: Callable[[Table], DataFrame], table: Table, lookup_tables: Collection[Table]) -> TableFrame:
    """The hints of lookups that share a hints table. `read` returns the rows of a lookup."""
    lookups = [each for each in LOOKUPS if each.table in lookup_tables and each.hints is table]
    rows = reduce(DataFrame.unionByName, [_partitions(lookup, read(lookup.table)) for lookup in lookups])
    return conform(rows.distinct(), table)


def _partitions(lookup: Lookup, rows: DataFrame) -> DataFrame:
    """The key of each row's partition in the form of its hints, with the columns that hints add."""
    named = [F.col(name).alias(hint) for hint, name in lookup.hint_columns]
    return rows.select(*named, *(F.lit(value).alias(name) for name, value in lookup.hint_constants))


def transactions(lake: DataFrame) -> TableFrame:
    """Inputs with their unlock block, outputs, and an unlock row under each output that an input spends."""
    spends = F.when(F.col("kind") == 0, F.lit(b"\x00")).otherwise(F.lit(b"\x01"))
    row_of_input = F.struct(
        F.col("transaction_id"),
        F.col("idx"),
        F.lit("input").alias("variant"),
        F.concat(spends, "output_id", "unlock").alias("data"),
    )
    row_of_output = F.struct(
        bytes_at("output_id", 1, 32).alias("transaction_id"),
        u16(bytes_at("output_id", 33, 2)).alias("idx"),
        F.lit("unlock").alias("variant"),
        F.concat("transaction_id", u16_bytes(F.col("idx")), "unlock").alias("data"),
    )
    around = ("message_id", "milestone_index", "inclusion_state")
    rows_of_input = F.array(row_of_input, F.when(F.col("kind") == 0, row_of_output))
    of_inputs = inline(inputs(lake), (*around, "message"), rows_of_input)
    # The first row of a transaction is that of its first input. Unlock rows are among those of other transactions.
    is_first = (F.col("idx") == 0) | (F.col("variant") == "unlock")
    of_inputs = of_inputs.withColumn(WHOLE, F.when(is_first, F.col("message"))).drop("message")
    outputs = lake.select(F.expr("transaction.transaction_id"), F.expr("transaction.outputs.data AS outputs"), *around)
    of_outputs = outputs.select(
        "transaction_id",
        F.posexplode("outputs").alias("idx", "data"),
        F.lit("output").alias("variant"),
        *around,
        F.lit(None).cast("binary").alias(WHOLE),
    )
    rows = of_inputs.where("variant IS NOT NULL").unionByName(of_outputs)
    return conform(rows, schema.transactions, has_whole=True)


def created(lake: DataFrame, fields: Sequence[str] = OUTPUT_FIELDS) -> DataFrame:
    """Outputs of included transactions and of receipts: like `owned`, without `included`."""
    return owned(lake, fields).where(is_created()).drop("included")


def spent(lake: DataFrame) -> DataFrame:
    """Inputs of included transactions: output_id, the spender (message_id, transaction_id, idx, signer) and its
    position.
    """
    return inputs(lake).where(is_spent())


def owned(lake: DataFrame, fields: Sequence[str] = OUTPUT_FIELDS) -> DataFrame:
    """Outputs of addresses, of every attachment of a transaction and of receipts: where and by whom they were created,
    their own columns, and whether they changed the ledger (`included`). `fields` selects from OUTPUT_FIELDS; others are
    null.
    """
    rows = paying(lake, fields).select("*", F.posexplode(F.arrays_zip(*fields)).alias("idx", "output"))
    own = {name: F.col(f"output.{name}") if name in fields else F.lit(None) for name in OUTPUT_FIELDS}
    return rows.where(F.col("output.kind") != TREASURY_OUTPUT).select(
        "milestone_index",
        "white_flag_index",
        "message_id",
        "ms_timestamp",
        "included",
        "idx",
        own["output_id"].alias("output_id"),
        own["kind"].alias("output_type"),
        own["address"].alias("address"),
        own["amount"].try_cast("bigint").alias("amount"),
        own["data"].alias("data"),
        own["stardust"].cast(STARDUST_OUTPUT).alias("stardust"),
    )


def paying(lake: DataFrame, fields: Sequence[str], more: Sequence[Column] = ()) -> DataFrame:
    """Transactions and receipts: where they are, `transaction_id` (null for a receipt), whether they changed the ledger
    (`included`), arrays of these fields of their outputs, and `more` columns.
    """
    # Spark reads every field of a struct that it explodes.
    outputs, funds = "transaction.outputs", "milestone.receipt.funds"
    selected = lake.select(
        "milestone_index",
        "white_flag_index",
        carrier().alias("message_id"),
        ms_timestamp().alias("ms_timestamp"),
        "inclusion_state",
        "transaction.transaction_id",
        "milestone.receipt.migrated_at",
        *(F.col(f"{array}.{name}").alias(f"{array}.{name}") for array in (outputs, funds) for name in fields),
        *more,
    )
    return (
        selected.where("transaction_id IS NOT NULL OR migrated_at IS NOT NULL")
        .withColumn("included", took_effect("transaction_id"))
        .withColumns({name: F.coalesce(*(f"`{array}.{name}`" for array in (outputs, funds))) for name in fields})
    )


def output_kind(output_type: Column) -> Column:
    """The name of an output type number."""
    kinds = F.lit(None).cast("string")
    for number, kind in KIND_OF_TYPE.items():
        kinds = F.when(output_type == number, kind).otherwise(kinds)
    return kinds


def splits(grown: DataFrame) -> TableFrame:
    """Splits in the form of the store."""
    return conform(grown.withColumn("first_milestones", F.to_json("first_milestones")), schema.splits)


def rejects(lake_rejects: DataFrame) -> TableFrame:
    """The rejects."""
    return conform(lake_rejects, schema.rejects)


def inputs(lake: DataFrame) -> DataFrame:
    """A row per input: idx, kind, output_id, the bytes of its unlock block, the address that signed it, its message."""
    attached = lake.select(
        "transaction.transaction_id",
        "message_id",
        "message",
        "milestone_index",
        ms_timestamp().alias("ms_timestamp"),
        "white_flag_index",
        "inclusion_state",
        F.col("transaction.inputs").alias("inputs"),
        *(F.col(f"transaction.unlocks.{name}").alias(f"unlocks_{name}") for name in UNLOCK_FIELDS),
    )
    rows = attached.select("*", F.posexplode("inputs").alias("idx", "input"))
    unlock = {name: F.get(f"unlocks_{name}", F.col("idx")) for name in UNLOCK_FIELDS}
    signature = F.concat(F.lit(b"\x00\x00"), unlock["public_key"], unlock["signature"])
    reference = F.concat(u8_bytes(unlock["kind"]), u16_bytes(unlock["reference"]))
    return rows.select(
        "transaction_id",
        "idx",
        "message_id",
        "message",
        "milestone_index",
        "ms_timestamp",
        "white_flag_index",
        "inclusion_state",
        F.col("input.kind").alias("kind"),
        F.col("input.output_id").alias("output_id"),
        F.when(unlock["kind"] == 0, signature).otherwise(reference).alias("unlock"),
        F.coalesce(unlock["address"], F.get("unlocks_address", unlock["reference"])).alias("signer"),
    )
