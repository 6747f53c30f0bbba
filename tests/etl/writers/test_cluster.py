"""The same load on a standalone Spark cluster whose executors have pyspark and pyarrow but not the project, into a file
and, as SSTables, into three nodes.
"""

import subprocess
import time
import venv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.policies import WhiteListRoundRobinPolicy

from db.admin.migrate import migrate
from db.connect import StoreSettings
from tests.cassandra_server import CassandraServer, running_together
from tests.conftest import SAMPLE
from tests.etl.commands import permanode
from tests.etl.conftest import SETTINGS, Loading
from tests.etl.store_rows import Tables, stored_rows
from tests.spark_cluster import LOOPBACK, standalone

pytestmark = pytest.mark.spark

BARE = ("pyspark", "py4j", "pyarrow")
COUNTED = ("messages", "parents", "tags", "outputs_by_address")
ALONE_S = 60
ABSENT = ("pandas", "numpy", "orjson", "zstandard", "ledger", "db", "etl")
"""Packages that an executor's own Python must not have, or the test would prove nothing."""


@pytest.fixture(scope="module")
def executors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with only BARE: links to the packages of this environment, in its versions."""
    home = tmp_path_factory.mktemp("executors") / "venv"
    venv.create(home, with_pip=False)
    (packages,) = home.glob("lib/python*/site-packages")
    for name in BARE:
        (packages / name).symlink_to(Path(*find_spec(name).submodule_search_locations))
    return home


@pytest.fixture(scope="module")
def master(executors: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A master and one worker from the pip package; (its URL, the folder where executors work)."""
    folder = tmp_path_factory.mktemp("cluster")
    (spark,) = executors.glob("lib/python*/site-packages/pyspark")
    with standalone(folder, executors, spark, workers=1, cores=2, memory="1g") as url:
        yield url, folder / "work"


@pytest.mark.parametrize("package", ABSENT)
def test_executors_have_none_of_our_code(executors: Path, package: str) -> None:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is not None)"
    assert subprocess.run([executors / "bin" / "python", "-I", "-c", code], check=False).returncode == 0


def test_a_cluster_gives_the_rows_of_a_local_load(
    master: tuple[str, Path], sample_rows: Tables, tmp_path: Path
) -> None:
    url, work = master
    migrate(StoreSettings(f"sqlite:///{tmp_path / 'store'}", "permatest-1"))
    load = permanode(
        "--store", f"sqlite:///{tmp_path / 'store'}", "--network", "permatest-1", "--master", url,
        "load", SAMPLE, "--no-analytics", cwd=tmp_path, SPARK_LOCAL_IP=LOOPBACK, TMPDIR=str(tmp_path),
        PERMANODE_ETL_BULK_SHARE="0",
    )  # fmt: skip
    try:
        assert load.finish() == 0, load.printed() + printed_below(work)
    finally:
        load.kill()
    assert [line for line in load.err if not line.startswith("{")] == []
    assert list(work.glob("app-*/*/permanode_env/etl/verification/decode.py")), "an executor worked with what travelled"
    assert not list(tmp_path.glob("permanode-*")), "what travelled is removed afterwards"
    assert stored_rows(tmp_path / "store") == sample_rows


@pytest.fixture(scope="module")
def nodes(cassandra_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[CassandraServer]]:
    with running_together(tmp_path_factory.mktemp("nodes"), 3) as together:
        yield together


@pytest.mark.slow
@pytest.mark.parametrize("where", ["local", "cluster"])
def test_bulk_fills_three_nodes_from_executors_of_either_kind(
    nodes: list[CassandraServer], sample_rows: Tables, tmp_path: Path, where: str, request: pytest.FixtureRequest
) -> None:
    master, work = request.getfixturevalue("master") if where == "cluster" else ("local[2]", tmp_path)
    url = f"cassandra://{','.join(node.contact for node in nodes)}/bulk_{where}?rf=3"
    settings = StoreSettings(url, "permatest-1")
    migrate(settings)
    load = permanode(
        "--store", url, "--network", "permatest-1", "--lake", tmp_path / "lake", "--master", master,
        "load", "--bulk", SAMPLE, "--no-analytics", cwd=tmp_path, SPARK_LOCAL_IP=LOOPBACK, TMPDIR=str(tmp_path),
    )  # fmt: skip
    try:
        assert load.finish() == 0, load.printed() + printed_below(work)
    finally:
        load.kill()
    assert Loading(tmp_path, settings, SETTINGS).rows() == sample_rows
    for node in nodes[1:]:
        node.kill()
    try:
        assert held_by(nodes[0], f"bulk_{where}") == {name: len(sample_rows[name]) for name in COUNTED}
    finally:
        for node in nodes[1:]:
            node.start()


def held_by(node: CassandraServer, keyspace: str) -> dict[str, int]:
    """The rows that a node has itself, once it has noticed that it is alone."""
    one = ExecutionProfile(WhiteListRoundRobinPolicy([node.address]), consistency_level=ConsistencyLevel.ONE)
    limit = time.monotonic() + ALONE_S
    with Cluster(
        [node.address], port=node.ports.native, protocol_version=4, execution_profiles={"default": one}
    ) as cluster:
        session = cluster.connect(keyspace)
        while True:
            try:
                return {name: session.execute(f"SELECT count(*) FROM {name}").one()[0] for name in COUNTED}
            except DriverException:
                assert time.monotonic() < limit
                time.sleep(1)


def printed_below(work: Path) -> str:
    """The executors' output, for a failure's message."""
    return "\n".join(path.read_text()[-5000:] for path in work.glob("app-*/*/stderr"))
