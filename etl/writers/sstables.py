"""A partition of a frame as SSTables, streamed to the nodes that own them: what a task of `--bulk` does.

Runs in executors, which have pyspark, pyarrow and a Java 17. Their JVM has no code of ours, and Cassandra's cannot live
beside Spark's; so each Python worker starts a JVM of its own on etl/writers/SSTables.java and pipes Arrow's buffers
into it.

Rules of this file: that JVM serves all of a worker's partitions and ends with the worker, as its input does; what is
secret goes through the pipe, never into a command line. Numbers in the pipe have their highest byte first, a text or a
buffer is preceded by its length; a table is a header, batches each preceded by their number of rows, and -1.
"""

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pyarrow as pa
from pyspark import SparkFiles, TaskContext

from db.model import Type
from etl.engine.class_archive import java
from etl.writers.cassandra_java import JAVA_OPTIONS

HERE = Path(__file__).parent
HEAP = "768m"
SAMPLED = 8
"""First rows of so many batches of a partition are told by key, and its very last one."""

ROWS = "rows"
CARRIED = "cassandra.zip"

KINDS: dict[Type, str] = {
    Type.HEX: "h",
    Type.TEXT: "b",
    Type.BLOB: "b",
    Type.BOOLEAN: "1",
    Type.TINYINT: "1",
    Type.SMALLINT: "2",
    Type.INT: "4",
    Type.BIGINT: "8",
    Type.TIMESTAMP: "8",
    Type.DATE: "d",
}
"""How SSTables.java is told a column: ids as bytes, bytes, days, or a number of so many bytes."""


class NotStreamed(Exception):
    """The rows of a partition did not get into the cluster."""


@dataclass(frozen=True)
class Target:
    """Where rows of one table go. `folder` is scratch space that this machine can write; `classpath` what
    SSTables.java needs to be compiled and run, or None where it was sent as the archive CARRIED; `kinds` one letter a
    column; `key` how many columns come first that tell a row.
    """

    folder: str
    classpath: str | None
    keyspace: str
    table: str
    create: str
    insert: str
    kinds: str
    key: int
    hosts: tuple[str, ...]
    port: int
    user: str
    password: str = field(repr=False)


def stream_rows(target: Target, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Writes and streams a partition; the keys of a sample of its rows, beside the first one how many there are.

    NotStreamed when they are not on every node that owns them.
    """
    filled = (batch for batch in batches if batch.num_rows)
    batch = next(filled, None)
    if batch is None:
        return
    sample: list[pa.RecordBatch] = []
    count, last = 0, batch
    with _folder(target) as folder, _running(target.classpath or f"{SparkFiles.get(CARRIED)}/*") as jvm:
        jvm.send(*_header(target, folder))
        while batch is not None:
            jvm.send(*_buffers(batch, target.kinds))
            if len(sample) < SAMPLED:
                sample.append(batch.slice(0, 1))
            count, last = count + batch.num_rows, batch
            batch = next(filled, None)
        jvm.send(struct.pack(">i", -1))
        taken = int(jvm.answer())
    if taken != count:
        raise NotStreamed(f"{taken} of {count} rows of {target.table} were taken")
    keys = pa.Table.from_batches([*sample, last.slice(last.num_rows - 1)]).select(range(target.key)).combine_chunks()
    counts = pa.array([count, *[0] * (keys.num_rows - 1)], pa.int64())
    yield from keys.append_column(ROWS, counts).to_batches()


@contextmanager
def _folder(target: Target) -> Iterator[Path]:
    """An empty folder of this attempt, named as Cassandra names a table's; removed at the end."""
    context = TaskContext.get()
    attempt = Path(target.folder) / str(context.taskAttemptId() if context else os.getpid())
    folder = attempt / target.keyspace / target.table
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(attempt)


class _Jvm:
    """A process on SSTables.java."""

    def __init__(self, classpath: str) -> None:
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Xmx{HEAP}", "-Djava.net.preferIPv4Stack=true"]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (it is the process's own, and ends with it)
        self._process = subprocess.Popen(
            [
                java(), *JAVA_OPTIONS, *options, f"-Dlogback.configurationFile={HERE / 'logback.xml'}",
                "-classpath", classpath,
                "org.codehaus.janino.SimpleCompiler", str(HERE / "SSTables.java"), "SSTables",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
        )  # fmt: skip

    def send(self, *parts: bytes | pa.Buffer) -> None:
        """Into the pipe; NotStreamed when nobody reads it."""
        assert self._process.stdin is not None
        try:
            for part in parts:
                self._process.stdin.write(part)
        except BrokenPipeError:
            raise self._failure() from None

    def answer(self) -> bytes:
        """The line that ends a table."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None
        line = self._process.stdout.readline()
        if not line:
            raise self._failure()
        return line

    def end(self) -> None:
        """Kills it."""
        self._process.kill()
        self._process.communicate()
        self._said.close()

    def _failure(self) -> NotStreamed:
        """The innermost cause that the trace names."""
        self._process.wait()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").splitlines()
        causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
        return NotStreamed(causes[-1] if causes else "\n".join(lines[-5:]) or f"{java()} ended")


_started = cache(_Jvm)


@contextmanager
def _running(classpath: str) -> Iterator[_Jvm]:
    """The worker's JVM; one that failed, or was left in the middle, is ended."""
    jvm = _started(classpath)
    try:
        yield jvm
    except BaseException:
        _started.cache_clear()
        jvm.end()
        raise


def _header(target: Target, folder: Path) -> Iterator[bytes]:
    yield from _text(str(folder.absolute()))
    for text in (target.create, target.insert, target.kinds, ",".join(target.hosts)):
        yield from _text(text)
    yield struct.pack(">i", target.port)
    yield from _text(target.user)
    yield from _text(target.password)


def _text(text: str) -> Iterator[bytes]:
    encoded = text.encode()
    yield struct.pack(">i", len(encoded))
    yield encoded


def _buffers(batch: pa.RecordBatch, kinds: str) -> Iterator[bytes | pa.Buffer]:
    """A batch as Arrow holds it, without what it has beyond its rows."""
    rows = batch.num_rows
    yield struct.pack(">i", rows)
    for column, kind in zip(batch.columns, kinds, strict=True):
        # A batch that comes from Spark begins where its buffers do.
        assert column.offset == 0
        array = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
        valid, *data = array.buffers()
        yield from _block(valid if array.null_count else None, -(-rows // 8))
        if kind in "hb":
            offsets, values = data
            yield from _block(offsets, 4 * (rows + 1))
            yield from _block(values, None)
        else:
            yield from _block(data[0], rows * (4 if kind == "d" else int(kind)))


def _block(buffer: pa.Buffer | None, size: int | None) -> Iterator[bytes | pa.Buffer]:
    if buffer is None:
        yield struct.pack(">i", 0)
        return
    used = buffer if size is None else buffer.slice(0, size)
    yield struct.pack(">i", used.size)
    yield used
