"""The state of a Delta table as one commit leaves it, and its checksum, which the commit carries.

A changed byte in the log can name other files, other statistics or another schema, and then readers skip rows or read
too many. A reader that computes the checksum of what it found notices that.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

STATE = "stateChecksum"
"""The entry of a commit's info with the checksum of the state after the commit."""

PREVIOUS = "previousChecksums"
"""The entry with the checksums of the log's files before the commit: SHA-256 by name, as JSON."""

DIGEST_BYTES = 16


@dataclass(frozen=True)
class DataFile:
    """A file of a table's newest version.

    Attributes:
        path: relative to the table.
        size: bytes.
        partition: the value of each partition column as text.
        least: the least value of the layout's key; None if the log does not contain it.
        greatest: the greatest one.
        rows: the number of rows; None if the log does not contain it.
        nulls: the rows without a key; None if the log does not contain it.
    """

    path: str
    size: int
    partition: tuple[tuple[str, str | None], ...]
    least: int | None
    greatest: int | None
    rows: int | None = None
    nulls: int | None = None


@dataclass(frozen=True)
class TableMetadata:
    """What the log says about all files.

    Attributes:
        schema: the columns, in Delta's JSON.
        partitions: the partition columns.
        configuration: the properties of the table.
    """

    schema: str
    partitions: tuple[str, ...]
    configuration: Mapping[str, str]


def state_checksum(files: Iterable[DataFile], metadata: TableMetadata) -> str:
    """Returns the checksum of a state: 32 hex digits. The order of the files does not matter."""
    total = _number([json.loads(metadata.schema), [*metadata.partitions], {**metadata.configuration}])
    for each in files:
        partition = [[*pair] for pair in sorted(each.partition)]
        total += _number([each.path, each.size, partition, each.least, each.greatest, each.rows, each.nulls])
    return f"{total % (1 << 8 * DIGEST_BYTES):0{2 * DIGEST_BYTES}x}"


def _number(value: Any) -> int:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return int.from_bytes(blake2b(text.encode(), digest_size=DIGEST_BYTES).digest(), "big")


def file_of(
    path: str, size: int, partition: Mapping[str, str | None], statistics: str | None, key: str | None
) -> DataFile:
    """The file of an `add` action. `statistics`: its JSON. Raises ValueError for invalid JSON."""
    found = json.loads(statistics or "{}")
    least, greatest, nulls = (found.get(name, {}).get(key) for name in ("minValues", "maxValues", "nullCount"))
    return DataFile(path, size, tuple(partition.items()), least, greatest, found.get("numRecords"), nulls)


def paths_of(root: str, files: Iterable[DataFile]) -> list[str]:
    """The absolute paths, or URLs, of files of the table at `root`."""
    return [f"{root}/{file.path}" for file in files]


def has_more(wanted: Any, held: Any) -> bool:
    """Whether a type in Delta's JSON has a field that `held`, the existing type, does not have."""
    if held is None:
        return True
    if not isinstance(wanted, dict) or not isinstance(held, dict):
        return False
    if wanted["type"] == "array":
        return has_more(wanted["elementType"], held["elementType"])
    fields = {field["name"]: field["type"] for field in held.get("fields", ())}
    return any(has_more(field["type"], fields.get(field["name"])) for field in wanted.get("fields", ()))
