"""Audits of a selective permanode, served with full ones: one that agrees, one that hides a row, one with a fork."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from cli.log_text import audit_lines
from db.connect import open_store
from etl.kept_proofs import keep_proofs
from etl.store_reads import StoreReads
from etl.transparency.append import LogAppender
from etl.transparency.audit import audit_logs
from ledger.transparency.records import IntervalRecord, MilestoneRecord, Record, parse_record
from tests.api.processes import free_port
from tests.etl.conftest import Loading, Stores, oracle_ledger
from tests.etl.static_archive.conftest import Case
from tests.etl.static_archive.test_signed_archive import (
    LAST,
    NAMES,
    selected_keys,
    signed,
    small_intervals,
)
from tests.etl.transparency.logs import KEY, opened

pytestmark = pytest.mark.loads

__all__ = ["signed", "small_intervals"]

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


def test_a_selective_permanode_is_compared_as_far_as_possible(signed: Case, stores: Stores, tmp_path: Path) -> None:
    tag, _ = selected_keys(signed.network)
    _, sources, genesis = oracle_ledger(NAMES[signed.network], tmp_path / "oracle")
    part = stores(network=signed.network)
    part.load(*sources, genesis=genesis, keep=[f"tag:0x{tag.hex()}"])
    honest = signed.loading
    archives = {
        "full": honest,
        "part": part,
        "hiding": another(stores, honest, hiding),
        "fork": another(stores, honest, forking),
    }
    with served(archives) as urls:

        def audited(*names: str, whole: bool = False) -> tuple[bool, dict[tuple[str, ...], object], str]:
            found = audit_logs([urls[name] for name in names], whole=whole)
            text = "\n".join(audit_lines(found))
            named = {url: name for name, url in urls.items()}
            assert [each.fault for each in found.operators] == [""] * len(names)
            results: dict[tuple[str, ...], object] = {
                tuple(named[url] for url in each.urls): (each.milestone, each.what, each.is_first)
                for each in found.differences
            }
            results |= {tuple(named[url] for url in each.urls): each.compared for each in found.partial}
            return found.is_good, results, text

        ids = f"16 of the ids of the milestones 1:{LAST + 1}"
        good, results, text = audited("full", "part")
        assert (good, results) == (True, {("full", "part"): (ids,)})
        assert f"  keeps a selection: filters: 1; milestones 1:{LAST + 1}\n  has no signed log\n" in text
        assert "  not compared: listings, changes of the ledger" in text
        assert text.endswith("no difference, all proofs are valid; 1 comparisons in part")
        good, results, text = audited("fork", "part")
        assert (good, results) == (False, {("fork", "part"): (FORKED, "milestone", True)})
        assert f"DIFFERENT from milestone {FORKED} on: milestone\n  {urls['fork']}: {'01' * 32}\n" in text
        keep_proofs(part.store, str(part.folder / "lake"), str(signed.archive), [])
        whole = f"all ids of the milestones 1:{LAST + 1}"
        size = signed_size(signed)
        good, results, _ = audited("full", "part", whole=True)
        assert (good, results) == (True, {("full", "part"): (f"the signed root of {size} records", whole)})
        good, results, text = audited("part", "hiding", "full")
        assert not good
        assert results == {
            ("part", "hiding"): (LAST, "roots of the logs", False),
            ("part", "full"): (f"the signed root of {size} records", ids),
            ("hiding", "full"): (HIDDEN + 4, "trees of listings", True),
        }
        assert f"DIFFERENT at milestone {LAST} or before it: roots of the logs" in text
        assert audited("part", "fork")[1] == {("part", "fork"): (FORKED, "milestone", True)}


def signed_size(signed: Case) -> int:
    """The number of records in the log of the full archive."""
    with closing(open_store(signed.loading.store)) as store, closing(StoreReads(store, signed.network)) as reads:
        head = reads.log_head()
    assert head is not None
    return head.newest.size
