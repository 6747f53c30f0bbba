"""What executors receive about a cluster: secrets stay out of plans and logs, settings are checked,
failures are short.
"""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from db import schema
from db.admin.migrate import migrate
from db.cassandra.address import parse_address
from db.connect import StoreSettings, open_adapter, open_store
from db.model import Type
from db.schema.dialects import create_table_cql
from db.schema.migration_files import KEYSPACE
from db.schema.wormhole_tables import prices
from db.store import StoreUnavailable
from etl import runs
from etl.engine.settings import EtlSettings
from etl.writers.connector import Cluster, ClusterWriter, reached_by, tuned
from etl.writers.staging import Staging
from tests.cassandra_server import BATCH_LIMIT, CassandraServer, running
from tests.conftest import SAMPLE
from tests.etl.commands import members_of, permanode
from tests.etl.conftest import SETTINGS, Stores

pytestmark = pytest.mark.spark

PASSWORD = "hunter2-7f3a"


@pytest.mark.slow
def test_the_password_is_in_no_log_no_list_of_processes_and_no_plan(cassandra: CassandraServer, tmp_path: Path) -> None:
    """The server accepts everybody; Spark logs everything that it does."""
    url = f"cassandra://somebody@{cassandra.contact}/secret_1?rf=1"
    migrate(StoreSettings(url, "permatest-1", password=PASSWORD))
    (tmp_path / "conf").mkdir()
    (tmp_path / "events").mkdir()
    noted = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (tmp_path / "events").as_uri(),
    }
    defaults = tmp_path / "conf" / "spark-defaults.conf"
    defaults.write_text("\n".join(f"{name} {value}" for name, value in noted.items()))
    process = permanode(
        "--debug", "--store", url, "--network", "permatest-1", "--lake", tmp_path / "lake",
        "load", SAMPLE / "1to21.log", "--range", "1:2", "--no-analytics", cwd=tmp_path,
        PERMANODE_STORE_PASSWORD=PASSWORD, SPARK_CONF_DIR=str(tmp_path / "conf"),
    )  # fmt: skip
    commands = set()
    try:
        while not process.end_within(0.5):
            for pid in (process.pid, *members_of(process.pid)):
                try:
                    commands.add(Path(f"/proc/{pid}/cmdline").read_bytes())
                except (FileNotFoundError, ProcessLookupError):
                    continue
        assert process.finish() == 0, process.printed()
    finally:
        process.kill()
    assert any(b"java" in each for each in commands)
    assert not [each for each in commands if PASSWORD.encode() in each]
    assert PASSWORD not in process.printed()
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    # Only a write into a cluster is counted in this way.
    assert any(b"CollectMetrics" in path.read_bytes() for path in written if "events" in path.parts), "plans were noted"
    assert [path for path in written if PASSWORD.encode() in path.read_bytes()] == []


def test_no_text_of_a_writer_has_the_password(tmp_path: Path, cassandra: CassandraServer) -> None:
    settings = StoreSettings(f"cassandra://me@{cassandra.contact}/secret_1?rf=1", "permatest-1", password=PASSWORD)
    address = parse_address(settings.url, settings.network)
    options = reached_by(address, settings)
    assert PASSWORD in options.values()
    migrate(settings)
    store = open_store(settings)
    assert PASSWORD not in repr(ClusterWriter(Staging(tmp_path / "s"), Cluster(store, address, 1, options)))
    store.close()


@pytest.mark.parametrize(("nodes", "grouping"), [(1, "replica_set"), (3, "partition")])
def test_batches_hold_what_suits_the_cluster_unless_configured(nodes: int, grouping: str) -> None:
    cluster = StoreSettings("cassandra://a/b", "permatest-1", consistency="QUORUM")
    key = "spark.cassandra.output.batch.grouping.key"
    assert tuned(cluster, EtlSettings(), nodes)[key] == grouping
    assert tuned(cluster, EtlSettings(cluster_grouping="none"), nodes)[key] == "none"
    assert tuned(cluster, EtlSettings(), nodes)["spark.cassandra.output.consistency.level"] == "QUORUM"


@pytest.mark.parametrize(
    ("name", "value"), [("cluster_grouping", "rows"), ("cluster_batch_bytes", 0), ("cluster_concurrent_writes", -1)]
)
def test_an_unknown_setting_is_rejected_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be"):
        EtlSettings(**{name: value})


class OptionsRead(Exception):
    """Raised once the options requested of the session are known."""


def test_a_load_into_the_embedded_store_needs_no_jar_of_the_connector(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = []

    def session(*_: Any, **options: Any) -> Any:
        requested.append(options["cluster"])
        raise OptionsRead

    monkeypatch.setattr(runs, "engine_session", session)
    with pytest.raises(OptionsRead):
        stores().load(SAMPLE / "1to21.log")
    assert requested == [False]


def test_a_cluster_has_no_lake_of_its_own() -> None:
    with pytest.raises(ValueError, match="lake: a directory that the executors share, as cassandra stores have none"):
        runs.load(StoreSettings("cassandra://127.0.0.1:9/ks", "permatest-1"), SETTINGS, [SAMPLE])


@contextmanager
def opened(settings: StoreSettings) -> Iterator[Cluster]:
    """A cluster with the options for one node."""
    address = parse_address(settings.url, settings.network)
    options = {"keyspace": address.keyspace, **reached_by(address, settings), **tuned(settings, SETTINGS, 1)}
    with closing(open_adapter(settings, writable=True)) as store:
        yield Cluster(store, address, 5, options)


def written(spark: SparkSession, settings: StoreSettings, column: str) -> int:
    """Rows of `milestone_ids` whose index is that expression."""
    ids = spark.range(0, 100, 1, 4)
    rows = ids.select(
        F.sha2(F.col("id").cast("string"), 256).alias("milestone_id"), F.expr(column).alias("milestone_index")
    )
    with opened(settings) as cluster:
        return cluster.append(schema.milestone_ids, rows)


SMALL_ROWS = [
    (
        schema.sync,
        ["CAST(id DIV 750 AS INT) ms_range_id", "CAST(id AS INT) milestone_index", "timestamp_millis(id) ms_timestamp",
         "CAST(0 AS TINYINT) synced_by", "CAST(60 AS INT) message_count", "'signed' verified",
         "CAST(1 AS SMALLINT) layout"],
    ),
    (
        schema.sync,
        ["CAST(id DIV 750 AS INT) ms_range_id", "CAST(id AS INT) milestone_index",
         "CAST(NULL AS TINYINT) synced_by", "CAST(NULL AS INT) message_count", "CAST(NULL AS STRING) verified",
         "CAST(NULL AS SMALLINT) layout"],
    ),
    (
        schema.date_cache,
        ["date_add(DATE'2020-01-01', CAST(id AS INT)) date", "CAST(id AS INT) start_ms", "CAST(id AS INT) end_ms"],
    ),
    (
        prices,
        ["'symbol/' || id token_key", "CAST(id AS INT) day", "'1.5' price_usd"],
    ),
    (
        schema.ms_analytics,
        ["CAST(id DIV 750 AS INT) ms_range_id", "CAST(id AS INT) milestone_index",
         *(f"CAST(7 AS {each.type.value}) {each.name}" for each in schema.ms_analytics.columns
           if each.type in (Type.INT, Type.BIGINT) and each.name not in schema.ms_analytics.key)],
    ),
]  # fmt: skip
"""Rows of several partitions, which a server counts as much larger than their values: milestones of two ranges, the
same without values, days, prices, and milestones with many measures.
"""


def test_batches_of_small_rows_stay_below_the_limit_of_a_server(
    spark: SparkSession, cassandra_runs: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("etl.writers.connector.PAUSES_S", ())
    with running(CassandraServer(tmp_path / "node", batch_limit=BATCH_LIMIT)) as server:
        settings = StoreSettings(f"cassandra://{server.contact}/small?rf=1", "permatest-1")
        with closing(open_adapter(settings, writable=True)) as store:
            # Creates the keyspace.
            store.release(store.acquire("elsewhere:1", "run", 60))
            store.execute(create_table_cql(table, KEYSPACE) for table in {each for each, _ in SMALL_ROWS})
        with opened(settings) as cluster:
            for table, columns in SMALL_ROWS:
                assert cluster.append(table, spark.range(0, 1500, 1, 1).selectExpr(*columns)) == 1500


def test_what_a_cluster_rejects_is_one_line_and_what_fails_in_a_task_is_not_its_fault(
    spark: SparkSession, cassandra: CassandraServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etl.writers.connector.PAUSES_S", (0.1,))
    settings = StoreSettings(f"cassandra://{cassandra.contact}/refusals?rf=1", "permatest-1")
    migrate(settings)
    assert written(spark, settings, "CAST(id AS INT)") == 100
    started = time.monotonic()
    with pytest.raises(PySparkException, match="of our own making"):
        written(spark, settings, "CAST(raise_error('of our own making') AS INT)")
    assert time.monotonic() - started < 20
    with pytest.raises(StoreUnavailable) as rejected:
        written(spark, settings, "'no number'")
    assert "\n" not in str(rejected.value)
    assert str(rejected.value).startswith(
        f"cassandra://{cassandra.contact}/refusals: rows of milestone_ids were not taken:"
    )
