"""The outputs of the genesis or snapshot in an archive: a Parquet file that `permanode load` takes as `--genesis`.

What is not an output is in the metadata of the file: the coordinator's keys and the protocol parameters.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from etl.sources.genesis_table import OUTPUTS, encode_metadata
from etl.static_archive.names import HashingFile
from etl.static_archive.tables import ROWS_A_GROUP, Sink

GENESIS = "genesis"


def write_genesis(file: HashingFile, rows: pa.Table, keys: Sequence[bytes], parameters: str | None) -> None:
    """Writes the rows of the lake's genesis by output id.

    Args:
        file: a new file.
        rows: of the lake.
        keys: those that sign milestones after it.
        parameters: the serialized protocol parameters as hex; None if it has none.
    """
    ordered = rows.select(OUTPUTS.names).sort_by("output_id").cast(OUTPUTS)
    with pq.ParquetWriter(
        pa.PythonFile(Sink(file), "w"), OUTPUTS, compression="zstd", use_dictionary=False, store_schema=False
    ) as writer:
        writer.write_table(ordered, row_group_size=ROWS_A_GROUP)
        writer.add_key_value_metadata(encode_metadata(keys, parameters))
