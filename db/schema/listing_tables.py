"""Tables of the trees that prove listings complete, and of the records that the transparency log has of them.

Their rows depend on the ledger only and never change. The trees are those of ledger/completeness.
"""

from db.model import Order, Table, Type, columns
from db.schema.shared_columns import MILESTONE_INDEX, MS_RANGE_ID

PART_TILES = 4_096
"""Tiles per partition of listing_tiles: about 12 MB."""

DIVIDED_FROM = 257
"""Rows from which listing_parts has the division of a key over the children of an interval. That of fewer rows is
computed from the rows.
"""

TREES_KEPT = 1_000
"""Milestones for which the leaves of an interval stay in listing_tiles after a larger one contains them. So pages of
a listing up to a fixed milestone can be proved for three hours.
"""

milestone_roots = Table(
    "milestone_roots",
    "What the transparency log contains of each milestone that is applied to the ledger state",
    columns(
        MS_RANGE_ID,
        MILESTONE_INDEX,
        ("log_id", Type.HEX, "id of the milestone's message (Chrysalis), milestone id (Stardust)"),
        ("timestamp", Type.BIGINT, "seconds since 1970"),
        ("message_count", Type.INT, "messages in the cone"),
        ("messages_root", Type.BLOB, "RFC 6962 root of their ids in white-flag order"),
        ("changes_root", Type.BLOB, "RFC 6962 root of the changes of the ledger (proofs.md)"),
    ),
    partition=("ms_range_id",),
    clustering=("milestone_index",),
    order=Order.ASC,
    layout=15,
)

interval_roots = Table(
    "interval_roots",
    "The tree of listing keys of each complete interval of milestones",
    columns(
        ("ms_range_id", Type.INT, "range of the interval's last milestone"),
        ("last_milestone", Type.INT, "the interval's last milestone"),
        ("level", Type.TINYINT, "level of the interval: it has 100 · 4^level milestones"),
        ("key_count", Type.BIGINT, "number of its keys"),
        ("root", Type.BLOB, "root of the tree"),
        ("parts", Type.BLOB, "the first place of each partition of its tiles but the first: length u8, place"),
    ),
    partition=("ms_range_id",),
    clustering=("last_milestone", "level"),
    order=Order.ASC,
    layout=15,
)

listing_tiles = Table(
    "listing_tiles",
    "Leaves of the trees of listing keys, 32 per row; those of intervals inside a larger one are deleted later",
    columns(
        ("level", Type.TINYINT, "level of the interval"),
        ("number", Type.INT, "number of the interval"),
        ("part", Type.INT, "number of the tile // 4096"),
        ("place", Type.HEX, "family and key of the first leaf"),
        ("tile", Type.INT, "number of the tile: of its first leaf // 32"),
        ("leaves", Type.BLOB, "for each leaf: family u8, length u16, key, count u32, root"),
        ("path", Type.BLOB, "audit path of the tile, from the leaves to the root"),
    ),
    partition=("level", "number", "part"),
    clustering=("place",),
    order=Order.ASC,
    layout=15,
)

listing_parts = Table(
    "listing_parts",
    "How the rows of a key with many are divided over the children of an interval",
    columns(
        ("place", Type.HEX, "family and key"),
        ("level", Type.TINYINT, "level of the interval"),
        ("number", Type.INT, "number of the interval"),
        ("children", Type.BLOB, "for each child that has the key, two or more: number u32, count u32, root"),
    ),
    partition=("place",),
    clustering=("level", "number"),
    order=Order.ASC,
    layout=15,
)
