"""Loads into a cluster that goes away and comes back, and loads that are killed: complete milestones are durable, and
the next run repairs the rest.

The tests use their own server, which loses nothing when it is killed. Processes are ended by their ids.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from db.admin.migrate import migrate
from db.connect import StoreSettings, open_adapter
from tests.cassandra_server import CassandraServer, running
from tests.conftest import SAMPLE
from tests.etl.archives import ARCHIVE
from tests.etl.commands import Process, permanode
from tests.etl.ledger_state.test_ledger import reference
from tests.etl.store_rows import COMPARED, by_key
from tests.etl.test_oracle import check
from tests.etl.writers.test_crash import reached

pytestmark = pytest.mark.spark

GEOMETRY = (7, 3)


@dataclass(frozen=True)
class Cluster:
    """A server, a keyspace on it, and loads into that."""

    server: CassandraServer
    settings: StoreSettings
    folder: Path

    def load(self, patience_s: float, *more: str) -> Process:
        sources = [SAMPLE / name for name in ARCHIVE]
        settings = self.settings
        flags = ("--store", settings.url, "--network", settings.network, "--lake", self.folder / "lake")
        return permanode(
            *flags, "load", *sources, "--genesis", SAMPLE / "genesis.json", *more, cwd=self.folder,
            PERMANODE_STORE_CHUNK_SIZE=str(GEOMETRY[0]), PERMANODE_STORE_PARTITION_SIZE=str(GEOMETRY[1]),
            PERMANODE_STORE_WRITE_PATIENCE_S=str(patience_s),
        )  # fmt: skip

    def rows(self) -> dict[str, list[dict[str, object]]]:
        with closing(open_adapter(self.settings, writable=False)) as store:
            return {table.name: by_key(table, store.read_all(table)) for table in COMPARED}


@pytest.fixture(scope="module")
def cluster(cassandra_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("away")
    with running(CassandraServer(folder / "server")) as server:
        settings = StoreSettings(f"cassandra://{server.contact}/away?rf=1", "permatest-1", *GEOMETRY)
        migrate(settings)
        yield Cluster(server, settings, folder)


def javas(process: Process) -> list[str]:
    """The lines of its output that come from Java."""
    return [line for line in process.err if line.lstrip().startswith("at ") or "Exception in thread" in line]


@pytest.mark.slow
def test_a_load_waits_for_its_cluster_or_says_that_it_is_away_and_the_next_makes_it_good(cluster: Cluster) -> None:
    started = []

    def load_until(mark: str, *more: str, patience_s: float = 120) -> Process:
        started.append(cluster.load(patience_s, *more))
        assert started[-1].wait_for(lambda line: reached(line, mark)), started[-1].printed()
        return started[-1]

    try:
        left_alone = load_until("messages_by_milestone", patience_s=2)
        cluster.server.kill()
        assert left_alone.finish() == 1, left_alone.printed()
        assert left_alone.out == []
        (printed,) = [line for line in left_alone.err if line.startswith("permanode: ")]
        assert printed.startswith(f"permanode: cassandra://{cluster.server.contact}/away: ")
        assert "no node responds" in printed
        assert not javas(left_alone), left_alone.printed()
        cluster.server.start()
        assert not cluster.rows()["ranges"]
        for mark, *more in (("tags", "--bulk"), ("addresses_hints",), ("outputs", "--bulk")):
            load_until(mark, *more).kill()
            assert not cluster.rows()["ranges"], "nothing is complete before its rows are durable"
        waiting = load_until("messages")
        cluster.server.kill()
        assert not waiting.end_within(3)
        cluster.server.start()
        assert waiting.finish() == 0, waiting.printed()
        assert not javas(waiting), waiting.printed()
        assert json.loads(waiting.out[-1])["ledger_index"] == 50
    finally:
        for process in started:
            process.kill()
    check(cluster.rows(), reference(GEOMETRY))
    assert not [*cluster.folder.glob("staging*")], "not even of those that were killed"
