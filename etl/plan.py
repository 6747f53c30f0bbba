"""What a run has to read: every line of every file by milestone, before anything is decoded.

Rules of this file: one cheap pass over the bytes gives checksums and line positions; a line is decoded later by
whichever task its milestone falls to, so overlapping files, shuffled files and one huge file are the same case.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from etl.sources import milestone_of
from etl.sources.files import lines, open_stream
from ledger.reader import CodecError
from ledger.rest_json import JsonError

SCAN_DDL = """
kind STRING, file STRING, line INT, offset BIGINT, length BIGINT, milestone_index INT, reason STRING, checksum BINARY
"""
"""kind: milestone, pending or broken (a line each), file (one a file, with its checksum and line count)."""

COPY_DDL = "STRUCT<file: STRING, line: INT, offset: BIGINT, length: BIGINT>"

UNKNOWN_MILESTONE = -1
"""milestone_index of a line that does not tell it."""


def scan(spark: SparkSession, files: list[Path]) -> DataFrame:
    """Every line of the files and every file, as SCAN_DDL; cached, as planning reads it several times."""
    paths = [(str(path),) for path in files]
    tasks = min(len(paths), 4 * spark.sparkContext.defaultParallelism)
    listed = spark.createDataFrame(paths, "file STRING").repartition(tasks)
    return listed.mapInArrow(_scan_batches, SCAN_DDL).cache()


def _scan_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema(
        [
            ("kind", pa.string()),
            ("file", pa.string()),
            ("line", pa.int32()),
            ("offset", pa.int64()),
            ("length", pa.int64()),
            ("milestone_index", pa.int32()),
            ("reason", pa.string()),
            ("checksum", pa.binary()),
        ]
    )
    for batch in batches:
        for path in batch.column("file").to_pylist():
            rows = list(_scan_file(path))
            yield pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def _scan_file(path: str) -> Iterator[tuple[object, ...]]:
    digest = hashlib.blake2b(digest_size=32)
    number, size = 0, 0
    try:
        with open_stream(path) as stream:
            for number, offset, line in lines(stream):
                digest.update(line)
                size = offset + len(line)
                kind, index, reason = _line_kind(line)
                yield kind, path, number, offset, len(line), index, reason, None
    except (OSError, EOFError, ValueError) as error:
        reason = f"file: readable to its end, {type(error).__name__}: {error}"
        yield "broken", path, number + 1, size, 0, UNKNOWN_MILESTONE, reason, None
    yield "file", path, number, size, 0, None, None, digest.digest()


def _line_kind(line: bytes) -> tuple[str, int | None, str | None]:
    try:
        index = milestone_of(line)
    except (JsonError, CodecError) as refusal:
        return "broken", UNKNOWN_MILESTONE, str(refusal)
    return ("pending", None, None) if index is None else ("milestone", index, None)


def milestone_copies(scanned: DataFrame, first: int | None, last: int | None) -> DataFrame:
    """One row a milestone of the range [first, last): milestone_index, copies (sorted by file and line)."""
    chosen = scanned.where("kind = 'milestone'")
    if first is not None:
        chosen = chosen.where(F.col("milestone_index") >= first)
    if last is not None:
        chosen = chosen.where(F.col("milestone_index") < last)
    copy = F.struct("file", "line", "offset", "length")
    return chosen.groupBy("milestone_index").agg(F.sort_array(F.collect_list(copy)).alias("copies"))


def pending_lines(scanned: DataFrame) -> DataFrame:
    """Lines of messages that no milestone references: copies, one each."""
    copy = F.struct("file", "line", "offset", "length")
    return scanned.where("kind = 'pending'").select(F.array(copy).alias("copies"))


def broken_lines(scanned: DataFrame) -> DataFrame:
    """Lines that do not tell their milestone, as rejects."""
    return scanned.where("kind = 'broken'").select("milestone_index", "file", "line", F.lit("").alias("item"), "reason")


def scanned_files(scanned: DataFrame) -> DataFrame:
    """One row a file: file, lines, bytes (uncompressed), checksum (BLAKE2b-256 of them)."""
    return scanned.where("kind = 'file'").select(
        "file", F.col("line").alias("lines"), F.col("offset").alias("bytes"), "checksum"
    )
