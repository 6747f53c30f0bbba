"""What queries need to know of a store: facts that depend on how milestones were loaded and are not in the lake."""

from collections.abc import Sequence
from typing import Protocol

from db import schema
from db.intervals import Intervals, parse_intervals, subtract
from db.model import Table
from db.queries.analytics import ANALYSED, DAYS_DUE
from db.queries.log_records import PROVED_TO
from db.queries.unspent import UNSPENT_FROM
from db.store import Lease, Row
from etl.deep_check.engine import Database
from etl.deep_check.rows import StoredRows, read_batches, sql_value

ANALYSED_TO = "analysed_to"


class CheckedStore(StoredRows, Protocol):
    """The store that is checked."""

    def read_all(self, table: Table) -> list[Row]:
        """All rows of a small table."""

    def holder(self) -> Lease | None:
        """The recorded holder of the lease, even if expired."""


def keep(database: Database, name: str, store: StoredRows, table: Table, columns: Sequence[str]) -> None:
    """Creates a table with some columns of all rows of a table of the store."""
    found = read_batches(store, table, columns)
    values = ", ".join(f'{sql_value(store, table.column(each))} AS "{each}"' for each in columns)
    with database.reading(found):
        database.run(f"CREATE OR REPLACE TABLE {name} AS SELECT {values} FROM batches")


def keep_facts(database: Database, store: CheckedStore) -> dict[str, int | None]:
    """Creates the tables that queries read, and returns constants: the ends of analytics and of compaction."""
    info = {row["name"]: row["value"] for row in store.read_all(schema.keyspace_info)}
    keep(database, "stored_splits", store, schema.splits, schema.splits.names)
    keep(database, "stored_sync", store, schema.sync, ("milestone_index", "logged_by", "verified"))
    keep(database, "stored_pending", store, schema.pending, ("message_id", "est_milestone_index"))
    keep(database, "stored_balances", store, schema.address_balances, ("address", "milestone_index", "balance"))
    keep(database, "stored_treasury", store, schema.treasury, ("milestone_index", "amount"))
    keep(database, "stored_distribution", store, schema.distribution, ("ledger_index",))
    keep(database, "stored_rich_list", store, schema.rich_list, ("ledger_index", "rank"))
    database.run(
        # A step has rows of both tables, so a single one is a row that was moved.
        "CREATE OR REPLACE VIEW stored_steps AS SELECT ledger_index "
        "FROM (SELECT ledger_index FROM stored_distribution UNION ALL SELECT ledger_index FROM stored_rich_list) "
        "GROUP BY ledger_index HAVING count(*) > 1"
    )
    logged = [pair for row in store.read_all(schema.ranges) for pair in _parsed(row["logged"])]
    _intervals(database, "stored_logged", logged)
    analysed, due = _parsed(info.get(ANALYSED)), _parsed(info.get(DAYS_DUE))
    _intervals(database, "analysed", analysed)
    _intervals(database, "analysed_by_day", subtract(analysed, due))
    _intervals(database, "days_due", due)
    for name, source in (("due_days", "days_due"), ("whole_days", "analysed_by_day")):
        database.run(
            f'CREATE OR REPLACE VIEW {name} AS SELECT DISTINCT day_of(epoch_ms("timestamp")) AS date '
            f"FROM lake_milestones JOIN {source} ON milestone_index BETWEEN first AND last WHERE verified IS NOT NULL"
        )
    database.run("CREATE OR REPLACE VIEW analysed_days AS SELECT date FROM whole_days EXCEPT SELECT date FROM due_days")
    return {
        "analysed_to": int(info.get(ANALYSED_TO) or -1),
        "unspent_from": int(info[UNSPENT_FROM]) if info.get(UNSPENT_FROM) else None,
        "proved_to": int(info[PROVED_TO]) if info.get(PROVED_TO) else None,
    }


def keep_reasons(database: Database, store: StoredRows) -> None:
    """Creates the table of the reasons of conflicts, if the lake does not have all of them."""
    missing = database.run("SELECT 1 FROM lake_messages WHERE inclusion_state = 2 AND conflict_reason IS NULL LIMIT 1")
    database.run("CREATE OR REPLACE TABLE stored_reasons (message_id BLOB, reason SMALLINT)")
    if not missing:
        return
    columns = ("message_id", "conflict_reason")
    reason, identity = (sql_value(store, schema.messages.column(each)) for each in reversed(columns))
    with database.reading(read_batches(store, schema.messages, columns)):
        database.run(
            f"INSERT INTO stored_reasons SELECT {identity}, {reason} FROM batches WHERE conflict_reason IS NOT NULL"
        )


def _parsed(text: str | None) -> Intervals:
    """Intervals in a text; none in a damaged one."""
    try:
        return parse_intervals(text or "[]")
    except (ValueError, TypeError):
        return []


def _intervals(database: Database, name: str, pairs: Intervals) -> None:
    """Creates a table with columns `first` and `last`."""
    database.run(f"CREATE OR REPLACE TABLE {name} (first INTEGER, last INTEGER)")
    for pair in pairs:
        database.run(f"INSERT INTO {name} VALUES (?, ?)", pair)
