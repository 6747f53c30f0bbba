"""The genesis of a static archive: a Parquet file with a row for each output, and one for the treasury."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ledger.chrysalis.codec import TreasuryOutput, decode_output
from ledger.chrysalis.values import TransferOutput
from ledger.reader import CodecError
from ledger.stardust import codec as stardust
from ledger.stardust.values import TransferOutput as StardustOutput

OUTPUTS = pa.schema(
    {
        "milestone_index": pa.int32(),
        "ms_timestamp": pa.int64(),
        "output_id": pa.binary(),
        "message_id": pa.binary(),
        "kind": pa.int8(),
        "address": pa.binary(),
        "amount": pa.int64(),
        "data": pa.binary(),
        "booked_milestone_index": pa.int32(),
        "booked_ms_timestamp": pa.int64(),
    }
)
"""Columns as in the lake. The treasury has kind 2 and the id of its milestone as output_id. A load reads neither
address nor amount: both follow from `data`. The milestone that booked an output is null if it is unknown, and missing
in archives of older versions.
"""

BOOKED = ("booked_milestone_index", "booked_ms_timestamp")

MAGIC = b"PAR1"

METADATA = b"permanode-genesis"

TREASURY_KIND, FIRST_STARDUST_KIND = 2, 3

BATCH_ROWS = 10_000


class TableHead(NamedTuple):
    """What such a file has beside outputs: milestone, timestamp in ms, treasury, keys, parameters; and the era."""

    ledger_index: int
    ms_timestamp: int | None
    treasury: tuple[bytes, int] | None
    coordinator_public_keys: tuple[bytes, ...]
    parameters: bytes | None
    is_stardust: bool


def encode_metadata(keys: Sequence[bytes], parameters: str | None) -> dict[bytes, bytes]:
    """The metadata of the file. `parameters`: hex."""
    values = {"coordinatorPublicKeys": [each.hex() for each in keys], "parameters": parameters}
    return {METADATA: json.dumps(values).encode()}


def read_head(path: Path) -> TableHead:
    """Reads all but the outputs. Raises CodecError for another file."""
    try:
        metadata = (pq.read_metadata(path).metadata or {}).get(METADATA)
        values = json.loads(metadata or b"null")
        keys = tuple(bytes.fromhex(each) for each in values["coordinatorPublicKeys"])
        parameters = None if values["parameters"] is None else bytes.fromhex(values["parameters"])
        treasury = pq.read_table(path, filters=[("kind", "=", TREASURY_KIND)]).to_pylist()
        kinds = pq.read_table(path, columns=["milestone_index", "ms_timestamp", "kind"])
    except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise CodecError(0, f"the genesis of a static archive, found {error!r}") from error
    if not kinds.num_rows or len(kinds["milestone_index"].unique()) != 1:
        raise CodecError(0, "outputs of one milestone")
    return TableHead(
        kinds["milestone_index"][0].as_py(),
        kinds["ms_timestamp"][0].as_py(),
        (treasury[0]["output_id"], treasury[0]["amount"]) if treasury else None,
        keys,
        parameters,
        any(kind >= FIRST_STARDUST_KIND for kind in kinds["kind"].unique().to_pylist()),
    )


def read_outputs(path: Path) -> Iterator[tuple[bytes, bytes, TransferOutput | StardustOutput, tuple[int, int] | None]]:
    """Yields id, message id, output, and milestone and time (in seconds) at which it was booked, None if they are
    unknown. The output is decoded from its bytes. Raises CodecError.
    """
    try:
        with pq.ParquetFile(path) as file:
            booked = [name for name in BOOKED if name in file.schema_arrow.names]
            for batch in file.iter_batches(BATCH_ROWS, columns=["output_id", "message_id", "kind", "data", *booked]):
                for row in batch.to_pylist():
                    if row["kind"] != TREASURY_KIND:
                        yield row["output_id"], row["message_id"], _output(row), _booked(row)
    except pa.ArrowException as error:
        raise CodecError(0, f"the genesis of a static archive, found {error!r}") from error


def _booked(row: dict[str, Any]) -> tuple[int, int] | None:
    index, ms_timestamp = (row.get(name) for name in BOOKED)
    return None if index is None or ms_timestamp is None else (index, ms_timestamp // 1_000)


def _output(row: dict[str, Any]) -> TransferOutput | StardustOutput:
    decode = stardust.decode_output if row["kind"] >= FIRST_STARDUST_KIND else decode_output
    output = decode(row["data"])
    if isinstance(output, TreasuryOutput):
        raise CodecError(0, f"an output of an address with the id {row['output_id'].hex()}")
    return output
