"""Files → lake: plan, decode and verify, commit.

Rules of this file: what the lake has whole is not decoded again unless forced; what it has in part is one more copy;
`milestones` is committed last.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.connect import StoreSettings
from db.intervals import Intervals, add, intersect, of_indices, size, subtract
from etl.engine.queries import parallelism, task_set
from etl.engine.session import Session
from etl.lake.delta import GENESIS, GENESIS_DDL, Lake, either, within
from etl.lake.milestone_rows import milestone_rows
from etl.sources.genesis import Genesis, open_genesis
from etl.sources.plan import UNKNOWN_MILESTONE, Plan, reject_table, scan
from etl.store_reads import StoreReads
from etl.tables.frames import TREASURY_OUTPUT
from etl.verification.coordinators import find_coordinator, keep_keys
from etl.verification.decode import KNOWN_TYPE, Link, Told, decode_milestones, decode_pending, known_rows
from etl.verification.load_eras import eras_of
from ledger.chrysalis import values as chrysalis_values
from ledger.chrysalis.codec import encode_output
from ledger.eras import STARDUST, Eras
from ledger.ids import network_id
from ledger.levels import MERKLE, SIGNED
from ledger.stardust import outputs as stardust_outputs
from ledger.stardust.named import named

TASK_BYTES = 64 << 20
"""Archive bytes of a decoding task at most: small enough to balance, large enough for the lake's files."""

GENESIS_ROWS = 50_000
"""Genesis outputs written at once."""


@dataclass(frozen=True)
class Ingested:
    """What a run's files hold: `run` is what the store shall get, `decoded` what the lake got of it just now,
    `reopened` what the files need not hold, as the lake does; of `believed` nothing proves the inclusion states yet,
    which by the Merkle root would prove those milestones to `level`. `links`: of Stardust's, those decoded beside which
    another one stands that was not compared yet, or that does not fit.
    """

    plan: Plan
    run: Intervals
    skipped: int
    reopened: Intervals
    decoded: Intervals
    rejects: bool
    pending: int
    believed: Intervals
    level: str
    links: set[Link]


@dataclass(frozen=True)
class Ingest:
    """One run's way from its files into the lake."""

    spark: Session
    lake: Lake
    settings: StoreSettings
    reads: StoreReads

    def messages(
        self,
        files: list[Path],
        *,
        first: int | None,
        last: int | None,
        complete: Intervals,
        incomplete: Intervals,
        force: bool,
    ) -> Ingested:
        """Puts the messages of [first, last) into the lake, except of milestones in `complete` (the store's).

        Of the store's `incomplete` ones those that the lake has whole are part of the run, whatever the files hold.
        """
        plan = scan(files, first=first, last=last)
        held = plan.milestones()
        wanted = held if force else subtract(held, complete)
        in_lake, whole = self.lake.known(add(wanted, incomplete))
        todo = wanted if force else subtract(wanted, whole)
        reopened = subtract(intersect(incomplete, whole), wanted)
        told = Told(task_set(self.spark), task_set(self.spark), task_set(self.spark))
        coordinator = find_coordinator(self.settings, self.lake)
        eras = eras_of(self.settings, self.reads, plan)
        if todo:
            rows = decode_milestones(self._planned(plan, todo, in_lake), eras, coordinator, told)
            self.lake.replace("messages", _messages(rows), within(todo))
        if plan.pending.num_rows:
            rows = decode_pending(self.spark.createDataFrame(plan.pending), eras, told)
            self.lake.add_pending(_messages(rows))
        if told.rejected.value or plan.broken or self.lake.has("rejects"):
            decode = partial(decode_milestones, eras=eras, coordinator=coordinator, told=None)
            self._replace_rejects(plan, eras, decode, todo, in_lake, told.rejected.value)
        run, skipped = add(wanted, reopened), size(held) - size(wanted)
        return Ingested(
            plan=plan,
            run=run,
            skipped=skipped,
            reopened=reopened,
            decoded=todo,
            rejects=bool(told.rejected.value),
            pending=plan.pending.num_rows,
            believed=of_indices(told.believed.value),
            level=MERKLE if coordinator is None else SIGNED,
            links=told.links.value,
        )

    def commit(self, found: Ingested) -> None:
        """Puts the milestones into the lake: from here on their messages count as being there."""
        if found.decoded:
            rejects = self.lake.read("rejects").where(either(found.decoded)) if found.rejects else None
            rows = milestone_rows(self.lake.messages(found.decoded), rejects)
            self.lake.replace("milestones", rows, within(found.decoded))

    def note_sources(self, found: Ingested) -> None:
        """Puts the run's files and their checksums into the lake."""
        self.lake.add_sources(astuple(each) for each in found.plan.files)

    def genesis(self, file: Path, folder: Path) -> None:
        """Puts the outputs of a genesis file into the lake, some at a time through `folder`; CodecError, JsonError and
        ValueError for one that is broken, of another network, or not the lake's.
        """
        network, stardust = self.settings.known_network(), self.settings.eras(STARDUST).eras[-1]
        supply = stardust.parameters[0][1].token_supply if stardust.parameters else None
        with open_genesis(file, supply) as genesis:
            names = dict.fromkeys((network.id_name, network.stardust_name))
            ids = [network_id(name) for name in names]
            if genesis.network_id not in (None, *ids):
                expected = " or ".join(map(str, ids))
                raise ValueError(f"{file}: network id {expected} expected, found {genesis.network_id}")
            _refuse_other_era(file, genesis, self.settings.eras(genesis.codec))
            folder.mkdir(parents=True)
            with pq.ParquetWriter(folder / "part-0.parquet", GENESIS) as writer:
                rest = _genesis_rows(genesis)
                while rows := list(islice(rest, GENESIS_ROWS)):
                    columns = zip(*rows, strict=True)
                    arrays = [pa.array(column, each.type) for column, each in zip(columns, GENESIS, strict=True)]
                    writer.write_batch(pa.record_batch(arrays, schema=GENESIS))
        try:
            self.lake.set_genesis(self.spark.read.schema(GENESIS_DDL).parquet(str(folder)))
            keep_keys(self.lake, genesis.coordinator_public_keys, genesis.ledger_index + 1)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error

    def _planned(self, plan: Plan, todo: Intervals, in_lake: Intervals) -> DataFrame:
        """Tasks of ascending milestones, so that the lake's files are sorted as they are written."""
        copies = plan.copies(todo, TASK_BYTES, parallelism(self.spark))
        tasks = max(copies["task"].to_pylist(), default=0) + 1
        planned = self.spark.createDataFrame(copies)
        if again := intersect(todo, in_lake):
            known = known_rows(self.lake.messages(again))
            planned = planned.join(known, "milestone_index", "left")
        else:
            planned = planned.withColumn("known", F.lit(None).cast(KNOWN_TYPE))
        return planned.repartitionById(tasks, "task").sortWithinPartitions("milestone_index").drop("task")

    def _replace_rejects(
        self,
        plan: Plan,
        eras: Eras,
        decode: Callable[[DataFrame], DataFrame],
        todo: Intervals,
        in_lake: Intervals,
        rejected: set[int],
    ) -> None:
        """Puts the rejects of the run's milestones and files in the place of earlier ones.

        They are told apart only after the messages are committed, and only those milestones are decoded once more: a
        load without rejects, the common case, pays nothing.
        """
        rows = self.spark.createDataFrame(reject_table(UNKNOWN_MILESTONE, plan.broken))
        if again := of_indices(index for index in rejected if index != UNKNOWN_MILESTONE):
            planned = self._planned(plan, again, intersect(in_lake, again))
            rows = rows.unionByName(_rejects(decode(planned)))
        if UNKNOWN_MILESTONE in rejected:
            pending = self.spark.createDataFrame(plan.pending)
            rows = rows.unionByName(_rejects(decode_pending(pending, eras, None)))
        files = ", ".join(f"'{_quoted(each.file)}'" for each in plan.files)
        unknown = f"milestone_index = {UNKNOWN_MILESTONE} AND file IN ({files})"
        self.lake.replace("rejects", rows, f"({either(todo)}) OR ({unknown})")


def _refuse_other_era(file: Path, genesis: Genesis, eras: Eras) -> None:
    """ValueError for a beginning of an era that the milestone behind it is not of."""
    first = genesis.ledger_index + 1
    codec = eras.at(first).codec
    if codec.protocol_version != genesis.codec.protocol_version:
        raise ValueError(
            f"{file}: a ledger of {codec.name} expected before milestone {first}, where that era reigns by the setting "
            f"stardust_from, found one of {genesis.codec.name}"
        )


def _genesis_rows(genesis: Genesis) -> Iterator[tuple[Any, ...]]:
    """GENESIS, the treasury first."""
    at = (genesis.ledger_index, None if genesis.timestamp is None else 1_000 * genesis.timestamp)
    if genesis.treasury is not None:
        milestone_id, amount = genesis.treasury
        yield (*at, milestone_id, None, TREASURY_OUTPUT, None, amount, None, None)
    for each in genesis.outputs:
        output = each.output
        owner: bytes | None
        if isinstance(output, chrysalis_values.SigLockedSingle | chrysalis_values.SigLockedDustAllowance):
            owner, data, names = output.address, encode_output(output), None
        else:
            # Before any expiration, so that it is the owner whom the output names.
            owner, data = stardust_outputs.owner_at(output, 0), stardust_outputs.encode_output(output)
            names = asdict(named(output, each.output_id))
        yield (*at, each.output_id, each.message_id, output.KIND, owner, output.amount, data, names)


def _messages(decoded: DataFrame) -> DataFrame:
    return decoded.where("reject IS NULL").drop("reject")


def _rejects(decoded: DataFrame) -> DataFrame:
    return decoded.where("reject IS NOT NULL").select("milestone_index", "reject.*")


def _quoted(path: str) -> str:
    return path.replace("\\", "\\\\").replace("'", "\\'")
