"""The records of a static archive, from the rows of a lake."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from etl.lake.delta import KEY
from etl.lake.reader import LakeReader
from etl.static_client import CHRYSALIS_MESSAGE, STARDUST_BLOCK, STARDUST_MILESTONE, Record
from ledger.eras import STARDUST

RECORD_COLUMNS = ("version", "message_id", "message", "inclusion_state", "conflict_reason", "milestone.payload")


def read_records(lake: LakeReader, first: int, last: int) -> Iterator[list[Record]]:
    """Yields the records of each milestone, in order. Raises ValueError if a milestone has none."""
    expected = first
    for table in lake.rows(first, last, RECORD_COLUMNS):
        for records in _milestones_of(table):
            if records[0].milestone_index != expected or [each.position for each in records] != [*range(len(records))]:
                raise ValueError(f"milestone {expected}: all of its messages expected in the lake, in their order")
            yield records
            expected += 1
    if expected != last + 1:
        raise ValueError(f"milestone {expected}: messages expected in the lake")


def _milestones_of(table: pa.Table) -> Iterator[list[Record]]:
    """Yields the records of the milestones in a table, which has all rows of each."""
    payloads = pc.struct_field(table["milestone"], "payload").to_pylist()
    names = (KEY, "white_flag_index", "version", "message_id", "message", "inclusion_state", "conflict_reason")
    records: list[Record] = []
    for row, payload in zip(zip(*(table[name].to_pylist() for name in names), strict=True), payloads, strict=True):
        index, position, version, message_id, message, state, reason = row
        if records and records[0].milestone_index != index:
            yield records
            records = []
        if message_id is None:
            records.append(Record(STARDUST_MILESTONE, index, position, None, None, payload))
        else:
            kind = STARDUST_BLOCK if version == STARDUST.protocol_version else CHRYSALIS_MESSAGE
            records.append(Record(kind, index, position, state, reason, message))
    if records:
        yield records
