"""Exports the milestones of a store as archive files that a load can read.

Invariants:
1. Reads whole partitions, one milestone at a time.
2. Milestones are verified with the checks of a load before they are written.
3. A milestone counts as archived when its file is durable (etl/writers/archived_marks.py).
"""

import asyncio
import os
import socket
import uuid
from contextlib import closing
from pathlib import Path

from db import schema
from db.connect import StoreSettings
from db.coverage import find_coverage
from db.intervals import Intervals, contains, intersect, size, span, subtract
from db.queries.milestones import get_milestone, list_cone
from db.store import Store, WritableStore
from db.sync import complete, find_newest_milestone
from etl.archive import MAX_FILE_BYTES
from etl.archive.archived_milestones import sealed_in
from etl.archive.checks import Checks
from etl.archive.validate import Fault
from etl.archive.writer import archive_writer, sealed_span
from etl.archive.written import Written
from etl.report import Notify, Progress, quiet
from etl.sources import read_cone
from etl.sources.cone import Cone, Entry
from etl.sources.limits import UNLIMITED
from etl.sources.lines import lines
from etl.sources.unpacking import open_stream
from etl.store_reads import StoreReads
from etl.writers.archived_marks import note_logged
from ledger.eras import CHRYSALIS, STARDUST, Codec
from ledger.stardust import codec as stardust
from ledger.stardust import values as stardust_values

MESSAGES_AT_ONCE = 1_000

WHOLE_CONE = 1 << 31
"""Greater than the number of messages in any cone."""

LEASE_S = 60


def export(
    settings: StoreSettings,
    store: WritableStore,
    into: Path,
    *,
    first: int | None = None,
    last: int | None = None,
    max_bytes: int = MAX_FILE_BYTES,
    mark: bool = True,
    notify: Notify = quiet,
) -> Written:
    """Writes the complete milestones of [first, last) to `into`, except those that its files contain. `Written.missing`
    lists milestones that are incomplete in the store or do not match their Merkle root.

    With `mark` the store finally records which of its milestones the files contain. Raises FolderInUse if another run
    writes to the folder, and ValueError if the folder contains files of another ledger. Raises LeaseHeld if another run
    writes to the store; the files are valid, and the next export records them. Raises ValueError for a selective store.
    """
    done = Written()
    with (
        asyncio.Runner() as runner,
        archive_writer(into, max_bytes, lambda path, *_: done.files.append(path.name)) as writer,
    ):
        if runner.run(find_coverage(store)) is not None:
            raise ValueError("a store with all messages of its milestones expected; this one keeps a selection")
        whole = runner.run(complete(store, settings.network))
        requested = whole if (first, last) == (None, None) else span(whole, first, last)
        done.missing = subtract(requested, whole)
        wanted = intersect(requested, whole)
        runner.run(_reject_other_ledgers(store, into, wanted))
        missing = subtract(wanted, writer.held())
        done.held = size(wanted) - size(missing)
        checks = Checks.of(settings, runner.run(_codec_of(store, settings.network)))

        def report(count: int) -> None:
            notify(Progress("export", count, size(missing), "milestones"))

        for low, high in missing:
            for index in range(low, high + 1):
                cone = runner.run(read_milestone(store, index))
                checked = checks.cone(index, cone, settings.url)
                done.write(writer, index, checked, report)
    if mark:
        done.faults += mark_logged(store, settings, into)
    return done


async def _reject_other_ledgers(store: Store, folder: Path, milestones: Intervals) -> None:
    """Raises ValueError if the folder's first closed file that starts with one of these milestones has none of the
    milestone's messages.
    """
    spans = sorted((span, path) for path in folder.iterdir() if (span := sealed_span(path)) is not None)
    begun = next(((first, path) for (first, _), path in spans if contains(milestones, first)), None)
    if begun is None:
        return
    index, path = begun
    try:
        with open_stream(str(path), UNLIMITED) as stream:
            line = next((line for _, _, line in lines(stream, UNLIMITED)), b"")
        written = {entry.message_id.hex() for entry in read_cone(line, index).entries}
    except (OSError, EOFError, ValueError):
        # mark_logged reports the wrong checksum of an unreadable file.
        return
    if written.isdisjoint(row["message_id"] for row in await list_cone(store, index, WHOLE_CONE)):
        raise ValueError(f"{path}: milestone {index} of the store's ledger expected, found one of another")


async def read_milestone(store: Store, milestone_index: int) -> Cone:
    """Reads the cone of a complete milestone. Raises NotFound if the milestone is missing."""
    row = await get_milestone(store, milestone_index)
    codec = _codec(row["payload"])
    cone = Cone(milestone_index, codec=codec)
    if codec is STARDUST:
        payload = stardust.decode_payload(row["payload"])
        assert isinstance(payload, stardust_values.Milestone)
        cone.milestone = payload
    listed = await list_cone(store, milestone_index, WHOLE_CONE)
    for start in range(0, len(listed), MESSAGES_AT_ONCE):
        keys = [(each["message_id"],) for each in listed[start : start + MESSAGES_AT_ONCE]]
        for message in await store.get_many(schema.messages, keys):
            if message is not None:
                cone.entries.append(
                    Entry(
                        bytes.fromhex(message["message_id"]),
                        codec.decode(message["message"]),
                        message["message"],
                        message["milestone_index"],
                        message["inclusion_state"],
                        message["conflict_reason"],
                    )
                )
    return cone


def mark_logged(store: WritableStore, settings: StoreSettings, folder: Path) -> list[Fault]:
    """Records in the store which of its milestones the folder's durable files contain. Returns faults of the files.
    Raises LeaseHeld if another run writes to the store.
    """
    with closing(StoreReads(store, settings.network)) as reads:
        # Files are read before the lease is acquired, because that may take longer than the lease lasts.
        sealed, faults = sealed_in(folder, reads.held().unlogged)
        lease = store.acquire(f"{socket.gethostname()}:{os.getpid()}", uuid.uuid4().hex[:12], LEASE_S)

        def renew() -> None:
            nonlocal lease
            lease = store.renew(lease, LEASE_S)

        try:
            note_logged(store, reads, settings.chunk_size, sealed, renew)
        finally:
            store.release(lease)
    return faults


async def _codec_of(store: Store, network: str) -> Codec | None:
    newest = await find_newest_milestone(store, network)
    return None if newest is None else _codec((await get_milestone(store, newest))["payload"])


def _codec(payload: bytes) -> Codec:
    """Detects the era from the type of the milestone's payload, its first byte."""
    return STARDUST if payload[0] == stardust_values.Milestone.KIND else CHRYSALIS
