"""The frames of a run's milestones, in the order in which they are written."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import DataFrame

from db import schema
from db.model import Table
from etl.tables import address_history as history
from etl.tables import frames as tables
from etl.tables import message_frames as of_messages
from etl.tables import milestones as of_milestones
from etl.tables.frames import FrameMaker, TableFrame
from etl.tables.lookups import TABLES_OF_LEGACY, TABLES_OF_ROLES, role_outputs, tables_of
from etl.tables.partition_columns import Placement
from etl.tables.row_frames import RowFrame
from ledger.selection import Selection


class Source(Protocol):
    """Rows of the lake that frames are made from."""

    def frame(self) -> DataFrame:
        """Returns the rows. May wait until the lake has them."""

    def maker(self, frame: RowFrame, placement: Callable[[], Placement] | None = None) -> FrameMaker:
        """Returns the maker of a frame of these rows. `placement`: the partitions, for the table of a lookup."""

    def hints(self, table: Table, lookups: Collection[Table]) -> FrameMaker:
        """Returns the maker of the hints of these lookups, whose frames precede it."""


@dataclass(frozen=True)
class FrameSource:
    """A Source whose frames each are a query of their own."""

    rows: Callable[[], DataFrame]

    def frame(self) -> DataFrame:
        """Returns the rows."""
        return self.rows()

    def maker(self, frame: RowFrame, placement: Callable[[], Placement] | None = None) -> FrameMaker:
        """Returns the maker of a frame of these rows."""
        return lambda _: frame.of(self.rows(), placement() if placement else None)

    def hints(self, table: Table, lookups: Collection[Table]) -> FrameMaker:
        """Returns the maker of the hints of these lookups."""
        return lambda earlier: tables.hints(earlier.read, table, lookups)


def in_turn(frames: Iterable[TableFrame]) -> TableFrame:
    """The frame of one table whose shares are those of these frames."""
    first, *others = frames
    return replace(first, shares=tuple(share for frame in (first, *others) for share in frame.shares))


@dataclass(frozen=True)
class RunRows:
    """Rows of the lake that the frames of a run are made from.

    Attributes:
        messages: the messages of its milestones.
        owned: their outputs with `fields` (etl.tables.lookups.listed).
        created: their outputs with at least the fields of Chrysalis outputs.
        spent: the inputs of included transactions (etl.tables.frames.spent).
        milestones: the milestones.
        days: returns all milestones of their UTC days, or as many as date_cache needs.
        fields: etl.tables.frames.OUTPUT_FIELDS, as far as outputs of these milestones have them.
        receipts: whether a milestone may have a receipt.
        parameters: whether a milestone may announce protocol parameters.
        selection: which messages a selective lake has, each with its proof. None: it has all.
    """

    messages: Source
    owned: Source
    created: Source
    spent: Source
    milestones: Source
    days: Callable[[], DataFrame]
    fields: Sequence[str]
    receipts: bool = True
    parameters: bool = True
    selection: Selection | None = None


def run_makers(rows: RunRows, placement: Callable[[], Placement], network: str, chunk_size: int) -> list[FrameMaker]:
    """The frames of all tables that messages and milestones fill, without rejects. `placement` waits for the splits."""
    messages, milestones, role_tables = rows.messages, rows.milestones, tables_of(rows.fields)
    selection, has_stardust = rows.selection, "stardust" in rows.fields
    of_receipts = (of_milestones.receipts(network), of_milestones.treasury(network)) if rows.receipts else ()
    of_parts = () if selection is None else (of_messages.message_proofs(),)
    of_whole: tuple[FrameMaker, ...] = (lambda _: tables.transactions(messages.frame()),) if selection is None else ()
    of_parameters = (of_milestones.protocol_parameters(network),) if rows.parameters else ()
    return [
        messages.maker(of_messages.messages()),
        messages.maker(of_messages.conflict_reasons()),
        messages.maker(of_messages.messages_by_milestone()),
        *map(messages.maker, of_parts),
        messages.maker(of_messages.parents()),
        *of_whole,
        messages.maker(of_messages.ids(rows.fields)),
        milestones.maker(of_milestones.milestones()),
        milestones.maker(of_milestones.milestone_ids()),
        *map(milestones.maker, (*of_receipts, *of_parameters)),
        lambda _: of_milestones.date_cache(rows.days()),
        messages.maker(of_messages.tags(selection), placement),
        *(
            rows.owned.maker(role_outputs(table, selection, has_stardust=has_stardust), placement)
            for table in role_tables
        ),
        lambda _: history.transactions_by_address(messages.frame(), placement(), selection),
        rows.created.maker(of_messages.created_outputs()),
        rows.spent.maker(of_messages.spent_outputs()),
        messages.maker(of_messages.transactions_by_state()),
        messages.hints(schema.tag_hints, {schema.tags, *role_tables}),
        messages.hints(schema.addresses_hints, {schema.transactions_by_address, *role_tables}),
        milestones.maker(of_milestones.sync(chunk_size)),
    ]


def genesis_makers(
    outputs: Source, placement: Callable[[], Placement], selection: Selection | None, *, has_stardust: bool
) -> list[FrameMaker]:
    """The rows and hints of genesis outputs (etl.tables.lookups.listed) in lookups. `selection` as in `role_outputs`.
    `has_stardust`: whether there are Stardust outputs.
    """
    role_tables = TABLES_OF_ROLES if has_stardust else TABLES_OF_LEGACY
    hint_tables = dict.fromkeys(lookup.hints for lookup in schema.ALL_LOOKUPS if lookup.table in role_tables)
    return [
        *(outputs.maker(role_outputs(table, selection, has_stardust=has_stardust), placement) for table in role_tables),
        *(outputs.hints(table, set(role_tables)) for table in hint_tables),
    ]
