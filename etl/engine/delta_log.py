"""The log of a Delta table through delta-rs, under both engines: files of the newest version, commits, checkpoints.

A table is a local directory, or a URL of a file system that delta-rs supports. Invariants:
1. A commit succeeds only if the table has no version after the one that was read before its files were written.
2. A commit is on disk when `commit` returns, and its files before it.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions
from pyspark.sql.types import StructType

from etl.engine.checksums import VERIFIED, log_checksums
from etl.engine.columns import schema_of
from etl.engine.damage import LogDamaged
from etl.engine.delta_state import PREVIOUS, STATE, DataFile, TableMetadata, file_of, has_more, state_checksum
from etl.engine.file_systems import file_system, sync_files

CHECKPOINT_COMMITS = 20
"""Commits between two checkpoints. A reader parses at most that many commits after the newest checkpoint."""

LOG_HOURS = 1
"""Hours for which the log keeps commits that a checkpoint contains. delta-rs lists all of them for each commit."""

TOMBSTONE_HOURS = 1
"""Hours for which checkpoints name removed files. A checkpoint is written and read in proportion to their number."""

PROPERTIES = {
    # Rows are replaced by rewriting files, so every row in a file is current.
    "delta.enableDeletionVectors": "false",
    "delta.checkpointInterval": str(CHECKPOINT_COMMITS),
    "delta.logRetentionDuration": f"interval {LOG_HOURS} hours",
    "delta.deletedFileRetentionDuration": f"interval {TOMBSTONE_HOURS} hours",
}
"""Properties of new tables."""


class CommitConflict(RuntimeError):
    """Another process committed to the table first."""

    def __init__(self, root: str, cause: str = "another process wrote to this table") -> None:
        super().__init__(f"{root}: {cause}; nothing was committed. Run this again")


@dataclass(frozen=True)
class Layout:
    """How a Delta table is stored.

    Attributes:
        ddl: its columns.
        partitions: the columns whose values are directory names.
        order: the columns that rows of a file are sorted by. Empty: any order.
        key: an integer column. The log contains its least and greatest value for each file.
    """

    ddl: str
    partitions: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    key: str | None = None


class DeltaLog:
    """The newest version of a table, as of the last `refresh`. `name`: that a new table gets, and no other one has."""

    def __init__(self, root: str, layout: Layout, name: str | None = None) -> None:
        self.root = root
        self.layout = layout
        self.name = name
        self._table: DeltaTable | None = None
        self._files: list[DataFile] | None = None

    def exists(self) -> bool:
        """Whether the table was ever committed. A writer that died before its first commit leaves an empty log."""
        if self._table is not None:
            return True
        if "://" in self.root:
            with _as_os_errors(self.root):
                return DeltaTable.is_deltatable(self.root)
        folder = Path(self.root, "_delta_log")
        # A commit that a killed writer did not finish is called 00000000000000000000.json#1.
        names = folder.iterdir() if folder.is_dir() else ()
        return any(each.name[0].isdecimal() and each.suffix in (".json", ".parquet") for each in names)

    def stored_name(self) -> str | None:
        """The name of the table, as of the last `refresh`; None without a name or table."""
        return None if self._table is None else self._table.metadata().name or None

    def refresh(self) -> None:
        """Reads what was committed since. Raises OSError for an invalid log, and CommitConflict for another name."""
        if not self.exists():
            # Not None: a table that another process creates while this one writes stays unknown until its commit fails.
            self._files = []
            return
        self._files = None
        with _as_os_errors(self.root):
            if self._table is None:
                self._table = DeltaTable(self.root)
            else:
                self._table.update_incremental()
        if self.name and (held := self.stored_name()) not in (None, self.name):
            self._table = None
            raise CommitConflict(self.root, f"this table is of {held}, not of {self.name}")

    def files(self) -> list[DataFile]:
        """The files of the newest version; none of a table that does not exist. Raises OSError for an invalid log, and
        for rows that are deleted by a deletion vector, which readers of Parquet files would read.
        """
        files = self._files
        if files is None:
            if self._table is None:
                self.refresh()
            files = [] if self._table is None else [*self._listed(self._table)]
            if self._table is not None:
                self._check_state(self._table, files)
            # Another thread that reads the log for the first time may refresh it meanwhile.
            self._files = files
        return files

    def _listed(self, table: DeltaTable) -> Iterator[DataFile]:
        with _as_os_errors(self.root):
            if "deletionVectors" in (table.protocol().reader_features or ()):
                for batch in table.deletion_vectors():
                    for path in pa.record_batch(batch).column(0).to_pylist():
                        raise OSError(f"{path}: a deletion vector deletes rows of it, which a lake does not use")
            actions = pa.table(table.get_add_actions(flatten=True))
        key = self.layout.key
        found = set(actions.column_names)
        paths, sizes = (actions.column(name).to_pylist() for name in ("path", "size_bytes"))
        statistics = [
            actions.column(name).to_pylist() if name in found else [None] * len(paths)
            for name in (f"min.{key}", f"max.{key}", "num_records", f"null_count.{key}")
        ]
        names = [name for name in actions.column_names if name.startswith("partition.")]
        values = [actions.column(name).to_pylist() for name in names]
        for at, path in enumerate(paths):
            partition = tuple(
                (name.partition(".")[2], None if column[at] is None else str(column[at]))
                for name, column in zip(names, values, strict=True)
            )
            yield DataFile(path, sizes[at], partition, *(column[at] for column in statistics))

    def _check_state(self, table: DeltaTable, files: Sequence[DataFile]) -> None:
        """Raises OSError if the newest commit carries another checksum than that of the files and the schema."""
        version = table.version()
        expected = self._commit_info(version).get(STATE)
        if expected is not None and expected != state_checksum(files, self._metadata(table)):
            raise LogDamaged(self.root, version)

    def _commit_info(self, version: int) -> Mapping[str, Any]:
        """The info of a commit; empty if the log does not have the commit any more."""
        try:
            with file_system(self.root).open_input_stream(f"_delta_log/{version:020}.json") as source:
                lines = source.read().splitlines()
        except FileNotFoundError:
            return {}
        with _as_os_errors(self.root):
            infos = (json.loads(line) for line in lines if b'"commitInfo"' in line)
            info: Mapping[str, Any] = next((each["commitInfo"] for each in infos if "commitInfo" in each), {})
        return info

    @staticmethod
    def _metadata(table: DeltaTable) -> TableMetadata:
        held = table.metadata()
        return TableMetadata(table.schema().to_json(), tuple(held.partition_columns), held.configuration)

    def commit(
        self,
        added: Sequence[AddAction],
        removed: Sequence[DataFile],
        info: Mapping[str, str],
        *,
        data_change: bool = True,
    ) -> None:
        """Adds and removes files in one commit, or creates the table. `info`: entries of its commit info.

        Raises CommitConflict if the table has a version after the one of the last `refresh`; then nothing changes.
        """
        if self._is_behind():
            raise CommitConflict(self.root)
        schema = Schema.from_json(schema_of(self.layout.ddl).json())
        configuration = PROPERTIES | self._statistics_columns()
        metadata = (
            TableMetadata(schema.to_json(), self.layout.partitions, configuration)
            if self._table is None
            else self._metadata(self._table)
        )
        names = {each.path for each in removed}
        kept = (each for each in self.files() if each.path not in names)
        new = (file_of(each.path, each.size, each.partition_values, each.stats, self.layout.key) for each in added)
        properties = self._properties([*kept, *new], metadata, info)
        version = 0 if self._table is None else self._table.version() + 1
        try:
            if self._table is None:
                create_table_with_add_actions(
                    self.root,
                    schema,
                    [*added],
                    mode="error",
                    partition_by=[*self.layout.partitions],
                    name=self.name,
                    configuration=configuration,
                    commit_properties=properties,
                )
            else:
                now = int(1_000 * time.time())
                removals = [
                    RemoveAction(each.path, data_change, now, each.size, dict(each.partition)) for each in removed
                ]
                self._table.create_write_transaction(
                    [*added, *removals],
                    "append",
                    self._table.schema(),
                    [*self.layout.partitions],
                    commit_properties=properties,
                )
        except CommitFailedError as error:
            raise CommitConflict(self.root) from error
        except DeltaError as error:
            if self._table is None and "already exists" in str(error):
                raise CommitConflict(self.root) from error
            raise _os_error(self.root, error) from error
        self._sync(version)
        self.refresh()
        VERIFIED.forget(self.root, names)
        if "://" not in self.root:
            for each in removed:
                # From now on its time is that of its removal, for `delete_unused`.
                with suppress(FileNotFoundError):
                    os.utime(Path(self.root, each.path))

    def _sync(self, version: int) -> None:
        """Returns when a commit is on disk, with the checkpoint that it led to."""
        names = [f"{version:020}.json", f"{version:020}.checkpoint.parquet", "_last_checkpoint"]
        has_checkpoint = Path(self.root, "_delta_log", names[1]).exists()
        sync_files(self.root, [f"_delta_log/{each}" for each in (names if has_checkpoint else names[:1])])

    def _properties(
        self, files: Iterable[DataFile], metadata: TableMetadata, info: Mapping[str, str] = MappingProxyType({})
    ) -> CommitProperties:
        """What a commit carries that leaves this state."""
        previous = {} if self._table is None else log_checksums(self.root, self._table.version())
        sums = {STATE: state_checksum(files, metadata), PREVIOUS: json.dumps(previous)}
        # delta-rs retries a commit that names other files than the one before it. Their rows may be the same.
        return CommitProperties(custom_metadata={**info, **sums}, max_commit_retries=0)

    def _is_behind(self) -> bool:
        """Whether the commit that was read last is so old that the log of a local table does not have it any more. Then
        the next commit may be missing as well, and could be written a second time.
        """
        if self._table is None or "://" in self.root:
            return False
        return not Path(self.root, "_delta_log", f"{self._table.version():020}.json").exists()

    def _statistics_columns(self) -> dict[str, str]:
        return {} if self.layout.key is None else {"delta.dataSkippingStatsColumns": self.layout.key}

    def add_missing_columns(self) -> None:
        """Adds the columns and nested fields that a table of an earlier version does not have."""
        if self._table is None:
            return
        held = json.loads(self._table.schema().to_json())
        wanted = json.loads(schema_of(self.layout.ddl).json())
        types = {field["name"]: field["type"] for field in held["fields"]}
        missing = [field for field in wanted["fields"] if has_more(field["type"], types.get(field["name"]))]
        if missing:
            fields = Schema.from_json(StructType.fromJson({"type": "struct", "fields": missing}).json()).fields
            with _as_os_errors(self.root):
                self._table.alter.add_columns(fields)
            self.refresh()

    def set_name(self) -> None:
        """Gives the table the name of this log, in a commit of its own."""
        if self._table is not None and self.name:
            with _as_os_errors(self.root):
                properties = self._properties(self.files(), self._metadata(self._table))
                self._table.alter.set_table_name(self.name, commit_properties=properties)
            self.refresh()

    def checkpoint(self) -> None:
        """Writes a checkpoint and deletes the older log entries that it replaces."""
        if self._table is None:
            return
        with _as_os_errors(self.root):
            held = self._metadata(self._table)
            if changed := {name: v for name, v in PROPERTIES.items() if held.configuration.get(name) != v}:
                metadata = replace(held, configuration={**held.configuration} | changed)
                properties = self._properties(self.files(), metadata)
                self._table.alter.set_table_properties(changed, commit_properties=properties)
                self._table = DeltaTable(self.root)
            self._table.create_checkpoint()
            self._table.cleanup_metadata()
        self.refresh()

    def delete_unused(self, retain_hours: int) -> None:
        """Deletes the files that no version of the last `retain_hours` uses, and those that a killed writer left."""
        if self._table is None:
            return
        if "://" in self.root:
            with _as_os_errors(self.root):
                properties = self._properties(self.files(), self._metadata(self._table))
                self._table.vacuum(
                    retain_hours,
                    dry_run=False,
                    enforce_retention_duration=False,
                    full=True,
                    commit_properties=properties,
                )
            self.refresh()
            return
        # delta-rs would delete the same files again until their tombstones expire, and write two commits each time.
        live, before = {each.path for each in self.files()}, time.time() - 3_600 * retain_hours
        for folder in (Path(self.root), *Path(self.root).glob("*=*/")):
            for file in folder.glob("*.parquet"):
                if str(file.relative_to(self.root)) not in live and file.stat().st_mtime < before:
                    file.unlink()


@contextmanager
def _as_os_errors(root: str) -> Iterator[None]:
    try:
        yield
    except (DeltaError, ValueError) as error:
        raise _os_error(root, error) from error
    except BaseException as error:
        # delta-rs panics over some damaged checkpoints. That is not an Exception, and its type has no name to import.
        if type(error).__name__ != "PanicException":
            raise
        raise _os_error(root, error) from error


def _os_error(root: str, error: BaseException) -> OSError:
    """The first line of an error: delta-rs adds addresses of its code."""
    return OSError(f"{root}: {(str(error).splitlines() or [type(error).__name__])[0]}")
