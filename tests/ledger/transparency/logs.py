"""Logs in memory, and keys, for the tests of the transparency log."""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256

from ledger.transparency.growth import LogBuilder
from ledger.transparency.keys import Kind, SigningKey
from ledger.transparency.tiles import Place

ORIGIN = "permanode/permatest-1/1"

LOG_KEY = SigningKey(ORIGIN, sha256(b"log").digest())

WITNESS_KEYS = tuple(
    SigningKey(f"witness.example/w{number}", sha256(b"w%d" % number).digest(), Kind.COSIGNATURE) for number in (1, 2)
)


class StoredLog:
    """The files of a log by path. Each `append` writes the full tiles and the right edge, as a store does."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.builder = LogBuilder()

    def append(self, records: Sequence[bytes]) -> None:
        self.builder = LogBuilder.resume(self.builder.size, self.builder.root(), self.read)
        self.files.update((place.path, data) for place, data in self.builder.extend(records))
        self.files.update((place.path, data) for place, data in self.builder.edge())

    def read(self, place: Place) -> bytes:
        return self.files[place.path]

    def tile(self, level: int, number: int, width: int) -> bytes:
        return self.files[Place(level, number, width).path]


def records_of(size: int) -> list[bytes]:
    return [b"record %d" % number for number in range(size)]


@cache
def stored_log(size: int) -> StoredLog:
    """A log of `records_of`. Tests do not change it."""
    log = StoredLog()
    log.append(records_of(size))
    return log
