"""Fetches an emitter's messages from guardians or permanodes and writes JSON lines for a load, in a folder per emitter.

A response is written if it is the requested message and its guardians signed it, as far as their set is known.
Otherwise it is a fault, and the next attempt uses the next guardian. A missing sequence below an available one is a
gap, which is requested once more at the end. The next run requests everything that is still missing.
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
"""The verdict on a message whose guardian set is newer than the built-in ones. It is written, and a load verifies
it.
"""


@dataclass(frozen=True, slots=True)
class Source:
    """The guardians, the emitter, the checks of the responses, and the stop event."""

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
    """Writes an emitter's messages of these sequences to `into/CHAIN/ADDRESS`, except those that its files contain.

    Raises ValueError for invalid URLs, guardians of another network and a network that is not a Wormhole network, Fault
    if no guardian responds, and FolderInUse.
    """

    async def run() -> Fetched:
        async with _opened(store, urls, emitter, settings or FetchSettings()) as source:
            done = Fetched("vaas")
            folder = folder_of(into, emitter)
            missing, held = await _pass(source, folder, wanted, done, notify)
            done.held = size(wanted) - size(missing)
            gaps = intersect(done.missing, [(0, held[-1][1])]) if held else []
            if gaps and not source.stop.is_set():
                done.forget(gaps)
                await _pass(source, folder, gaps, done, notify)
            done.left = size(missing) - done.count - size(done.missing)
            return done

    return asyncio.run(run())


def folder_of(into: Path, emitter: Emitter) -> Path:
    """The folder of an emitter's files. Their names contain only sequences."""
    return into / str(emitter.chain) / emitter.address.hex()


def form_of(emitter: Emitter) -> Form:
    """The form of lines with VAAs of one emitter."""

    def sequences_of(line: bytes) -> list[int]:
        signed = [cell for cell in read_line(line) if cell.family == QUORUM]
        return [each.sequence for each in signed if (each.chain, each.emitter) == (emitter.chain, emitter.address)]

    return Form(SUFFIX, b'{"id"', sequences_of)


async def _pass(
    source: Source, folder: Path, wanted: Intervals, done: Fetched, notify: Notify
) -> tuple[Intervals, Intervals]:
    """Fetches the sequences that are missing in the folder. Returns the result and the sequences in the folder."""
    max_bytes, form = source.settings.max_bytes, form_of(source.emitter)

    async def fetch_one(sequence: int) -> bytes:
        return await _fetch_vaa(source, sequence, done)

    with archive_writer(folder, max_bytes, lambda path, *_: done.files.append(path.name), form) as writer:
        missing = subtract(wanted, writer.held())
        await fill(writer, missing, fetch_one, source.settings.requests, source.stop, done, notify)
        writer.close()
        return missing, writer.held()


async def _fetch_vaa(source: Source, sequence: int, done: Fetched) -> bytes:
    """Fetches the line of a message. Raises Fault if no guardian has it, the attempts are used up or a signal came."""
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
    expected = message_id(emitter.chain, emitter.address, sequence)
    try:
        vaa = decode_vaa(data)
    except CodecError as error:
        raise Fault(UNREADABLE, f"{guardian.url}: {expected}: {error}") from None
    found = message_id(vaa.emitter_chain, vaa.emitter_address, vaa.sequence)
    if found != expected:
        raise Fault(WRONG_ID, f"{guardian.url}: expected {expected}, found {found}")
    verdict = verify(vaa, source.history)
    if verdict.fault not in (None, UNKNOWN_SET):
        raise Fault(UNPROVED, f"{guardian.url}: {expected}: {verdict.reason}")
    line = {"id": expected, "vaaBytes": base64.b64encode(data).decode()}
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


@asynccontextmanager
async def _opened(
    store: StoreSettings, urls: Sequence[str], emitter: Emitter, settings: FetchSettings
) -> AsyncIterator[Source]:
    """Opens connections to the guardians and requests their guardian set. A built-in set identifies the network. Omits
    guardians that do not respond.
    """
    network = store.wormhole_network
    if network is None:
        raise ValueError(f"--guardian needs a Wormhole network, e.g. wormhole-mainnet; found {store.network}")
    history = {each.index: each for each in PUBLISHED[network]}
    async with AsyncExitStack() as stack:
        clients = [Http(url, at_once=settings.requests, timeout_s=settings.timeout_s) for url in urls]
        given = [Guardian(await stack.enter_async_context(each)) for each in clients]
        guardians = {each.url: each for each in given}
        sets = await answered({url: retry(each.current_set, settings) for url, each in guardians.items()})
        for url, guardian_set in sets.items():
            known = history.get(guardian_set[0]) if guardian_set else None
            if guardian_set and known and known.addresses != guardian_set[1]:
                raise ValueError(
                    f"{url}: expected a guardian of {network}, found a different guardian set {guardian_set[0]}"
                )
        yield Source([guardians[url] for url in sets], emitter, history, settings, stopped_by_signals())
