"""Computes the lookup tables of outputs: a row for each role of an output.

The roles are defined in db/roles.py. This module does not know any role by name.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from db.model import Lookup, Table
from db.roles import KIND_OF_TYPE, LOOKUP_OF_TABLE, ROLES, Role, by_column, in_table, of_era
from db.schema import FILTERS
from etl.engine.columns import present
from etl.tables.frames import output_kind
from etl.tables.kept_keys import is_kept
from etl.tables.row_frames import RowFrame
from ledger.selection import Selection

STARDUST_NAMES = ("chain_id", *(name for name, _, _ in FILTERS))
"""Fields of the lake's struct of a Stardust output that lookup rows contain or have in their key."""

AMOUNT_BACK = "storage_deposit_return_amount"

KEYS = frozenset({"address", "tag", "chain_id"})
"""The key column of a role; each table has one of them."""

TABLES_OF_ROLES = tuple(dict.fromkeys(role.table for role in ROLES))
TABLES_OF_LEGACY = tuple(dict.fromkeys(role.table for role in of_era(ROLES, has_stardust=False)))
"""The lookup tables of outputs, and those of Chrysalis outputs."""

KEY_FIELDS = ("kind", "address", "stardust")
"""The fields of etl.tables.frames.OUTPUT_FIELDS that determine the keys of an output."""

CHAIN_TABLES = (schema.alias_outputs, schema.nft_outputs, schema.foundry_outputs)


def tables_of(fields: Collection[str]) -> tuple[Table, ...]:
    """The lookup tables for outputs that have these fields (etl.tables.frames.OUTPUT_FIELDS)."""
    return TABLES_OF_ROLES if "stardust" in fields else TABLES_OF_LEGACY


def filled_by(fields: Collection[str]) -> tuple[Lookup, ...]:
    """The lookups to which messages whose outputs have these fields add rows."""
    filled = {schema.tags, schema.transactions_by_address, *tables_of(fields)}
    return tuple(lookup for lookup in schema.ALL_LOOKUPS if lookup.table in filled)


def filter_columns(stardust: Column) -> dict[str, Column]:
    """STARDUST_NAMES of the lake's struct."""
    named = {name: stardust[name] for name in STARDUST_NAMES}
    return named | {AMOUNT_BACK: named[AMOUNT_BACK].try_cast("bigint")}


def listed(outputs: DataFrame) -> DataFrame:
    """`outputs` (etl.tables.frames.owned) with all columns of their rows in lookup tables but the key."""
    return outputs.withColumns(filter_columns(F.col("stardust")) | {"output_kind": output_kind(F.col("output_type"))})


def role_outputs(table: Table, selection: Selection | None = None, *, has_stardust: bool = True) -> RowFrame:
    """The rows of one lookup table: an output (`listed`) once for each of its roles there. `selection`: that of a
    selective store, whose lookups by address or tag have fewer keys. `has_stardust`: whether some outputs may be
    Stardust outputs.

    Chain objects appear only if they changed the ledger, because nothing else is a state of them, and only in a cone
    whose order is known.
    """
    (column,) = KEYS.intersection(table.partition)
    is_state = F.expr("included AND white_flag_index IS NOT NULL") if table in CHAIN_TABLES else None

    def variant_and_key(role: Role) -> Column:
        return F.struct(F.lit(role.variant).alias("variant"), F.col(role.column).alias(column))

    def has_row(roles: Sequence[Role]) -> Column:
        if selection is None or table in CHAIN_TABLES:
            return _has_role(roles)
        return _has_role(roles) & is_kept(selection, column, F.col(roles[0].column))

    roles = by_column(of_era(in_table(table), has_stardust=has_stardust))
    items = role_items(roles, variant_and_key, has_row=has_row)
    return RowFrame(table, is_state, items=items, item_columns=("variant", column))


def role_keys(outputs: DataFrame, table: Table, selection: Selection | None, *, has_stardust: bool) -> DataFrame:
    """The keys and positions of the rows of one lookup table, of outputs with KEY_FIELDS. For `selection` and
    `has_stardust` see `role_outputs`.
    """
    lookup, frame = LOOKUP_OF_TABLE[table], role_outputs(table, selection, has_stardust=has_stardust)
    names = (*lookup.key, lookup.position_column)
    return frame.rows(listed(outputs), [name for name in names if name not in frame.item_columns])


def _has_role(roles: Sequence[Role]) -> Column:
    """Whether an output has one of these roles, all with the same column."""
    kinds = {role.output_kind for role in roles}
    numbers = [number for number, kind in KIND_OF_TYPE.items() if kind in kinds]
    return F.col("output_type").isin(numbers) & F.col(roles[0].column).isNotNull()


def role_items(
    groups: Iterable[Sequence[Role]],
    row_of: Callable[[Role], Column],
    *always: Column,
    has_row: Callable[[Sequence[Role]], Column] = _has_role,
) -> Column:
    """The roles of an output as an array: `row_of` a role of each group (`by_column`) that `has_row`, and `always`.

    An engine plans each item, which is most of the work of a query for few outputs.
    """
    return present(F.array(*(F.when(has_row(roles), row_of(roles[0])) for roles in groups), *always))
