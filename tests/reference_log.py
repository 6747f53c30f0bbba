"""The transparency log of the Chrysalis oracle ledger, computed from its lines by the definitions, as rows of a store.

Roots over ledger changes are left empty: what serves the log does not read records.
"""

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from db import schema
from db.store import WritableStore
from ledger.crypto.ed25519 import sign
from ledger.transparency.keys import SigningKey
from tests.ledger.completeness.reference import mth

EMPTY = sha256().digest()


def milestone_record(line: Any) -> bytes:
    """`line`: a milestone of the oracle with its messages in white-flag order. There is no interval below 100."""
    milestone = line["milestone"]
    ids = [bytes.fromhex(each["id"]) for each in line["messages"]]
    fixed = struct.pack(
        ">BI32sQI", 0xFE, milestone["index"], bytes.fromhex(milestone["messageId"]), milestone["timestamp"], len(ids)
    )
    return fixed + mth(ids) + EMPTY


@dataclass(frozen=True)
class ReferenceLog:
    """A log of fewer than 256 records from milestone 1 on, signed."""

    network: str
    records: Sequence[bytes]

    @property
    def origin(self) -> str:
        return f"permanode/{self.network}/1"

    @property
    def key(self) -> SigningKey:
        return SigningKey(self.origin, sha256(b"log").digest())

    @cached_property
    def root(self) -> bytes:
        return mth(self.records)

    @cached_property
    def text(self) -> str:
        return f"{self.origin}\n{len(self.records)}\n{base64.b64encode(self.root).decode()}\n"

    @cached_property
    def checkpoint(self) -> bytes:
        signature = self.key.verifier.key_id + sign(self.key.seed, self.text.encode())
        return f"{self.text}\n— {self.origin} {base64.b64encode(signature).decode()}\n".encode()

    @cached_property
    def hashes(self) -> list[bytes]:
        return [sha256(b"\0" + each).digest() for each in self.records]

    def bundle(self, width: int) -> bytes:
        return b"".join(len(each).to_bytes(2, "big") + each for each in self.records[:width])

    def path(self, index: int) -> list[bytes]:
        """The audit path (RFC 9162 2.1.3.1)."""
        return audit_path(list(self.records), index)

    def proof(self, index: int) -> bytes:
        lines = [
            "c2sp.org/tlog-proof@v1",
            f"extra {base64.b64encode(self.records[index]).decode()}",
            f"index {index}",
            *(base64.b64encode(each).decode() for each in self.path(index)),
        ]
        return "\n".join([*lines, "", ""]).encode() + self.checkpoint

    def write(self, store: WritableStore) -> None:
        """Writes the rows of the log."""
        width = len(self.records)
        tiles = [(-1, 0, width, self.bundle(width)), (0, 0, width, b"".join(self.hashes))]
        head = (
            self.network, self.origin, width, self.root, self.key.verifier.text, self.checkpoint.decode(), None,
        )  # fmt: skip
        with store.batch() as batch:
            batch.upsert(schema.log_tiles, schema.log_tiles.names, tiles)
            batch.upsert(schema.log_heads, schema.log_heads.names, [head])


def audit_path(leaves: list[bytes], index: int) -> list[bytes]:
    if len(leaves) == 1:
        return []
    middle = 1
    while 2 * middle < len(leaves):
        middle *= 2
    left, right = leaves[:middle], leaves[middle:]
    if index < middle:
        return [*audit_path(left, index), mth(right)]
    return [*audit_path(right, index - middle), mth(left)]


def consistency(leaves: list[bytes], older: int, whole: bool = True) -> list[bytes]:
    """SUBPROOF of RFC 9162 2.1.4.1."""
    if older == len(leaves):
        return [] if whole else [mth(leaves)]
    middle = 1
    while 2 * middle < len(leaves):
        middle *= 2
    if older <= middle:
        return [*consistency(leaves[:middle], older, whole), mth(leaves[middle:])]
    return [*consistency(leaves[middle:], older - middle, False), mth(leaves[:middle])]


def reference_log(network: str, lines: Sequence[Any]) -> ReferenceLog:
    """The log of the oracle's milestones."""
    return ReferenceLog(network, [milestone_record(line) for line in lines])
