"""Client of a static archive: finds messages, transactions, outputs and milestones by id, in a folder or over HTTP.

You can copy this file into another program. It needs Python 3.11 and the package zstandard, and no other file of this
project: that is why it has more lines than others. docs/static-archive.md describes the format.

    archive = open_archive("https://example.org/mainnet")
    found = archive.find(bytes.fromhex("049b456b…"))

An archive is opened with one request, for its manifest. A query then needs at most three range requests: one for each
of at most two indexes, and one for the block with the message. The id of a message, a transaction or a milestone is
recomputed from the bytes; the other values of `Found` are those of the archive.
"""

import json
import struct
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import zstandard

FORMAT = "permanode-static-archive-1"
MANIFEST = "manifest.json"
MOST_MANIFEST_BYTES = 16 << 20

CHRYSALIS_MESSAGE, STARDUST_BLOCK, STARDUST_MILESTONE = 0, 1, 2
"""Kinds of records. A Stardust milestone is a payload that is not part of any block of its cone."""

UNKNOWN_STATE, NO_REASON = 255, -1

BLOCK_MAGIC = b"pmb1"
BLOCK_HEAD = struct.Struct("<4sIII")
"""Begins an unpacked block: magic, milestone index, position of the first record in the milestone, records."""

RECORD_HEAD = struct.Struct("<BBhI")
"""Of each record, before the bytes of all: kind, inclusion state, conflict reason, bytes."""

SKIPPABLE = b"\x50\x2a\x4d\x18"
FRAME_HEAD = struct.Struct("<4sIIH")
"""Precedes the zstd frame of a block, as a skippable frame: magic, size of the rest, bytes of the frame, records."""

UNIT = 128
"""Blocks begin at multiples of this many bytes."""

READS = (2_048, 4_096, 6_144, 8_192, 14_336, 20_480, 27_648, 36_864)
"""Bytes that a client reads for a block of each size class."""

MOST_UNPACKED = 1 << 17
"""Maximum of bytes of an unpacked block. The largest that `publish` writes has about 33,000."""

MOST_WINDOW = 1 << 23
"""Maximum of bytes that the frame of a block may make the decompressor keep."""

MOST_REACH = 1 << 10
"""Maximum `reach` of an index. It is about 80 for a billion keys."""

MOST_INDEXES = 2
"""Maximum of indexes of an archive: a query reads all of them."""

ENTRY_BYTES = 7
CLASS_BITS = 3
WORD = (1 << 64) - 1


class ArchiveError(ValueError):
    """A file of the archive has other bytes than the format allows, or the server has no range requests."""


class MissingFile(OSError):
    """The server does not have a file."""


class Record(NamedTuple):
    """A message, or the payload of a Stardust milestone.

    Attributes:
        kind: CHRYSALIS_MESSAGE, STARDUST_BLOCK or STARDUST_MILESTONE.
        milestone_index: the milestone that references it.
        position: its place in white-flag order, from 0.
        inclusion_state: 0 no transaction, 1 included, 2 conflicting; None if unknown.
        conflict_reason: the code of the node's API; None if unknown or not conflicting.
        data: its canonical bytes.
    """

    kind: int
    milestone_index: int
    position: int
    inclusion_state: int | None
    conflict_reason: int | None
    data: bytes

    @property
    def payload(self) -> bytes:
        """The bytes of its payload; empty without one."""
        if self.kind == STARDUST_MILESTONE:
            return self.data
        at = 8 if self.kind == CHRYSALIS_MESSAGE else 1
        at += 1 + 32 * self.data[at]
        size = int.from_bytes(self.data[at : at + 4], "little")
        return self.data[at + 4 : at + 4 + size]


@dataclass(frozen=True)
class Found:
    """What an id names: `what` is message, transaction, output or milestone. `output_index` is that of an output."""

    what: str
    record: Record
    output_index: int | None = None


class Index(NamedTuple):
    """An index of ids: a hash table of `slots` home slots, in entries of 7 bytes. An entry is at its home slot or up to
    `reach` slots after it.
    """

    name: str
    size: int
    slots: int
    reach: int
    offset_bits: int
    places: tuple[int, ...]
    prints: tuple[int, ...]

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "Index":
        """Reads an index of a manifest."""
        words = tuple(int(each, 16) for each in value["coefficients"])
        if len(words) != 16:
            raise ArchiveError("16 coefficients of an index expected")
        numbers = [value[each] for each in ("size", "slots", "reach", "offset_bits")]
        size, slots, reach, offset_bits = numbers
        if not (
            all(type(each) is int for each in numbers)
            and 0 < slots * ENTRY_BYTES <= size
            and 0 <= reach <= MOST_REACH
            and 0 < offset_bits < 8 * ENTRY_BYTES - CLASS_BITS - 1
        ):
            raise ArchiveError(f"size, slots, reach and offset_bits of an index expected, found {numbers}"[:200])
        return cls(value["name"], size, slots, reach, offset_bits, words[:8], words[8:])

    def place(self, key: bytes) -> int:
        """The home slot of a key of 32 bytes."""
        return (_product(self.places, key) >> 32) * self.slots >> 32

    def find(self, key: bytes, window: bytes) -> Iterator[tuple[int, int, bool]]:
        """Yields the position, the bytes to read, and whether it is of a conflicting transaction, of each block that
        may contain the key. `window`: the entries from its home slot on.
        """
        print_bits = 8 * ENTRY_BYTES - self.offset_bits - CLASS_BITS - 1
        wanted = _product(self.prints, key) >> 64 - print_bits
        for at in range(0, len(window) - ENTRY_BYTES + 1, ENTRY_BYTES):
            entry = int.from_bytes(window[at : at + ENTRY_BYTES], "little")
            if entry == 0:
                return
            if entry >> self.offset_bits + CLASS_BITS + 1 == wanted:
                unit = (entry & (1 << self.offset_bits) - 1) - 1
                upper = entry >> self.offset_bits
                yield unit * UNIT, READS[upper & (1 << CLASS_BITS) - 1], bool(upper >> CLASS_BITS & 1)


def _product(words: tuple[int, ...], key: bytes) -> int:
    return int(sum(word * part for word, part in zip(words, struct.unpack("<8I", key), strict=True)) & WORD)


class Reader(Protocol):
    """Reads files of an archive by name."""

    def whole(self, name: str, most: int) -> bytes:
        """Returns all bytes of a file of at most `most` bytes."""

    def part(self, name: str, start: int, size: int) -> bytes:
        """Returns bytes of a file: `size`, or fewer at its end. Raises ArchiveError unless `size` is positive."""


class FolderReader:
    """Reads a local folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def whole(self, name: str, most: int) -> bytes:
        """Raises OSError, and ArchiveError for a file that is too large."""
        data = self.part(name, 0, most + 1)
        if len(data) > most:
            raise ArchiveError(f"{self.folder / name}: at most {most} bytes expected, found more")
        return data

    def part(self, name: str, start: int, size: int) -> bytes:
        """Raises OSError, and ArchiveError for a part that cannot be."""
        _check_part(name, start, size)
        with (self.folder / name).open("rb") as file:
            file.seek(start)
            return file.read(size)


class HttpReader:
    """Reads over HTTP with range requests. `timeout_s`: of each operation of the connection."""

    def __init__(self, url: str, timeout_s: float = 20) -> None:
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s

    def whole(self, name: str, most: int) -> bytes:
        """Raises OSError, and ArchiveError for a file that is too large."""
        with self.open(name) as response:
            data: bytes = response.read(most + 1)
        if len(data) > most:
            raise ArchiveError(f"{self.url}/{name}: at most {most} bytes expected, found more")
        return data

    def part(self, name: str, start: int, size: int) -> bytes:
        """Raises OSError, and ArchiveError if the server does not return the range. Reads at most one byte more."""
        _check_part(name, start, size)
        with self.open(name, {"Range": f"bytes={start}-{start + size - 1}"}) as response:
            if response.status != 206:
                raise ArchiveError(f"{self.url}/{name}: a server with range requests expected (status 206)")
            data: bytes = response.read(size + 1)
        if len(data) > size:
            raise ArchiveError(f"{self.url}/{name}: {size} bytes expected, found more")
        return data

    def open(self, name: str, headers: Mapping[str, str] | None = None) -> Any:
        """Opens a response. Raises OSError, which names the URL."""
        request = urllib.request.Request(f"{self.url}/{name}", headers=dict(headers or {}))  # noqa: S310
        try:
            return urllib.request.urlopen(request, timeout=self._timeout_s)  # noqa: S310 (open_archive checks schemes)
        except urllib.error.URLError as error:
            status = error.code if isinstance(error, urllib.error.HTTPError) else error.reason
            kind = MissingFile if status == 404 else OSError
            raise kind(f"{self.url}/{name}: {status}") from error


def _check_part(name: str, start: int, size: int) -> None:
    if start < 0 or size < 1:
        raise ArchiveError(f"{name}: a part of the file expected, found {size} bytes from byte {start}")


def reader_of(place: str, timeout_s: float = 20) -> Reader:
    """The reader of a folder, a file:// URL or an http(s):// URL."""
    parts = urlsplit(place)
    if parts.scheme in ("http", "https"):
        return HttpReader(place, timeout_s)
    if parts.scheme == "file":
        return FolderReader(Path(urllib.request.url2pathname(parts.path)))
    return FolderReader(Path(place))


class Archive:
    """An open archive. `manifest` is the JSON of manifest.json, `reader` reads the other files."""

    def __init__(self, reader: Reader, manifest: Mapping[str, Any]) -> None:
        if manifest.get("format") != FORMAT:
            raise ArchiveError(f"{MANIFEST}: format {FORMAT} expected, found {manifest.get('format')}")
        self.manifest = manifest
        self.reader = reader
        if len(manifest["indexes"]) > MOST_INDEXES:
            raise ArchiveError(f"{MANIFEST}: at most {MOST_INDEXES} indexes expected")
        self._indexes = [Index.of(each) for each in manifest["indexes"]]

    def find(self, identity: bytes) -> Found | None:
        """Finds a message, transaction or milestone by its 32 bytes, or an output by its 34 bytes. Returns None if the
        archive has none. Of several attachments of a transaction it returns the included one.

        Raises OSError, ArchiveError, and ValueError for an id of another length.
        """
        if len(identity) not in (32, 34):
            raise ValueError(f"an id of 32 or 34 bytes expected, found {len(identity)}")
        key, candidates = identity[:32], list[tuple[int, int, bool]]()
        for index in self._indexes:
            start, size = index.place(key) * ENTRY_BYTES, (index.reach + 1) * ENTRY_BYTES
            size = min(size, index.size - start)
            candidates += index.find(key, self.reader.part(index.name, start, size)) if size > 0 else ()
        for position, size, _ in sorted(candidates, key=lambda each: (each[2], each[0])):
            if (found := match(self.block(position, size), key)) is not None:
                if len(identity) == 32:
                    return found
                return output_of(found, int.from_bytes(identity[32:], "little"))
        return None

    def block(self, position: int, size: int) -> list[Record]:
        """Reads the block at a position of all message files in a row. `size`: the bytes to request."""
        for file in self.manifest["messages"]:
            if file["start"] <= position < file["start"] + file["size"]:
                start = position - file["start"]
                data = self.reader.part(file["name"], start, min(size, file["size"] - start))
                return [*records_of(unpack_block(data, file["name"]))]
        raise ArchiveError(f"a message file with the position {position} expected")


def open_archive(place: str, timeout_s: float = 20) -> Archive:
    """Opens the archive in a folder, or at a file:// or http(s):// URL. Raises OSError and ArchiveError."""
    reader = reader_of(place, timeout_s)
    try:
        return Archive(reader, json.loads(reader.whole(MANIFEST, MOST_MANIFEST_BYTES)))
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ArchiveError(f"{place}/{MANIFEST}: the manifest of a static archive expected, {error!r}") from error


def unpack_block(data: bytes, name: str) -> bytes:
    """Unpacks the block that `data` begins with. Raises ArchiveError, which contains the name of the file."""
    try:
        magic, rest, size, _ = FRAME_HEAD.unpack_from(data)
        frame = data[8 + rest : 8 + rest + size]
        if magic != SKIPPABLE or len(frame) != size:
            raise ArchiveError(f"{name}: a block expected")
        # zstandard ignores max_output_size if the frame states a size. -1: it states none.
        if not -1 <= zstandard.frame_content_size(frame) <= MOST_UNPACKED:
            raise ArchiveError(f"{name}: a block of at most {MOST_UNPACKED} bytes expected")
        return zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).decompress(frame, max_output_size=MOST_UNPACKED)
    except (struct.error, zstandard.ZstdError) as error:
        raise ArchiveError(f"{name}: a readable block expected: {error}") from error


def records_of(raw: bytes) -> Iterator[Record]:
    """Yields the records of an unpacked block. Raises ArchiveError."""
    try:
        magic, milestone_index, position, count = BLOCK_HEAD.unpack_from(raw)
        at = BLOCK_HEAD.size + count * RECORD_HEAD.size
        heads = [RECORD_HEAD.unpack_from(raw, BLOCK_HEAD.size + each * RECORD_HEAD.size) for each in range(count)]
    except struct.error as error:
        raise ArchiveError(f"a block with its records expected: {error}") from error
    if magic != BLOCK_MAGIC or at + sum(size for *_, size in heads) != len(raw):
        raise ArchiveError("a block with its records expected")
    for offset, (kind, state, reason, size) in enumerate(heads):
        yield Record(
            kind,
            milestone_index,
            position + offset,
            None if state == UNKNOWN_STATE else state,
            None if reason == NO_REASON else reason,
            raw[at : at + size],
        )
        at += size


def match(records: list[Record], key: bytes) -> Found | None:
    """The record of a block that a key of 32 bytes names: by its own id, or by that of its payload."""
    for each in records:
        if each.kind == STARDUST_MILESTONE:
            if is_milestone(each.data, key):
                return Found("milestone", each)
        elif _hash(each.data) == key:
            return Found("message", each)
    payloads = [each for each in records if each.kind != STARDUST_MILESTONE and _hash(each.payload) == key]
    for each in sorted(payloads, key=lambda each: each.inclusion_state == 2):
        is_own = each.kind == CHRYSALIS_MESSAGE and each.payload[:4] == b"\x01\0\0\0"
        return Found("milestone" if is_own else "transaction", each)
    return None


def is_milestone(payload: bytes, key: bytes) -> bool:
    """Whether a key is the id of a Stardust milestone: the hash of its payload without type and signatures. A signature
    has 97 bytes, their number precedes them.
    """
    ends = (len(payload) - 97 * count - 1 for count in range(256))
    return any(payload[end] == count and _hash(payload[4:end]) == key for count, end in enumerate(ends) if end > 4)


def output_of(found: Found, index: int) -> Found | None:
    """The output with this index of a transaction, or of the funds that a milestone migrated. None if the transaction
    has fewer outputs; the funds of a milestone are not counted.
    """
    if found.what == "message":
        return None
    if found.what == "transaction":
        payload, is_stardust = found.record.payload, found.record.kind == STARDUST_BLOCK
        at = 13 if is_stardust else 5
        at += 2 + 35 * int.from_bytes(payload[at : at + 2], "little") + (32 if is_stardust else 0)
        if index >= int.from_bytes(payload[at : at + 2], "little"):
            return None
    return Found("output", found.record, index)


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()
