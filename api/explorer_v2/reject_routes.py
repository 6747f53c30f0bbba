"""Explorer v2, an extension: input that a load did not accept, so that an incomplete milestone has a reason."""

from typing import Annotated

from api.explorer_v2.reject_responses import Rejects
from api.fields.inx_chronicle_params import After, ExplorerPageSize, OwnCursor
from api.fields.params import KNOWN_INDEX
from api.http.operations import Operation
from api.http.params import Param
from api.http.responses import Json
from api.network import NetworkMount
from db.queries import rejects
from db.queries.loads import find_loads

MILESTONE = (
    "Only rejects of this milestone, which may be complete. Default: lines without a milestone, and incomplete ones"
)


async def list_of_rejects(
    network: NetworkMount,
    milestone: Annotated[int | None, Param("milestone", KNOWN_INDEX, MILESTONE, 21)],
    page_size: ExplorerPageSize,
    after: OwnCursor,
) -> Json:
    """Returns what loads did not accept: file, line and reason.

    Rejects of a complete milestone are claims of its sources that contradict what is verified. A page that has examined
    300 milestones may be short and still have a cursor.
    """
    at = after or After(page_size)
    page = await rejects.list_rejects(network.store, network.name, milestone, page_size=at.page_size, cursor=at.cursor)
    loads = await find_loads(network.store)
    items = [
        {
            "milestoneIndex": None if row["milestone_index"] == rejects.UNKNOWN else row["milestone_index"],
            "file": row["file"],
            "line": row["line"],
            "item": row["item"] or None,
            "reason": row["reason"],
        }
        for row in page.rows
    ]
    return {"items": items, "total": loads.rejects, "cursor": at.next(page)}


EXPLORER_REJECTS = (
    Operation("/rejects", list_of_rejects, Rejects, no_span="rejects of incomplete milestones have no time"),
)
