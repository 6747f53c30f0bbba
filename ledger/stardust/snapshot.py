"""Encodes and decodes Hornet 2.x snapshot files (format version 2): the Stardust ledger at one milestone.

A full snapshot contains the unspent outputs, the treasury and the protocol parameters at the ledger milestone, diffs
from there back to the target milestone, and finally the target's solid entry points. A delta snapshot contains only
diffs, from a full snapshot's target milestone forward to its own.

Invariants:
1. Integers are little-endian. Comments beside each Struct list its fields. Sources: Hornet 2.0.1,
   pkg/snapshot/snapshot_file.go and pkg/model/utxo/output_snapshot.go.
2. Decoding reads the file once, part by part, without seeking. Memory does not grow with the file.
3. Decoding checks the layout only. Callers check what the numbers mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import BinaryIO, TypeAlias

from ledger import layout
from ledger.chrysalis.snapshot import DELTA, FULL, SolidEntryPoint, Treasury
from ledger.reader import Reader, StreamReader
from ledger.stardust.codec import MAX_BLOCK_BYTES, encode_payload
from ledger.stardust.conditions import MAX_METADATA_BYTES
from ledger.stardust.milestone import MILESTONE_PAYLOADS, OPTIONS
from ledger.stardust.outputs import TRANSFER_OUTPUTS, encode_output
from ledger.stardust.values import Milestone, ParametersOption, ReceiptOption, TransferOutput

VERSION = 2

_HEAD = Struct("<BB")  # version, type
_FULL_MILESTONES = Struct("<III32sI")  # genesis index; target index, timestamp and id; ledger index
_DELTA_MILESTONES = Struct("<II32s")  # target index and timestamp; target id of the full snapshot
_FULL_COUNTS = Struct("<QIH")  # outputs, milestone diffs, solid entry points
_DELTA_COUNTS = Struct("<qIH")  # offset of the solid entry points, milestone diffs, solid entry points
_TREASURY = Struct("<32sQ")  # milestone id, amount
_OUTPUT = Struct("<34s32sIII")  # output id, block id, index and timestamp of the milestone that booked it, length
_ID = Struct("<32s")
_U16 = Struct("<H")
_U32 = Struct("<I")


@dataclass(frozen=True, slots=True)
class FullHeader:
    """The header of a full snapshot. `parameters` apply at the ledger milestone."""

    genesis_milestone_index: int
    target_milestone_index: int
    target_timestamp: int  # unix seconds
    target_milestone_id: bytes
    ledger_milestone_index: int
    treasury: Treasury
    parameters: ParametersOption
    output_count: int
    diff_count: int
    sep_count: int


@dataclass(frozen=True, slots=True)
class DeltaHeader:
    """The header of a delta snapshot. `sep_offset` is the file offset of its solid entry points."""

    target_milestone_index: int
    target_timestamp: int  # unix seconds
    full_target_milestone_id: bytes
    sep_offset: int
    diff_count: int
    sep_count: int


@dataclass(frozen=True, slots=True)
class BookedOutput:
    """An output with its 34-byte id, the block that created it and the milestone that booked it. Outputs of the genesis
    and of migrated funds have a block id of zeros.
    """

    output_id: bytes
    block_id: bytes
    milestone_index: int
    timestamp: int  # unix seconds
    output: TransferOutput


@dataclass(frozen=True, slots=True)
class BookedSpent:
    """An output that the transaction `transaction_id` spent."""

    spent: BookedOutput
    transaction_id: bytes


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes of one milestone. `spent_treasury` is set exactly if the milestone carries a receipt."""

    milestone: Milestone
    spent_treasury: Treasury | None
    created: tuple[BookedOutput, ...]
    consumed: tuple[BookedSpent, ...]


Header: TypeAlias = FullHeader | DeltaHeader
Part: TypeAlias = BookedOutput | Diff | SolidEntryPoint


def decode_snapshot(file: BinaryIO) -> tuple[Header, Iterator[Part]]:
    """Returns the header and an iterator over the parts, in file order. Faults in a part raise when the iterator
    reaches it.
    """
    stream = StreamReader(file)
    version, kind = stream.unpack(_HEAD, "snapshot version and type")
    if version != VERSION:
        stream.fail(0, f"version {VERSION} of a Hornet snapshot (Stardust), found version {version}")
    if kind not in (FULL, DELTA):
        stream.fail(1, f"snapshot type {FULL} (full) or {DELTA} (delta), found {kind}")
    header = _decode_full_header(stream) if kind == FULL else _decode_delta_header(stream)
    return header, _decode_parts(stream, header)


def encode_header(header: Header) -> bytes:
    """Encodes the bytes before the first part."""
    if isinstance(header, DeltaHeader):
        target = (header.target_milestone_index, header.target_timestamp, header.full_target_milestone_id)
        counts = _DELTA_COUNTS.pack(header.sep_offset, header.diff_count, header.sep_count)
        return _HEAD.pack(VERSION, DELTA) + _DELTA_MILESTONES.pack(*target) + counts
    parameters = OPTIONS[ParametersOption.KIND].encode(header.parameters)
    return b"".join(
        (
            _HEAD.pack(VERSION, FULL),
            _FULL_MILESTONES.pack(
                header.genesis_milestone_index,
                header.target_milestone_index,
                header.target_timestamp,
                header.target_milestone_id,
                header.ledger_milestone_index,
            ),
            _TREASURY.pack(header.treasury.milestone_id, header.treasury.amount),
            _U16.pack(len(parameters)),
            parameters,
            _FULL_COUNTS.pack(header.output_count, header.diff_count, header.sep_count),
        )
    )


def encode_part(part: Part) -> bytes:
    """Encodes one part. A snapshot is its header followed by its parts."""
    if isinstance(part, SolidEntryPoint):
        return part.message_id
    if isinstance(part, BookedOutput):
        return _encode_output(part)
    milestone, treasury = encode_payload(part.milestone), part.spent_treasury
    body = b"".join(
        (
            _U32.pack(len(milestone)),
            milestone,
            b"" if treasury is None else _TREASURY.pack(treasury.milestone_id, treasury.amount),
            _U32.pack(len(part.created)),
            *map(_encode_output, part.created),
            _U32.pack(len(part.consumed)),
            *[_encode_output(each.spent) + each.transaction_id for each in part.consumed],
        )
    )
    return _U32.pack(_U32.size + len(body)) + body


def _decode_full_header(stream: StreamReader) -> FullHeader:
    genesis, target, timestamp, target_id, ledger = stream.unpack(
        _FULL_MILESTONES, "milestone indices, timestamp and id"
    )
    treasury = Treasury(*stream.unpack(_TREASURY, "treasury: milestone id and amount"))
    (length,) = stream.unpack(_U16, "length of the protocol parameters option")
    # The option's own header has 8 bytes.
    parameters = stream.nested(length, 8 + MAX_METADATA_BYTES, "protocol parameters option", _decode_option)
    counts = stream.unpack(_FULL_COUNTS, "counts of outputs, milestone diffs and solid entry points")
    return FullHeader(genesis, target, timestamp, target_id, ledger, treasury, parameters, *counts)


def _decode_option(reader: Reader) -> ParametersOption:
    kinds = {ParametersOption.KIND: OPTIONS[ParametersOption.KIND]}
    option: ParametersOption = layout.decode_item(reader, kinds, "milestone option")
    return option


def _decode_delta_header(stream: StreamReader) -> DeltaHeader:
    milestones = stream.unpack(_DELTA_MILESTONES, "milestone index, timestamp and id")
    counts = stream.unpack(_DELTA_COUNTS, "offset of solid entry points, counts of milestone diffs and of those")
    return DeltaHeader(*milestones, *counts)


def _decode_parts(stream: StreamReader, header: Header) -> Iterator[Part]:
    for _ in range(header.output_count if isinstance(header, FullHeader) else 0):
        yield _decode_output(stream)
    for _ in range(header.diff_count):
        yield _decode_diff(stream)
    if isinstance(header, DeltaHeader) and stream.offset != header.sep_offset:
        stream.fail(stream.offset, f"the solid entry points at byte {header.sep_offset}, as the header says")
    for _ in range(header.sep_count):
        yield SolidEntryPoint(*stream.unpack(_ID, "solid entry point"))
    stream.finish()


def _decode_diff(stream: StreamReader) -> Diff:
    start = stream.offset
    (size,) = stream.unpack(_U32, "size of a milestone diff")
    (length,) = stream.unpack(_U32, "length of a milestone payload")
    milestone: Milestone = stream.nested(
        length, MAX_BLOCK_BYTES, "milestone payload", lambda reader: layout.decode_payload(reader, MILESTONE_PAYLOADS)
    )
    treasury = None
    if any(isinstance(each, ReceiptOption) for each in milestone.options):
        treasury = Treasury(*stream.unpack(_TREASURY, "treasury: milestone id and amount"))
    (count,) = stream.unpack(_U32, "count of created outputs")
    created = tuple([_decode_output(stream) for _ in range(count)])
    (count,) = stream.unpack(_U32, "count of consumed outputs")
    consumed = tuple(
        [BookedSpent(_decode_output(stream), *stream.unpack(_ID, "spending transaction id")) for _ in range(count)]
    )
    if stream.offset != start + size:
        stream.fail(start, f"a milestone diff's size, which is {stream.offset - start}, found {size}")
    return Diff(milestone, treasury, created, consumed)


def _decode_output(stream: StreamReader) -> BookedOutput:
    output_id, block_id, index, timestamp, length = stream.unpack(_OUTPUT, "output: ids, milestone and length")
    output = stream.nested(length, MAX_BLOCK_BYTES, "transfer output", _decode_transfer)
    return BookedOutput(output_id, block_id, index, timestamp, output)


def _decode_transfer(reader: Reader) -> TransferOutput:
    output: TransferOutput = layout.decode_item(reader, TRANSFER_OUTPUTS, "output")
    return output


def _encode_output(part: BookedOutput) -> bytes:
    data = encode_output(part.output)
    return _OUTPUT.pack(part.output_id, part.block_id, part.milestone_index, part.timestamp, len(data)) + data
