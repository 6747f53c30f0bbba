"""Messages of one day by hour. No stored sum has hours, so the query reads a bounded number of messages."""

from collections import Counter

from db.listing.spans import within
from db.listing.streams import lookup_source
from db.queries.wormhole.vaas import SENT_AT
from db.schema.wormhole_tables import LOOKUP
from db.store import Store
from db.utc_days import DAY_S

ROWS_MAX = 100_000
"""The most messages per day that are read. In 2026 the network signed about half as many per day, without PythNet."""

BATCH = 5_000
COLUMNS = (*LOOKUP.table.clustering, "verified", "canonical")
HOUR_S = 3_600


async def count_hours(store: Store, day: int) -> dict[int, int] | None:
    """Hour → verified messages with a timestamp in it, of all chains except PythNet; None if the day has too many
    messages.
    """
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
