"""All rows of a store, read through the Store port, so that two loads can be compared row by row."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

from db import schema
from db.model import Table, Type
from db.schema.protocols import IOTA, TABLES_OF

Tables: TypeAlias = dict[str, list[dict[str, Any]]]
"""All rows of each table, by its name."""

ANALYTICS: tuple[Table, ...] = (
    schema.ms_analytics,
    schema.analytics_ranges,
    schema.daily_analytics,
    schema.address_analytics,
    schema.metrics_cache,
)
LISTINGS: tuple[Table, ...] = (
    schema.milestone_roots,
    schema.interval_roots,
    schema.listing_tiles,
    schema.listing_parts,
)
LOG: tuple[Table, ...] = (schema.log_tiles, schema.log_heads)
"""Tables that have tests of their own."""


def compared(protocol: str) -> tuple[Table, ...]:
    """The tables of a store that depend only on its data."""
    apart = (schema.lease, schema.keyspace_info, schema.migrations, *ANALYTICS, *LISTINGS, *LOG)
    return tuple(table for table in TABLES_OF[protocol] if table not in apart)


COMPARED = compared(IOTA)


def stored_rows(store: Path, tables: Sequence[Table] = COMPARED) -> Tables:
    """Every row of those tables of a SQLite store, ids as hex, sorted by key; expiry left out."""
    while True:
        generation = (store / "CURRENT").read_text().strip()
        try:
            with closing(sqlite3.connect(f"{(store / generation).resolve().as_uri()}?mode=ro", uri=True)) as connection:
                return {table.name: _rows(connection, table) for table in tables}
        except sqlite3.OperationalError:
            # A load superseded the generation and removed it before it was open.
            if (store / "CURRENT").read_text().strip() == generation:
                raise


def _rows(connection: sqlite3.Connection, table: Table) -> list[dict[str, Any]]:
    selected = connection.execute(f"SELECT {', '.join(table.names)} FROM {table.name}").fetchall()
    rows = [
        {column.name: _value(column.type, value) for column, value in zip(table.columns, row, strict=True)}
        for row in selected
    ]
    return by_key(table, rows)


def _value(kind: Type, value: Any) -> Any:
    if value is None:
        return None
    if kind is Type.HEX:
        return value.hex()
    return bool(value) if kind is Type.BOOLEAN else value


def by_key(table: Table, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows completed with nulls, sorted by primary key."""
    nulls = dict.fromkeys(table.names)
    return sorted((nulls | row for row in rows), key=itemgetter(*table.key))
