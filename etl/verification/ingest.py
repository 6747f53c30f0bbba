"""Files → lake: plans the lines, decodes and verifies their messages, commits the milestones.

A milestone that the lake has as a whole is not decoded again unless `force` is set. Of an incomplete one, the lake's
messages are one more copy beside those of the files. The table `milestones` is committed last.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.connect import StoreSettings
from db.coverage import Coverage
from db.intervals import Intervals, add, contains, in_words, intersect, of_indices, size, subtract
from db.schema import PENDING_TTL_S
from etl.engine.arrow_frames import arrow_frame
from etl.engine.session import Session
from etl.expectations.expected import Expected
from etl.lake.coverage import covered_by_all, read_coverage
from etl.lake.delta import Lake, either
from etl.lake.genesis_tables import GENESIS, GENESIS_DDL
from etl.lake.milestone_rows import milestone_rows
from etl.lake.parts import LakePart
from etl.lake.rejects import message_rejects
from etl.lake.watch_list import add_watched
from etl.lake.watched_outputs import find_watched_in_file
from etl.report import Notify, quiet
from etl.sources.genesis import Genesis, open_genesis
from etl.sources.limits import Limits
from etl.sources.plan import UNKNOWN_MILESTONE, Plan, reject_table, scan
from etl.store_reads import StoreReads
from etl.tables.frames import TREASURY_OUTPUT
from etl.verification.coordinators import find_coordinator, keep_keys
from etl.verification.decode import Decoder, WholeCheck, decoding_of
from etl.verification.decode_worker import Link, TaskResults
from etl.verification.load_eras import eras_of
from ledger.chrysalis import values as chrysalis_values
from ledger.chrysalis.codec import encode_output
from ledger.eras import STARDUST, Eras
from ledger.ids import network_id
from ledger.levels import MERKLE, SIGNED
from ledger.selection import Selection
from ledger.stardust import outputs as stardust_outputs
from ledger.stardust.named import named

GENESIS_ROWS = 50_000
"""Genesis outputs per write."""


def now_s() -> int:
    """The time at which a run receives pending messages, in seconds since 1970."""
    return int(time.time())


@dataclass(frozen=True)
class Ingested:
    """What the files of a run contain.

    Attributes:
        plan: the lines by milestone.
        run: the milestones to write to the store.
        skipped: the number of milestones that are complete in the store already.
        reopened: incomplete milestones of the store that the lake has as a whole. Part of `run`.
        decoded: the milestones that were decoded into the lake.
        rejects: whether any of them has a reject.
        pending: the number of lines with pending messages.
        believed: milestones whose inclusion states nothing proves yet.
        level: the level that those reach once the Merkle root proves their states.
        expected: what must be written of the decoded milestones.
        links: links of decoded Stardust milestones to neighbours that were not compared yet or do not fit.
        parts: the files of decoded messages, of a decoding that wrote files.
        changed: decoded milestones whose rows in the lake were replaced since.
        coverage: what a selective lake covers without the decoded milestones. None: all messages.
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
    expected: Expected
    parts: Sequence[LakePart] = ()
    changed: Intervals = field(default_factory=list)
    coverage: Coverage | None = None


@dataclass(frozen=True)
class Ingest:
    """Writes the files of one run into the lake."""

    spark: Session
    lake: Lake
    settings: StoreSettings
    reads: StoreReads
    folder: Callable[[str], Path]
    """Returns a new folder of the run for files that later steps read."""
    notify: Notify = quiet

    def messages(
        self,
        files: list[Path],
        *,
        first: int | None,
        last: int | None,
        complete: Intervals,
        incomplete: Intervals,
        force: bool,
        limits: Limits,
        check: WholeCheck,
        coverage: Coverage | None = None,
    ) -> Ingested:
        """Writes the messages of the milestones [first, last) into the lake.

        `complete`: milestones to skip. `incomplete`: milestones that become part of the run if the lake has them as a
        whole. `check` runs before the lake changes. `coverage`: of a selective lake. Milestones that one of its filters
        does not cover are decoded again, and pending messages are left out.

        Raises ValueError if a milestone would lose the messages that a selective lake has of it.
        """
        plan = scan(files, first=first, last=last, limits=limits)
        held = plan.milestones()
        selection = None if coverage is None else Selection(frozenset(coverage))
        covered = [] if coverage is None else covered_by_all(coverage)
        wanted = held if force else subtract(held, complete if coverage is None else intersect(complete, covered))
        if force:
            self.lake.set_aside(wanted)
        in_lake, whole = self.lake.known(add(wanted, incomplete))
        checks = [check]
        if coverage is not None:
            checks.insert(0, _keeping(whole, lambda: decoding.results))
            # A part of a milestone is not a copy of it.
            in_lake, whole = [], intersect(whole, covered)
        todo = wanted if force else subtract(wanted, whole)
        reopened = subtract(intersect(incomplete, whole), wanted)
        coordinator = find_coordinator(self.settings, self.lake)
        rejects = message_rejects(self.lake.root, intersect(todo, subtract(in_lake, whole)))
        decoder = Decoder(eras_of(self.settings, self.reads, plan), coordinator, selection, rejects)
        decoding = decoding_of(self.lake, plan, decoder, self.folder, self.notify)
        results = decoding.results

        def check_selected(messages: Callable[[], DataFrame], milestones: Intervals) -> None:
            nonlocal coverage
            for each in checks:
                each(messages, milestones)
            if coverage is not None and decoding.watched.num_rows:
                coverage = add_watched(self.lake, coverage, decoding.watched, milestones, [messages()])

        if todo:
            decoding.write_milestones(todo, in_lake, check_selected)
        waiting = plan.pending.num_rows if selection is None else 0
        if waiting:
            received_at = now_s()
            received = decoding.pending().withColumn("timestamp", F.timestamp_seconds(F.lit(received_at)))
            self.lake.add_pending(received, received_at - PENDING_TTL_S)
        if results.rejected.value or plan.broken or self.lake.has("rejects"):
            self._replace_rejects(plan, todo, decoding.rejects())
        run, skipped = add(wanted, reopened), size(held) - size(wanted)
        return Ingested(
            plan=plan,
            run=run,
            skipped=skipped,
            reopened=reopened,
            decoded=todo,
            rejects=bool(results.rejected.value),
            pending=waiting,
            believed=of_indices(results.believed.value),
            level=MERKLE if coordinator is None else SIGNED,
            links=results.links.value,
            expected=Expected(dict(results.expected.value)),
            parts=decoding.parts,
            coverage=coverage,
        )

    def commit(self, found: Ingested) -> None:
        """Writes the milestones into the lake. From here on their messages count as present."""
        if found.decoded:
            rejects = self.lake.read("rejects").where(either(found.decoded)) if found.rejects else None
            rows = milestone_rows(self.lake.messages(found.decoded), rejects)
            self.lake.replace("milestones", rows, found.decoded)

    def note_sources(self, found: Ingested) -> None:
        """Writes the names and checksums of the run's files into the lake."""
        self.lake.add_sources(astuple(each) for each in found.plan.files)

    def genesis(self, file: Path, folder: Path) -> bytes | None:
        """Writes the outputs of a genesis file into the lake. `folder`: a new directory for intermediate files. Returns
        the serialized protocol parameters of a Stardust snapshot.

        Raises CodecError, JsonError or ValueError for an invalid file, one of another network, or one that differs from
        the lake's genesis.
        """
        network, stardust = self.settings.known_network(), self.settings.eras(STARDUST).eras[-1]
        supply = stardust.parameters[0][1].token_supply if stardust.parameters else None
        with open_genesis(file, supply) as genesis:
            names = dict.fromkeys((network.id_name, network.stardust_name))
            ids = [network_id(name) for name in names]
            if genesis.network_id not in (None, *ids):
                expected = " or ".join(map(str, ids))
                raise ValueError(f"{file}: network id {expected} expected, found {genesis.network_id}")
            _reject_other_era(file, genesis, self.settings.eras(genesis.codec))
            folder.mkdir(parents=True)
            with pq.ParquetWriter(folder / "part-0.parquet", GENESIS) as writer:
                rest = _genesis_rows(genesis)
                while rows := list(islice(rest, GENESIS_ROWS)):
                    columns = zip(*rows, strict=True)
                    arrays = [pa.array(column, each.type) for column, each in zip(columns, GENESIS, strict=True)]
                    writer.write_batch(pa.record_batch(arrays, schema=GENESIS))
        coverage = read_coverage(self.lake)
        if coverage is not None and not self.lake.has("genesis"):
            addresses = Selection(frozenset(coverage)).addresses
            watched = find_watched_in_file(folder / "part-0.parquet", addresses)
            add_watched(self.lake, coverage, watched, [])
        try:
            self.lake.set_genesis(self.spark.read.schema(GENESIS_DDL).parquet(str(folder)))
            keep_keys(self.lake, genesis.coordinator_public_keys, genesis.ledger_index + 1)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from error
        return genesis.parameters

    def _replace_rejects(self, plan: Plan, todo: Intervals, found: DataFrame | None) -> None:
        """Replaces earlier rejects of the run's milestones and files by those of this run."""
        rows = arrow_frame(self.spark, reject_table(UNKNOWN_MILESTONE, plan.broken))
        if found is not None:
            rows = rows.unionByName(found)
        self.lake.replace("rejects", rows, todo, files=plan.names)


def _keeping(whole: Intervals, results: Callable[[], TaskResults]) -> WholeCheck:
    """Returns a check that raises ValueError if a milestone is rejected of which the lake has messages."""

    def check(*_: object) -> None:
        lost = of_indices(index for index in results().without_messages() if contains(whole, index))
        if lost:
            raise ValueError(
                f"milestones {in_words(lost)}: rejected in these files, but the lake has messages of them, which would "
                "be lost; nothing was changed. `permanode archive validate` shows the reasons"
            )

    return check


def _reject_other_era(file: Path, genesis: Genesis, eras: Eras) -> None:
    """Raises ValueError for a genesis whose era is not that of the milestone after it."""
    first = genesis.ledger_index + 1
    codec = eras.at(first).codec
    if codec.protocol_version != genesis.codec.protocol_version:
        raise ValueError(
            f"{file}: a ledger of {codec.name} expected before milestone {first}, where that era reigns by the setting "
            f"stardust_from, found one of {genesis.codec.name}"
        )


def _genesis_rows(genesis: Genesis) -> Iterator[tuple[Any, ...]]:
    """Yields rows of GENESIS, the treasury first."""
    at = (genesis.ledger_index, None if genesis.timestamp is None else 1_000 * genesis.timestamp)
    if genesis.treasury is not None:
        milestone_id, amount = genesis.treasury
        yield (*at, milestone_id, None, TREASURY_OUTPUT, None, amount, None, None, None, None)
    for each in genesis.outputs:
        output = each.output
        owner: bytes | None
        if isinstance(output, chrysalis_values.SigLockedSingle | chrysalis_values.SigLockedDustAllowance):
            owner, data, names = output.address, encode_output(output), None
        else:
            # Before any expiration, so that it is the owner whom the output names.
            owner, data = stardust_outputs.owner_at(output, 0), stardust_outputs.encode_output(output)
            names = named(output, each.output_id)._asdict()
        booked = (None, None) if each.booked is None else (each.booked[0], 1_000 * each.booked[1])
        yield (*at, each.output_id, each.message_id, output.KIND, owner, output.amount, data, *booked, names)
