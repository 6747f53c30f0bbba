"""The embedded engine: a Sail server in this process. Frames reach it through Spark Connect; there is no JVM.

Measured differences of Sail 0.7.2, and where each is handled:

- A sort below `mapInArrow` is dropped, and a write spreads sorted rows over files: `etl.engine.ordering`.
- `substring` of BINARY returns text: `etl.engine.columns.bytes_at`.
- A field of a NULL struct from Arrow input reads 0 or empty (lakehq/sail#2060): `etl.engine.arrow_frames`.
- A frame without rows writes no file: `etl.engine.parquet`.
- A plan has at most about 100 levels: `etl.engine.columns.balanced`.
"""

import atexit
import os
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from pyspark.sql import SparkSession

from etl.engine.current import sail_frames

if TYPE_CHECKING:
    from pysail.spark import SparkConnectServer

LOG_LEVEL = "error"
UNPARTITIONED = "WARN WindowExpression: No Partition Defined"
RETRIES = r"\[RETRIES_EXCEEDED\]"
DEPRECATED = "The 'warn' method is deprecated"

TRIES = 2
"""Repetitions of a request that the server does not answer, within a second. By default they take ten minutes, but a
server that ended in this process does not come back.
"""

PARALLELISM = "SAIL_EXECUTION__DEFAULT_PARALLELISM"
"""Partitions of a query; 0: as many as cores."""

PURGE_DELAY = "MIMALLOC_PURGE_DELAY"
"""Milliseconds after which Sail's allocator returns free memory. With 0, a large load holds a third less memory, and
takes longer.
"""

METADATA_CACHE = ("SAIL_PARQUET__FILE_METADATA_CACHE__SIZE_LIMIT", str(64 << 20))
"""Bytes of footers and page indexes of Parquet files that Sail keeps. By default it keeps those of all files for half
an hour: 250 MiB in a load of a million messages.
"""

NICENESS = 5
"""What Sail's threads have more than the process, on Linux. They use all cores, and the thread that writes their rows
into a store, the longest part of a load, would wait for a core.
"""

UNCOMPRESSED = ("grpc.compression_enabled_algorithms_bitset", 1)
"""Accepts only responses without compression. Sail compresses with gzip where it may, and responses stay in this
process (measured: decisions/0055).
"""

_running: list[SparkSession] = []


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """Sets a variable of the environment in the block, unless it is set."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


@contextmanager
def sail_session(*, single: bool = False, large: bool = False) -> Iterator[SparkSession]:
    """Starts a server on a free port of this machine and a session on it. Stops both at the end of the block.

    `single`: each query runs in one partition. Runs of few rows take less time then: several queries run at once.
    `large`: free memory is returned at once. The first session of a process decides.

    Inside another such block, yields that one's session. Raises ModuleNotFoundError if the extra `sail` is not
    installed.
    """
    if _running:
        yield _running[-1]
        return
    if large:
        # Read when the library is loaded.
        os.environ.setdefault(PURGE_DELAY, "0")
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession as Connected

    from etl.engine.sail.responses import WholeResponses

    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("RUST_LOG", LOG_LEVEL)
    # Windows over all milestones are intended: they have one row per milestone.
    warnings.filterwarnings("ignore", message=UNPARTITIONED)
    # The error that follows names the cause.
    warnings.filterwarnings("ignore", message=RETRIES)
    warnings.filterwarnings("ignore", message=DEPRECATED, module="pyspark")
    with _variable(PARALLELISM, "1" if single else "0"), _variable(*METADATA_CACHE):
        server = _started()
    try:
        _, port = server.listening_address
        with sail_frames():
            channel = DefaultChannelBuilder(f"sc://127.0.0.1:{port}", [UNCOMPRESSED])
            connected = Connected.builder.channelBuilder(channel).create()
            connected.client.set_retry_policies([DefaultPolicy(max_retries=TRIES)])
            # The classes of both engines have the same methods.
            session = cast("SparkSession", connected)
            # A response from this process needs no second request that releases it.
            connected.client.disable_reattachable_execute()
            connected.client._stub.ExecutePlan = WholeResponses(connected.client._channel)
            session.conf.set("spark.sql.session.timeZone", "UTC")
            # Otherwise each call searches its line, and IPython on the whole path: a sixth of a load of 50 milestones.
            session.conf.set("spark.python.sql.dataFrameDebugging.enabled", "false")
            _running.append(session)
            try:
                yield session
            finally:
                _running.remove(session)
                session.stop()
                # Registered by the client, and otherwise kept until the process ends, with the client and its channel.
                atexit.unregister(connected.client._cleanup_ml_cache)
    finally:
        server.stop()


def _started() -> "SparkConnectServer":
    """Starts a server. Raises ModuleNotFoundError if the extra `sail` is not installed."""
    from pysail.spark import SparkConnectServer

    def start() -> SparkConnectServer:
        if sys.platform == "linux":
            # Adds to that of this thread, from which those of the server inherit it.
            os.nice(NICENESS)
        server = SparkConnectServer()
        server.start()
        return server

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(start).result()
