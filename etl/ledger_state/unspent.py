"""Computes unspent_outputs and its hints from changes.

A row is stored at the milestone that created its output. The creating and the spending change each write a part of it.
An output has a row for each of its roles (db/roles.py), one for each of its native tokens, and one without a role.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db import schema
from db.roles import ALL, NATIVE_TOKEN, ROLES, Role, by_column, of_era
from etl.engine.columns import bytes_at, inline
from etl.ledger_state.native_tokens import token_positions, tokens
from etl.tables import frames as tables
from etl.tables.frames import FrameMaker, TableFrame
from etl.tables.lookups import listed, role_items
from etl.tables.partition_columns import Placement, hex_text, rows_of_keys
from etl.tables.row_frames import RowFrame
from etl.tables.run_frames import Source, in_turn
from etl.writers.staging import Staging

TABLE = schema.unspent_outputs
SPENT = "spent_milestone_index"


def created_outputs(keys: Column) -> RowFrame:
    """The rows of created outputs, of `listed` CHANGES. `keys` as from `keys_of`, with amounts."""
    return RowFrame(
        TABLE,
        F.expr("NOT is_spent"),
        {
            "milestone_index": F.col("created_milestone_index"),
            "address": F.expr("CASE WHEN native_tokens > 0 THEN address END"),
        },
        items=keys,
        item_columns=("lookup", "key", "token_amount"),
        without=[SPENT],
        fact=F.col("milestone_index"),
    )


def spent_outputs(keys: Column) -> RowFrame:
    """The milestone that spent each output, in the rows of the output, of `listed` CHANGES. `keys`: from `keys_of`."""
    return RowFrame(
        TABLE,
        F.col("is_spent"),
        {"milestone_index": F.col("created_milestone_index"), SPENT: F.col("milestone_index")},
        items=keys,
        item_columns=("lookup", "key"),
        only=[SPENT],
        fact=F.col("milestone_index"),
    )


def makers(
    changes: Sequence[DataFrame],
    placement: Placement,
    genesis: int,
    frontier: int,
    dead_to: int,
    staging: Staging,
    *,
    has_stardust: bool,
) -> list[FrameMaker]:
    """The frames that changes above the frontier write, and the hints of created outputs. `changes`: in shares, each
    with all changes of its outputs. For `has_stardust` see `keys_of`.

    Outputs that were created above the frontier and spent by `dead_to` are not written, because compaction would delete
    them at once.
    """
    contents = {"has_stardust": has_stardust, "has_tokens": has_stardust}
    is_dead = (F.col("created_milestone_index") > frontier) & (F.col("milestone_index") <= dead_to)
    created = created_outputs(keys_of(genesis, with_amounts=True, **contents))
    spent = spent_outputs(keys_of(genesis, **contents))

    def living(share: DataFrame) -> TableFrame:
        made = listed(share.where("NOT is_spent"))
        made = _without(made, share.where("is_spent").where(is_dead)) if dead_to > frontier else made
        return created.of(made, placement)

    placed = in_turn(map(living, changes))
    spending = listed(reduce(DataFrame.unionByName, changes).where("is_spent"))
    spending = spending.where(~is_dead) if dead_to > frontier else spending
    return [
        lambda _: placed,
        lambda _: spent.of(spending, placement),
        lambda _: tables.conform(_partitions(placed.shares, staging), schema.unspent_hints, has_fact=True),
    ]


def _without(outputs: DataFrame, dead: DataFrame) -> DataFrame:
    """The outputs that no dead change spends. Sail holds the left side of a join in memory."""
    ids = dead.select("output_id", F.expr("true").alias("is_dead"))
    return ids.join(outputs, "output_id", "right").where("is_dead IS NULL").drop("is_dead")


def _partitions(placed: Sequence[DataFrame], staging: Staging) -> DataFrame:
    """The partitions of placed rows, each with its greatest FACT."""

    def grouped(rows: DataFrame) -> DataFrame:
        return rows.groupBy(*TABLE.partition).agg(F.max(tables.FACT).alias(tables.FACT))

    first, *others = map(grouped, placed)
    if not others:
        return first
    folders = [staging.write("partitions", each) for each in (first, *others)]
    return grouped(first.sparkSession.read.schema(first.schema).parquet(*map(str, folders)))


def few_makers(changes: Source, genesis: int, *, has_stardust: bool, has_tokens: bool) -> list[FrameMaker]:
    """The same frames of few `listed` CHANGES, none of which is dead. For the flags see `keys_of`."""
    keys = keys_of(genesis, with_amounts=True, has_stardust=has_stardust, has_tokens=has_tokens)
    return [
        changes.maker(created_outputs(keys)),
        changes.maker(spent_outputs(keys)),
        changes.hints(schema.unspent_hints, {TABLE}),
    ]


def partitions(spent: DataFrame, placement: Placement, genesis: int) -> DataFrame:
    """The partitions of spent outputs (etl.ledger_state.changes.CHANGES), once for each row."""
    rows = spent_outputs(keys_of(genesis)).rows(listed(spent), ("output_kind", "milestone_index"))
    return placement.place(rows, TABLE).select(*schema.unspent_hints.names)


def counted_keys(counted: DataFrame, chunk_size: int, *, has_stardust: bool) -> list[DataFrame]:
    """rows_of_keys of schema.LEDGER_LOOKUPS for etl.ledger_state.changes.COUNTED since genesis. For `has_stardust` see
    `keys_of`.
    """
    updates = counted.select("milestone_index", F.col("owner").alias("address"))
    changes = listed(counted)
    keys = _keys(F.lit(ALL), with_amounts=False, has_stardust=has_stardust, has_tokens=has_stardust)
    created = inline(changes.where("NOT is_spent"), ("milestone_index", "output_kind"), keys)
    rows = (updates, created, token_positions(changes))
    return [rows_of_keys(each, lookup, chunk_size) for lookup, each in zip(schema.LEDGER_LOOKUPS, rows, strict=True)]


def keys_of(genesis: int, *, with_amounts: bool = False, has_stardust: bool = True, has_tokens: bool = True) -> Column:
    """Lookup and key of an output once for each lookup that contains it. `with_amounts`: and token_amount, which is
    null except for native tokens. `has_stardust`, `has_tokens`: whether some outputs may be Stardust outputs, and have
    native tokens.
    """
    first_byte = hex_text(bytes_at("output_id", 1, 1))
    key_of_all = F.when(F.col("created_milestone_index") == genesis, first_byte).otherwise(ALL)
    return _keys(key_of_all, with_amounts=with_amounts, has_stardust=has_stardust, has_tokens=has_tokens)


def _keys(key_of_all: Column, *, with_amounts: bool, has_stardust: bool, has_tokens: bool) -> Column:
    """`keys_of` with this key of an output among all outputs."""

    def item(lookup: str, key: Column, amount: Column) -> Column:
        amounts = [amount.alias("token_amount")] if with_amounts else []
        return F.struct(F.lit(lookup).alias("lookup"), key.alias("key"), *amounts)

    def of_role(role: Role) -> Column:
        return item(role.variant, hex_text(F.col(role.column)), no_amount)

    no_amount = F.lit(None).cast("binary")
    of_all = item(ALL, key_of_all, no_amount)
    of_roles = role_items(by_column(of_era(ROLES, has_stardust=has_stardust)), of_role, of_all)
    if not has_tokens:
        return of_roles
    of_tokens = F.transform(
        tokens(), lambda token: item(NATIVE_TOKEN, hex_text(token["token_id"]), token["token_amount"])
    )
    return F.concat(of_roles, of_tokens)
