"""Faults around the embedded engine: one line with cause and next step, and a next run that repairs.

The causes are real: a disk that is full, a server that ended, plans that are too large. Texts of other engines' errors
are those that such a fault gave.
"""

import operator
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.store import LeaseHeld, StoreUnavailable
from etl.engine.current import on_sail
from etl.engine.faults import EngineError, engine_faults, fault_line
from etl.engine.session import Session, engine_session
from etl.report import Notify, Progress
from tests.conftest import ROOT, SAMPLE
from tests.etl.archives import ARCHIVE
from tests.etl.commands import members_of, permanode
from tests.etl.conftest import ON_SAIL, Loading, Stores, Templates
from tests.etl.lake_files import lake_rows
from tests.small_disk import small_disk

LEASE_S = 6
"""For loads of a few seconds on a disk that is full, after which the next load waits for the lease to expire."""

GENESIS = SAMPLE / "genesis.json"
FIRST, *REST = (SAMPLE / name for name in ARCHIVE)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory, templates: Templates) -> Stores:
    return Stores(tmp_path_factory.mktemp("stores"), templates, settings=ON_SAIL)


@pytest.fixture(scope="module")
def undisturbed(stores: Stores) -> Loading:
    """The store after the same two loads without a fault."""
    loading = stores()
    loading.load(FIRST, genesis=GENESIS)
    loading.load(*REST)
    return loading


@pytest.mark.parametrize(
    ("error", "beginning"),
    [
        (OSError(28, "No space left on device"), "no space left on device: "),
        (
            RuntimeError("An error occurred\nCaused by: java.lang.OutOfMemoryError: Java heap space\n\tat x"),
            "the heap of Spark's driver is too small (Caused by: java.lang.OutOfMemoryError: Java heap space); ",
        ),
        (RuntimeError("System memory 100 must be at least 200. Please increase"), "the heap of Spark's driver"),
        (pa.ArrowMemoryError("malloc of size 8 failed"), "out of memory (malloc of"),
        (MemoryError(), "out of memory (no details)"),
        (RuntimeError("Python worker exited unexpectedly (crashed)"), "a Python process that decodes messages ended"),
        (Py4JNetworkError("Answer from Java side is empty"), "Spark's Java process ended"),
    ],
)
def test_a_known_cause_is_one_line_with_the_next_step(error: Exception, beginning: str) -> None:
    line = fault_line(error)
    assert line is not None
    assert line.startswith(beginning)
    assert line.endswith("then run the command again")
    assert "\n" not in line


JAVA = """An error occurred while calling o127.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 0.0 failed 1 times: java.io.IOE
\tat org.apache.hadoop.fs.ChecksumFileSystem.create(ChecksumFileSystem.java:774)
Caused by: java.io.FileNotFoundException: /data/lake/messages/part-0.parquet (Permission denied)
\tat java.base/java.io.FileOutputStream.open0(Native Method)
\t... 18 more
"""


GRPC = """<_InactiveRpcError of RPC that terminated with:
\tstatus = StatusCode.INTERNAL
\tdetails = "Exception deserializing response!"
\tdebug_error_string = "None"
>"""


def error_of(package: str, name: str, text: str) -> Exception:
    error: Exception = type(name, (Exception,), {"__module__": package})(text)
    return error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            RuntimeError(JAVA),
            "FileNotFoundException: /data/lake/messages/part-0.parquet (Permission denied)",
        ),
        (
            error_of("py4j.protocol", "Py4JJavaError", JAVA.partition("Caused by")[0]),
            "SparkException: Job aborted due to stage failure: Task 1 in stage 0.0 failed 1 times: java.io.IOE: /lake",
        ),
        (
            error_of("pyspark.errors.exceptions.connect", "SparkConnectGrpcException", "(x.Y) Unable to read\nJVM"),
            "Unable to read: /lake",
        ),
        (error_of("deltalake.exceptions", "Other", "Generic error: /lake/a\nmore"), "Generic error: /lake/a"),
        (error_of("pyarrow.lib", "ArrowInvalid", ""), "ArrowInvalid: /lake"),
        (error_of("grpc._channel", "_InactiveRpcError", GRPC), "INTERNAL: Exception deserializing response!: /lake"),
        (error_of("google.protobuf.message", "DecodeError", "Error parsing message"), "Error parsing message: /lake"),
    ],
)
def test_an_unknown_cause_is_one_line_with_its_path_and_never_the_java_call(error: Exception, line: str) -> None:
    assert fault_line(error, [Path("/lake")]) == line


def test_a_full_disk_is_named_by_the_error_else_it_is_the_fullest_one(tmp_path: Path) -> None:
    """Of the folders one is on a file system without free space."""
    named = OSError(28, "No space left on device", "/data/x")
    assert str(fault_line(named, [tmp_path])).startswith("no space left on device: /data/x ([Errno 28]")
    java = RuntimeError(f"Caused by: java.io.FileNotFoundException: {tmp_path}/a (No space left on device)")
    assert str(fault_line(java)).startswith(f"no space left on device: {tmp_path}/a (")
    unnamed = OSError(28, "No space left on device")
    assert str(fault_line(unnamed, [tmp_path, Path("/proc")])).startswith("no space left on device: /proc (")
    assert "the disk of the lake, of staging or of TMPDIR (" in str(fault_line(unnamed))


@pytest.mark.usefixtures("spark")
def test_an_error_of_spark_names_cause_and_path() -> None:
    with pytest.raises(EngineError) as caught, engine_session(replace(ON_SAIL, engine="spark")) as session:
        session.range(3).write.parquet("/proc/nowhere")
    assert re.match(r"IOException: Mkdirs failed to create file:/proc/nowhere/", str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.loads
def test_an_error_of_sail_names_cause_and_path(tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(EngineError) as caught, engine_session(ON_SAIL, folders=[tmp_path]) as session:
        session.read.schema("id BIGINT").parquet(str(broken)).collect()
    assert str(caught.value) == f"Parquet error: Invalid Parquet file. Corrupt footer: {tmp_path}"


@pytest.mark.thorough
@pytest.mark.parametrize("kib", [20, 200])
def test_a_store_on_a_full_disk_is_named(tmp_path: Path, kib: int) -> None:
    """A limit on the size of files takes the place of a full disk. It would cut the files of compiled code, too."""
    most = kib << 10
    store = f"sqlite:///{tmp_path}/store"
    done = subprocess.run(
        [sys.executable, "-c", "from cli.main import main; main()", "migrate"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "PERMANODE_STORE": store, "PERMANODE_NETWORK": "x"}
        | {"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(rf"permanode: .*{tmp_path}/store.*", line)
    assert re.search("disk I/O error|no space left on device|file too large", line)


def test_the_cause_is_found_in_the_errors_that_an_error_was_raised_from() -> None:
    """A full disk comes before what it ended, wherever it is. A long line is shortened around the cause."""
    error = Py4JNetworkError("Answer from Java side is empty")
    error.__context__ = RuntimeError(f"{'x' * 500} No space left on device {'y' * 500}")
    with pytest.raises(
        EngineError, match=r"^no space left on device: .* \(…x+ No space left on device y+…\); "
    ) as caught:
        raise_in_block(error)
    assert len(str(caught.value)) < 400


def raise_in_block(error: Exception) -> None:
    with engine_faults():
        raise error


@pytest.mark.parametrize("error", [ValueError("an invalid option"), StoreUnavailable("No space left on device")])
def test_other_errors_and_those_of_the_project_pass_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, engine_faults():
        raise error
    assert caught.value is error


@pytest.mark.loads
def test_plans_that_are_too_large_for_sail() -> None:
    large = pa.table({"x": [bytes(140 << 20)]})
    for frame in (
        lambda session: session.range(1).select(reduce(operator.add, [F.col("id")] * 2_000)),
        lambda session: session.createDataFrame(large),
    ):
        with pytest.raises(
            EngineError, match=r"^a query has a larger plan than the engine accepts \(.*etl.engine = spark"
        ):
            collect(frame)


def collect(frame: Callable[[Session], DataFrame]) -> None:
    with engine_session(ON_SAIL) as session:
        frame(session).collect()


def server_stopped_at(stage: str, monkeypatch: pytest.MonkeyPatch) -> Notify:
    """Returns the progress callback of a load. It stops the engine's server when that stage begins."""
    from pysail.spark import SparkConnectServer

    class Recorded:
        def __init__(self) -> None:
            self._server = SparkConnectServer()
            self._is_running = True
            servers.append(self)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._server, name)

        def stop(self) -> None:
            if self._is_running:
                self._is_running = False
                self._server.stop()

    servers = list[Recorded]()

    def notify(step: Progress) -> None:
        if step.stage == stage:
            servers[-1].stop()

    monkeypatch.setattr("pysail.spark.SparkConnectServer", Recorded)
    return notify


def differing(one: Loading, other: Loading) -> list[str]:
    """The tables whose rows differ, and `lake` if the messages of the lakes do."""
    rows, others = one.rows(), other.rows()
    lakes = [lake_rows(each.folder / "lake" / "messages", ["milestone_index", "message_id"]) for each in (one, other)]
    return [*(name for name in rows if rows[name] != others[name]), *(["lake"] if lakes[0] != lakes[1] else [])]


def indices(rows: dict[str, list[dict[str, Any]]]) -> set[int]:
    """The complete milestones of a store."""
    return {row["milestone_index"] for row in rows["sync"] if row["synced_by"] is not None}


@pytest.mark.loads
def test_a_server_that_ended_during_a_load_and_the_next_load(
    stores: Stores, undisturbed: Loading, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = stores()
    loading.load(FIRST, genesis=GENESIS)
    before = loading.rows()
    with pytest.raises(EngineError, match=r"^the embedded engine does not respond any more "):
        loading.load(*REST, notify=server_stopped_at("tables", monkeypatch))
    assert not on_sail()
    assert indices(before) <= indices(loading.rows())
    loading.load(*REST)
    assert differing(loading, undisturbed) == []


def load_after_lease(loading: Loading) -> None:
    """Loads REST once the lease is free. A run on a full disk may be unable to release it, and then it expires."""
    end = time.monotonic() + 10 * LEASE_S
    while time.monotonic() < end:
        with suppress(LeaseHeld):
            loading.load(*REST)
            break
        time.sleep(0.2)


@pytest.mark.loads
@pytest.mark.parametrize(
    ("free_kib", "fault", "text"),
    [
        (64, EngineError, "no space left on device: {disk}/.* \\(.*\\); free space for the lake"),
        (1_024, StoreUnavailable, "no space left on device: {disk}/.*; free space on it"),
    ],
)
def test_a_disk_that_was_full_during_a_load_and_the_next_load(
    tmp_path: Path,
    templates: Templates,
    undisturbed: Loading,
    monkeypatch: pytest.MonkeyPatch,
    free_kib: int,
    fault: type[Exception],
    text: str,
) -> None:
    monkeypatch.setattr("etl.run_lease.LEASE_S", LEASE_S)
    with small_disk(tmp_path / "disk") as leave:
        loading = Stores(tmp_path / "disk", templates, settings=ON_SAIL)()
        loading.load(FIRST, genesis=GENESIS)
        before = loading.rows()
        leave(free_kib)
        with pytest.raises(fault, match=f"^{text.format(disk=tmp_path / 'disk')}.*, then run the command again$"):
            loading.load(*REST)
        rows = loading.rows()
        assert [name for name in rows if rows[name] != before[name]] == []
        leave(32 << 10)
        load_after_lease(loading)
        assert differing(loading, undisturbed) == []


@pytest.mark.spark
@pytest.mark.slow
def test_a_java_process_that_was_killed_during_a_load_and_the_next_load(stores: Stores, tmp_path: Path) -> None:
    loading = stores()
    flags = ("--store", loading.store.url, "--network", loading.store.network)
    process = permanode(*flags, "load", FIRST, *REST, "--genesis", GENESIS, cwd=tmp_path)
    try:
        assert process.wait_for(lambda line: '"stage": "tables"' in line), process.printed()
        (java,) = (pid for pid in members_of(process.pid) if Path(f"/proc/{pid}/comm").read_text() == "java\n")
        os.kill(java, signal.SIGKILL)
        assert process.finish() == 1, process.printed()
    finally:
        process.kill()
    (line,) = (line for line in process.err if line.startswith("permanode: "))
    assert "Spark's Java process ended: something killed it, often for lack of memory (" in line, process.printed()
    loading.load(FIRST, *REST, genesis=GENESIS)
    assert differing(loading, stores.loaded("chrysalis from genesis")[0]) == []
