"""Pages of listings as node REST v1 and Chronicle v1 write them."""

from api.fields.inclusion_state import inclusion
from api.fields.params import END_TIMESTAMP
from api.http.errors import BadParameter
from api.http.responses import Json
from api.network import NetworkMount
from db.listing.page import Page
from db.store import Row
from db.times import FOREVER, Window, find_window


def listing(head: Json, items: str, column: str, page: Page, page_size: int, *, expanded: bool = False) -> Json:
    """Returns a page as JSON, with `state` for the next page. `expanded` replaces ids by Chronicle's records."""
    values = [record(row, column) for row in page.rows] if expanded else [row[column] for row in page.rows]
    return head | {"maxResults": page_size, "count": len(values), items: values, "state": page.cursor}


def record(row: Row, column: str) -> Json:
    """Returns Chronicle's record of a row's message. A pending message has neither inclusion state nor milestone."""
    return {"id": row[column], "inclusionState": inclusion(row), "milestoneIndex": row.get("milestone_index")}


async def window(network: NetworkMount, start: int | None, end: int | None) -> Window | None:
    """Returns the milestones of these seconds, or None if neither is given.

    Raises BadParameter if the window ends before it starts.
    """
    if start is None and end is None:
        return None
    if start is not None and end is not None and end < start:
        raise BadParameter(END_TIMESTAMP.name, f"start_timestamp ({start}) or later", str(end))
    end_ms = FOREVER if end is None else 1000 * end
    return await find_window(network.store, network.name, 1000 * (start or 0), end_ms)
