"""The rows of the families of listings (ledger/completeness/families.py) that follow from messages, as columns."""

from collections.abc import Collection
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db.roles import CHAIN, LEGACY, ROLES, Role
from etl.tables import frames as tables
from etl.tables.address_history import concerned
from etl.tables.lookups import listed, role_items
from ledger.completeness.families import BY_NAME
from ledger.completeness.intervals import size_of

ORDER = ("interval", "place", "row")
"""The columns of `listing_rows`, in the order in which rows are hashed."""


def listing_rows(messages: DataFrame, fields: Collection[str]) -> DataFrame:
    """ORDER: the number of the interval of level 0, family and key, row id.

    Args:
        messages: of complete milestones.
        fields: the output fields of the messages (etl.tables.frames.OUTPUT_FIELDS).
    """
    parts = [
        _message_rows(messages.where("message_id IS NOT NULL")),
        _output_rows(messages, fields),
        _rows(
            concerned(messages).where("included"),
            "transactions_by_address",
            F.col("address"),
            F.coalesce("transaction.transaction_id", "milestone.receipt.treasury_input"),
            tables.carrier(),
        ),
    ]
    return reduce(DataFrame.unionByName, parts)


def _message_rows(messages: DataFrame) -> DataFrame:
    """Messages under their tag and under each parent: one scan, because their row ids are the same."""
    parents = F.transform(F.array_distinct("parents"), lambda parent: _place("messages_by_parent", parent))
    tag = tables.tag_of_message()
    own = F.when(tag.isNotNull(), F.array(_place("messages_by_tag", tag))).otherwise(
        F.expr("CAST(array() AS ARRAY<BINARY>)")
    )
    return messages.select(
        _interval(), F.explode(F.concat(parents, own)).alias("place"), _row_id(F.col("message_id")).alias("row")
    )


def _output_rows(messages: DataFrame, fields: Collection[str]) -> DataFrame:
    """Included outputs, once for each role with a family."""
    created = listed(tables.created(messages, [*fields]))
    names = {role: f"{role.output_kind}_outputs_by_{role.variant}" for role in ROLES}
    eras = [role for role in ROLES if "stardust" in fields or role.output_kind == LEGACY]

    def row_of(role: Role) -> Column:
        ids = ("white_flag_index", "output_id") if role.variant == CHAIN else ("output_id", "message_id")
        parts = [_u32(F.col(name)) if name == "white_flag_index" else F.col(name) for name in ids]
        place = _place(names[role], F.col(role.column))
        return F.struct(place.alias("place"), _row_id(*parts).alias("row"))

    items = role_items([role for role in eras if names[role] in BY_NAME], row_of)
    return created.select(_interval(), F.inline(items))


def _rows(frame: DataFrame, family: str, key: Column, *ids: Column) -> DataFrame:
    return frame.select(_interval(), _place(family, key).alias("place"), _row_id(*ids).alias("row"))


def _interval() -> Column:
    return F.expr(f"milestone_index DIV {size_of(0)}").cast("int").alias("interval")


def _place(family: str, key: Column) -> Column:
    return F.concat(F.lit(bytes([BY_NAME[family].number])), key)


def _row_id(*ids: Column) -> Column:
    return F.concat(_u32(F.col("milestone_index")), *ids)


def _u32(number: Column) -> Column:
    """A number as a big-endian u32."""
    return F.unhex(F.lpad(F.hex(number.cast("bigint")), 8, "0"))
