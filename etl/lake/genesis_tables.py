"""Schemas of the lake's tables that a genesis fills: outputs, and the keys of the coordinator."""

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from etl.lake.output_rows import STARDUST_OUTPUT, STARDUST_TYPE
from etl.sources.genesis_table import BOOKED, OUTPUTS

GENESIS = OUTPUTS.append(pa.field("stardust", STARDUST_TYPE))
GENESIS_DDL = f"""
milestone_index INT, ms_timestamp BIGINT, output_id BINARY, message_id BINARY, kind TINYINT, address BINARY,
amount BIGINT, data BINARY, booked_milestone_index INT, booked_ms_timestamp BIGINT, stardust {STARDUST_OUTPUT}
"""
"""The unspent outputs after that milestone. The treasury is one of them; its output_id is the id of its milestone. The
columns of the milestone that booked an output are null in lakes of older versions, and if the file does not contain it.
"""

KEY_RANGES = pa.schema(
    {
        "public_key": pa.binary(),
        "first_milestone": pa.int32(),
        "last_milestone": pa.int32(),
        "threshold": pa.int32(),
    }
)
KEY_RANGES_DDL = "public_key BINARY, first_milestone INT, last_milestone INT, threshold INT"
"""The keys that sign milestones according to genesis (ledger/milestone_proof.py), and how many must sign."""


def genesis_digest(genesis: DataFrame) -> tuple[int, int, int]:
    """The first milestone, the number of rows, and a sum that changes with any row, except for the milestones that
    booked the outputs: older lakes do not have them.
    """
    columns = [name for name in GENESIS.names if name not in BOOKED]
    row = genesis.agg(F.min("milestone_index"), F.count("*"), F.sum(F.xxhash64(*columns).cast("decimal(38,0)"))).first()
    assert row is not None
    return row[0], row[1], int(row[2] or 0)
