"""Defines what the queries of an IOTA network read: the lake, facts of the store, and the changes of the ledger."""

import time

from db import schema
from db.connect import StoreSettings
from db.queries.ledger import RICHEST
from etl.deep_check.engine import Database, define_constants, run_file
from etl.deep_check.log_files import keep_log
from etl.deep_check.stored import CheckedStore, keep_facts, keep_reasons
from etl.deep_check.tree_functions import TREE_FUNCTIONS
from ledger.completeness import intervals


def define(database: Database, settings: StoreSettings, lake: str, store: CheckedStore, *, is_continued: bool) -> None:
    """Defines constants, macros and tables. `is_continued`: the database has the changes of the ledger."""
    constants: dict[str, int | str | None] = {
        "network": settings.network,
        "chunk_size": settings.range_size,
        "layout": schema.LAYOUT,
        "shown": RICHEST,
        "now_s": int(time.time()),
        "smallest": intervals.SMALLEST,
        "part_tiles": schema.PART_TILES,
        "divided_from": schema.DIVIDED_FROM,
        "trees_kept": schema.TREES_KEPT,
        "genesis_index": _number(database, "SELECT max(milestone_index) FROM lake_genesis"),
    }
    define_constants(database, constants)
    define_constants(database, {"frontier": _number(database, CONTIGUOUS)})
    run_file(database, "macros")
    run_file(database, "tree_macros")
    for name, function in TREE_FUNCTIONS.items():
        database.define_function(name, function)
    keep_log(database, lake, settings.network)
    read_store(database, store)
    run_file(database, "base")
    define_constants(database, {"frontier": _number(database, KNOWN)})
    if not is_continued:
        run_file(database, "changes")


def read_store(database: Database, store: CheckedStore) -> None:
    """Reads the facts of the store."""
    define_constants(database, keep_facts(database, store))
    keep_reasons(database, store)


CONTIGUOUS = """
SELECT CASE WHEN genesis_index() IS NOT NULL THEN genesis_index() + count(*) END
FROM (
  SELECT milestone_index, row_number() OVER (ORDER BY milestone_index) AS place
  FROM lake_milestones WHERE verified IS NOT NULL AND milestone_index > genesis_index()
)
WHERE milestone_index = genesis_index() + place
"""
"""The last complete milestone before the first one that is missing after genesis."""

KNOWN = """
SELECT least(frontier(), min(spent.milestone_index) - 1)
FROM attached_inputs AS spent LEFT JOIN ledger_outputs AS made ON made.output_id = spent.output_id
WHERE spent.inclusion_state = 1 AND spent.kind = 0 AND spent.milestone_index > genesis_index()
  AND spent.milestone_index <= frontier() AND made.output_id IS NULL AND all_owned()
"""
"""The same, or the milestone before the first one that spends an output which nothing created."""


def _number(database: Database, query: str) -> int | None:
    [(number,)] = database.run(query)
    return None if number is None else int(number)
