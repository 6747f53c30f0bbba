"""The state that a ledger begins with, as frames of genesis outputs."""

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db import schema
from db.queries.milestones import GENESIS_TIME
from etl.engine.arrow_frames import arrow_frame, collected
from etl.ledger_state import unspent
from etl.ledger_state.balances import balance_frames, balances
from etl.ledger_state.before_genesis import without_created
from etl.ledger_state.changes import created_by, genesis_outputs, of_owners, owned_here
from etl.ledger_state.movements import movement_frames, movements
from etl.ledger_state.native_tokens import token_updates
from etl.tables import milestones as tables_milestones
from etl.tables.frames import FrameMaker
from etl.tables.lookups import listed
from etl.tables.message_frames import booked_outputs, created_outputs, genesis_ids
from etl.tables.partition_columns import Placement
from etl.tables.run_frames import genesis_makers
from etl.writers.few_rows import FewRowsWriter, source_for
from etl.writers.publish import Publication

FEW_OUTPUTS = 2_000
"""A genesis with at most this number of outputs keeps the rows of its tables in this process, as runs of few messages
do (etl.writers.few_run).
"""

ROLE_LOOKUPS = (*schema.LOOKUPS, *schema.STARDUST_LOOKUPS)
"""The lookups of outputs."""


@dataclass(frozen=True)
class Begun:
    """The state of genesis.

    Attributes:
        publication: writes the frames.
        makers: the frames.
        changes: etl.ledger_state.changes.CHANGES of genesis.
        is_large: whether the frames are written as a generation of the store, and not in one transaction.
    """

    publication: Publication
    makers: list[FrameMaker]
    changes: DataFrame
    is_large: bool


def genesis_time(lake_genesis: DataFrame, genesis: int) -> tuple[str, str]:
    """GENESIS_TIME with its value, of the rows of the lake.

    The time of a Chrysalis snapshot is not that of its milestone, but that at which a node wrote the file.
    """
    of_stardust = lake_genesis.where("stardust IS NOT NULL AND ms_timestamp IS NOT NULL")
    row = of_stardust.select(F.expr("ms_timestamp DIV 1000")).first()
    return GENESIS_TIME, str(genesis) if row is None else f"{genesis} {row[0]}"


def begin_state(publication: Publication, genesis: int) -> Begun:
    """The state at milestone `genesis`, which the lake has."""
    network, chunk_size = publication.store_settings.network, publication.store_settings.chunk_size
    outputs = owned_here(publication, genesis_outputs(publication.lake.genesis()))
    count = outputs.count()
    if count <= FEW_OUTPUTS:
        outputs = arrow_frame(publication.spark, collected(outputs))
        publication = replace(publication, writer=publication.for_few_rows([(genesis, genesis)], ()))
    source, in_process = source_for(publication.writer), isinstance(publication.writer, FewRowsWriter)
    changes = created_by(outputs)
    owned = of_owners(publication, changes)
    first_balances, moved = balances(owned, None, genesis - 1), movements(owned, genesis)
    of_outputs, of_changes = source(outputs.withColumn("included", F.expr("true"))), source(listed(changes))
    # The message that created an output determines its row, whether it was loaded before the genesis or afterwards.
    created, of_created = without_created(publication, genesis, outputs), of_outputs
    if created is not outputs:
        of_created = source(created.withColumn("included", F.expr("true")))
    of_roles = source(listed(outputs.withColumns({"included": F.expr("true"), "white_flag_index": F.lit(0)})))
    of_balances, of_movements = source(first_balances), source(moved)
    # No partition begins before the first milestone that is applied.
    at_first = Placement(chunk_size, schema.LEDGER_LOOKUPS, None)
    roles = Placement(chunk_size, (), None) if in_process else publication.placement(genesis, genesis, ROLE_LOOKUPS)
    has_stardust = not outputs.where("stardust IS NOT NULL").isEmpty()
    makers: list[FrameMaker] = [
        of_created.maker(created_outputs()),
        of_outputs.maker(genesis_ids()),
        of_outputs.maker(booked_outputs()),
        *genesis_makers(of_roles, lambda: roles, publication.selection, has_stardust=has_stardust),
        *(
            unspent.few_makers(of_changes, genesis, has_stardust=has_stardust, has_tokens=has_stardust)
            if in_process
            else unspent.makers(
                [changes], at_first, genesis, genesis - 1, genesis - 1, publication.staging, has_stardust=has_stardust
            )
        ),
        of_changes.maker(token_updates(), lambda: at_first),
        of_changes.hints(schema.addresses_hints, {schema.native_token_updates}),
        *map(of_balances.maker, balance_frames(chunk_size)),
        *map(of_movements.maker, movement_frames(chunk_size)),
        lambda _: tables_milestones.genesis_treasury(publication.lake.genesis(), network),
    ]
    return Begun(publication, makers, changes, is_large=count > publication.settings.batch_messages)
