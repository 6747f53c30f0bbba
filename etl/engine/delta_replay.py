"""Checks the log of a Delta table: replays its commits from the oldest checkpoint, and compares each commit, each later
checkpoint and what delta-rs reads with the result.

It does not use delta-rs for the replay, so that an error of either shows.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from etl.engine.checksums import checksum_in, checksum_of
from etl.engine.damage import LakeDamaged
from etl.engine.delta_log import DeltaLog
from etl.engine.delta_state import PREVIOUS, STATE, DataFile, TableMetadata, file_of, state_checksum
from etl.engine.file_systems import file_system

FOLDER = "_delta_log"
HINT = "_last_checkpoint"
COMMIT = re.compile(r"(\d{20})\.json")
CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
ACTIONS = frozenset({"add", "remove", "metaData", "protocol", "txn", "commitInfo", "cdc", "domainMetadata"})
HINTS = frozenset({"version", "size", "sizeInBytes", "numOfAddFiles", "parts", "checkpointSchema", "checksum"})
WITHOUT_CHECKSUM = frozenset({"ADD COLUMN"})
"""Operations whose commit is followed by one with a checksum."""

UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, MemoryError, pa.ArrowException)
"""Errors of damaged files."""


@dataclass(frozen=True)
class LogFault:
    """What is wrong with a file of a log. `place` is relative to the table."""

    place: str
    cause: str


@dataclass
class State:
    """The state after a commit. `metadata` is None before the first one."""

    files: dict[str, DataFile] = field(default_factory=dict)
    metadata: TableMetadata | None = None

    def differs(self, other: "State") -> str:
        """What another state has that this one does not have, or the reverse. Empty if they are equal."""
        if self.metadata is None or other.metadata is None or _plain(self.metadata) != _plain(other.metadata):
            return "other columns or properties"
        paths = sorted(path for path in {*self.files, *other.files} if self.files.get(path) != other.files.get(path))
        return f"another entry of {', '.join(paths[:3])}" if paths else ""


@dataclass
class LogCheck:
    """Replays one log. `faults` yields what is wrong; then `files` has the files of the newest version."""

    root: str
    key: str | None
    state: State = field(default_factory=State)

    def __post_init__(self) -> None:
        self._system = file_system(self.root)

    @property
    def files(self) -> list[DataFile]:
        """The files of the newest version, by path. Those that could be read, if the log is damaged."""
        return [self.state.files[path] for path in sorted(self.state.files)]

    def faults(self, log: DeltaLog) -> Iterator[LogFault]:
        """Yields what is wrong with the log. `log`: the same table through delta-rs."""
        commits, checkpoints, others = self._entries()
        first = min(commits, default=0)
        starts = [version for version in checkpoints if version >= first - 1]
        if first == 0:
            start = -1
        elif starts:
            start = min(starts)
            try:
                self.state = self._checkpoint(start)
            except UNREADABLE as error:
                yield LogFault(_checkpoint_path(start), f"not readable: {_first_line(error)}")
        else:
            yield LogFault(FOLDER, f"commits before version {first} are missing, and there is no checkpoint of them")
            start = first - 1
        yield from self._replay(start, commits, checkpoints)
        yield from self._hint(checkpoints, others)
        yield from self._compare(log, max(commits, default=-1))

    def _entries(self) -> tuple[set[int], set[int], set[str]]:
        """The versions of commits and of checkpoints, and other names."""
        found = self._system.get_file_info(pafs.FileSelector(FOLDER, allow_not_found=True))
        names = [each.path.rpartition("/")[2] for each in found if each.type == pafs.FileType.File]
        commits = {int(match[1]) for name in names if (match := COMMIT.fullmatch(name))}
        checkpoints = {int(match[1]) for name in names if (match := CHECKPOINT.fullmatch(name))}
        return commits, checkpoints, {*names}

    def _replay(self, start: int, commits: set[int], checkpoints: set[int]) -> Iterator[LogFault]:
        """Applies the commits after `start`. The commit `start` is only compared."""
        info: Mapping[str, Any] = {}
        last = max(commits, default=-1)
        for version in range(start, last + 1):
            place = _commit_path(version)
            if version > start and version not in commits:
                yield LogFault(place, "missing")
            elif version in commits:
                actions, invalid = self._actions(place)
                yield from invalid
                info = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
                if version > start:
                    yield from (LogFault(place, cause) for cause in self._apply(actions))
                yield from self._compare_checksum(place, info, is_newest=version == last)
                yield from self._compare_previous(place, info)
            if version > start and version in checkpoints:
                yield from self._compare_checkpoint(version)

    def _actions(self, place: str) -> tuple[list[dict[str, Any]], list[LogFault]]:
        with self._system.open_input_stream(place) as source:
            lines = source.read().splitlines()
        actions, faults = list[dict[str, Any]](), list[LogFault]()
        for number, line in enumerate(lines, 1):
            try:
                action = json.loads(line)
            except ValueError as error:
                faults.append(LogFault(place, f"line {number}: {_first_line(error)}"))
                continue
            if not isinstance(action, dict) or len(action) != 1 or not ACTIONS.issuperset(action):
                faults.append(LogFault(place, f"line {number}: no action of Delta"))
                continue
            actions.append(action)
        if not any("commitInfo" in each for each in actions):
            faults.append(LogFault(place, "no commitInfo"))
        return actions, faults

    def _apply(self, actions: list[dict[str, Any]]) -> Iterator[str]:
        for action in actions:
            ((kind, value),) = action.items()
            try:
                if kind == "remove":
                    if self.state.files.pop(unquote(value["path"]), None) is None:
                        yield f"removes {value['path']}, which is not a file of the table"
                elif kind == "add":
                    file = self._file(value)
                    if file.path in self.state.files:
                        yield f"adds {file.path}, which is a file of the table already"
                    self.state.files[file.path] = file
                elif kind == "metaData":
                    self.state.metadata = _metadata(value)
            except UNREADABLE as error:
                yield f"{kind}: not readable: {type(error).__name__}: {_first_line(error)}"

    def _file(self, value: Mapping[str, Any]) -> DataFile:
        partition = dict(value["partitionValues"])
        return file_of(unquote(value["path"]), value["size"], partition, value.get("stats"), self.key)

    def _compare_checksum(self, place: str, info: Mapping[str, Any], *, is_newest: bool) -> Iterator[LogFault]:
        expected = info.get(STATE)
        if expected is None:
            has_checksums = any(checksum_in(path) for path in self.state.files)
            if has_checksums and is_newest and info.get("operation") not in WITHOUT_CHECKSUM:
                yield LogFault(place, f"no {STATE}")
        elif self.state.metadata is None or expected != state_checksum(self.state.files.values(), self.state.metadata):
            yield LogFault(place, f"files, statistics or columns differ from its {STATE}")

    def _compare_previous(self, place: str, info: Mapping[str, Any]) -> Iterator[LogFault]:
        """Compares files of the log with the checksums that a later commit carries. Those may be deleted by now."""
        try:
            expected = dict[str, str](json.loads(info.get(PREVIOUS, "{}")))
        except UNREADABLE as error:
            yield LogFault(place, f"{PREVIOUS}: {_first_line(error)}")
            return
        for name, checksum in expected.items():
            if not (COMMIT.fullmatch(name) or CHECKPOINT.fullmatch(name)):
                yield LogFault(place, f"{PREVIOUS}: {name!r} is no file of a log")
            elif self._exists(f"{FOLDER}/{name}") and checksum_of(self._system, f"{FOLDER}/{name}") != checksum:
                yield LogFault(f"{FOLDER}/{name}", f"its bytes differ from the checksum in {place}")

    def _exists(self, path: str) -> bool:
        return bool(self._system.get_file_info(path).type == pafs.FileType.File)

    def _compare_checkpoint(self, version: int) -> Iterator[LogFault]:
        try:
            difference = self.state.differs(self._checkpoint(version))
        except UNREADABLE as error:
            difference = f"not readable: {_first_line(error)}"
        if difference:
            yield LogFault(_checkpoint_path(version), f"differs from the commits: {difference}")

    def _checkpoint(self, version: int) -> State:
        """The state in a checkpoint. Raises UNREADABLE if it is invalid."""
        with self._system.open_input_file(_checkpoint_path(version)) as source, pq.ParquetFile(source) as parquet:
            rows = parquet.read(columns=["add", "metaData"]).to_pylist()
        added = [self._file(row["add"]) for row in rows if row["add"] is not None]
        metadata = [_metadata(row["metaData"]) for row in rows if row["metaData"] is not None]
        if len(metadata) != 1:
            raise ValueError(f"{len(metadata)} entries metaData, expected one")
        return State({each.path: each for each in added}, metadata[0])

    def _hint(self, checkpoints: set[int], names: set[str]) -> Iterator[LogFault]:
        """Readers start at the checkpoint that this file names."""
        place = f"{FOLDER}/{HINT}"
        if HINT not in names:
            if checkpoints:
                yield LogFault(place, "missing")
            return
        with self._system.open_input_stream(place) as source:
            text = source.read()
        try:
            hint = json.loads(text)
            version, unknown = hint["version"], {*hint} - HINTS
        except UNREADABLE as error:
            yield LogFault(place, f"not readable: {_first_line(error)}")
            return
        if unknown:
            yield LogFault(place, f"unknown entries {', '.join(sorted(unknown))}")
        if version not in checkpoints:
            yield LogFault(place, f"names a checkpoint of version {version}, which does not exist")
            return
        path = _checkpoint_path(version)
        try:
            with self._system.open_input_file(path) as source:
                rows = pq.read_metadata(source).num_rows
        except UNREADABLE:
            return
        found = {"size": rows, "sizeInBytes": self._system.get_file_info(path).size}
        for name, value in found.items():
            if hint.get(name, value) != value:
                yield LogFault(place, f"{name} {hint[name]}, but the checkpoint has {value}")

    def _compare(self, log: DeltaLog, version: int) -> Iterator[LogFault]:
        """Compares with what every other reader of the lake gets."""
        try:
            found = {each.path: each for each in log.files()}
        except (*UNREADABLE, LakeDamaged) as error:
            yield LogFault(FOLDER, _first_line(error))
            return
        replayed = {path: replace(each, partition=_texts(each)) for path, each in self.state.files.items()}
        if replayed != {path: replace(each, partition=_texts(each)) for path, each in found.items()}:
            yield LogFault(_commit_path(version), "delta-rs reads other files or statistics from the log")


def _plain(metadata: TableMetadata) -> tuple[Any, ...]:
    return json.loads(metadata.schema), metadata.partitions, dict(metadata.configuration)


def _texts(file: DataFile) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(file.partition))


def _metadata(value: Mapping[str, Any]) -> TableMetadata:
    json.loads(value["schemaString"])
    return TableMetadata(value["schemaString"], tuple(value["partitionColumns"]), dict(value["configuration"]))


def _commit_path(version: int) -> str:
    return f"{FOLDER}/{version:020}.json"


def _checkpoint_path(version: int) -> str:
    return f"{FOLDER}/{version:020}.checkpoint.parquet"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
