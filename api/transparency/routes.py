"""The files of C2SP tlog-tiles below `/log`, and what follows from them: state, consistency and milestones.

A place has one row, whatever its width: a partial tile is the beginning of the one that is stored.
"""

from hashlib import sha256
from typing import Annotated

from api.fields.params import MilestoneIndex
from api.http.errors import BadParameter
from api.http.etags import CURRENT, IMMUTABLE, Cached
from api.http.operations import Family, Operation
from api.http.params import Param, integer, path, text
from api.http.responses import Json
from api.network import NetworkMount
from api.transparency.responses import LogConsistency, LogState
from db.queries import log
from db.store import NotFound
from ledger.completeness.intervals import complete_to
from ledger.transparency.checkpoint import Checkpoint, parse_checkpoint, parse_origin
from ledger.transparency.errors import LogError
from ledger.transparency.keys import read_timestamp
from ledger.transparency.note import parse_note
from ledger.transparency.positions import last_milestone
from ledger.transparency.text import MAX_NUMBER, encode_base64
from ledger.transparency.tiles import parse_place

NOTE = "text/plain; charset=utf-8"
"""The media type of notes and proofs in C2SP's specifications."""

LEVEL = path(
    "level",
    text("0 to 63, or entries", pattern="^([0-9]|[1-6][0-9]|entries)$", max_length=7),
    "Level of the tile, or `entries` for the records themselves",
    "0",
)
NUMBER = path(
    "number",
    text(
        "the end of a path of tlog-tiles",
        pattern=r"^(x[0-9]{3}/){0,5}[0-9]{3}(\.p/[1-9][0-9]{0,2})?$",
        max_length=40,
    ),
    "Number of the tile; a partial tile ends with its width",
    "000.p/50",
)
SIZE = integer(1, MAX_NUMBER)

Level = Annotated[str, LEVEL]
Number = Annotated[str, NUMBER]
Older = Annotated[int, Param("from", SIZE, "Number of records of the older log", 3, required=True)]
To = Annotated[int | None, Param("to", SIZE, "Number of records of the newer log. Default: all", 4)]


async def log_state(network: NetworkMount) -> Json:
    """Returns the state of the transparency log: origin, size, root, keys and cosignatures.

    The status is 404 if this archive has no log.
    """
    head = await log.get_head(network.store, network.name)
    origin, size = head.newest.origin, head.newest.size
    first = parse_origin(origin)[1]
    return {
        "origin": origin,
        "firstMilestone": first,
        "lastMilestone": last_milestone(first, size),
        "completeTo": None if head.signed is None else complete_to(first, last_milestone(first, head.signed.size)),
        "newest": shown(head.newest),
        "signed": None if head.signed is None else shown(head.signed),
        "verifier": head.verifier,
        "cosigned": None if head.cosigned is None else cosigned(head.cosigned),
    }


async def log_checkpoint(network: NetworkMount) -> Cached:
    """Returns the newest signed checkpoint (C2SP tlog-checkpoint), with the cosignatures of its witnesses.

    The status is 404 if this archive has no log, or no key that signs it.
    """
    head = await log.get_head(network.store, network.name)
    if head.checkpoint is None:
        raise NotFound(f"a signed checkpoint of the log of {network.name}")
    return Cached(head.checkpoint, etag_of(head.checkpoint), CURRENT)


async def log_tile(network: NetworkMount, level: Level, number: Number) -> Cached:
    """Returns a tile, or a bundle of records (C2SP tlog-tiles).

    A full tile never changes. A partial tile exists for every width up to the size of the log. The status is 404 for
    others.
    """
    name = f"tile/{level}/{number}"
    try:
        place = parse_place(name)
    except LogError as error:
        raise NotFound(name) from error
    head = await log.get_head(network.store, network.name)
    content = (await log.get_places(network.store, head.newest.size, [place]))[place]
    # A log that begins with another milestone has the same paths, so the ETag names the log.
    return Cached(content, f'"{head.newest.origin}/{name}"'.encode(), IMMUTABLE)


async def log_consistency(network: NetworkMount, older: Older, to: To = None) -> Json:
    """Returns the proof that the log extends its first records (RFC 9162 2.1.4).

    The status is 404 for more records than the log has.
    """
    head = await log.get_head(network.store, network.name)
    size = head.newest.size if to is None else to
    if size > head.newest.size:
        raise NotFound(f"a log of {network.name} with {size} records")
    if older > size:
        raise BadParameter("from", f"a size from 1 to {size}", str(older))
    hashes = await log.get_consistency(network.store, size, older)
    return {"from": older, "to": size, "hashes": [encode_base64(each) for each in hashes]}


async def log_proof(network: NetworkMount, index: MilestoneIndex) -> Cached:
    """Returns the proof that a milestone is in the signed log (C2SP tlog-proof), with its record as extra data.

    The status is 404 if the signed log does not contain the milestone.
    """
    proof = bytes(await log.get_proof(network.store, network.name, index))
    return Cached(proof, etag_of(proof), CURRENT)


def etag_of(content: bytes) -> bytes:
    """The ETag of what changes with each checkpoint."""
    return f'"{sha256(content).hexdigest()}"'.encode()


def shown(checkpoint: Checkpoint) -> Json:
    """Size and root."""
    return {"size": checkpoint.size, "root": encode_base64(checkpoint.root)}


def cosigned(data: bytes) -> Json:
    """The checkpoint with cosignatures, and its witnesses."""
    note = parse_note(data)
    times = [(each, read_timestamp(each)) for each in note.signatures]
    return {
        **shown(parse_checkpoint(note.text)),
        "witnesses": [
            {"name": each.name, "keyId": each.key_id.hex(), "time": time} for each, time in times if time is not None
        ],
        "checkpoint": data.decode(),
    }


TRANSPARENCY_LOG = Family(
    "transparency log",
    (
        Operation("/log", log_state, LogState, (404,), is_extension=True),
        Operation("/log/checkpoint", log_checkpoint, None, (404,), media_type=NOTE, is_cached=True, is_extension=True),
        Operation("/log/tile/{level}/{number:path}", log_tile, None, (404,), is_cached=True, is_extension=True),
        Operation("/log/consistency", log_consistency, LogConsistency, (404,), is_extension=True),
        Operation("/log/proof/{index}", log_proof, None, (404,), media_type=NOTE, is_cached=True, is_extension=True),
    ),
    wrap=lambda value: value,
)
