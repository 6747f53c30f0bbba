"""What a table is: columns, a partition key, clustering columns. Empty of tables.

Rules of this file: every value is frozen; a table's clustering columns all run one way, so that the exact reverse of a
listing is the same slice read backwards, in both stores; nothing here knows a store.
"""

from dataclasses import dataclass, replace
from enum import Enum, StrEnum


class Type(StrEnum):
    """Logical column types; db/schema/dialects.py spells each for CQL, SQLite and Spark.

    Python values through the Store port: HEX and TEXT and DATE (ISO 8601) are `str`, BLOB is `bytes`, BOOLEAN is
    `bool`, the integers and TIMESTAMP (milliseconds since 1970, UTC) are `int`. HEX is lowercase without 0x.
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
    """Which way the rows of a partition run."""

    ASC = "ASC"
    DESC = "DESC"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, logical type and one line of meaning. `layout`: the migration that added it to a table
    which was there before; 0: it came with its table.
    """

    name: str
    type: Type
    meaning: str
    layout: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """One table; key columns are never null, every other column may be.

    `ttl_s`: rows live that long after they were written (pending data only); None means for ever.
    `layout`: the migration that introduced the table.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    partition: tuple[str, ...]
    clustering: tuple[str, ...] = ()
    order: Order = Order.DESC
    ttl_s: int | None = None
    layout: int = 1

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key's columns, partition key first."""
        return self.partition + self.clustering

    @property
    def names(self) -> tuple[str, ...]:
        """All column names, in declared order."""
        return tuple(column.name for column in self.columns)

    def at(self, layout: int) -> "Table":
        """The table as the migration that introduced it left it, or a later one: without columns still to come."""
        return replace(self, columns=tuple(column for column in self.columns if column.layout <= layout))

    def column(self, name: str) -> Column:
        """The column of that name; KeyError names table and column."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name} has no column {name}")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table split by (key, range, partition_id), and the hint table that names its partitions.

    Ranges are of milestones (ms_range_id) or of days: of whatever the rows are ordered by first. `key` are the columns
    that make the lookup key; the table's partition is `key`, what divides its rows further but is counted and hinted
    together (outputs_by_tag.included), then the range and partition_id. The hint table's
    partition and clustering name the same columns: `hint_names` says which of them has another name than the lookup's
    (hint's, lookup's), `hint_constants` fills those that the lookup itself does not carry.
    """

    table: Table
    hints: Table
    key: tuple[str, ...]
    hint_constants: tuple[tuple[str, str | bool], ...] = ()
    hint_names: tuple[tuple[str, str], ...] = ()

    @property
    def asked_by(self) -> tuple[str, ...]:
        """The columns that a listing names: the partition's before the range."""
        return self.table.partition[:-2]

    @property
    def range_column(self) -> str:
        """The column of the range: position // the positions of a range (chunk_size)."""
        return self.table.partition[-2]

    @property
    def position_column(self) -> str:
        """The column that ranges and partitions are cut by: a milestone's index, a day."""
        return self.table.clustering[0]

    @property
    def hint_columns(self) -> tuple[tuple[str, str], ...]:
        """(hint's column, the lookup's that fills it), constants apart."""
        names, constants = dict(self.hint_names), dict(self.hint_constants)
        return tuple((name, names.get(name, name)) for name in self.hints.key if name not in constants)


def columns(*specs: tuple[str, Type, str], layout: int = 0) -> tuple[Column, ...]:
    """Columns from (name, type, meaning) triples; `layout` as in Column."""
    return tuple(Column(*spec, layout) for spec in specs)
