"""Writes table frames to a store in order, and implements the writer of the embedded store. For clusters see
etl/writers/connector.py.

While a frame is written, the next ones are prepared, so both cores work. A frame is written when all frames before it
are durable. For the embedded store, executors write each table sorted to Parquet, and a single pass upserts it, one
Parquet batch at a time, with ids as bytes. The rows of small runs (FEW_MESSAGES) come without files.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from db.model import Table
from db.schema import (
    LOOKUPS,
    STARDUST_LOOKUPS,
    address_balances,
    address_movements,
    ledger_updates_by_address,
    native_token_updates,
    sync,
)
from db.schema.wormhole_tables import vaa_lookups
from db.store import Batch
from etl.expectations.comparison import Comparison, HintComparison, Observed
from etl.tables.frames import FrameMaker, ReadyRows, TableFrame
from etl.writers.few_rows import Collected
from etl.writers.staging import STAGERS, Staged, Staging

STAGED_AHEAD = 12
"""Maximum of frames that are staged before the current one. Limits scratch space and keeps the executors busy."""


class Prepared(Protocol):
    """A frame that is ready to be written."""

    @property
    def table(self) -> Table:
        """The table of the rows."""

    @property
    def columns(self) -> Sequence[str]:
        """The written columns."""

    @property
    def observed(self) -> Observed | None:
        """What was written. None if only the number of rows is known here."""

    def write(self, batch: Batch) -> int:
        """Writes the rows. Returns their number when all are as durable as `batch` makes them."""

    def again(self) -> DataFrame:
        """Reads the rows of a KEPT table again, so that dependent frames need not recompute them."""

    def drop(self) -> None:
        """Frees its scratch space."""


class FrameWriter(Protocol):
    """Writes table frames to one store."""

    def prepare(self, frame: TableFrame) -> Prepared:
        """Does the work that need not wait for the frame's turn. Thread-safe."""

    @property
    def holds_few_rows(self) -> bool:
        """Whether FewRowsWriter can write frames that this process may hold (FEW_MESSAGES)."""


@dataclass(frozen=True)
class EmbeddedWriter:
    """The FrameWriter of a store in this process."""

    staging: Staging

    def prepare(self, frame: TableFrame) -> Staged:
        """Stages a frame."""
        return self.staging.stage(frame)

    @property
    def holds_few_rows(self) -> bool:
        """Yes: the store is in this process."""
        return True


@dataclass(frozen=True)
class ProcessWriter:
    """The FrameWriter of a cluster for an engine in this process: the store's own batch sends the rows, with a bounded
    number of unacknowledged writes, retries, and the write time of each fact.
    """

    staging: Staging

    def prepare(self, frame: TableFrame) -> Staged:
        """Stages a frame. A cluster sorts rows itself."""
        return self.staging.stage_timed(frame)

    @property
    def holds_few_rows(self) -> bool:
        """No: rows go to the cluster with the time of their fact."""
        return False


class Earlier:
    """The prepared lookup tables of a batch, from which hints are computed."""

    def __init__(self) -> None:
        self._kept: dict[str, Future[Prepared]] = {table.name: Future() for table in KEPT}

    def keep(self, prepared: Prepared) -> None:
        """Registers a table that later frames may read."""
        self._kept[prepared.table.name].set_result(prepared)

    def read(self, table: Table) -> DataFrame:
        """The rows of a table of this batch. Waits until they are prepared."""
        return self._kept[table.name].result().again()

    def rows(self, table: Table) -> pa.Table:
        """The rows of a table of this batch, of a small run. Waits until they are prepared."""
        prepared = self._kept[table.name].result()
        assert isinstance(prepared, Collected)
        return prepared.table_rows

    def fail(self, error: BaseException) -> None:
        """Wakes up frames whose input will never be ready."""
        for future in self._kept.values():
            if not future.done():
                future.set_exception(error)

    def drop(self) -> None:
        """Frees the kept rows."""
        for future in self._kept.values():
            if future.done() and not future.exception():
                future.result().drop()


KEPT = (
    *(lookup.table for lookup in (*LOOKUPS, *STARDUST_LOOKUPS)),
    ledger_updates_by_address,
    address_balances,
    address_movements,
    native_token_updates,
    vaa_lookups,
)


def prepared_by(writer: FrameWriter, made: TableFrame | ReadyRows) -> Prepared:
    """What a maker made, ready to be written."""
    if isinstance(made, TableFrame):
        return writer.prepare(made)
    assert isinstance(made, Collected)
    return made


def upsert_frames(
    batch: Batch,
    writer: FrameWriter,
    makers: Sequence[FrameMaker],
    wrote: Callable[[str, int], None],
    before_rows: Callable[[], object] = lambda: None,
    before_lookups: Callable[[], None] = lambda: None,
    comparison: Callable[[], Comparison | None] = lambda: None,
    stagers: int = STAGERS,
) -> None:
    """Prepares frames and writes them in the given order. Calls `wrote` with table and number of rows after each.

    `comparison`: compares each frame after it was written, and before `sync`, the last one, that all were written.
    It is called once, after `before_rows`. Raises WrongRows for a difference, and if hints do not match the rows.

    Calls `before_rows` once before the first row is written, while frames are already being prepared, and
    `before_lookups` once before the first row of a lookup table.

    `stagers`: how many frames are prepared at once.
    """
    earlier = Earlier()

    def prepare(make: FrameMaker) -> Prepared:
        try:
            prepared = prepared_by(writer, make(earlier))
        except BaseException as error:
            earlier.fail(error)
            raise
        if prepared.table in KEPT:
            earlier.keep(prepared)
        return prepared

    with ThreadPoolExecutor(max_workers=stagers, thread_name_prefix="stage") as pool:
        waiting: list[Future[Prepared]] = []
        todo = list(makers)
        lookups = False

        def fill(most: int = STAGED_AHEAD) -> None:
            while todo and len(waiting) < most:
                waiting.append(pool.submit(prepare, todo.pop(0)))

        # One thread: more would delay what the rows wait for.
        fill(1)
        try:
            before_rows()
        except BaseException as error:
            earlier.fail(error)
            raise
        fill()
        compared, hints = comparison(), HintComparison()
        while waiting:
            prepared = waiting.pop(0).result()
            fill()
            if prepared.table in KEPT and not lookups:
                before_lookups()
            lookups |= prepared.table in KEPT
            if prepared.table is sync:
                hints.end()
                if compared is not None:
                    compared.end(before_sync=True)
            rows = prepared.write(batch)
            wrote(prepared.table.name, rows)
            hints.add(prepared.table, prepared.observed)
            if compared is not None:
                compared.check(prepared.table, prepared.columns, rows, prepared.observed)
            if prepared.table not in KEPT:
                prepared.drop()
    hints.end()
    if compared is not None:
        compared.end()
    earlier.drop()
