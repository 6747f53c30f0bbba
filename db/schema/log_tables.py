"""Tables of the transparency log: its tiles, and its newest and signed sizes."""

from db.model import Table, Type, columns

LAYOUT = 16

log_tiles = Table(
    "log_tiles",
    "Tiles and bundles of the transparency log (decision 0043). Files in the lake are the original",
    columns(
        ("level", Type.TINYINT, "level of the tile; -1 for a bundle of records"),
        ("number", Type.INT, "number of the tile within its level"),
        ("width", Type.SMALLINT, "hashes or records in it, 1 to 256; a full one never changes"),
        ("data", Type.BLOB, "content as C2SP tlog-tiles defines it"),
    ),
    partition=("level", "number"),
    layout=LAYOUT,
)

log_heads = Table(
    "log_heads",
    "Size and root of the transparency log. Tiles beyond it do not count",
    columns(
        ("network", Type.TEXT, "exact network name"),
        ("origin", Type.TEXT, "name of the log: permanode/NETWORK/FIRST"),
        ("size", Type.BIGINT, "number of its records"),
        ("root", Type.HEX, "root of the tree of all records"),
        ("verifier", Type.TEXT, "key that verifies the signature of the checkpoint, as text of signed-note"),
        ("checkpoint", Type.TEXT, "newest signed checkpoint; null without a key"),
        ("cosigned", Type.TEXT, "newest checkpoint with cosignatures of witnesses; null if none was accepted"),
    ),
    partition=("network",),
    layout=LAYOUT,
)
