"""Which eras a load reads its files by.

Rules of this file: settings and what is known of a network come first; where they do not say where Stardust begins, all
of the network is of one era, the store's if it holds anything, else that of the files.
"""

from db import schema
from db.connect import StoreSettings
from db.store import StoreMismatch
from etl.sources.plan import Plan
from etl.store_reads import StoreReads
from ledger.eras import CHRYSALIS, STARDUST, Codec, Eras
from ledger.stardust.values import Milestone


def eras_of(settings: StoreSettings, reads: StoreReads, plan: Plan | None) -> Eras:
    """The network's eras, for a load of those files, None where nothing is loaded. StoreMismatch where the store's
    newest milestone is not of the era that the settings say.
    """
    newest = reads.newest_milestone()
    kept = None if newest is None else _codec_of(reads, newest)
    only = CHRYSALIS
    if settings.known_network().stardust_from is None:
        only = kept or (plan and plan.codec()) or CHRYSALIS
    eras = settings.eras(only)
    if newest is not None and kept is not None:
        expected = eras.at(newest).codec
        if expected.protocol_version != kept.protocol_version:
            raise StoreMismatch(
                f"stardust_from: {settings.known_network().stardust_from} makes milestone {newest} one of "
                f"{expected.name}, and the store has it as one of {kept.name}"
            )
    return eras


def _codec_of(reads: StoreReads, milestone_index: int) -> Codec | None:
    """By the type of the milestone's payload, its first byte."""
    (row,) = reads.many(schema.milestones, [(milestone_index,)])
    if row is None or not row["payload"]:
        return None
    return STARDUST if row["payload"][0] == Milestone.KIND else CHRYSALIS
