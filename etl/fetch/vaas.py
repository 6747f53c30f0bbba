"""An emitter's messages out of guardians, or permanodes, into JSON lines that a load reads: a folder an emitter.

Rules of this file: an answer is written when it is the message that was asked for and its guardians signed it, as far
as their set is known; else it is a fault, and the next try is the next guardian's. What cannot be had below a message
that is there is a gap, and asked for once more in the end; all that is lacking is asked for by the next run.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from db.connect import StoreSettings
from db.intervals import Intervals, intersect, size, subtract
from db.schema.event_columns import QUORUM
from etl.archive.writer import Form, archive_writer
from etl.fetch.fill import Fetched, FetchSettings, answered, fill, retry, stopped_by_signals, stopped_within, wait_s
from etl.fetch.guardian import Emitter, Guardian
from etl.fetch.http import UNPROVED, UNREADABLE, WRONG_ID, Fault, Http
from etl.report import Notify, quiet
from etl.wormhole.cells import read_line
from ledger.reader import CodecError
from ledger.wormhole.guardians import PUBLISHED
from ledger.wormhole.ids import message_id
from ledger.wormhole.vaa import decode_vaa
from ledger.wormhole.verify import History, verify

SUFFIX = ".jsonl"

UNKNOWN_SET = "unknown_set"
"""The verdict on a message whose guardian set is newer than what is known here: it is kept, and a load judges it."""


@dataclass(frozen=True, slots=True)
class Source:
    """The guardians, whose messages are asked for, how the answers are judged, and when to end."""

    guardians: Sequence[Guardian]
    emitter: Emitter
    history: History
    settings: FetchSettings
    stop: asyncio.Event


def fetch_vaas(
    store: StoreSettings,
    urls: Sequence[str],
    emitter: Emitter,
    into: Path,
    wanted: Intervals,
    settings: FetchSettings | None = None,
    notify: Notify = quiet,
) -> Fetched:
    """Writes an emitter's messages of those sequences into `into/CHAIN/ADDRESS`, but for what its files hold.

    Raises ValueError for URLs that are none, guardians of another network and a network that has none, Fault where none
    answers, FolderInUse.
    """

    async def run() -> Fetched:
        async with _opened(store, urls, emitter, settings or FetchSettings()) as source:
            done = Fetched("vaas")
            folder = folder_of(into, emitter)
            missing, held = await _pass(source, folder, wanted, done, notify)
            done.held = size(wanted) - size(missing)
            gaps = intersect(done.lacking, [(0, held[-1][1])]) if held else []
            if gaps and not source.stop.is_set():
                done.forget(gaps)
                await _pass(source, folder, gaps, done, notify)
            done.left = size(missing) - done.count - size(done.lacking)
            return done

    return asyncio.run(run())


def folder_of(into: Path, emitter: Emitter) -> Path:
    """Where an emitter's files are: their names are sequences alone."""
    return into / str(emitter.chain) / emitter.address.hex()


def form_of(emitter: Emitter) -> Form:
    """Lines of one emitter's VAAs."""

    def sequences_of(line: bytes) -> list[int]:
        signed = [cell for cell in read_line(line) if cell.family == QUORUM]
        return [each.sequence for each in signed if (each.chain, each.emitter) == (emitter.chain, emitter.address)]

    return Form(SUFFIX, sequences_of)


async def _pass(
    source: Source, folder: Path, wanted: Intervals, done: Fetched, notify: Notify
) -> tuple[Intervals, Intervals]:
    """Asks for what the folder lacks of those sequences; what that was, and what the folder holds in the end."""
    max_bytes, form = source.settings.max_bytes, form_of(source.emitter)

    async def fetch_one(sequence: int) -> bytes:
        return await _fetch_vaa(source, sequence, done)

    with archive_writer(folder, max_bytes, lambda path, *_: done.files.append(path.name), form) as writer:
        missing = subtract(wanted, writer.held())
        await fill(writer, missing, fetch_one, source.settings.requests, source.stop, done, notify)
        writer.close()
        return missing, writer.held()


async def _fetch_vaa(source: Source, sequence: int, done: Fetched) -> bytes:
    """The line of one message; Fault where no guardian has it, the tries are used up or a signal came."""
    settings = source.settings
    left, tries, turn = list(source.guardians), 0, 0
    while True:
        guardian = left[turn % len(left)]
        try:
            return await _checked(source, guardian, sequence)
        except Fault as fault:
            done.faults[fault.kind] += 1
            if fault.is_for_good:
                left.remove(guardian)
                if not left:
                    raise
                continue
            turn, tries = turn + 1, tries + 1
            if tries >= settings.tries:
                raise
            if await stopped_within(source.stop, wait_s(settings, tries, fault)):
                raise


async def _checked(source: Source, guardian: Guardian, sequence: int) -> bytes:
    emitter = source.emitter
    data = await guardian.signed_vaa(emitter, sequence)
    asked = message_id(emitter.chain, emitter.address, sequence)
    try:
        vaa = decode_vaa(data)
    except CodecError as error:
        raise Fault(UNREADABLE, f"{guardian.url}: {asked}: {error}") from None
    found = message_id(vaa.emitter_chain, vaa.emitter_address, vaa.sequence)
    if found != asked:
        raise Fault(WRONG_ID, f"{guardian.url}: {asked} asked for, found {found}")
    verdict = verify(vaa, source.history)
    if verdict.fault not in (None, UNKNOWN_SET):
        raise Fault(UNPROVED, f"{guardian.url}: {asked}: {verdict.reason}")
    line = {"id": asked, "vaaBytes": base64.b64encode(data).decode()}
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


@asynccontextmanager
async def _opened(
    store: StoreSettings, urls: Sequence[str], emitter: Emitter, settings: FetchSettings
) -> AsyncIterator[Source]:
    """Connections to those guardians, which are asked for their set: one that is known tells the network. One that is
    silent is left out.
    """
    network = store.wormhole_network
    if network is None:
        raise ValueError(f"--guardian: a Wormhole network expected, as wormhole-mainnet, found {store.network}")
    history = {each.index: each for each in PUBLISHED[network]}
    async with AsyncExitStack() as stack:
        asking = [Http(url, at_once=settings.requests, timeout_s=settings.timeout_s) for url in urls]
        given = [Guardian(await stack.enter_async_context(each)) for each in asking]
        guardians = {each.url: each for each in given}
        sets = await answered({url: retry(each.current_set, settings) for url, each in guardians.items()})
        for url, told in sets.items():
            known = history.get(told[0]) if told else None
            if told and known and known.addresses != told[1]:
                raise ValueError(f"{url}: a guardian of {network} expected, found another set {told[0]}")
        yield Source([guardians[url] for url in sets], emitter, history, settings, stopped_by_signals())
