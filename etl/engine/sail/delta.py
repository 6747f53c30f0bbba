"""Delta tables through delta-rs, which needs no JVM: files, replacement, additions, compaction."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from etl.engine.new_files import NewFile
from etl.engine.sail.rows import rows_of

TARGET_BYTES = 128 << 20


def files(path: str) -> list[tuple[str, str]]:
    """Path and column statistics (JSON) of each file in the newest snapshot. Raises OSError for an invalid log."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        added = pa.table(DeltaTable(path).get_add_actions(flatten=True)).to_pylist()
    except DeltaError as error:
        raise OSError(f"{path}: {error}") from error
    return [(str(Path(path) / each["path"]), json.dumps(_statistics(each), default=str)) for each in added]


def _statistics(action: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    ends = {"min.": "minValues", "max.": "maxValues"}
    found: dict[str, dict[str, Any]] = {}
    for name, value in action.items():
        if value is not None and (end := ends.get(name[:4])):
            found.setdefault(end, {})[name[4:]] = value
    return found


def replace(
    path: str,
    rows: DataFrame | pa.RecordBatchReader,
    partitions: Sequence[str],
    predicate: str | None,
    configuration: Mapping[str, str],
) -> None:
    """Replaces the rows that match `predicate`, or all rows, with those of a frame or a reader. Raises DeltaError for
    rows that do not match it. `configuration` applies to a new table.
    """
    from deltalake import write_deltalake

    write_deltalake(
        path,
        rows if isinstance(rows, pa.RecordBatchReader) else rows_of(rows),
        mode="overwrite",
        partition_by=list(partitions) or None,
        # delta-rs does not accept a condition without a column.
        predicate=None if predicate == "true" else predicate,
        configuration=dict(configuration),
    )


def add_files(
    path: str,
    files: Sequence[NewFile],
    schema: pa.Schema,
    partitions: Sequence[str],
    configuration: Mapping[str, str],
) -> None:
    """Commits Parquet files that are inside the table's directory. Creates the table if it does not exist."""
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import AddAction, create_table_with_add_actions

    actions = []
    for each in files:
        noted = each.path.stat()
        statistics = json.dumps(
            {"numRecords": each.rows, "minValues": each.least, "maxValues": each.greatest, "nullCount": {}}
        )
        place, modified = str(each.path.relative_to(path)), noted.st_mtime_ns // 1_000_000
        actions.append(AddAction(place, noted.st_size, dict(each.partition), modified, True, statistics))  # noqa: FBT003
    if DeltaTable.is_deltatable(path):
        table = DeltaTable(path)
        table.create_write_transaction([*actions], "append", table.schema(), partition_by=list(partitions))
    else:
        create_table_with_add_actions(
            path,
            Schema.from_arrow(schema),
            actions,
            partition_by=list(partitions),
            configuration=dict(configuration),
        )


def append(path: str, frame: DataFrame, partitions: Sequence[str]) -> None:
    """Appends the rows of a frame."""
    from deltalake import write_deltalake

    write_deltalake(path, rows_of(frame), mode="append", partition_by=list(partitions) or None)


def compact(path: str, retain_hours: int) -> None:
    """Merges small files, and deletes those that no snapshot of the last `retain_hours` uses."""
    from deltalake import DeltaTable

    table = DeltaTable(path)
    table.optimize.compact(target_size=TARGET_BYTES)
    table.vacuum(retain_hours, dry_run=False, enforce_retention_duration=False)
