"""The model of a table: columns, a partition key, clustering columns. The tables are in db/schema.

Invariants:
1. All values are frozen, and nothing here depends on a store.
2. The clustering columns of a table all sort in the same direction, so both stores can read any slice backwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from functools import cached_property


class Type(StrEnum):
    """Logical column types. db/schema/dialects.py maps each to CQL, SQLite and Spark.

    In Python, through the Store port: HEX, TEXT and DATE (ISO 8601) are `str`, BLOB is `bytes`, BOOLEAN is `bool`, the
    integers and TIMESTAMP (milliseconds since 1970, UTC) are `int`. HEX is lowercase without 0x.
    """

    HEX = "hex"
    TEXT = "text"
    BLOB = "blob"
    BOOLEAN = "boolean"
    TINYINT = "tinyint"
    SMALLINT = "smallint"
    INT = "int"
    BIGINT = "bigint"
    TIMESTAMP = "timestamp"
    DATE = "date"


class Order(Enum):
    """The sort direction of the rows of a partition."""

    ASC = "ASC"
    DESC = "DESC"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, logical type and description. `layout` is the migration that added it to an existing table; 0
    if it came with its table.
    """

    name: str
    type: Type
    meaning: str
    layout: int = 0


@dataclass(frozen=True)
class Table:
    """One table. Key columns are never null; every other column may be.

    `ttl_s` is the lifetime of rows (pending data only); None: no limit. `layout` is the migration that created the
    table.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    partition: tuple[str, ...]
    clustering: tuple[str, ...] = ()
    order: Order = Order.DESC
    ttl_s: int | None = None
    layout: int = 1

    def __hash__(self) -> int:
        # Equal tables have equal names, and a hash of all columns takes longer.
        return hash(self.name)

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The primary key's columns, partition key first."""
        return self.partition + self.clustering

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All column names, in declared order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.columns}

    def at(self, layout: int) -> "Table":
        """The table as of a migration, without columns of later migrations."""
        return replace(self, columns=tuple(column for column in self.columns if column.layout <= layout))

    def column(self, name: str) -> Column:
        """The column with this name. Raises KeyError."""
        found = self._by_name.get(name)
        if found is None:
            raise KeyError(f"table {self.name} has no column {name}")
        return found


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table partitioned by (key, range, partition_id), and the hint table that lists its partitions.

    Ranges are ranges of milestones (ms_range_id) or days, whichever rows are sorted by first. The table's partition key
    is: `key`, the lookup key; then columns that divide its rows further but are counted and hinted together
    (outputs_by_tag.included); then the range and partition_id. The hint table has the same key columns. `hint_names`
    lists those with another name (hint's, lookup's). `hint_constants` are values for columns that the lookup does not
    have.
    """

    table: Table
    hints: Table
    key: tuple[str, ...]
    hint_constants: tuple[tuple[str, str | bool], ...] = ()
    hint_names: tuple[tuple[str, str], ...] = ()

    @property
    def query_columns(self) -> tuple[str, ...]:
        """The columns that a listing must specify: those of the partition key before the range."""
        return self.table.partition[:-2]

    @property
    def range_column(self) -> str:
        """The column of the range: position // chunk_size."""
        return self.table.partition[-2]

    @property
    def position_column(self) -> str:
        """The column that ranges and partitions divide: a milestone index or a day."""
        return self.table.clustering[0]

    @property
    def hint_columns(self) -> tuple[tuple[str, str], ...]:
        """Pairs (hint's column, lookup's column), without constants."""
        names, constants = dict(self.hint_names), dict(self.hint_constants)
        return tuple((name, names.get(name, name)) for name in self.hints.key if name not in constants)


def columns(*specs: tuple[str, Type, str], layout: int = 0) -> tuple[Column, ...]:
    """Creates columns from (name, type, description) triples. `layout` as in Column."""
    return tuple(Column(*spec, layout) for spec in specs)
