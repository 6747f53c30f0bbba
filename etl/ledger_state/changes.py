"""The changes that included transactions and receipts make to outputs, with every spent output resolved.

There are two ways to the same changes. Far behind the frontier, spent outputs are found by joins over the lake since
genesis. Near the frontier they are read from the store; these are few milestones, so this process may hold them.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from db.partitions import ms_range_id, window
from db.roles import BASIC, KIND_OF_TYPE
from etl.engine.arrow_frames import arrow_frame, collected
from etl.engine.columns import bytes_at
from etl.lake.delta import few_rows
from etl.lake.output_rows import STARDUST_OUTPUT, STARDUST_TYPE
from etl.lake.watched_outputs import HOLDERS
from etl.sources import genesis_table
from etl.tables import frames as tables
from etl.writers.publish import Publication

OWNED = {
    "output_type": pa.int8(),
    "address": pa.binary(),
    "amount": pa.int64(),
    "created_milestone_index": pa.int32(),
    "stardust": STARDUST_TYPE,
    "data": pa.binary(),
}
"""The columns of an output that its spender does not contain. `address` is the named owner, `data` the bytes of a
Stardust output. `created_milestone_index` is the milestone at which the ledger state has the output: that of the
genesis, or a later one.
"""

BOOKED, BOOKED_AT = genesis_table.BOOKED

MADE = pa.schema(
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
        **OWNED,
        BOOKED: pa.int32(),
    }
)
"""CHANGES without the owner at the time, which is computed afterwards."""

CHANGES = pa.schema([*MADE, pa.field("owner", pa.binary())])
"""A row for each output created and for each output spent. `idx` is the index of the output, or of the input that
`signer` unlocked. `transaction_id` is the milestone's if a receipt created the output. `owner` is the owner at that
time: the return address if the output has expired, else the named owner. `booked_milestone_index` is the milestone that
booked a genesis output; null if it is unknown, and for other outputs.
"""

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

COUNTED = pa.schema(
    {
        "milestone_index": pa.int32(),
        "owner": pa.binary(),
        "is_spent": pa.bool_(),
        "output_type": pa.int8(),
        "address": pa.binary(),
        "stardust": STARDUST_TYPE,
        "data": pa.binary(),
    }
)
"""The columns of a change that lookups count."""

OF_STARDUST = {"stardust": STARDUST_OUTPUT, "data": "binary"}
"""The columns of CHANGES that only Stardust outputs have."""

_EXPIRING = ("expiration", "expiration_return")

FIRST_STARDUST_TYPE = min(number for number, kind in KIND_OF_TYPE.items() if kind == BASIC)


@dataclass(frozen=True)
class Near:
    """The data of few milestones in this process: CHANGES, and BALANCES at the frontier of the addresses in them."""

    changes: pa.Table
    before: Sequence[tuple[Any, ...]]

    @property
    def has_stardust(self) -> bool:
        """Whether Stardust outputs changed."""
        stardust = self.changes["stardust"]
        return bool(stardust.null_count < len(stardust))

    @property
    def has_tokens(self) -> bool:
        """Whether outputs with native tokens changed."""
        counts = pc.struct_field(self.changes["stardust"], "native_tokens")
        return bool(pc.any(pc.greater(counts, 0)).as_py())


@dataclass(frozen=True)
class Found:
    """CHANGES since genesis, or above the frontier if `near` is set.

    `counted` returns COUNTED of every milestone after genesis in the windows that the run touches. `ranges` are the
    ranges in which the changed outputs were created. `files` have CHANGES since genesis. `of_outputs` are the changes
    in shares, each with all of its outputs.
    """

    changes: DataFrame
    counted: Callable[[], DataFrame]
    ranges: Sequence[int]
    near: Near | None = None
    files: Sequence[Path] = ()
    of_outputs: Sequence[DataFrame] = ()

    def of_files(self) -> Sequence[Path]:
        """The files of CHANGES since genesis, if `near` is not set."""
        assert self.files, "changes since genesis are in files"
        return self.files


def far(
    publication: Publication, genesis: int, frontier: int, to: int, columns: Sequence[str] = CHANGES.names
) -> Found:
    """All changes of [genesis, to], resolved by joins over the lake. `columns` selects columns of CHANGES, including
    COUNTED.
    """
    lake, chunk_size = publication.lake, publication.store_settings.chunk_size
    messages, held = lake.messages([(genesis + 1, to)]), lake.genesis()
    fields = publication.output_fields([(genesis + 1, to)])
    null, values = dict[str, Column](), dict[str, Column]()
    if "stardust" not in fields and held.where("stardust IS NOT NULL").isEmpty():
        # Always null in a Chrysalis ledger, where nothing expires. No step reads, joins or writes these columns.
        null = {name: F.lit(None).cast(kind) for name, kind in OF_STARDUST.items()}
        values = null | {"owner": F.col("address")}
    made = _not_booked(tables.created(messages, [each for each in tables.OUTPUT_FIELDS if each not in null]))
    held_by = owned_here(publication, genesis_outputs(held).unionByName(made), () if null else HOLDERS)
    written = [name for name in columns if name not in values]
    known_by = ["output_id", *(name for name in (*OWNED, BOOKED) if name not in null)]
    created = _with(created_by(held_by), null).select(*dict.fromkeys([*written, *known_by]))
    staging, read = publication.staging, publication.spark.read.schema(created.schema)
    folders = staging.write_shares("changes", created, "output_id")
    # A selective lake does not have what else its transactions spend.
    how = "right" if publication.owners is None else "inner"
    inputs = staging.shares("inputs", _spent(tables.spent(messages)), "output_id")
    for folder, spent in zip(folders, inputs, strict=True):
        # Read from the file, so that they are computed once. Sail holds the left side of a join in memory, and rows
        # that spend are longer.
        known = read.parquet(str(folder)).select(*known_by)
        resolved = _with(known.join(spent, "output_id", how), null)
        staging.add(folder, "spent", _owned_at(resolved).select(*written))
    read = publication.spark.read.schema(created.select(*written).schema)
    changes, *of_outputs = (
        _with(read.parquet(*map(str, some)), values).select(*columns)
        for some in (folders, *([each] for each in folders))
    )
    first = max(genesis + 1, window(frontier + 1, chunk_size))
    ranges = range(ms_range_id(genesis, chunk_size), ms_range_id(to, chunk_size) + 1)

    def counted() -> DataFrame:
        return changes.where(F.col("milestone_index") >= first).select(COUNTED.names)

    files = sorted(path for folder in folders for path in folder.glob("*.parquet"))
    return Found(changes, counted, ranges, files=files, of_outputs=of_outputs)


def near(publication: Publication, genesis: int, frontier: int, to: int) -> Found:
    """The changes of (frontier, to], resolved from the store."""
    spark, reads = publication.spark, publication.reads
    chunk_size = publication.store_settings.chunk_size
    run = [(frontier + 1, to)]
    messages = publication.few_run(run).messages if publication.few else publication.lake.messages(run)
    made = owned_here(publication, tables.created(messages))
    created = _rows(publication, "created", created_by(_not_booked(made)).select(MADE.names))
    spent = _rows(publication, "spent", _spent(tables.spent(messages)))
    ids = spent["output_id"].to_pylist()
    owners = zip(*(created[name].to_pylist() for name in OWNED), strict=True)
    found = dict(zip(created["output_id"].to_pylist(), owners, strict=True))
    found |= reads.owners([output_id for output_id in ids if output_id not in found], genesis)
    if publication.owners is not None:
        found = {output_id: owned for output_id, owned in found.items() if _is_held(owned, publication.owners)}
        spent = spent.filter(pc.is_in(spent["output_id"], pa.array([*found], pa.binary())))
        ids = spent["output_id"].to_pylist()
    unknown = (None,) * len(OWNED)
    for position, (name, kind) in enumerate(OWNED.items()):
        values = [found.get(output_id, unknown)[position] for output_id in ids]
        spent = spent.append_column(name, pa.array(values, kind))
    of_genesis = [*spent.filter(pc.equal(spent["created_milestone_index"], genesis))["output_id"].to_pylist()]
    booked = reads.booked(of_genesis) if genesis else {}
    spent = spent.append_column(BOOKED, pa.array([booked.get(output_id) for output_id in ids], pa.int32()))
    changed = pa.concat_tables([created.select(MADE.names).cast(MADE), spent.select(MADE.names).cast(MADE)])
    changes = changed.append_column("owner", _owners(changed))
    touched = sorted(set(changes["address"].to_pylist()) - {None})
    if publication.owners is not None:
        touched = [each for each in touched if each in publication.owners]
    rows = arrow_frame(spark, changes)
    begun = max(genesis + 1, window(frontier + 1, chunk_size))

    def counted() -> DataFrame:
        earlier = few_rows(spark, COUNTED, _counted(publication, created, genesis, begun, frontier))
        return rows.select(COUNTED.names).unionByName(earlier)

    created_in = set(changes["created_milestone_index"].to_pylist()) - {None}
    return Found(
        rows,
        counted,
        sorted({ms_range_id(index, chunk_size) for index in created_in}),
        Near(changes, reads.balances(touched, frontier)),
        of_outputs=[rows],
    )


def owned_here(publication: Publication, outputs: DataFrame, holders: Sequence[str] = HOLDERS) -> DataFrame:
    """The outputs (`tables.created`) that the ledger state contains: all, or those that a selected address owns,
    governs or gets back after their expiration. `holders`: HOLDERS, as far as the outputs have them.
    """
    if publication.owners is None:
        return outputs
    columns = {"address": F.col("address")} | {name: F.col(f"stardust.{name}") for name in holders}
    found = outputs.withColumns({f"held_{name}": column for name, column in columns.items()})
    for name in columns:
        owners = _owners_as(publication, f"held_{name}").withColumn(f"is_{name}", F.expr("true"))
        found = found.join(F.broadcast(owners), f"held_{name}", "left")
    is_held = F.coalesce(*(F.col(f"is_{name}") for name in columns), F.expr("false"))
    return found.where(is_held).drop(*(f"{each}_{name}" for each in ("held", "is") for name in columns))


def of_owners(publication: Publication, changes: DataFrame) -> DataFrame:
    """The changes of outputs whose named owner has a balance here: any, or a selected address."""
    if publication.owners is None:
        return changes
    return changes.join(_owners_as(publication, "address"), "address", "left_semi")


def _owners_as(publication: Publication, name: str) -> DataFrame:
    """The selected addresses in a column of that name."""
    rows = [(address,) for address in sorted(publication.owners or ())]
    return few_rows(publication.spark, pa.schema({name: pa.binary()}), rows)


def _is_held(owned: tuple[Any, ...], owners: Collection[bytes]) -> bool:
    """`owned_here` for a row of OWNED."""
    _, address, _, _, stardust, _ = owned
    return address in owners or (stardust is not None and any(stardust[name] in owners for name in HOLDERS))


def genesis_outputs(genesis: DataFrame) -> DataFrame:
    """The genesis outputs in the form of `tables.created`, with the milestone that booked them."""
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
        "stardust",
        BOOKED,
        BOOKED_AT,
    )


def created_by(outputs: DataFrame) -> DataFrame:
    """The CHANGES that created these outputs (`tables.created`, with the column BOOKED)."""
    rows = outputs.withColumns(
        {
            "transaction_id": bytes_at("output_id", 1, 32),
            "signer": F.lit(None).cast("binary"),
            "is_spent": F.expr("false"),
            "data": F.when(F.col("stardust").isNotNull(), F.col("data")),
            "created_milestone_index": F.col("milestone_index"),
            "owner": F.col("address"),
        }
    )
    return rows.select(CHANGES.names)


def _spent(inputs: DataFrame) -> DataFrame:
    """The rows of MADE that spend, without the OWNED columns."""
    of_spender = (name for name in MADE.names if name not in OWNED and name not in ("is_spent", BOOKED))
    return inputs.select(*of_spender, F.expr("true").alias("is_spent"))


def _owned_at(spent: DataFrame) -> DataFrame:
    """The CHANGES of MADE that spend."""
    expired = F.col("stardust.expiration") <= F.expr("ms_timestamp DIV 1000")
    return spent.withColumn("owner", F.when(expired, F.col("stardust.expiration_return")).otherwise(F.col("address")))


def _owners(made: pa.Table) -> pa.ChunkedArray:
    """CHANGES.owner of MADE, computed in this process."""
    expiration, expiration_return = (pc.struct_field(made["stardust"], name) for name in _EXPIRING)
    expired = pc.and_(made["is_spent"], pc.less_equal(expiration, pc.divide(made["ms_timestamp"], 1000)))
    return pc.if_else(pc.fill_null(expired, fill_value=False), expiration_return, made["address"])


def _not_booked(made: DataFrame) -> DataFrame:
    """Outputs of transactions and receipts with the columns that only genesis outputs have."""
    return made.withColumns({BOOKED: F.expr("CAST(NULL AS INT)"), BOOKED_AT: F.expr("CAST(NULL AS BIGINT)")})


def _with(frame: DataFrame, columns: dict[str, Column]) -> DataFrame:
    """The frame with these columns added. Spark Connect does not accept that there are none."""
    return frame.withColumns(columns) if columns else frame


def _counted(publication: Publication, created: pa.Table, genesis: int, first: int, last: int) -> list[tuple[Any, ...]]:
    """COUNTED of earlier milestones, from the store. Everything before the first Stardust output is Chrysalis."""
    reads = publication.reads
    updates = [
        (row["milestone_index"], bytes.fromhex(row["address"]), row["is_spent"], bytes.fromhex(row["output_id"]))
        for row in reads.ledger_updates(first, last)
    ]
    is_stardust = any(each >= FIRST_STARDUST_TYPE for each in created["output_type"].to_pylist())
    known = reads.owners([output_id for *_, output_id in updates], genesis) if is_stardust else {}
    return [
        (index, owner, is_spent, output_type, address, stardust, data)
        for index, owner, is_spent, output_id in updates
        for output_type, address, _, _, stardust, data in [known.get(output_id, (0, owner, None, None, None, None))]
    ]


def _rows(publication: Publication, name: str, frame: DataFrame) -> pa.Table:
    """Collects the rows of few milestones into this process."""
    if publication.few:
        return collected(frame)
    return pq.read_table(publication.staging.write(name, frame))
