"""Selects the FrameWriter for a store, and rejects `--bulk` for stores that do not support it."""

from db.cassandra.address import parse_address
from db.connect import StoreSettings
from db.store import WritableStore
from etl.engine.current import on_sail
from etl.engine.session import Session
from etl.engine.settings import EtlSettings
from etl.engine.spark.gateway import jvm_gateway
from etl.writers.bulk import BulkWriter, bulk_classpath
from etl.writers.cluster_tls import driver_profile
from etl.writers.connector import Cluster, ClusterWriter, reached_by, tuned
from etl.writers.frame_writer import EmbeddedWriter, FrameWriter, ProcessWriter
from etl.writers.staging import Staging

CASSANDRA = "cassandra://"


def reject_bulk(store: StoreSettings) -> None:
    """Raises ValueError for a store that does not accept SSTables."""
    if not store.url.startswith(CASSANDRA):
        scheme = store.url.partition(":")[0]
        raise ValueError(f"--bulk writes files of Apache Cassandra: expected a store {CASSANDRA}…, not {scheme}")
    if store.tls_ca:
        raise ValueError("--bulk streams in clear text, and the setting tls_ca asks for TLS: load without --bulk")


def frame_writer(
    spark: Session,
    store: WritableStore,
    staging: Staging,
    store_settings: StoreSettings,
    settings: EtlSettings,
    *,
    bulk: bool,
) -> FrameWriter:
    """Returns the writer for that store. `bulk`: it writes SSTables."""
    nodes = store.nodes()
    if not nodes:
        return EmbeddedWriter(staging)
    if on_sail():
        return ProcessWriter(staging)
    address = parse_address(store_settings.url, store_settings.network)
    if store_settings.tls_ca:
        profile = driver_profile(jvm_gateway(spark), staging.folder("tls"), address, store_settings)
        reached = {"spark.cassandra.connection.config.profile.path": profile}
    else:
        reached = reached_by(address, store_settings)
    options = {"keyspace": address.keyspace, **reached, **tuned(store_settings, settings, nodes)}
    writer = ClusterWriter(staging, Cluster(store, address, store_settings.write_patience_s, options))
    if not bulk:
        return writer
    classpath = bulk_classpath(spark, staging.folder("jars"))
    return BulkWriter(writer, classpath, address.user or "", store_settings.password)
