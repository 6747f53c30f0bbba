"""Full archives that hide a row or have a fork, made from the log of an honest one; and one server for all of them."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import uvicorn

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.connect import open_store
from etl.store_reads import StoreReads
from etl.transparency.append import LogAppender
from ledger.transparency.records import IntervalRecord, MilestoneRecord, Record, parse_record
from tests.api.processes import free_port
from tests.etl.conftest import Loading, Stores
from tests.etl.transparency.logs import KEY, opened

LAST = 50

FORKED, HIDDEN = 37, 30
"""The first milestone of the fork; the first interval with the hidden row ends at or after the second one."""


def hiding(record: Record) -> Record:
    is_hidden = isinstance(record, IntervalRecord) and record.interval.end >= HIDDEN
    return replace(record, root=b"\1" * 32) if is_hidden else record


def forking(record: Record) -> Record:
    is_forked = isinstance(record, MilestoneRecord) and record.index >= FORKED
    return replace(record, milestone_id=b"\1" * 32) if is_forked else record


def another(stores: Stores, honest: Loading, change: Callable[[Record], Record]) -> Loading:
    """A full archive with the log of another one, some records of which are changed."""
    with closing(open_store(honest.store)) as store, closing(StoreReads(store, honest.store.network)) as reads:
        records = [bytes(change(parse_record(each))) for each in reads.closed_records(1, 0, LAST)]
    made = stores(network=honest.store.network)
    with opened(made.store, made.folder / "lake") as log:
        LogAppender(log, made.store.network, lambda *_: records, KEY).append(1, LAST)
    return made


@contextmanager
def served(archives: Mapping[str, Loading]) -> Iterator[dict[str, str]]:
    """One server for all of them. Yields the prefixes of their logs."""
    with ExitStack() as stack:
        mounts = {
            name: NetworkMount(stack.enter_context(closing(open_store(each.store))), each.store.network, "atoi")
            for name, each in archives.items()
        }
        port = free_port()
        app = create_app(mounts, next(iter(mounts)), ApiSettings())
        server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
        thread.start()
        try:
            end = time.monotonic() + 60
            while not server.started and time.monotonic() < end:
                time.sleep(0.05)
            yield {name: f"http://127.0.0.1:{port}/api/{name}/log" for name in mounts}
        finally:
            server.should_exit = True
            thread.join(60)
