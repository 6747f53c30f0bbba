"""The frames of a run's milestones, in the order in which they are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from db import schema
from db.model import Table
from etl.tables import address_history as history
from etl.tables import frames as tables
from etl.tables import milestones as of_milestones
from etl.tables.frames import FrameMaker
from etl.tables.lookups import placed, tables_of
from etl.tables.partition_columns import Placement


@dataclass(frozen=True)
class RunRows:
    """Rows of the lake that the frames of a run are made from.

    Attributes:
        messages: the messages of its milestones.
        owned: their outputs with `fields` (etl.tables.frames.owned).
        created: those that changed the ledger, with at least the fields of Chrysalis outputs.
        milestones: returns the milestones. Waits until the lake has them.
        days: returns all milestones of their UTC days, or as many as date_cache needs.
        fields: etl.tables.frames.OUTPUT_FIELDS, as far as outputs of these milestones have them.
        receipts: whether a milestone may have a receipt.
        parameters: whether a milestone may announce protocol parameters.
    """

    messages: DataFrame
    owned: DataFrame
    created: DataFrame
    milestones: Callable[[], DataFrame]
    days: Callable[[], DataFrame]
    fields: Sequence[str]
    receipts: bool = True
    parameters: bool = True


def run_makers(rows: RunRows, placement: Callable[[], Placement], network: str, chunk_size: int) -> list[FrameMaker]:
    """The frames of all tables that messages and milestones fill, without rejects. `placement` waits for the splits."""
    lake, milestones, role_tables = rows.messages, rows.milestones, tables_of(rows.fields)
    of_receipts: list[FrameMaker] = [
        lambda _: of_milestones.receipts(milestones(), network),
        lambda _: of_milestones.treasury(milestones(), network),
    ]
    of_parameters: list[FrameMaker] = [lambda _: of_milestones.protocol_parameters(milestones(), network)]

    def of_roles(table: Table) -> FrameMaker:
        return lambda _: placed(rows.owned, placement(), table)

    return [
        lambda _: tables.messages(lake),
        lambda _: tables.conflict_reasons(lake),
        lambda _: tables.messages_by_milestone(lake),
        lambda _: tables.parents(lake),
        lambda _: tables.transactions(lake),
        lambda _: of_milestones.milestones(milestones()),
        lambda _: of_milestones.milestone_ids(milestones()),
        *(of_receipts if rows.receipts else ()),
        *(of_parameters if rows.parameters else ()),
        lambda _: of_milestones.date_cache(rows.days()),
        lambda _: tables.tags(lake, placement()),
        *map(of_roles, role_tables),
        lambda _: history.transactions_by_address(lake, placement()),
        lambda _: tables.created_outputs(rows.created),
        lambda _: tables.spent_outputs(lake),
        lambda _: tables.transactions_by_state(lake),
        lambda earlier: tables.hints(earlier.read, schema.tag_hints, {schema.tags, *role_tables}),
        lambda earlier: tables.hints(
            earlier.read, schema.addresses_hints, {schema.transactions_by_address, *role_tables}
        ),
        lambda _: tables.sync(milestones(), chunk_size),
    ]
