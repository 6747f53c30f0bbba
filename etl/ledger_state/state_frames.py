"""The frames of a step of the ledger state, in the order in which they are written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from etl.engine.arrow_frames import arrow_frame, collected
from etl.lake.delta import few_rows
from etl.ledger_state import unspent
from etl.ledger_state.balances import balance_frames, balances
from etl.ledger_state.change_shares import by_address, by_milestone
from etl.ledger_state.changes import BALANCES, of_owners
from etl.ledger_state.conflict_reasons import reason_makers
from etl.ledger_state.movements import movement_frames, movements, receipt_ids
from etl.ledger_state.native_tokens import token_updates
from etl.ledger_state.state_step import StateStep
from etl.tables import address_history as history
from etl.tables.frames import FrameMaker
from etl.tables.lookups import listed
from etl.tables.partition_columns import Placement
from etl.tables.row_frames import RowFrame
from etl.tables.run_frames import in_turn
from etl.writers.few_rows import FewRowsWriter, source_for
from etl.writers.frame_writer import FrameWriter
from etl.writers.publish import Opened, Publication


class StateMeasures(Protocol):
    """Further frames that follow from the ledger's changes and are written in the same transaction as the state."""

    def at_genesis(self, changes: DataFrame, genesis: int) -> list[FrameMaker]:
        """Returns the frames of the state that genesis begins with."""

    def after(self, step: StateStep, balances_after: DataFrame) -> list[FrameMaker] | None:
        """Returns the frames of a step. None if the store has none up to the frontier."""


@dataclass(frozen=True)
class StateFrames:
    """What a step writes.

    Attributes:
        makers: the frames, in order.
        writer: writes them.
        opened: splits to record before them. None: the writer finds them.
        has_measures: whether the frames contain those of StateMeasures.
    """

    makers: list[FrameMaker]
    writer: FrameWriter
    opened: Opened | None
    has_measures: bool


def frames_of(publication: Publication, step: StateStep, measures: StateMeasures | None) -> StateFrames:
    """The frames of a step. Near the frontier, this process holds balances and movements, which several frames read."""
    near, news = step.found.near, step.news
    chunk_size, margin = publication.store_settings.chunk_size, publication.settings.ledger_margin
    writer = publication.for_few_rows(step.run, schema.LEDGER_LOOKUPS) if publication.few else publication.writer
    in_process = isinstance(writer, FewRowsWriter)
    has_stardust = near.has_stardust if near else publication.lake.has_stardust([(step.genesis + 1, step.to)])
    before = few_rows(publication.spark, BALANCES, near.before) if near else None
    applied, moving = of_owners(publication, step.applied), of_owners(publication, news)
    source, receipts = source_for(writer), receipt_ids(publication, step.run)
    of_balances, of_movements = balance_frames(chunk_size), movement_frames(chunk_size)
    after = balances(applied, before, step.frontier)
    if in_process:
        opened, of_changes = None, Placement(chunk_size, (*schema.LOOKUPS, *schema.LEDGER_LOOKUPS), None)
        of_transactions = of_changes
        moved = movements(moving, step.genesis, receipts)
        after, moved = (arrow_frame(publication.spark, collected(each)) for each in (after, moved))
        of_addresses = [*map(source(after).maker, of_balances), *map(source(moved).maker, of_movements)]
    else:
        opened = _opened(publication, step, has_stardust=has_stardust)
        of_changes = opened.placement
        of_transactions = publication.placement(step.frontier + 1, step.to, schema.LOOKUPS)
        shares = 1 if near else publication.staging.joined_shares
        held = [balances(each, before, step.frontier) for each in by_address(applied, shares)]
        effects = [movements(each, step.genesis, receipts) for each in by_milestone(moving, shares)]
        of_addresses = [*_with_hints(held, *of_balances), *_with_hints(effects, *of_movements)]
    has_tokens = near.has_tokens if near else has_stardust
    changed = source(listed(news))
    makers: list[FrameMaker] = [
        changed.maker(RowFrame(schema.ledger_updates_by_milestone, computed={"address": F.col("owner")})),
        changed.maker(history.ledger_updates(), lambda: of_changes),
        changed.maker(token_updates(has_tokens=has_tokens), lambda: of_changes),
        lambda _: history.spent_from(news, of_transactions, publication.selection),
        *(
            unspent.few_makers(changed, step.genesis, has_stardust=has_stardust, has_tokens=has_tokens)
            if in_process
            else unspent.makers(
                step.news_of_outputs,
                of_changes,
                step.genesis,
                step.frontier,
                step.dead_to(margin),
                publication.staging,
                has_stardust=has_stardust,
            )
        ),
        changed.hints(schema.addresses_hints, {schema.ledger_updates_by_address, schema.native_token_updates}),
        *of_addresses,
    ]
    if publication.owners is None:
        makers += reason_makers(publication, step)
    measured = measures.after(step, after) if measures is not None else None
    return StateFrames(makers + (measured or []), writer, opened, measured is not None)


def _with_hints(shares: Sequence[DataFrame], rows: RowFrame, hints: RowFrame) -> list[FrameMaker]:
    """The frames of a table from shares of a source, and of their hints from the rows of the table."""
    return [
        lambda _: in_turn([rows.of(share) for share in shares]),
        lambda earlier: hints.of(earlier.read(rows.table)),
    ]


def _opened(publication: Publication, step: StateStep, *, has_stardust: bool) -> Opened:
    """The splits that the changes of a step need."""
    counted = step.found.counted().where(F.col("milestone_index") <= step.to)
    keys = unspent.counted_keys(counted, publication.store_settings.chunk_size, has_stardust=has_stardust)
    return publication.grown(schema.LEDGER_LOOKUPS, keys, step.run, beside=step.found.ranges)
