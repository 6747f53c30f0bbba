"""Tables that a store keeps about itself: complete milestones, partition splits, rejects, migrations, the lease."""

from db.model import Order, Table, Type, columns
from db.schema.shared_columns import MS_RANGE_ID, MS_TIMESTAMP

LAYOUT = 2
"""The layout in which complete milestones are written. A later layout adds tables, and `permanode rebuild` fills
them.
"""

sync = Table(
    "sync",
    "State of each milestone",
    columns(
        MS_RANGE_ID,
        ("milestone_index", Type.INT, "the milestone"),
        MS_TIMESTAMP,
        ("synced_by", Type.TINYINT, "0 once every row of the milestone is durable here"),
        ("logged_by", Type.TINYINT, "0 once a durable archive file contains the whole milestone"),
        ("message_count", Type.INT, "messages in the cone, including the milestone's own"),
        ("verified", Type.TEXT, "how far it is verified: believed, merkle, signed or full (proofs.md)"),
        ("layout", Type.SMALLINT, "store layout in which its rows were written"),
    ),
    partition=("ms_range_id",),
    clustering=("milestone_index",),
)

ranges = Table(
    "ranges",
    "Summary of sync by range, so that gaps, status and time filters read one slice",
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
    + columns(("logged", Type.TEXT, "milestones in durable archive files, as intervals like `complete`"), layout=9),
    partition=("network",),
    clustering=("ms_range_id",),
)

splits = Table(
    "splits",
    "First milestones of the partitions of hot keys",
    columns(
        ("lookup", Type.TEXT, "lookup table"),
        MS_RANGE_ID,
        ("key", Type.TEXT, "key columns as text, joined by ':'"),
        ("first_milestones", Type.TEXT, "JSON list of the first milestones of partitions, ascending"),
        ("open_count", Type.BIGINT, "rows counted in the open partition"),
        (
            "counted_to",
            Type.INT,
            "highest milestone counted, so that a run repeated after a crash counts nothing twice",
        ),
    ),
    partition=("lookup", "ms_range_id"),
    clustering=("key",),
    order=Order.ASC,
)

tails = Table(
    "tails",
    "Highest milestone ever begun for a lookup in a range; only later ones are counted and may begin a partition",
    columns(("lookup", Type.TEXT, "lookup table"), MS_RANGE_ID, ("milestone_index", Type.INT, "the milestone")),
    partition=("lookup",),
    clustering=("ms_range_id",),
)

rejects = Table(
    "rejects",
    "Rejected input with reasons; for a complete milestone, claims of its sources that contradict what is verified",
    columns(
        ("milestone_index", Type.INT, "milestone of the line; -1 if unknown"),
        ("file", Type.TEXT, "path as given"),
        ("line", Type.INT, "line in the file, from 1; 0 for the whole file"),
        ("item", Type.TEXT, "message id, name of a raw block's file, or '' for the whole line or file"),
        ("reason", Type.TEXT, "what was expected and what was found"),
    ),
    partition=("milestone_index",),
    clustering=("file", "line", "item"),
    order=Order.ASC,
)

keyspace_info = Table(
    "keyspace_info",
    "Properties fixed when the store was created (other settings are rejected), the engine of the newest run, the "
    "state of compaction and analytics, and notes of the newest load",
    columns(
        (
            "name",
            Type.TEXT,
            "network, chunk_size, partition_size, layout, unspent_from, compacted_to, analysed, analysed_by, "
            "analysed_to, reconciled, days_ranked, days_due, engine, head, genesis_parameters, genesis_time, load, "
            "load_begun, rejects, holdings, proved_from, proved_to, kept",
        ),
        ("value", Type.TEXT, "as text"),
    ),
    partition=("name",),
)

migrations = Table(
    "migrations",
    "Migration files applied to this store; a changed file is rejected",
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
    "The lease of the single writer",
    columns(
        ("name", Type.TEXT, "writer"),
        ("owner", Type.TEXT, "host and process"),
        ("run", Type.TEXT, "run id"),
        ("expires_at", Type.TIMESTAMP, "expiration time, extended while the run is alive"),
    ),
    partition=("name",),
)
