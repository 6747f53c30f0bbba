"""The eras of a network, for one load.

The settings and the built-in values of the network come first. If they do not define where Stardust begins, all
milestones are of one era: that of the store's newest milestone, or that of the files if the store is empty.
"""

from db import schema
from db.connect import StoreSettings
from db.store import StoreMismatch
from etl.sources.plan import Plan
from etl.store_reads import StoreReads
from ledger.eras import CHRYSALIS, STARDUST, Codec, Eras
from ledger.stardust.values import Milestone


def eras_of(settings: StoreSettings, reads: StoreReads, plan: Plan | None) -> Eras:
    """Returns the network's eras. `plan`: the files to load, None without files.

    Raises StoreMismatch if the store's newest milestone is not of the era that the settings define.
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
    """Returns the codec by the type of the milestone's payload, its first byte."""
    (row,) = reads.many(schema.milestones, [(milestone_index,)])
    if row is None or not row["payload"]:
        return None
    return STARDUST if row["payload"][0] == Milestone.KIND else CHRYSALIS
