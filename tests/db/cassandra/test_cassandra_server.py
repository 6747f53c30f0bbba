"""The suites' server: it responds, nobody else uses it, and it does not outlive the process that started it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cassandra.cluster import Cluster

from etl.writers.cassandra_java import VERSION
from tests.cassandra_server import CassandraServer
from tests.conftest import ROOT


def test_it_is_the_version_that_is_pinned_and_makes_no_views(cassandra: CassandraServer) -> None:
    with Cluster([cassandra.address], port=cassandra.ports.native, protocol_version=4) as cluster:
        session = cluster.connect()
        assert session.execute("SELECT release_version FROM system.local").one() == (VERSION,)
        settings = dict(session.execute("SELECT name, value FROM system_views.settings"))
    assert settings["materialized_views_enabled"] == "false"


STARTER = """
import sys, time
from pathlib import Path
from tests.cassandra_server import CassandraServer
server = CassandraServer(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


def test_it_ends_with_a_starter_that_is_killed(cassandra: CassandraServer, tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", STARTER, tmp_path], cwd=ROOT, stdout=pipe, text=True) as starter:
        assert starter.stdout is not None
        process = int(starter.stdout.readline())
        assert Path(f"/proc/{process}").exists()
        os.kill(starter.pid, signal.SIGKILL)
    for _ in range(100):
        if not Path(f"/proc/{process}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the server is still there")
