"""The SQL of this package: which query recomputes which table, and which tables and columns none does.

A file in sql/ consists of statements that end with a semicolon at the end of a line. A line `-- table: NAME` begins the
query of a served table, `-- view: NAME` that of a view which other queries read, `-- kept: NAME` that of a table which
is computed once for the same lake.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from db import schema
from db.model import Table
from db.schema.protocols import IOTA, TABLES_OF, WORMHOLE

FOLDER = Path(__file__).with_name("sql")

FILES: Mapping[str, Sequence[str]] = {
    IOTA: ("messages", "outputs", "ledger", "hints", "pending", "analytics", "bookkeeping", "proofs"),
    WORMHOLE: ("vaas",),
}
"""Protocol → files with its queries, in the order in which tables are compared."""

NOT_COMPARED: Mapping[str, str] = {
    schema.keyspace_info.name: "settings and notes of loads, which `permanode status` prints",
    schema.migrations.name: "compared with the files of migrations when a store is opened",
    schema.lease.name: "belongs to a running load",
    schema.tails.name: "how far lookups were counted depends on the order of loads; no reader uses it",
}
"""Tables that no query recomputes, with the reason."""

NORMALISED = frozenset(
    {
        ("ranges", "complete"),
        ("ranges", "incomplete"),
        ("ranges", "logged"),
        ("proofs", "levels"),
        ("splits", "first_milestones"),
        ("analytics_ranges", "runs"),
    }
)
"""Columns with JSON, whose white space does not matter."""

COLUMNS_NOT_COMPARED: Mapping[tuple[str, str], str] = {
    (schema.splits.name, "open_count"): "counts of a load that no reader uses",
    (schema.splits.name, "counted_to"): "the same",
}
"""Columns whose values are accepted, with the reason. Their tables are compared."""

OPTIONAL = "optional"
"""A column of queries: whether the row may be missing."""

_HEAD = re.compile(r"^-- (table|view|kept): (\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Query:
    """A query. `is_table`: its rows are those of the served table `name`. Others read it if it is not; `is_kept`: as a
    table, not a view.
    """

    name: str
    is_table: bool
    is_kept: bool
    text: str

    @property
    def view(self) -> str:
        """The name of the view or table with its rows."""
        return f"expected_{self.name}" if self.is_table else self.name


def statements(name: str) -> Iterator[str]:
    """The statements of a file that has no queries, such as `base`."""
    for text in (FOLDER / f"{name}.sql").read_text().split(";\n"):
        if text.strip():
            yield text


@cache
def queries(protocol: str) -> tuple[Query, ...]:
    """The queries of a protocol's tables, and the views that they read."""
    found = []
    for name in FILES[protocol]:
        text = (FOLDER / f"{name}.sql").read_text()
        heads = [*_HEAD.finditer(text)]
        for head, end in zip(heads, [*(each.start() for each in heads[1:]), len(text)], strict=True):
            body = text[head.end() : end].strip().removesuffix(";")
            found.append(Query(head[2], head[1] == "table", head[1] == "kept", body))
    return tuple(found)


def compared(protocol: str) -> tuple[Table, ...]:
    """The tables that are recomputed, in the order of their queries."""
    tables = {table.name: table for table in TABLES_OF[protocol]}
    return tuple(tables[query.name] for query in queries(protocol) if query.is_table)
