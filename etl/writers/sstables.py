"""Writes a partition of a frame as SSTables and streams them to the owning nodes: the task of `--bulk`.

Runs in executors, which have pyspark, pyarrow and Java 17. Cassandra's code cannot share a JVM with Spark's, so each
Python worker starts its own JVM with etl/writers/SSTables.java and pipes Arrow buffers to it.

Invariants:
1. The JVM serves all partitions of a worker and ends with it, because its input ends.
2. Secrets are sent through the pipe, never on a command line.
3. Numbers in the pipe are big-endian; text and buffers are preceded by their length. A table is a header, batches
   preceded by their number of rows, and -1.
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
from etl.engine.java import java
from etl.writers.cassandra_java import JAVA_OPTIONS

HERE = Path(__file__).parent
HEAP = "768m"
SAMPLED = 8
"""Number of batches whose first rows are sampled by key, in addition to the last row of the partition."""

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
"""The column types for SSTables.java: ids as bytes, bytes, days, or a number with this many bytes."""


class NotStreamed(Exception):
    """The rows of a partition were not written to the cluster."""


@dataclass(frozen=True)
class Target:
    """The target of the rows of one table. `folder` is local scratch space. `classpath` is what SSTables.java needs to
    be compiled and run, or None if it was sent as the archive CARRIED. `kinds` has a letter per column; `key` is the
    number of leading columns that identify a row.
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
    """Writes and streams a partition. Returns the keys of a sample of its rows, the first with the number of rows.

    Raises NotStreamed if they are not on every node that owns them.
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
    """An empty folder for this attempt with the name that Cassandra expects for the table. It is deleted at the end."""
    context = TaskContext.get()
    attempt = Path(target.folder) / str(context.taskAttemptId() if context else os.getpid())
    folder = attempt / target.keyspace / target.table
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(attempt)


class _Jvm:
    """A process that runs SSTables.java."""

    def __init__(self, classpath: str) -> None:
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Xmx{HEAP}", "-Djava.net.preferIPv4Stack=true"]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it is the process's own, and ends with it)
        self._process = subprocess.Popen(
            [
                java(), *JAVA_OPTIONS, *options, f"-Dlogback.configurationFile={HERE / 'logback.xml'}",
                "-classpath", classpath,
                "org.codehaus.janino.SimpleCompiler", str(HERE / "SSTables.java"), "SSTables",
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip

    def send(self, *parts: bytes | pa.Buffer) -> None:
        """Writes to the pipe. Raises NotStreamed if the process has ended."""
        assert self._process.stdin is not None
        try:
            for part in parts:
                self._process.stdin.write(part)
        except BrokenPipeError:
            raise self._failure() from None

    def answer(self) -> bytes:
        """Reads the line that ends a table."""
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
        """Kills the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def _failure(self) -> NotStreamed:
        """The innermost cause in the stack trace."""
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
        return NotStreamed(causes[-1] if causes else "\n".join(lines[-5:]) or f"{java()} ended")


_started = cache(_Jvm)


@contextmanager
def _running(classpath: str) -> Iterator[_Jvm]:
    """The JVM of this worker. A JVM that failed or was interrupted is replaced."""
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
    """The buffers of a batch without data outside its rows."""
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
