"""What included transactions and receipts did to outputs, with every spent output resolved.

Rules of this file: two ways to the same changes. Far behind the frontier spent outputs are found by joins over the
lake, since genesis; near it by reads of the store. What is near is few milestones: this process may hold them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.partitions import ms_range_id, window
from etl import tables
from etl.lake import few_rows
from etl.publish import Publication

CHANGES = pa.schema(
    {
        "milestone_index": pa.int32(),
        "ms_timestamp": pa.int64(),
        "white_flag_index": pa.int32(),
        "idx": pa.int32(),
        "transaction_id": pa.binary(),
        "message_id": pa.binary(),
        "signer": pa.binary(),
        "is_spent": pa.bool_(),
        "output_id": pa.binary(),
        "output_type": pa.int8(),
        "address": pa.binary(),
        "amount": pa.int64(),
        "created_milestone_index": pa.int32(),
    }
)
"""One row for each output created and for each one spent; `idx` is the output's index, or that of the input, which
`signer` unlocked. `transaction_id` is the milestone's where a receipt created the output."""

OWNED = ("output_type", "address", "amount", "created_milestone_index")
"""What a spender does not tell of the output."""

BALANCES = pa.schema(
    {
        "address": pa.binary(),
        "milestone_index": pa.int32(),
        "balance": pa.int64(),
        "unspent_count": pa.int64(),
        "dust_allowance": pa.int64(),
        "dust_outputs": pa.int64(),
    }
)

COUNTED = pa.schema({"milestone_index": pa.int32(), "address": pa.binary(), "is_spent": pa.bool_()})
"""What lookups count of a change."""


@dataclass(frozen=True)
class Near:
    """What this process holds of few milestones: CHANGES, and BALANCES of the addresses they touch at the frontier."""

    changes: pa.Table
    before: Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Found:
    """CHANGES: since genesis, or only above the frontier where that is `near`.

    `counted`: COUNTED of every milestone after genesis in the windows that the way from the frontier touches.
    `ranges`: those in which the changed outputs were created.
    """

    changes: DataFrame
    counted: DataFrame
    ranges: Sequence[int]
    near: Near | None = None


def far(publication: Publication, genesis: int, frontier: int, to: int) -> Found:
    """All changes of [genesis, to], resolved by joins over the lake."""
    lake, chunk_size = publication.lake, publication.store_settings.chunk_size
    messages = lake.messages([(genesis + 1, to)])
    created = created_by(genesis_outputs(lake.read("genesis"))).unionByName(created_by(tables.created(messages)))
    spent = _spent(tables.spent(messages)).join(created.select("output_id", *OWNED), "output_id", "left")
    whole = created.unionByName(spent)
    folder = publication.staging.write("changes", whole)
    changes = publication.spark.read.schema(whole.schema).parquet(str(folder))
    first = max(genesis + 1, window(frontier + 1, chunk_size))
    ranges = range(ms_range_id(genesis, chunk_size), ms_range_id(to, chunk_size) + 1)
    return Found(changes, changes.where(F.col("milestone_index") >= first).select(COUNTED.names), ranges)


def near(publication: Publication, genesis: int, frontier: int, to: int) -> Found:
    """Changes of (frontier, to], resolved from the store."""
    spark, reads = publication.spark, publication.reads
    chunk_size = publication.store_settings.chunk_size
    messages = publication.lake.messages([(frontier + 1, to)])
    created = _rows(publication, "created", created_by(tables.created(messages)))
    spent = _rows(publication, "spent", _spent(tables.spent(messages)))
    ids = spent["output_id"].to_pylist()
    owners = zip(*(created[name].to_pylist() for name in OWNED), strict=True)
    found = dict(zip(created["output_id"].to_pylist(), owners, strict=True))
    found |= reads.owners([output_id for output_id in ids if output_id not in found])
    unknown = (None,) * len(OWNED)
    for position, name in enumerate(OWNED):
        values = [found.get(output_id, unknown)[position] for output_id in ids]
        spent = spent.append_column(name, pa.array(values, CHANGES.field(name).type))
    changes = pa.concat_tables([created.select(CHANGES.names).cast(CHANGES), spent.select(CHANGES.names).cast(CHANGES)])
    touched = sorted(set(changes["address"].to_pylist()) - {None})
    begun = max(genesis + 1, window(frontier + 1, chunk_size))
    earlier = [
        (row["milestone_index"], bytes.fromhex(row["address"]), row["is_spent"])
        for row in reads.ledger_updates(begun, frontier)
    ]
    rows = spark.createDataFrame(changes)
    created_in = set(changes["created_milestone_index"].to_pylist()) - {None}
    return Found(
        rows,
        rows.select(COUNTED.names).unionByName(few_rows(spark, COUNTED, earlier)),
        sorted({ms_range_id(index, chunk_size) for index in created_in}),
        Near(changes, reads.balances(touched, frontier)),
    )


def genesis_outputs(genesis: DataFrame) -> DataFrame:
    """Genesis as `tables.created`."""
    return genesis.where(F.col("kind") != tables.TREASURY_OUTPUT).select(
        "milestone_index",
        F.lit(None).cast("int").alias("white_flag_index"),
        "message_id",
        "ms_timestamp",
        F.lit(None).cast("int").alias("idx"),
        "output_id",
        F.col("kind").alias("output_type"),
        "address",
        "amount",
        "data",
    )


def created_by(outputs: DataFrame) -> DataFrame:
    """CHANGES that created those outputs (`tables.created`)."""
    rows = outputs.withColumns(
        {
            "transaction_id": F.substring("output_id", 1, 32),
            "signer": F.lit(None).cast("binary"),
            "is_spent": F.expr("false"),
            "created_milestone_index": F.col("milestone_index"),
        }
    )
    return rows.select(CHANGES.names)


def _spent(inputs: DataFrame) -> DataFrame:
    """CHANGES that spend, without what is OWNED."""
    known = [name for name in CHANGES.names if name in inputs.columns]
    return inputs.select(*known, F.expr("true").alias("is_spent"))


def _rows(publication: Publication, name: str, frame: DataFrame) -> pa.Table:
    """The frame's rows, of few milestones, in this process."""
    return pq.read_table(publication.staging.write(name, frame))
