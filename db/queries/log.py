"""The transparency log in a store: its head, its tiles, and proofs read from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from db import schema
from db.coverage import missing
from db.store import Key, NotFound, Row, Store, Value
from ledger.transparency.checkpoint import Checkpoint, parse_checkpoint, parse_origin
from ledger.transparency.keys import read_timestamp
from ledger.transparency.note import parse_note
from ledger.transparency.positions import index_of_milestone, last_milestone
from ledger.transparency.proof_file import LogProof
from ledger.transparency.tiled_tree import TiledTree, tiles_beside_leaf, tiles_beside_older
from ledger.transparency.tiles import TILE_WIDTH, Place, narrow, split_bundle, width_at

BUNDLE = -1
"""log_tiles.level of a bundle."""


class LogNotSigned(NotFound):
    """The log has no signed checkpoint."""


@dataclass(frozen=True)
class LogHead:
    """How far a log has been written, and what was signed of it.

    Attributes:
        newest: size and root of all records.
        verifier: the key of the signature, as text of signed-note; None if the log was never signed.
        checkpoint: the newest signed checkpoint; None if the log was never signed.
        cosigned: the newest checkpoint with cosignatures of witnesses; None without any.
    """

    newest: Checkpoint
    verifier: str | None = None
    checkpoint: bytes | None = None
    cosigned: bytes | None = None

    @property
    def signed(self) -> Checkpoint | None:
        """Size and root of the newest signed checkpoint. Its signature is not verified again."""
        return None if self.checkpoint is None else parse_checkpoint(parse_note(self.checkpoint).text)


@dataclass(frozen=True, slots=True)
class LogSummary:
    """How far a log is, in numbers of records.

    Attributes:
        origin: its name.
        last_milestone: the last one in it.
        size: all records.
        signed_size: those of the newest signed checkpoint; 0 without one.
        verifier: the key that signed it, as text; None without one.
        cosigned_size: those of the newest cosigned checkpoint; 0 without one.
        witnesses: names of the keys that cosigned it.
    """

    origin: str
    last_milestone: int
    size: int
    signed_size: int
    verifier: str | None
    cosigned_size: int
    witnesses: tuple[str, ...]


async def find_log_summary(store: Store, network: str) -> LogSummary | None:
    """How far the log is; None if nothing was written yet."""
    head = await find_head(store, network)
    if head is None:
        return None
    origin, size = head.newest.origin, head.newest.size
    cosigned = None if head.cosigned is None else parse_note(head.cosigned)
    witnesses = [each.name for each in cosigned.signatures if read_timestamp(each) is not None] if cosigned else []
    return LogSummary(
        origin,
        last_milestone(parse_origin(origin)[1], size),
        size,
        0 if head.signed is None else head.signed.size,
        head.verifier,
        0 if cosigned is None else parse_checkpoint(cosigned.text).size,
        tuple(witnesses),
    )


def key_of(place: Place) -> Key:
    """The key in log_tiles. A place has one row, whatever its width."""
    return (BUNDLE if place.level is None else place.level, place.number)


def head_values(network: str, head: LogHead) -> tuple[Value, ...]:
    """The row of log_heads, with native values."""
    newest = head.newest
    texts = (None if each is None else each.decode() for each in (head.checkpoint, head.cosigned))
    return (network, newest.origin, newest.size, newest.root, head.verifier, *texts)


def parse_head(row: Row) -> LogHead:
    """The head in a row of log_heads."""
    texts = (None if row[name] is None else row[name].encode() for name in ("checkpoint", "cosigned"))
    return LogHead(Checkpoint(row["origin"], row["size"], bytes.fromhex(row["root"])), row["verifier"], *texts)


async def find_head(store: Store, network: str) -> LogHead | None:
    """The head of the log; None if nothing was written yet."""
    row = await store.get(schema.log_heads, (network,))
    return None if row is None else parse_head(row)


async def get_head(store: Store, network: str) -> LogHead:
    """The head of the log. Raises NotFound without one."""
    head = await find_head(store, network)
    if head is None:
        raise await missing(store, f"a transparency log of {network}")
    return head


async def get_places(store: Store, size: int, places: Sequence[Place]) -> Mapping[Place, bytes]:
    """The content of places of a log of `size` records.

    Raises NotFound for a place that the log does not have at that size or that is not stored.
    """
    rows = await store.get_many(schema.log_tiles, [key_of(place) for place in places])
    found = {}
    for place, row in zip(places, rows, strict=True):
        if row is None or not 0 < place.width <= min(row["width"], width_at(size, place.level or 0, place.number)):
            raise await missing(store, place.path)
        found[place] = row["data"] if row["width"] == place.width else narrow(row["data"], place)
    return found


async def get_record(store: Store, size: int, index: int) -> bytes:
    """A record of a log of `size` records. Raises NotFound if it is not stored."""
    number, within = divmod(index, TILE_WIDTH)
    place = Place(None, number, width_at(size, 0, number))
    return split_bundle((await get_places(store, size, [place]))[place], place.width)[within]


async def get_proof(store: Store, network: str, milestone: int) -> LogProof:
    """The proof that the record of a milestone is in the signed log, with the record as its extra data.

    Raises LogNotSigned without a signed checkpoint, and NotFound if none contains the milestone.
    """
    head = await get_head(store, network)
    signed = head.signed
    if head.checkpoint is None or signed is None:
        raise LogNotSigned(f"a signed checkpoint of the log of {network}")
    first = parse_origin(signed.origin)[1]
    if not first <= milestone <= last_milestone(first, signed.size):
        raise NotFound(f"milestone {milestone} in the signed log of {network}")
    index = index_of_milestone(first, milestone)
    record = await get_record(store, signed.size, index)
    path = await get_audit_path(store, signed.size, index)
    return LogProof(index, tuple(path), parse_note(head.checkpoint), record)


async def get_audit_path(store: Store, size: int, index: int) -> list[bytes]:
    """The audit path of a record in a log of `size` records. Raises NotFound if a tile is not stored."""
    return (await _tree(store, size, tiles_beside_leaf(size, index))).audit_path(index)


async def get_consistency(store: Store, size: int, older: int) -> list[bytes]:
    """The proof that a log of `size` records extends its first `older` ones. Raises NotFound if a tile is not
    stored.
    """
    return (await _tree(store, size, tiles_beside_older(size, older))).consistency(older)


async def _tree(store: Store, size: int, places: Sequence[Place]) -> TiledTree:
    tiles = await get_places(store, size, places)
    return TiledTree(size, lambda level, number, width: tiles[Place(level, number, width)])
