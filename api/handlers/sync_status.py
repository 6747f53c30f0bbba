"""Which milestones the archive holds, and how far they are proved: shared by Chronicle v1 and the core API v2."""

from api.fields.params import NewestFirst
from api.http.responses import Json
from api.network import NetworkMount
from db.intervals import Intervals, gaps
from db.schema import PENDING_RANGE
from db.sync import held, proved

FIRST_MILESTONE = 1
"""Where Chronicle's sync begins."""

END_OF_MILESTONES = PENDING_RANGE
"""Where its uppermost gap ends, exclusive: 2147483647."""


async def sync(network: NetworkMount, newest: NewestFirst) -> Json:
    """Which milestones are here and which are not, newest first; ends are exclusive.

    `sort=oldest`, which Chronicle lacks, turns every list round. Of the completed ones those are synced but unlogged
    that no durable archive file is known to hold. A milestone with rejects counts as a gap. How far the completed ones
    are proved stands beside what Chronicle tells, each under the strongest level it reached.
    """
    found = await held(network.store, network.name)
    levels = await proved(network.store, network.name)
    return {
        "completed": half_open(found.complete, newest=newest),
        "synced_but_unlogged": half_open(found.unlogged, newest=newest),
        "gaps": half_open(gaps(found.complete, FIRST_MILESTONE, END_OF_MILESTONES - 1), newest=newest),
        "proved": {level: half_open(milestones, newest=newest) for level, milestones in levels.items()},
    }


def half_open(value: Intervals, *, newest: bool) -> list[Json]:
    """Intervals as Chronicle writes them, ends exclusive; the highest first as there, unless not `newest`."""
    return [{"start": first, "end": last + 1} for first, last in (reversed(value) if newest else value)]
