"""`permanode fsck` of a log: every tile and bundle of both copies is compared with the root of its head."""

from collections.abc import Callable, Iterator

from db import schema
from db.damage import Checked, Damage
from db.queries.log import LogHead
from etl.store_reads import StoreReads
from etl.transparency.log_files import CHECKPOINT, HEAD, LogFiles
from etl.transparency.stored_log import row_of
from ledger.transparency.checkpoint import open_checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.keys import VerifierKey
from ledger.transparency.proved_tiles import DamagedPlace, ProvedTiles
from ledger.transparency.tiles import TILE_WIDTH, Place

LOG = "log"

RECORDS = "its hashes or records"


def check_log_files(files: LogFiles, checked: Checked) -> Iterator[Damage]:
    """Yields the files of a log in a lake that differ from its root, and the damaged head or checkpoint."""
    folder = f"{LOG}/{files.network}"
    try:
        head = files.head()
    except (LogError, UnicodeDecodeError) as error:
        yield Damage(LOG, f"{folder}/{HEAD}", "the whole log", str(error))
        return
    if head is not None:
        for path, cause in _faults(head, files.read_place, checked):
            yield Damage(LOG, f"{folder}/{path}", RECORDS, cause)


def check_log_rows(reads: StoreReads, checked: Checked) -> Iterator[Damage]:
    """Yields the rows of a log in a store that differ from its root, and its damaged head."""
    heads = schema.log_heads.name
    try:
        head = reads.log_head()
    except LogError as error:
        yield Damage(heads, heads, reads.network, str(error))
        return
    if head is not None:
        for path, cause in _faults(head, lambda place: row_of(reads, place), checked):
            table = heads if path in (HEAD, CHECKPOINT) else schema.log_tiles.name
            yield Damage(table, table, path, cause)


def _faults(head: LogHead, read: Callable[[Place], bytes], checked: Checked) -> Iterator[tuple[str, str]]:
    """Yields path and cause of what is wrong."""
    done = 0

    def counted(place: Place) -> bytes:
        nonlocal done
        if place.level is None:
            done += place.width
            if place.number % TILE_WIDTH == 0:
                checked(LOG, done, None)
        return read(place)

    try:
        for fault in ProvedTiles(head.newest, counted).faults():
            yield fault.path, fault.cause
    except DamagedPlace as fault:
        yield fault.path, fault.cause
    except LogError as error:
        yield HEAD, str(error)
    if head.checkpoint is not None:
        try:
            open_checkpoint(head.checkpoint, head.newest.origin, VerifierKey.parse(head.verifier or ""))
        except LogError as error:
            yield CHECKPOINT, str(error)
