"""Accepts checkpoints of a log that witnesses have cosigned."""

import uuid
from collections.abc import Sequence
from contextlib import closing

from db.connect import StoreSettings, open_store
from etl.run_lease import held_lease
from etl.store_reads import StoreReads
from etl.transparency.log_files import LogFiles
from etl.transparency.stored_log import StoredLog
from ledger.crypto.log_tree import EMPTY
from ledger.transparency.checkpoint import Cosignature, add_cosignatures, open_checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.keys import Signature, VerifierKey
from ledger.transparency.note import Note, parse_note
from ledger.transparency.tiled_tree import TiledTree

_DASH = "—".encode()


def accept_cosignatures(store_settings: StoreSettings, lake: str, data: bytes) -> tuple[int, Sequence[Cosignature]]:
    """Stores what witnesses returned for a checkpoint: the whole note, or only their lines for the newest checkpoint.

    Returns the size of the checkpoint and all its cosignatures of known witnesses.

    Raises:
        SignatureError: a signature of the log or of a known witness is invalid, or none is of a known witness.
        LogError: the data have another form, or the checkpoint is not one of this log.
        LeaseHeld: another run writes to the store.
    """
    witnesses = [VerifierKey.parse(each) for each in store_settings.log_witnesses]
    if not witnesses:
        raise LogError("no witness is configured: set log_witnesses to the keys of witnesses")
    with (
        closing(open_store(store_settings, writable=True)) as store,
        held_lease(store, uuid.uuid4().hex[:12]),
        closing(StoreReads(store, store_settings.network)) as reads,
    ):
        log = StoredLog(LogFiles(lake, store_settings.network), store, reads)
        log.open()
        if log.head is None or log.head.checkpoint is None or log.head.verifier is None:
            raise LogError("the log has no signed checkpoint")
        key = VerifierKey.parse(log.head.verifier)
        origin = log.head.newest.origin
        if data.startswith(_DASH):
            note, lines = parse_note(log.head.checkpoint), data
        else:
            note, lines = _parted(parse_note(data), key)
        size = open_checkpoint(bytes(note), origin, key).checkpoint.size
        root = TiledTree(size, log.files.tiles(log.head.newest.size)).root() if size else EMPTY
        if size > log.head.newest.size or root != open_checkpoint(bytes(note), origin, key).checkpoint.root:
            raise LogError(f"the checkpoint of size {size} is not one of this log")
        known = parse_note(log.head.cosigned) if log.head.cosigned is not None else note
        cosigned = bytes(add_cosignatures(known if known.text == note.text else note, lines, witnesses))
        log.accept(cosigned, size)
        return size, open_checkpoint(cosigned, origin, key, witnesses).cosignatures


def _parted(note: Note, key: VerifierKey) -> tuple[Note, bytes]:
    """The note with the signature of its log alone, and the lines of the others."""
    own, others = list[Signature](), list[Signature]()
    for each in note.signatures:
        (own if key.is_of(each) else others).append(each)
    return Note(note.text, tuple(own)), "".join(each.line for each in others).encode()
