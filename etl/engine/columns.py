"""Columns that the engines compute from different expressions."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from etl.engine.current import on_sail
from etl.engine.ddl import parse_ddl

T = TypeVar("T")

ITEM = "_item"


def bytes_at(data: Column | str, position: int, length: int) -> Column:
    """`length` bytes of a BINARY column from `position` on, which starts at 1."""
    if not on_sail():
        return F.substring(data, position, length)
    # Sail 0.7.2 decodes a BINARY argument of substring as text.
    return F.unhex(F.substring(F.hex(data), 2 * position - 1, 2 * length))


def present(items: Column) -> Column:
    """The items of an array that are not null.

    In a lake of a million messages, `array_compact` of Sail 0.7.2 made some other items null, too, not the same ones in
    each run. Spark's `array_compact` is the same filter.
    """
    return F.filter(items, lambda item: item.isNotNull())


def inline(frame: DataFrame, columns: Sequence[Column | str], items: Column) -> DataFrame:
    """The columns, once for each struct of the array `items`, followed by the fields of the struct. Null items lead to
    null fields.

    The engines' own `inline` does the same. Sail 0.7.2 plans the array again for each field, which took more than
    half of the planning of a table of roles.
    """
    return frame.select(*columns, F.explode(items).alias(ITEM)).select("*", f"{ITEM}.*").drop(ITEM)


def balanced(combine: Callable[[T, T], T], parts: Iterable[T]) -> T:
    """Combines the parts in pairs, so that the expression is only log2(n) levels deep. There is at least one part."""
    level = list(parts)
    while len(level) > 1:
        pairs = [combine(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def union_with_nulls(one: DataFrame, other: DataFrame) -> DataFrame:
    """The rows of both frames by column name, with null in columns that only one of them has.

    Spark has `unionByName(allowMissingColumns=True)`. With Sail 0.7.2, such columns have no type.
    """

    def with_columns_of(frame: DataFrame, model: DataFrame) -> DataFrame:
        missing = [field for field in model.schema.fields if field.name not in frame.columns]
        return frame.select("*", *(F.lit(None).cast(field.dataType).alias(field.name) for field in missing))

    return with_columns_of(one, other).unionByName(with_columns_of(other, one))


@cache
def schema_of(ddl: str) -> StructType:
    """The columns that a DDL string declares."""
    return parse_ddl(ddl)


def names_of(ddl: str) -> list[str]:
    """The names of the columns that a DDL string declares."""
    return schema_of(ddl).names
