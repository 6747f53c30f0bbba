"""What kinds of networks there are, and what a store of each consists of.

Rules of this file: data only; a store is of one protocol for ever. Each protocol has migrations of its own, numbered
over all of them; its first creates whatever tables it shares with others as they are then.
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
"""Protocol → those of them that are cut into partitions."""

TABLES: tuple[Table, ...] = tuple(dict.fromkeys(table for tables in TABLES_OF.values() for table in tables))
LOOKUPS: tuple[Lookup, ...] = tuple(lookup for lookups in LOOKUPS_OF.values() for lookup in lookups)
"""All of all protocols, each once."""
