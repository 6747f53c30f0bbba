"""Which milestones the archive holds, and the level to which they are verified. Chronicle v1 and core API v2 share
it.
"""

from api.fields.chrysalis_params import EndMilestone, StartMilestone
from api.fields.params import NewestFirst
from api.http.responses import Json
from api.network import NetworkMount
from db.coverage import find_coverage
from db.intervals import Intervals, gaps, intersect
from db.listing.streams import get_chunk_size
from db.partitions import ranges_of
from db.queries.spans import between
from db.schema import PENDING_RANGE
from db.sync import held, proved
from ledger.selection import Filter

FIRST_MILESTONE = 1
"""Where Chronicle's sync begins."""

END_OF_MILESTONES = PENDING_RANGE
"""Exclusive end of the last gap in Chronicle's sync: 2147483647."""


async def sync(network: NetworkMount, newest: NewestFirst, start: StartMilestone, end: EndMilestone) -> Json:
    """Returns which milestones the archive holds and which are missing, newest first.

    Ends are exclusive. `sort=oldest`, an extension, reverses every list. `synced_but_unlogged` has the completed
    milestones that no durable archive file is known to contain. A milestone with rejected messages counts as a gap.
    `proved`, an extension, lists the completed milestones under the strongest level to which they are verified.
    `start` and `end`, extensions, leave out milestones before and after. `kept`, an extension, is present if this
    archive keeps a selection of messages: its filters, each with the milestones of which all messages that match it are
    here.
    """
    is_whole = start <= FIRST_MILESTONE and end >= END_OF_MILESTONES
    ids = None if is_whole else ranges_of(start, max(start, end - 1), await get_chunk_size(network.store))
    found = await held(network.store, network.name, ids)
    levels = await proved(network.store, network.name, ids)

    def listed(value: Intervals) -> list[Json]:
        return half_open(value if is_whole else intersect(value, between(start, end - 1)), newest=newest)

    coverage = await find_coverage(network.store)
    kept = None if coverage is None else [kept_json(each, listed(coverage[each])) for each in sorted(coverage)]
    return {
        "completed": listed(found.complete),
        "synced_but_unlogged": listed(found.unlogged),
        "gaps": listed(gaps(found.complete, FIRST_MILESTONE, END_OF_MILESTONES - 1)),
        "proved": {level: listed(milestones) for level, milestones in levels.items()},
        **({} if kept is None else {"kept": kept}),
    }


def kept_json(each: Filter, milestones: list[Json]) -> Json:
    """Returns a filter of a selective archive with the milestones that it covers."""
    return {"filter": each.text, "milestones": milestones}


def half_open(value: Intervals, *, newest: bool) -> list[Json]:
    """Returns intervals as Chronicle writes them: ends exclusive, the highest first if `newest`."""
    return [{"start": first, "end": last + 1} for first, last in (reversed(value) if newest else value)]
