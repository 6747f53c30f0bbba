"""Messages of one day by the hour.

Rules of this file: no sum has hours, so the day's messages are read, and only so many.
"""

from collections import Counter

from db.listing.spans import within
from db.listing.streams import lookup_source
from db.queries.wormhole.vaas import SENT_AT
from db.schema.wormhole_tables import LOOKUP
from db.store import Store
from db.utc_days import DAY_S

ROWS_MAX = 100_000
"""Messages of a day that are read at most; in 2026 the network signed about half as many, but PythNet's."""

BATCH = 5_000
COLUMNS = (*LOOKUP.table.clustering, "verified", "canonical")
HOUR_S = 3_600


async def count_hours(store: Store, day: int) -> dict[int, int] | None:
    """Hour → verified messages whose own time lies in it, of all chains but PythNet; None: the day has too many."""
    span = day * DAY_S, (day + 1) * DAY_S - 1
    source = within(lookup_source(LOOKUP, ("recent", ""), COLUMNS), [span], SENT_AT)
    stream = source(store, None, True)  # noqa: FBT003
    found: Counter[int] = Counter()
    read = 0
    while rows := await stream.next(BATCH):
        read += len(rows)
        if read > ROWS_MAX:
            return None
        found.update(row["timestamp"] // HOUR_S % 24 for row in rows if row["verified"] and row["canonical"])
    return dict(found)
