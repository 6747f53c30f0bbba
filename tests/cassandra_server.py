"""A real Cassandra in its own folder, on loopback: for tests, for bench/, and for manual use:

    python -m tests.cassandra_server FOLDER

Writes nothing outside the folder and listens on loopback only. A server is stopped by its own process id, and stops by
itself when the process that started it is gone. Materialized views stay off, because nothing needs one.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from etl.engine.java import java
from etl.writers.cassandra_java import JAVA, JAVA_OPTIONS, cassandra_jars

STARTED_S = 120.0
STOPPED_S = 30.0
PAUSED_S = 10.0

WRITE_TIMEOUT = "write_request_timeout: 10000ms"

PATIENT = "\n".join(
    f"{each}: 60000ms"
    for each in (
        "write_request_timeout",
        "read_request_timeout",
        "range_request_timeout",
        "truncate_request_timeout",
        "cas_contention_timeout",
    )
)
"""For a server that may get no CPU for many seconds, and whose tests do not wait for a timeout."""

BATCH_LIMIT = "50KiB"

PAUSED = frozenset("TZX")
"""The states of stopped threads (proc(5))."""

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of Java for a program that ends after seconds."""

QUICK = (
    "-XX:TieredStopAtLevel=1",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.ring_delay_ms=100",
    # By default it is 2 ms, for which an idle server uses 3 % of a core.
    "-Dcassandra.approximate_time_precision_ms=20",
)
"""Options with which a server that lives for minutes starts sooner, and uses less of the processor."""

FORGETFUL = "-Dcassandra.test.flush_local_schema_changes=false"
"""For a server that is never restarted: it creates tables several times as fast, and keeps them only until it ends."""

LOGGING = """\
<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %logger{0}: %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
"""

GUARD = '"$@" & echo $! >pid.part; mv pid.part pid; read -r _; kill -9 $!; wait'
"""Starts the server and kills it when standard input ends, that is, when the process at the other end of the pipe ends.

The file with the process id is renamed into place after it is written: a reader never sees an empty file.
"""


def _state(task: Path) -> str:
    """The letter of a thread's state; of one that has ended X."""
    try:
        return (task / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


@dataclass(frozen=True)
class Ports:
    """The addresses and ports of a server."""

    native: int
    storage: int
    jmx: int

    @classmethod
    def free(cls) -> "Ports":
        """Three ports with no listener at the moment."""
        with contextlib.ExitStack() as stack:
            probes = [stack.enter_context(socket.socket()) for _ in range(3)]
            for probe in probes:
                probe.bind(("127.0.0.1", 0))
            return cls(*(probe.getsockname()[1] for probe in probes))


@dataclass
class CassandraServer:
    """One node; `seed` is the address of a node of the cluster to join, with the same ports."""

    folder: Path
    ports: Ports = field(default_factory=Ports.free)
    address: str = "127.0.0.1"
    seed: str = "127.0.0.1"
    heap: str = "512m"
    java_options: tuple[str, ...] = QUICK
    batch_limit: str = "16MiB"
    """The size from which batches of several partitions are rejected. Cassandra's own default is `BATCH_LIMIT`."""
    extra: str = ""
    """Additional lines of cassandra.yaml for this node."""
    timeouts: str = WRITE_TIMEOUT
    """Lines of cassandra.yaml with timeouts of requests; for those that are missing Cassandra has defaults."""
    tls: ssl.SSLContext | None = None
    """How clients connect to it, unless unencrypted."""
    _guard: "subprocess.Popen[bytes] | None" = None

    @property
    def contact(self) -> str:
        """HOST:PORT of a store's URL."""
        return f"{self.address}:{self.ports.native}"

    @property
    def pid(self) -> int:
        """The server's own process."""
        return int((self.folder / "pid").read_text())

    def nodetool(self) -> list[str]:
        """The command of nodetool for this server, without its arguments. nodetool is part of the server's jars."""
        folder = self.folder.absolute()
        return [
            java(),
            *JAVA_OPTIONS,
            # nodetool keeps a history in the user's home directory.
            f"-Duser.home={folder}",
            *QUICK_START,
            f"-Dcassandra.config={(folder / 'cassandra.yaml').as_uri()}",
            "-classpath",
            os.pathsep.join(str(jar) for jar in cassandra_jars()),
            "org.apache.cassandra.tools.NodeTool",
            "-p",
            str(self.ports.jmx),
        ]

    def start(self) -> None:
        """Returns when the server answers; RuntimeError with the end of its log when it does not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "pid").unlink(missing_ok=True)
        (self.folder / "cassandra.yaml").write_text(self._configuration())
        (self.folder / "logback.xml").write_text(LOGGING)
        command = ["sh", "-c", GUARD, "guard", java(), *self._options()]
        with (self.folder / "log").open("ab") as log:
            self._guard = subprocess.Popen(
                [*command, "org.apache.cassandra.service.CassandraDaemon"],
                cwd=self.folder, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        limit = time.monotonic() + STARTED_S
        while not self.answers():
            if self._is_over() or time.monotonic() > limit:
                self.kill()
                raise RuntimeError(f"Cassandra did not start: {(self.folder / 'log').read_text()[-3000:]}")
            time.sleep(0.1)

    def answers(self) -> bool:
        """Whether it speaks CQL: it answers an OPTIONS frame with SUPPORTED."""
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            client = stack.enter_context(socket.create_connection((self.address, self.ports.native), 5))
            if self.tls is not None:
                client = stack.enter_context(self.tls.wrap_socket(client, server_hostname=self.address))
            client.sendall(bytes([4, 0, 0, 0, 5, 0, 0, 0, 0]))
            return client.recv(9)[4:5] == b"\x06"
        return False

    def stop(self) -> None:
        """Ends the server as an operator does: it flushes its memory first."""
        os.kill(self.pid, signal.SIGTERM)
        limit = time.monotonic() + STOPPED_S
        while not self._is_over() and time.monotonic() < limit:
            time.sleep(0.1)
        self.kill()

    def kill(self) -> None:
        """Kills the server, as a crash does."""
        if self._guard is not None:
            self._guard.communicate()
            self._guard = None

    def pause(self) -> None:
        """Pauses the process without ending it: connections stay open, and no request is answered once this returns."""
        os.kill(self.pid, signal.SIGSTOP)
        # Its threads stop one by one, each when it next leaves the kernel: one may still respond.
        limit = time.monotonic() + PAUSED_S
        while not all(_state(each) in PAUSED for each in Path(f"/proc/{self.pid}/task").iterdir()):
            assert time.monotonic() < limit, "a thread that SIGSTOP does not stop"
            time.sleep(0.01)

    def resume(self) -> None:
        """Resumes after a pause."""
        os.kill(self.pid, signal.SIGCONT)

    def _is_over(self) -> bool:
        if not (self.folder / "pid").exists():
            return False
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        return stat.rpartition(")")[2].split()[0] == "Z"

    def _options(self) -> list[str]:
        jars = cassandra_jars()
        agent = next(jar for jar in jars if jar.name.startswith("jamm-"))
        return [
            *JAVA_OPTIONS,
            f"-javaagent:{agent}",
            f"-Xms{self.heap}",
            f"-Xmx{self.heap}",
            "-Xss512k",
            "-XX:+UseSerialGC",
            "-XX:+ExitOnOutOfMemoryError",
            "-Djdk.attach.allowAttachSelf=true",
            "-Djava.net.preferIPv4Stack=true",
            "-Dcassandra-foreground=yes",
            f"-Dcassandra.config={(self.folder / 'cassandra.yaml').absolute().as_uri()}",
            f"-Dcassandra.storagedir={self.folder.absolute()}",
            f"-Dcassandra.jmx.local.port={self.ports.jmx}",
            f"-Dlogback.configurationFile={self.folder.absolute() / 'logback.xml'}",
            *self.java_options,
            "-classpath",
            os.pathsep.join(str(jar) for jar in jars),
        ]

    def _configuration(self) -> str:
        folders = "".join(
            f"{name}_directory: {self.folder.absolute() / name}\n" for name in ("commitlog", "saved_caches", "hints")
        )
        return f"""\
cluster_name: permanode
num_tokens: 4
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{{seeds: "{self.seed}:{self.ports.storage}"}}]
listen_address: {self.address}
rpc_address: {self.address}
storage_port: {self.ports.storage}
ssl_storage_port: {self.ports.storage}
native_transport_port: {self.ports.native}
start_native_transport: true
commitlog_sync: periodic
commitlog_sync_period: 10000ms
commitlog_total_space: 256MiB
materialized_views_enabled: false
auto_snapshot: false
concurrent_reads: 8
concurrent_writes: 8
{self.timeouts}
file_cache_size: 64MiB
batch_size_warn_threshold: {self.batch_limit}
batch_size_fail_threshold: {self.batch_limit}
unlogged_batch_across_partitions_warn_threshold: 1000
data_file_directories: [{self.folder.absolute() / "data"}]
{folders}cdc_raw_directory: {self.folder.absolute() / "cdc_raw"}
{self.extra}"""


def why_not() -> str | None:
    """Why no server can run on this machine; None: one can."""
    if shutil.which(java()) is None:
        return f"no Java here: a Cassandra server needs Java {JAVA}"
    printed = subprocess.run([java(), "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "([^".]+)', printed)
    found = version[1] if version else "none"
    return None if found == JAVA else f"a Cassandra server needs Java {JAVA}, and {java()} is {found}"


@contextmanager
def running(server: CassandraServer) -> Iterator[CassandraServer]:
    """Runs that server during the block."""
    try:
        server.start()
        yield server
    finally:
        server.kill()


@contextmanager
def running_together(folder: Path, count: int) -> Iterator[list[CassandraServer]]:
    """Runs one cluster of that many nodes, on 127.0.0.1, 127.0.0.2 and so on, during the block."""
    ports = Ports.free()
    nodes = [
        # The cluster starts empty, so that nothing has to be streamed to joining nodes.
        CassandraServer(
            folder / f"node{n}", ports=replace(ports, jmx=Ports.free().jmx), address=f"127.0.0.{n}",
            extra="auto_bootstrap: false\n",
        )
        for n in range(1, count + 1)
    ]  # fmt: skip
    with contextlib.ExitStack() as stack:
        for node in nodes:
            stack.enter_context(running(node))
        yield nodes


if __name__ == "__main__":
    with running(CassandraServer(Path(sys.argv[1]), heap="1g", java_options=())) as manual:
        sys.stdout.write(f"cassandra://{manual.contact}/KEYSPACE?dc=datacenter1&rf=1 until Ctrl-C\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
