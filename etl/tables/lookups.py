"""Computes the lookup tables of outputs: a row for each role of an output.

The roles are defined in db/roles.py. This module does not know any role by name.
"""

from collections.abc import Callable, Collection, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from db.model import Table
from db.roles import KIND_OF_TYPE, LEGACY, ROLES, Role, in_table
from db.schema import FILTERS
from etl.tables.frames import FrameMaker, TableFrame, conform, hints, output_kind
from etl.tables.partition_columns import Placement

STARDUST_NAMES = ("chain_id", *(name for name, _, _ in FILTERS))
"""Fields of the lake's struct of a Stardust output that lookup rows contain or have in their key."""

AMOUNT_BACK = "storage_deposit_return_amount"

KEYS = frozenset({"address", "tag", "chain_id"})
"""The key column of a role; each table has one of them."""

TABLES_OF_ROLES = tuple(dict.fromkeys(role.table for role in ROLES))
TABLES_OF_LEGACY = tuple(dict.fromkeys(role.table for role in ROLES if role.output_kind == LEGACY))
"""The lookup tables of outputs, and those of Chrysalis outputs."""

KEY_FIELDS = ("kind", "address", "stardust")
"""The fields of etl.tables.frames.OUTPUT_FIELDS that determine the keys of an output."""

CHAIN_TABLES = (schema.alias_outputs, schema.nft_outputs, schema.foundry_outputs)


def tables_of(fields: Collection[str]) -> tuple[Table, ...]:
    """The lookup tables for outputs that have these fields (etl.tables.frames.OUTPUT_FIELDS)."""
    return TABLES_OF_ROLES if "stardust" in fields else TABLES_OF_LEGACY


def filter_columns(stardust: Column) -> dict[str, Column]:
    """STARDUST_NAMES of the lake's struct."""
    named = {name: stardust[name] for name in STARDUST_NAMES}
    return named | {AMOUNT_BACK: named[AMOUNT_BACK].try_cast("bigint")}


def lookup_rows(outputs: DataFrame, table: Table) -> DataFrame:
    """`outputs` (etl.tables.frames.owned), once for each of their roles in a table, with all columns of the rows.

    Chain objects appear only if they changed the ledger, because nothing else is a state of them, and only in a cone
    whose order is known.
    """
    (column,) = KEYS.intersection(table.partition)
    if table in CHAIN_TABLES:
        outputs = outputs.where("included AND white_flag_index IS NOT NULL")
    filtered = outputs.withColumns(filter_columns(F.col("stardust")))
    filtered = filtered.withColumn("output_kind", output_kind(F.col("output_type")))
    return (
        filtered.select("*", inline_roles(in_table(table), _variant_and_key))
        .drop(column)
        .withColumnRenamed("key", column)
    )


def inline_roles(roles: Sequence[Role], row_of: Callable[[Role], Column], *always: Column) -> Column:
    """Explodes an output into its roles: `row_of` each role that it has, and the roles in `always`."""

    def rows(some: Sequence[Role]) -> Column:
        return F.array_compact(F.array(*(F.when(_has_role(role), row_of(role)) for role in some), *always))

    legacy = [role for role in roles if role.output_kind == LEGACY]
    if not legacy:
        return F.inline(rows(roles))
    # Most outputs are Chrysalis outputs. They skip the roles that only Stardust outputs have.
    others = [role for role in roles if role.output_kind != LEGACY]
    return F.inline(F.when(F.col("stardust").isNull(), rows(legacy)).otherwise(rows(others)))


def _has_role(role: Role) -> Column:
    numbers = [number for number, kind in KIND_OF_TYPE.items() if kind == role.output_kind]
    return F.col("output_type").isin(numbers) & F.col(role.column).isNotNull()


def _variant_and_key(role: Role) -> Column:
    return F.struct(F.lit(role.variant).alias("variant"), F.col(role.column).alias("key"))


def placed(outputs: DataFrame, placement: Placement, table: Table) -> TableFrame:
    """The rows of one lookup table."""
    return conform(placement.place(lookup_rows(outputs, table), table), table)


def genesis_makers(outputs: DataFrame, placement: Placement) -> list[FrameMaker]:
    """The rows and hints of genesis outputs (etl.ledger_state.changes.genesis_outputs), which have no position in a
    cone.
    """
    role_tables = TABLES_OF_LEGACY if outputs.where("stardust IS NOT NULL").isEmpty() else TABLES_OF_ROLES
    rows = outputs.withColumns({"included": F.expr("true"), "white_flag_index": F.lit(0)})
    hint_tables = dict.fromkeys(lookup.hints for lookup in schema.ALL_LOOKUPS if lookup.table in role_tables)
    return [
        *(_maker(rows, placement, table) for table in role_tables),
        *(_hint_maker(table, role_tables) for table in hint_tables),
    ]


def _maker(outputs: DataFrame, placement: Placement, table: Table) -> FrameMaker:
    return lambda _: placed(outputs, placement, table)


def _hint_maker(hint_table: Table, role_tables: Sequence[Table]) -> FrameMaker:
    return lambda earlier: hints(earlier.read, hint_table, role_tables)
