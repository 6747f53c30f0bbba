"""Tables that a store keeps about itself: what is complete, where partitions are split, rejects, migrations, the
lease.
"""

from db.model import Order, Table, Type, columns
from db.schema.shared_columns import MS_RANGE_ID, MS_TIMESTAMP

LAYOUT = 2
"""The layout a complete milestone is written in; a later layout adds tables, `permanode rebuild` fills them."""

sync = Table(
    "sync",
    "State of each milestone",
    columns(
        MS_RANGE_ID,
        ("milestone_index", Type.INT, "the milestone"),
        MS_TIMESTAMP,
        ("synced_by", Type.TINYINT, "0 once every row of the milestone is durable here"),
        ("logged_by", Type.TINYINT, "0 once an archive file that holds it whole is durable"),
        ("message_count", Type.INT, "messages in the cone, the milestone's own included"),
        ("verified", Type.TEXT, "how far it was proved: believed, merkle, signed or full (proofs.md)"),
        ("layout", Type.SMALLINT, "store layout its rows were written in"),
    ),
    partition=("ms_range_id",),
    clustering=("milestone_index",),
)

ranges = Table(
    "ranges",
    "Sync, summed by range: gaps, status and time filters are one slice",
    columns(
        ("network", Type.TEXT, "exact network name"),
        MS_RANGE_ID,
        ("complete", Type.TEXT, "complete milestones as JSON intervals [[first, last], …], ascending"),
        ("incomplete", Type.TEXT, "milestones loaded with rejects, same form"),
        ("milestone_count", Type.INT, "complete milestones"),
        ("message_count", Type.BIGINT, "their messages"),
        ("min_timestamp", Type.TIMESTAMP, "smallest milestone timestamp"),
        ("max_timestamp", Type.TIMESTAMP, "largest milestone timestamp"),
        ("rising", Type.BOOLEAN, "timestamps never fall with the index inside the range"),
        ("layout", Type.SMALLINT, "layout of its complete milestones"),
    )
    + columns(
        ("logged", Type.TEXT, "milestones that durable archive files hold, as intervals like `complete`"), layout=9
    ),
    partition=("network",),
    clustering=("ms_range_id",),
)

splits = Table(
    "splits",
    "Where the partitions of hot keys begin",
    columns(
        ("lookup", Type.TEXT, "lookup table"),
        MS_RANGE_ID,
        ("key", Type.TEXT, "key columns as text, joined by ':'"),
        ("first_milestones", Type.TEXT, "JSON list of the milestones at which a partition begins, ascending"),
        ("open_count", Type.BIGINT, "rows counted into the open partition"),
        ("counted_to", Type.INT, "highest milestone counted: a run repeated after a crash counts nothing twice"),
    ),
    partition=("lookup", "ms_range_id"),
    clustering=("key",),
    order=Order.ASC,
)

tails = Table(
    "tails",
    "Highest milestone ever begun for a lookup in a range: only later ones are counted and may split",
    columns(("lookup", Type.TEXT, "lookup table"), MS_RANGE_ID, ("milestone_index", Type.INT, "the milestone")),
    partition=("lookup",),
    clustering=("ms_range_id",),
)

rejects = Table(
    "rejects",
    "What was refused, and why; a complete milestone's are what its sources said against what is proved",
    columns(
        ("milestone_index", Type.INT, "milestone of the line; -1 when the line does not tell"),
        ("file", Type.TEXT, "path as it was given"),
        ("line", Type.INT, "line in the file, from 1"),
        ("item", Type.TEXT, "message id, or '' for the whole line"),
        ("reason", Type.TEXT, "what was expected and what was found"),
    ),
    partition=("milestone_index",),
    clustering=("file", "line", "item"),
    order=Order.ASC,
)

keyspace_info = Table(
    "keyspace_info",
    "What this store was created for, where a differing setting is refused; and how far it is compacted and analysed",
    columns(
        (
            "name",
            Type.TEXT,
            "network, chunk_size, partition_size, layout, unspent_from, compacted_to, analysed, analysed_by, "
            "analysed_to",
        ),
        ("value", Type.TEXT, "as text"),
    ),
    partition=("name",),
)

migrations = Table(
    "migrations",
    "Migration files applied to this store; a changed file is refused",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("name", Type.TEXT, "file name without its suffix"),
        ("checksum", Type.TEXT, "SHA-256 of the file, hex"),
        ("applied_at", Type.TIMESTAMP, "when"),
    ),
    partition=("network",),
    clustering=("name",),
    order=Order.ASC,
)

lease = Table(
    "lease",
    "The one writer",
    columns(
        ("name", Type.TEXT, "writer"),
        ("owner", Type.TEXT, "host and process"),
        ("run", Type.TEXT, "run id"),
        ("expires_at", Type.TIMESTAMP, "renewed while the run lives"),
    ),
    partition=("name",),
)
