"""All analytics of a generated lake, compared with DuckDB computing the same aggregates from the same Parquet files.

    python -m bench.analytics [--engine sail] [--messages 1000000] [--folder DIR] [--archives DIR]

A generated Chrysalis archive is loaded from its genesis without analytics, once; DIR keeps the store. Then two programs
run in turn: `permanode analytics --all`, from the lake into the store, without the engine's start; and DuckDB with one
thread per core, from the lake's files into tables in memory (aggregates of messages, ledger changes with resolved
inputs, their aggregates by milestone, address and day, and the running state). The rows must be equal. The project also
looks for Stardust's measures (chains, native tokens), and finds none. Finally the bench measures the milestones of the
last day as a whole command, including the engine's start.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from bench.load import GENERATED, ROOT, archive, load, machine, show
from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_adapter
from db.measures.transaction_sizes import FIRST
from db.roles import KIND_OF_TYPE, KINDS
from db.schema import CALENDAR
from etl.engine.current import ENGINES, SPARK

MOST_TIMES, MOST_SECONDS = 3.0, 30.0
"""The bars: time relative to DuckDB for everything, and seconds for one more day."""

PAYLOADS = {"transaction": "0, 6", "treasury_transaction": "4", "milestone": "1, 7", "tagged_data": "2, 5"}
STATES = {"transaction_count": 1, "conflicting_count": 2, "no_transaction_count": 0}
CONDITIONS = ("expiration", "timelock", "storage_deposit_return")
FLOWS = ("active_addresses", "transferred_amount")


def named(columns: dict[str, str]) -> str:
    """A select list."""
    return ", ".join(f"{expression} AS {name}" for name, expression in columns.items())


def of_kind(kind: str, column: str = "kind") -> str:
    """A condition."""
    numbers = ", ".join(str(number) for number, name in KIND_OF_TYPE.items() if name == kind)
    return f"{column} IN ({numbers})"


def activity() -> dict[str, str]:
    """Aggregates over messages."""
    found = {"message_count": "count(*)", "no_payload_count": "count(*) FILTER (payload_kind IS NULL)"}
    found |= {name: f"count(*) FILTER (state = {state})" for name, state in STATES.items()}
    found["message_bytes"] = "sum(bytes)"
    for payload, kinds in PAYLOADS.items():
        found[f"{payload}_payload_count"] = f"count(*) FILTER (payload_kind IN ({kinds}))"
        found[f"{payload}_bytes"] = f"coalesce(sum(bytes) FILTER (payload_kind IN ({kinds})), 0)"
    ends = [*[*FIRST.values()][1:], 1 << 31]
    for items in ("inputs", "outputs"):
        for (size, first), end in zip(FIRST.items(), ends, strict=True):
            found[f"{items}_{size}"] = f"count(*) FILTER (state = 1 AND {items} >= {first} AND {items} < {end})"
    return found


def created() -> dict[str, str]:
    """Aggregates over outputs."""
    found = {"transferred_tokens": "coalesce(sum(amount) FILTER (transaction_id IS NOT NULL), 0)"}
    for kind in KINDS:
        found[f"{kind}_created_count"] = f"count(*) FILTER ({of_kind(kind)})"
        found[f"{kind}_created_amount"] = f"coalesce(sum(amount) FILTER ({of_kind(kind)}), 0)"
    return found


def state(genesis: int) -> dict[str, str]:
    """Aggregates over changes: what each milestone adds to the ledger state."""

    def counted(name: str, condition: str) -> dict[str, str]:
        return {
            f"{name}_count": f"coalesce(sum(sign) FILTER ({condition}), 0)",
            f"{name}_amount": f"coalesce(sum(sign * amount) FILTER ({condition}), 0)",
        }

    found = {name: value for kind in KINDS for name, value in counted(kind, of_kind(kind)).items()}
    found["key_bytes"] = "coalesce(sum(34 * sign) FILTER (stardust IS NOT NULL), 0)"
    found["data_bytes"] = "coalesce(sum((40 + octet_length(data)) * sign) FILTER (stardust IS NOT NULL), 0)"
    found |= counted("unclaimed", f"created_in = {genesis}")
    for each in CONDITIONS:
        found |= counted(each, f"stardust.{each} IS NOT NULL")
    found["storage_deposit_owed"] = "coalesce(sum(sign * stardust.storage_deposit_return_amount), 0)"
    return found


def so_far(name: str, unit: str) -> str:
    """The number of newly active addresses, summed within its interval."""
    begins = f"date_trunc('{unit}', make_timestamp(1000 * ms_timestamp))"
    return f"sum(coalesce({name}, 0)) OVER (PARTITION BY {begins} ORDER BY milestone_index)"


def statements(lake: Path, genesis: int) -> list[str]:
    """All computations, as a sequence of statements."""
    added = ("holders", *state(genesis))
    return [
        f"""CREATE TABLE genesis AS FROM read_parquet('{lake}/genesis/*.parquet')""",
        f"""CREATE VIEW messages AS FROM read_parquet('{lake}/messages/**/*.parquet') WHERE verified IS NOT NULL""",
        # Aggregates of messages by milestone.
        f"""CREATE TABLE of_messages AS SELECT milestone_index, max(ms) AS ms_timestamp, {named(activity())} FROM (
              SELECT milestone_index, epoch_ms(timestamp) AS ms, payload_kind, inclusion_state AS state,
                     octet_length(message) AS bytes, len("transaction".inputs) AS inputs,
                     len("transaction".outputs) AS outputs
              FROM messages WHERE message_id IS NOT NULL) GROUP BY milestone_index""",
        """CREATE TABLE made AS
             SELECT milestone_index, NULL::BIGINT AS ms, output_id, output_id[1:32] AS transaction_id, kind, address,
                    amount, data, stardust FROM genesis WHERE kind <> 2
             UNION ALL BY NAME
             SELECT milestone_index, ms, transaction_id, o.output_id, o.kind, o.address, o.amount::BIGINT AS amount,
                    o.data, o.stardust
             FROM (SELECT milestone_index, epoch_ms(timestamp) AS ms, "transaction".transaction_id AS transaction_id,
                          unnest(coalesce("transaction".outputs, milestone.receipt.funds)) AS o
                   FROM messages WHERE "transaction".transaction_id IS NULL OR inclusion_state = 1)
             WHERE o.kind <> 2""",
        f"""CREATE TABLE of_outputs AS SELECT milestone_index, {named(created())} FROM made
            WHERE milestone_index > {genesis} GROUP BY milestone_index""",
        # Ledger changes and their aggregates.
        """CREATE TABLE changes AS
             SELECT milestone_index, ms, coalesce(transaction_id, output_id[1:32]) AS transaction_id, address, kind,
                    amount, data, stardust, milestone_index AS created_in, 1 AS sign FROM made
             UNION ALL BY NAME
             SELECT spent.milestone_index, spent.ms, spent.transaction_id, address, kind, amount, data, stardust,
                    made.milestone_index AS created_in, -1 AS sign
             FROM (SELECT milestone_index, epoch_ms(timestamp) AS ms, "transaction".transaction_id AS transaction_id,
                          unnest("transaction".inputs) AS i
                   FROM messages WHERE inclusion_state = 1) AS spent
             JOIN made ON made.output_id = spent.i.output_id WHERE spent.i.kind = 0""",
        f"""CREATE TABLE of_changes AS SELECT milestone_index, {named(state(genesis))} FROM changes
            GROUP BY milestone_index""",
        """CREATE TABLE owned AS SELECT milestone_index, address, sum(net) OVER
             (PARTITION BY address ORDER BY milestone_index) AS balance, balance - net AS before
           FROM (SELECT milestone_index, address, sum(sign * amount) AS net FROM changes GROUP BY ALL)""",
        """CREATE TABLE of_balances AS SELECT milestone_index,
             sum((balance > 0)::INT - (before > 0)::INT) AS holders FROM owned GROUP BY milestone_index""",
        f"""CREATE TABLE active AS SELECT milestone_index, count(DISTINCT address) AS active_addresses FROM changes
            WHERE milestone_index > {genesis} GROUP BY milestone_index""",
        f"""CREATE TABLE newly AS SELECT milestone_index,
              {named({name: f"count(*) FILTER (unit = '{unit}')" for name, unit in CALENDAR.items()})}
            FROM (SELECT unit, date_trunc(unit, day) AS begins, address, min(first) AS milestone_index
                  FROM (SELECT address, make_timestamp(1000 * ms)::DATE AS day, min(milestone_index) AS first
                        FROM changes WHERE milestone_index > {genesis} GROUP BY ALL),
                       (SELECT unnest({list(CALENDAR.values())}) AS unit)
                  GROUP BY ALL)
            GROUP BY milestone_index""",
        f"""CREATE TABLE moved AS SELECT milestone_index, sum(gained) AS transferred_amount FROM (
              SELECT milestone_index, sum(greatest(net, 0)) AS gained, sum(spent) AS spent FROM (
                SELECT milestone_index, transaction_id, address, sum(sign * amount) AS net,
                       count(*) FILTER (sign < 0) AS spent
                FROM changes WHERE milestone_index > {genesis} GROUP BY ALL)
              GROUP BY milestone_index, transaction_id)
            WHERE spent > 0 GROUP BY milestone_index""",
        f"""CREATE TABLE ms_analytics AS
            SELECT of_messages.*, of_outputs.* EXCLUDE (milestone_index),
                   {", ".join(f"coalesce({each}, 0) AS {each}" for each in FLOWS)},
                   {", ".join(f"sum(coalesce({each}, 0)) OVER so_far AS {each}" for each in added)},
                   {named({name: so_far(name, unit) for name, unit in CALENDAR.items()})}
            FROM of_messages LEFT JOIN of_outputs USING (milestone_index) FULL JOIN of_changes USING (milestone_index)
            LEFT JOIN of_balances USING (milestone_index) LEFT JOIN active USING (milestone_index)
            LEFT JOIN moved USING (milestone_index) LEFT JOIN newly USING (milestone_index)
            WINDOW so_far AS (ORDER BY milestone_index)""",
        f"""CREATE TABLE address_analytics AS SELECT address, milestone_index, max(ms) AS ms_timestamp,
              coalesce(sum(amount) FILTER (sign < 0), 0) AS sent_tokens,
              coalesce(sum(amount) FILTER (sign > 0), 0) AS recv_tokens
            FROM changes WHERE milestone_index > {genesis} GROUP BY address, milestone_index""",
        # Days.
        """CREATE TABLE counts AS SELECT date, variant, value, coalesce(sum(named), 0) AS named,
              coalesce(sum(received), 0) AS received, coalesce(sum(sent), 0) AS sent, coalesce(sum(used), 0) AS used,
              coalesce(sum(moved), 0) AS moved
            FROM (
              SELECT date, 'address' AS variant, o.address AS value, 1 AS named,
                     (included AND o.kind NOT IN (1, 2))::INT AS received, CASE WHEN included THEN o.amount END AS moved
              FROM (SELECT timestamp::DATE AS date, inclusion_state = 1 AS included, unnest("transaction".outputs) AS o
                    FROM messages WHERE "transaction".transaction_id IS NOT NULL)
              UNION ALL BY NAME
              SELECT date, 'address' AS variant, u.address AS value, 1 AS sent
              FROM (SELECT timestamp::DATE AS date, unnest("transaction".unlocks) AS u FROM messages
                    WHERE inclusion_state = 1) WHERE u.address IS NOT NULL
              UNION ALL BY NAME
              SELECT timestamp::DATE AS date, 'index' AS variant,
                     coalesce(tagged_data.tag, "transaction".tagged_data.tag) AS value, 1 AS used
              FROM messages WHERE value IS NOT NULL)
            GROUP BY date, variant, value""",
        """CREATE TABLE metrics_cache AS SELECT date, variant, value, metric, metric_value FROM (
              SELECT date, variant, value, unnest(['sent', 'received', 'sent_or_received', 'used']) AS metric,
                     unnest([sent, received, sent + received, used]) AS metric_value FROM counts)
            WHERE metric_value > 0""",
        """CREATE TABLE daily_analytics AS SELECT date,
              count(*) FILTER (sent + received > 0) AS total_addresses, count(*) FILTER (sent > 0) AS send_addresses,
              count(*) FILTER (received > 0) AS recv_addresses, count(*) FILTER (used > 0) AS used_indexes,
              count(*) FILTER (named > 0) AS output_addresses, sum(named) AS output_count, max(named) AS max_outputs,
              sum(moved) AS transferred_tokens FROM counts GROUP BY date""",
    ]


def compute(lake: Path, genesis: int) -> tuple[duckdb.DuckDBPyConnection, float]:
    """DuckDB's tables, and the seconds to compute them."""
    connection = duckdb.connect(config={"threads": os.cpu_count() or 1})
    connection.execute("SET TimeZone = 'UTC'")
    started = time.perf_counter()
    for statement in statements(lake, genesis):
        connection.execute(statement)
    return connection, time.perf_counter() - started


def run(store: StoreSettings, *arguments: str) -> tuple[dict[str, Any], float]:
    """A command's report, and the seconds of its whole process. Raises SystemExit if it fails."""
    options = ("--store", store.url, "--network", store.network)
    command = [sys.executable, "-c", "from cli.main import main; main()", *options, *arguments]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"permanode {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1]), time.perf_counter() - started


def compare(store: StoreSettings, connection: duckdb.DuckDBPyConnection) -> None:
    """Checks that both computed the same rows. Raises SystemExit."""
    with closing(open_adapter(store, writable=False)) as opened:
        for table in (schema.ms_analytics, schema.daily_analytics, schema.address_analytics, schema.metrics_cache):
            relation = connection.table(table.name)
            names = [name for name in relation.columns if name in table.names]
            theirs = rows_of(names, (dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()))
            if table is schema.ms_analytics:
                # The genesis row contains only the state and is not compared.
                theirs = [row for row in theirs if row[0] is not None and row[1] is not None]
            own = rows_of(names, (row for row in opened.read_all(table)))
            if table is schema.ms_analytics:
                own = [row for row in own if row[1] is not None]
            if own != theirs:
                counts = f"{len(own):,} rows of ours, {len(theirs):,} of DuckDB's"
                first = next((pair for pair in zip(own, theirs, strict=False) if pair[0] != pair[1]), ())
                raise SystemExit(f"{table.name}: {counts}; {', '.join(names)}: {first}")
            print(f"{table.name}: {len(own):,} rows, the same by both")


def rows_of(names: Sequence[str], rows: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """These columns as text, sorted."""

    def text(value: Any) -> str | None:
        return None if value is None else value.hex() if isinstance(value, bytes) else str(value)

    return sorted((tuple(text(row[name]) for name in names) for row in rows), key=repr)


def filled(archives: Path, folder: Path, messages: int, *options: str) -> StoreSettings:
    """A store of a generated archive loaded from its genesis with these options, created if it does not exist."""
    generated, store, growing = archive(archives, messages), folder / "store", folder / "store.growing"
    if not store.exists():
        settings = StoreSettings(url=f"sqlite:///{growing.absolute()}", network=GENERATED.network)
        migrate(settings)
        genesis = str(generated / "all" / "genesis.json")
        show("load", load(settings, "local[*]", generated / "all", "--genesis", genesis, *options))
        growing.rename(store)
    return StoreSettings(url=f"sqlite:///{store.absolute()}", network=GENERATED.network)


def last_day(store: StoreSettings) -> str:
    """The milestones of the last day, as a range."""
    with closing(open_adapter(store, writable=False)) as opened:
        day = max(opened.read_all(schema.date_cache), key=lambda row: str(row["date"]))
    return f"{day['start_ms']}:{int(str(day['end_ms'])) + 1}"


def main() -> int:
    """Runs the bench. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=ENGINES, default=SPARK, help="engine of the load and of the analytics")
    parser.add_argument("--messages", type=int, default=1_000_000, help="size of the archive")
    parser.add_argument("--folder", type=Path, help="folder in which the store is kept; default: a temporary one")
    parser.add_argument("--archives", type=Path, default=Path(tempfile.gettempdir()), help="where archives are kept")
    options = parser.parse_args()
    os.environ["PERMANODE_ETL_ENGINE"] = options.engine
    with tempfile.TemporaryDirectory() as name:
        store = filled(options.archives, options.folder or Path(name), options.messages, "--no-analytics")
        lake = Path(store.url.removeprefix("sqlite:///")) / "lake"
        print(machine())
        report, _ = run(store, "analytics", "--all")
        stages = {stage: taken for stage, taken in report["seconds"].items() if stage.startswith("analytics")}
        own = report["elapsed_s"]
        connection, theirs = compute(lake, GENERATED.first_milestone - 1)
        with closing(connection):
            compare(store, connection)
        times = own / theirs
        shown = ", ".join(f"{stage.removeprefix('analytics_')} {taken:.1f}" for stage, taken in stages.items())
        print(f"everything: {own:.1f} s, DuckDB {theirs:.1f} s: {times:.2f} times (bar {MOST_TIMES}); steps: {shown}")
        milestones = last_day(store)
        _, seconds = run(store, "analytics", milestones)
        print(f"the last day, {milestones}: {seconds:.1f} s (bar {MOST_SECONDS:.0f})")
    return 0 if times <= MOST_TIMES and seconds <= MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
