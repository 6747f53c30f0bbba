"""Encodes and decodes Hornet 1.x snapshot files (format version 1): the Chrysalis ledger at one milestone.

A full snapshot contains the unspent outputs and the treasury at the ledger milestone, and diffs from there back to the
milestone of its solid entry points. A delta snapshot contains only diffs, from its ledger milestone forward to its
solid entry points.

Invariants:
1. Integers are little-endian. Comments beside each Struct list its fields. Source: Hornet's
   pkg/snapshot/snapshot_file.go, branch chrysalis.
2. Decoding reads the file once, part by part, without seeking. Memory does not grow with the file, and the file may be
   a decompressor's output.
3. Decoding checks the layout only. Callers check what the numbers mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import BinaryIO, TypeAlias

from ledger import layout
from ledger.chrysalis.codec import MAX_MESSAGE_BYTES, encode_payload
from ledger.chrysalis.milestone import MILESTONE_PAYLOADS
from ledger.chrysalis.transaction import ED25519, TRANSFER_OUTPUTS
from ledger.chrysalis.values import Milestone, TransferOutput
from ledger.reader import StreamReader

VERSION = 1
FULL, DELTA = 0, 1

_HEAD = Struct("<BB")  # version, type
_MILESTONES = Struct("<QQII")  # timestamp, network id, SEP milestone index, ledger milestone index
_FULL_COUNTS = Struct("<QQQ")  # solid entry points, outputs, milestone diffs
_DELTA_COUNTS = Struct("<QQ")  # solid entry points, milestone diffs
_TREASURY = Struct("<32sQ")  # milestone id, amount
_OUTPUT = Struct("<32s34sB33sQ")  # message id, output id, output type, address, amount
_U32 = Struct("<I")
_U64 = Struct("<Q")


@dataclass(frozen=True, slots=True)
class Treasury:
    """The funds left for migration after the milestone with this id."""

    milestone_id: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    """A snapshot's header. A delta snapshot has no treasury and no outputs."""

    timestamp: int  # unix seconds of its creation
    network_id: int
    sep_milestone_index: int
    ledger_milestone_index: int
    sep_count: int
    output_count: int
    diff_count: int
    treasury: Treasury | None

    @property
    def type(self) -> int:
        """FULL or DELTA."""
        return DELTA if self.treasury is None else FULL


@dataclass(frozen=True, slots=True)
class SolidEntryPoint:
    """A message at which a node's tangle begins."""

    message_id: bytes


@dataclass(frozen=True, slots=True)
class SnapshotOutput:
    """An output with its 34-byte id, and the message that created it."""

    output_id: bytes
    message_id: bytes
    output: TransferOutput


@dataclass(frozen=True, slots=True)
class SnapshotSpent:
    """An output that the transaction `target_transaction_id` spent."""

    spent: SnapshotOutput
    target_transaction_id: bytes


@dataclass(frozen=True, slots=True)
class MilestoneDiff:
    """The changes of one milestone. `spent_treasury` is set exactly if the milestone carries a receipt."""

    milestone: Milestone
    spent_treasury: Treasury | None
    created: tuple[SnapshotOutput, ...]
    consumed: tuple[SnapshotSpent, ...]


SnapshotPart: TypeAlias = SolidEntryPoint | SnapshotOutput | MilestoneDiff


def decode_snapshot(file: BinaryIO) -> tuple[SnapshotHeader, Iterator[SnapshotPart]]:
    """Returns the header and an iterator over the parts, in file order. The header gives the number of each kind.

    Args:
        file: A buffered file, so that a read returns fewer bytes than requested only at the end.

    Raises:
        CodecError: The file is malformed, truncated or has trailing bytes. A fault in a part raises when the iterator
            reaches it. Offsets count from the first byte read.
    """
    stream = StreamReader(file)
    header = _decode_header(stream)
    return header, _decode_parts(stream, header)


def encode_header(header: SnapshotHeader) -> bytes:
    """Encodes the bytes before the first part."""
    milestones = _MILESTONES.pack(
        header.timestamp, header.network_id, header.sep_milestone_index, header.ledger_milestone_index
    )
    if header.treasury is None:
        counts = _DELTA_COUNTS.pack(header.sep_count, header.diff_count)
    else:
        counts = _FULL_COUNTS.pack(header.sep_count, header.output_count, header.diff_count)
        counts += _encode_treasury(header.treasury)
    return _HEAD.pack(VERSION, header.type) + milestones + counts


def encode_part(part: SnapshotPart) -> bytes:
    """Encodes one part. A snapshot is its header followed by its parts."""
    if isinstance(part, SolidEntryPoint):
        return part.message_id
    if isinstance(part, SnapshotOutput):
        return _encode_output(part)
    milestone = encode_payload(part.milestone)
    return b"".join(
        (
            _U32.pack(len(milestone)),
            milestone,
            b"" if part.spent_treasury is None else _encode_treasury(part.spent_treasury),
            _U64.pack(len(part.created)),
            *map(_encode_output, part.created),
            _U64.pack(len(part.consumed)),
            *[_encode_output(each.spent) + each.target_transaction_id for each in part.consumed],
        )
    )


def _decode_header(stream: StreamReader) -> SnapshotHeader:
    version, kind = stream.unpack(_HEAD, "snapshot version and type")
    if version != VERSION:
        stream.fail(0, f"version {VERSION} of a Hornet snapshot (Chrysalis), found version {version}")
    if kind not in (FULL, DELTA):
        stream.fail(1, f"snapshot type {FULL} (full) or {DELTA} (delta), found {kind}")
    timestamp, network_id, sep_index, ledger_index = stream.unpack(
        _MILESTONES, "timestamp, network id and milestone indices"
    )
    if kind == DELTA:
        seps, diffs = stream.unpack(_DELTA_COUNTS, "counts of solid entry points and milestone diffs")
        return SnapshotHeader(timestamp, network_id, sep_index, ledger_index, seps, 0, diffs, None)
    seps, outputs, diffs = stream.unpack(_FULL_COUNTS, "counts of solid entry points, outputs and milestone diffs")
    treasury = _decode_treasury(stream)
    return SnapshotHeader(timestamp, network_id, sep_index, ledger_index, seps, outputs, diffs, treasury)


def _decode_parts(stream: StreamReader, header: SnapshotHeader) -> Iterator[SnapshotPart]:
    for _ in range(header.sep_count):
        yield SolidEntryPoint(stream.take(32, "solid entry point"))
    for _ in range(header.output_count):
        yield _decode_output(stream)
    for _ in range(header.diff_count):
        yield _decode_diff(stream)
    stream.finish()


def _decode_diff(stream: StreamReader) -> MilestoneDiff:
    milestone = _decode_milestone(stream)
    spent_treasury = None if milestone.receipt is None else _decode_treasury(stream)
    (count,) = stream.unpack(_U64, "count of created outputs")
    created = tuple([_decode_output(stream) for _ in range(count)])
    (count,) = stream.unpack(_U64, "count of consumed outputs")
    consumed = tuple(
        [SnapshotSpent(_decode_output(stream), stream.take(32, "target transaction id")) for _ in range(count)]
    )
    return MilestoneDiff(milestone, spent_treasury, created, consumed)


def _decode_milestone(stream: StreamReader) -> Milestone:
    (length,) = stream.unpack(_U32, "length of a milestone payload")
    milestone: Milestone = stream.nested(
        length, MAX_MESSAGE_BYTES, "milestone payload", lambda reader: layout.decode_payload(reader, MILESTONE_PAYLOADS)
    )
    return milestone


def _decode_treasury(stream: StreamReader) -> Treasury:
    return Treasury(*stream.unpack(_TREASURY, "treasury: milestone id and amount"))


def _encode_treasury(treasury: Treasury) -> bytes:
    return _TREASURY.pack(treasury.milestone_id, treasury.amount)


def _decode_output(stream: StreamReader) -> SnapshotOutput:
    start = stream.offset
    message_id, output_id, tag, address, amount = stream.unpack(_OUTPUT, "output")
    kind = TRANSFER_OUTPUTS.get(tag)
    if kind is None:
        names = " or ".join(f"{tag} ({kind.name})" for tag, kind in TRANSFER_OUTPUTS.items())
        stream.fail(start + 66, f"output type {names}, found {tag}")
    if address[0] != ED25519:
        stream.fail(start + 67, f"address type {ED25519} (Ed25519), found {address[0]}")
    return SnapshotOutput(output_id, message_id, kind.value(address, amount))


def _encode_output(part: SnapshotOutput) -> bytes:
    output = part.output
    return _OUTPUT.pack(part.message_id, part.output_id, output.KIND, output.address, output.amount)
