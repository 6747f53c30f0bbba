"""Continues the log of a selective permanode with that of a full one: its own log, which it had before `purge --keep`
reduced it, or the copy of that of an earlier archive.

A reduced permanode has no records of new milestones: those of intervals follow from the listings of all keys, and these
from the owners of all outputs that are spent (docs/decisions/0048-kept-proofs.md). Records depend on the ledger alone,
so if its log is the beginning of that of another archive, the records of that archive continue it.

Of a copied log there are a head and a few tiles, which the head of the next archive replaces if its log extends it.
"""

from collections.abc import Iterator
from dataclasses import replace

from db.queries.log import LogHead
from etl.static_archive.archived_log import ArchivedLog
from etl.transparency.append import LogAppender
from etl.transparency.history import LogForked, check_same
from etl.transparency.stored_log import StoredLog
from ledger.transparency.checkpoint import Checkpoint, parse_origin
from ledger.transparency.positions import last_milestone
from ledger.transparency.tiled_tree import proved_root
from ledger.transparency.tiles import TILE_WIDTH, Place, split_bundle, width_at

NAMES = "this permanode", "the archive"


def check_beginning(own: StoredLog, other: ArchivedLog) -> None:
    """Raises LogForked if an opened log is not the beginning of that of an archive, ValueError if it is longer."""
    assert own.head is not None, "a log of its own"
    newest = own.head.newest
    check_same(newest, own.files.tiles(newest.size), other.head, other.tile, NAMES, "Nothing was stored")
    _reject_shorter(newest, other, "this permanode was a full one, and its log has")


def check_extends(copied: LogHead, other: ArchivedLog, *, is_key_given: bool) -> None:
    """Checks that the log of an archive extends one that was copied before.

    Args:
        copied: the head of the copied log.
        other: the log of the archive, with a verified signature.
        is_key_given: whether somebody chose its key. If not, it must be the key of the copied log.

    Raises:
        LogForked: it has another origin or other records.
        ValueError: it is shorter or has another key.
        LogError: its tiles do not lead to its root.
    """
    newest = copied.newest
    if newest.origin != other.head.origin:
        raise LogForked(
            f"the log of the proofs here is {newest.origin}, that of the archive {other.head.origin}. Nothing was "
            "stored"
        )
    if not is_key_given and other.verifier != copied.verifier:
        raise ValueError(
            f"proof keep: the log of the proofs here was signed by {copied.verifier}, that of the archive by "
            f"{other.verifier}: give its key as --log-key to accept it"
        )
    _reject_shorter(newest, other, "the log of the proofs here has")
    if proved_root(newest.size, other.head.size, other.head.root, other.tile) != newest.root:
        milestone = last_milestone(parse_origin(newest.origin)[1], newest.size)
        raise LogForked(
            f"fork of the log {newest.origin} at milestone {milestone} or before it: the proofs here and the archive "
            f"have different roots of the first {newest.size:,} records. Nothing was stored"
        )


def _reject_shorter(newest: Checkpoint, other: ArchivedLog, what: str) -> None:
    if other.head.size < newest.size:
        raise ValueError(
            f"proof keep: {what} {newest.size:,} records, that of the archive {other.head.size:,}. An archive that was "
            "published later has the proofs"
        )


def continue_log(own: StoredLog, other: ArchivedLog) -> None:
    """Appends the records that the archive has more, and takes its checkpoint. Call `check_beginning` before.

    The records are proved by the tiles of the archive, whose signature `other` has verified.

    Raises:
        LogError: a record or tile of the archive is wrong.
    """
    assert own.head is not None, "a log of its own"
    size = own.head.newest.size
    appender = LogAppender(own, other.network, lambda *_: _records(other, size), others=[(other.head, other.tile)])
    head = appender.append(other.first, other.last)
    assert head is not None, "a log of its own"
    if head.signed is None or head.signed.size < other.head.size:
        own.publish(_signed_by(head, other))


def _signed_by(head: LogHead, other: ArchivedLog) -> LogHead:
    return replace(head, verifier=other.verifier, checkpoint=other.checkpoint)


def _records(log: ArchivedLog, start: int) -> Iterator[bytes]:
    """The records from index `start` on."""
    for number in range(start // TILE_WIDTH, -(-log.head.size // TILE_WIDTH)):
        place = Place(None, number, width_at(log.head.size, 0, number))
        yield from split_bundle(log.bundle(place), place.width)[max(0, start - number * TILE_WIDTH) :]
