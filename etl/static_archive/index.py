"""Builds an index of ids: a hash table in one file, whose entries a client finds with one range request.

The entries are in the order of their hashes, each at its home slot or, if that is taken, at the next free one after it
(ordered linear probing). 113 slots for 100 keys of 7 bytes make 7.91 bytes for each key. The greatest distance from a
home slot is part of the manifest, and a query reads that many entries: about 80 for a billion keys.

The coefficients of the hashes follow from the id of the last milestone in the index. Nobody knows it when a message is
made, so nobody can choose ids with the same slot to make queries longer.

Keys are collected in files by their highest bits, so memory does not grow with the number of keys.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from etl.static_archive.names import HashingFile
from etl.static_client import CLASS_BITS, ENTRY_BYTES

SLOTS, FOR_KEYS = 113, 100

KEYS_A_PART = 1 << 22
"""Keys that are sorted at a time, about 0.5 GB of memory."""

Words: TypeAlias = npt.NDArray[np.uint64]

ROW = np.dtype([("place", "<u8"), ("print", "<u8"), ("rank", "<u8"), ("class", "<u8")])
"""A collected key: its two hashes; whether it is of a conflicting transaction above the position of its block; and the
size class.
"""

CONFLICT = np.uint64(1 << 63)


def coefficients(network: str, milestone_id: bytes) -> list[int]:
    """The 16 coefficients of 64 bits of an index that ends with this milestone."""
    seed = f"permanode/static-archive/index/{network}/".encode() + milestone_id
    digests = b"".join(sha256(seed + bytes([each])).digest() for each in range(4))
    return [int(each) for each in np.frombuffer(digests, "<u8")]


@dataclass(frozen=True)
class BuiltIndex:
    """The values of an index in the manifest."""

    keys: int
    slots: int
    reach: int
    offset_bits: int


class IndexBuilder:
    """Collects keys in files of a folder, then writes the index.

    Args:
        folder: an empty folder for temporary files.
        words: what `coefficients` returns.
        most: at least about the number of keys.
    """

    def __init__(self, folder: Path, words: list[int], most: int) -> None:
        self._words = np.array(words, np.uint64)
        self._bits = max(0, (most // KEYS_A_PART).bit_length())
        self._paths = [folder / f"keys-{each}" for each in range(1 << self._bits)]
        self._files: list[BinaryIO] = [path.open("w+b") for path in self._paths]

    def add(
        self,
        ids: npt.NDArray[np.uint8],
        units: npt.NDArray[np.uint64],
        classes: npt.NDArray[np.uint64],
        conflicting: npt.NDArray[np.bool_],
    ) -> None:
        """Adds keys: ids of 32 bytes, one after another, and for each the position of its block in units, the size
        class, and whether it is of a conflicting transaction.
        """
        if not len(units):
            return
        parts = ids.reshape(-1, 32).view("<u4").astype(np.uint64)
        rows = np.empty(len(units), ROW)
        rows["place"], rows["print"] = _hash(parts, self._words[:8]), _hash(parts, self._words[8:])
        rows["rank"] = units | np.where(conflicting, CONFLICT, np.uint64(0))
        rows["class"] = classes
        if self._bits == 0:
            rows.tofile(self._files[0])
            return
        part = (rows["place"] >> np.uint64(64 - self._bits)).astype(np.int64)
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(len(self._files) + 1))
        for at, file in enumerate(self._files):
            if ends[at] < ends[at + 1]:
                rows[order[ends[at] : ends[at + 1]]].tofile(file)

    def write(self, file: HashingFile) -> BuiltIndex:
        """Writes the index, and closes the temporary files. Of several places of one key it takes the first, and one
        that is not of a conflicting transaction before others.
        """
        keys = last = 0
        for at in range(len(self._files)):
            rows = _sorted(self._read(at))
            rows.tofile(self._paths[at])
            keys += len(rows)
            if len(rows):
                last = max(last, int((rows["rank"] & ~CONFLICT).max()))
        slots = max(1, keys * SLOTS // FOR_KEYS)
        offset_bits = (last + 1).bit_length()
        reach = next_free = 0
        for at in range(len(self._paths)):
            rows = np.fromfile(self._paths[at], ROW)
            low, high = (int(each) * slots >> self._bits for each in (at, at + 1))
            start = max(low, next_free)
            homes = ((rows["place"] >> np.uint64(32)) * np.uint64(slots) >> np.uint64(32)).astype(np.int64)
            steps = np.arange(len(rows))
            found = np.maximum(np.maximum.accumulate(homes - steps), next_free) + steps if len(rows) else homes
            end = max(high, int(found[-1]) + 1 if len(rows) else start)
            slices = np.zeros((max(end - start, 0), 8), np.uint8)
            if len(rows):
                reach = max(reach, int((found - homes).max()))
                slices[found - start] = _entries(rows, offset_bits).view(np.uint8).reshape(-1, 8)
                next_free = int(found[-1]) + 1
            file.write(np.ascontiguousarray(slices[:, :ENTRY_BYTES]).tobytes())
        return BuiltIndex(keys, slots, reach, offset_bits)

    def _read(self, at: int) -> npt.NDArray[np.void]:
        file = self._files[at]
        file.close()
        return np.fromfile(self._paths[at], ROW)


def _hash(parts: Words, words: Words) -> Words:
    hashes: Words = (parts * words).sum(axis=1, dtype=np.uint64)
    return hashes


def _sorted(rows: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    rows = rows[np.lexsort((rows["rank"], rows["print"], rows["place"]))]
    if len(rows) < 2:
        return rows
    same = (rows["place"][1:] == rows["place"][:-1]) & (rows["print"][1:] == rows["print"][:-1])
    return rows[np.concatenate(([True], ~same))]


def _entries(rows: npt.NDArray[np.void], offset_bits: int) -> Words:
    """Entries as numbers of 56 bits, from the lowest: position + 1, size class, conflict, hash."""
    bits, print_bits = np.uint64(offset_bits), 8 * ENTRY_BYTES - offset_bits - CLASS_BITS - 1
    entries: Words = (rows["rank"] & ~CONFLICT) + np.uint64(1)
    entries |= rows["class"] << bits
    entries |= (rows["rank"] >> np.uint64(63)) << bits + np.uint64(CLASS_BITS)
    entries |= rows["print"] >> np.uint64(64 - print_bits) << bits + np.uint64(CLASS_BITS + 1)
    return entries
