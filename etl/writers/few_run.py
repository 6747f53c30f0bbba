"""The rows of the lake that a run of few messages makes its frames from, in this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from db.intervals import Intervals
from etl.engine.arrow_frames import arrow_frame, collected
from etl.lake.delta import Lake
from etl.tables import frames as tables
from etl.tables.lookups import listed
from etl.tables.run_frames import RunRows, Source
from ledger.eras import STARDUST
from ledger.selection import Selection

FEW_MESSAGES = 2_000
"""A run with at most this number of messages keeps the rows of its tables in this process, so that it needs no files.
They are at most a few per message, and a message has at most 32 KiB.
"""


@dataclass(frozen=True)
class FewRun:
    """Committed milestones of the lake, at most FEW_MESSAGES. Frames share the rows of few messages, so that each has a
    short plan.
    """

    lake: Lake
    intervals: Intervals

    @cached_property
    def known(self) -> pa.Table:
        """The milestones."""
        return collected(self.lake.milestones(self.intervals))

    @property
    def is_few(self) -> bool:
        """Whether this process may hold the messages."""
        return (pc.sum(self.known["message_count"]).as_py() or 0) <= FEW_MESSAGES

    @cached_property
    def milestones(self) -> DataFrame:
        """The milestones as a frame of rows in this process."""
        return arrow_frame(self.lake.spark, self.known)

    @cached_property
    def _found(self) -> pa.Table:
        return collected(self.lake.messages(self.intervals))

    @cached_property
    def messages(self) -> DataFrame:
        """The messages as a frame of rows in this process."""
        return arrow_frame(self.lake.spark, self._found)

    @cached_property
    def fields(self) -> Sequence[str]:
        """The output fields of these milestones (etl.tables.frames.OUTPUT_FIELDS)."""
        is_stardust = pc.any(pc.equal(self._found["version"], STARDUST.protocol_version)).as_py()
        return tables.OUTPUT_FIELDS if is_stardust else tables.LEGACY_FIELDS

    def rows(
        self,
        source: Callable[[DataFrame], Source],
        days: Callable[[pa.Table, DataFrame], DataFrame],
        selection: Selection | None,
    ) -> RunRows:
        """The rows for frames. `source`: makes the Source of a frame. `days`: makes RunRows.days of the milestones.
        `selection`: RunRows.selection.
        """
        owned = source(listed(tables.owned(self.messages, self.fields)))
        return RunRows(
            messages=source(self.messages),
            owned=owned,
            created=owned,
            spent=source(tables.spent(self.messages)),
            milestones=source(self.milestones),
            days=lambda: days(self.known, self.milestones),
            fields=self.fields,
            receipts=self.known["receipt"].null_count < self.known.num_rows,
            parameters=self.known["parameters"].null_count < self.known.num_rows,
            selection=selection,
        )
