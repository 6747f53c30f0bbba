"""The protocols of networks, and the tables of each.

A store's protocol never changes. Each protocol has its own migrations, numbered over all protocols; its first one
creates the tables that it shares with others as of then.
"""

from collections.abc import Mapping

from db import schema
from db.model import Lookup, Table
from db.schema import wormhole_tables as schema_wormhole

IOTA = "iota"
WORMHOLE = "wormhole"

TABLES_OF: Mapping[str, tuple[Table, ...]] = {IOTA: schema.TABLES, WORMHOLE: schema_wormhole.TABLES}
"""Protocol → its tables."""

LOOKUPS_OF: Mapping[str, tuple[Lookup, ...]] = {IOTA: schema.ALL_LOOKUPS, WORMHOLE: schema_wormhole.LOOKUPS}
"""Protocol → its tables that are divided into partitions by hints."""

TABLES: tuple[Table, ...] = tuple(dict.fromkeys(table for tables in TABLES_OF.values() for table in tables))
LOOKUPS: tuple[Lookup, ...] = tuple(lookup for lookups in LOOKUPS_OF.values() for lookup in lookups)
"""The lookups of all protocols, each once."""
