"""`permanode fetch` from a server over the oracle ledgers that acts as a node, with faults between the two.

The expected files follow from the oracle's JSON and are the same byte for byte, whatever faults occur.
"""

import asyncio
import gc
import gzip
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from errno import ENOSPC
from functools import partial
from pathlib import Path
from socket import socket
from typing import Any, TypeAlias
from zlib import crc32

import httpx
import pytest
from typer.testing import CliRunner

from cli import following as loading
from cli import main as cli
from db.connect import StoreSettings
from db.store import LeaseHeld
from db.sync import Held
from etl.archive.writer import ArchiveWriter, FolderInUse, archive_writer
from etl.fetch import follow as following
from etl.fetch.fill import BACKOFF_MOST_S, Fetched, FetchSettings, fill, wait_s
from etl.fetch.follow import Pace, Run
from etl.fetch.http import (
    BAD_STATUS,
    BROKEN,
    MAX_BODY_BYTES,
    NOT_THERE,
    TIMEOUT,
    UNPROVED,
    UNREADABLE,
    WRONG_ID,
    Fault,
    Http,
)
from etl.fetch.run import fetch
from etl.report import Progress, Report, quiet
from ledger.eras import CHRYSALIS
from tests.conftest import ROOT
from tests.etl.archive.conftest import Json, Ledger, contents, environment, on_both
from tests.etl.archive.proxy import proxied
from tests.etl.archive.test_merge import lines_of

pytestmark = pytest.mark.thorough

QUICK = FetchSettings(timeout_s=20.0, backoff_s=0.01, tries=8)

MESSAGE = re.compile(r"/(?:messages|blocks)/(?:0x)?([0-9a-f]{64})(?:/|$)")


def ids_below(ledger: Ledger, milestone_index: int) -> set[str]:
    """The responses of a node that pruned all milestones before that one."""
    below = [line for line in ledger.milestones if line["milestone"]["index"] < milestone_index]
    return {entry["id"].removeprefix("0x") for line in below for entry in line[ledger.entries]}


@on_both
def test_what_is_fetched_is_the_oracles_json(ledger: Ledger, node: str, tmp_path: Path) -> None:
    done = fetch(ledger.store, [node], tmp_path, [(1, 6)], QUICK)
    assert (done.count, done.missing, done.files, dict(done.faults)) == (6, [], ["1to7.log"], {})
    assert lines_of(tmp_path) == ledger.lines(1, 7)


@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_is_requested_at_once_than_is_set(ledger: Ledger, node: str, tmp_path: Path, at_once: int) -> None:
    with proxied(node, spoil=lambda path, nth: "late") as proxy:
        done = fetch(ledger.store, [proxy.url], tmp_path, [(1, 3)], replace(QUICK, requests=at_once))
    assert (done.count, done.missing, done.faults.total()) == (3, [], 0)
    assert proxy.most == at_once


@on_both
def test_a_permanodes_network_is_a_node_too(ledger: Ledger, node: str, tmp_path: Path) -> None:
    done = fetch(ledger.store, [f"{node}/api/{ledger.network}"], tmp_path, [(2, 3)], QUICK)
    assert done.missing == []
    assert lines_of(tmp_path) == ledger.lines(2, 4)


def test_a_bad_way_gives_the_same_files_and_every_fault_is_counted(ledger: Ledger, node: str, tmp_path: Path) -> None:
    """One of every five requests fails at first, each with another fault."""
    kinds = ["503", "truncated", "half", "wrong id", "503", "truncated", "half", "wrong id", "timeout"]

    def spoil(path: str, nth: int) -> str | None:
        drawn = crc32(path.encode())
        if nth > 1 or "/info" in path or drawn % 5:
            return None
        kind = kinds[drawn // 5 % len(kinds)]
        is_raw = path.endswith("/raw") or re.search(r"/blocks/0x[0-9a-f]{64}$", path)
        return "half" if kind == "wrong id" and not is_raw else kind

    with proxied(node, spoil=spoil) as proxy:
        done = fetch(ledger.store, [proxy.url], tmp_path, [(1, 8)], replace(QUICK, timeout_s=1.0))
    assert done.missing == []
    assert {TIMEOUT, BROKEN, BAD_STATUS, UNREADABLE, WRONG_ID} <= done.faults.keys()
    assert lines_of(tmp_path) == ledger.lines(1, 9)
    assert max(proxy.requested.values()) <= 8


@on_both
def test_wrong_metadata_of_a_message_is_found_out_and_requested_again(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    (line,) = ledger.lines(4, 5)
    chosen = next(
        entry["id"] for entry in line[ledger.entries] if entry["metadata"]["ledgerInclusionState"] == "included"
    )
    lies = 0

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        nonlocal lies
        if chosen in path and path.endswith("/metadata") and lies < 2:
            lies += 1
            return status, body.replace(b'"referencedByMilestoneIndex":4', b'"referencedByMilestoneIndex":3')
        return status, body

    with proxied(node, edit=edit) as proxy:
        done = fetch(ledger.store, [proxy.url], tmp_path, [(4, 4)], QUICK)
    assert (done.count, done.faults[UNPROVED]) == (1, 2)
    assert lines_of(tmp_path) == ledger.lines(4, 5)


@on_both
def test_a_pruned_node_gives_what_it_has_and_the_rest_is_named(ledger: Ledger, node: str, tmp_path: Path) -> None:
    gone = ids_below(ledger, 6)

    def spoil(path: str, nth: int) -> str | None:
        found = MESSAGE.search(path)
        milestone = re.search(r"/milestones/(?:by-index/)?(\d+)$", path)
        return "404" if (found and found[1] in gone) or (milestone and int(milestone[1]) < 6) else None

    with proxied(node, spoil=spoil) as proxy:
        done = fetch(ledger.store, [proxy.url], tmp_path, [(3, 9)], QUICK)
        assert (done.count, done.missing, done.files) == (4, [(3, 5)], ["6to10.log"])
        assert done.faults[NOT_THERE] == 3
        assert all("not there" in text for text in done.failures)
        # Each milestone above the gap requests it once, and the fetch requests milestone 5 itself.
        assert max(proxy.requested[path] for path in proxy.requested if path.endswith("/5")) <= 4 + 1
        # The second node has them: the fetch requests them there when the first one returns nothing.
        healed = fetch(ledger.store, [proxy.url, node], tmp_path, [(3, 9)], QUICK)
    assert (healed.count, healed.held, healed.missing) == (3, 4, [])
    assert lines_of(tmp_path) == ledger.lines(3, 10)


def test_a_node_given_twice_is_queried_once(ledger: Ledger, node: str, tmp_path: Path) -> None:
    """The milestone is missing; a signal ends a fetch that would otherwise request it forever."""
    requested = 0

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        nonlocal requested
        if path.endswith(("/milestones/60", "/by-index/60")):
            requested += 1
            if requested == 3:
                os.kill(os.getpid(), signal.SIGTERM)
        return status, body

    with proxied(node, edit=edit) as proxy:
        urls = [proxy.url, f"{proxy.url}/", f"{proxy.url}/api", proxy.url.replace("http:", "HTTP:")]
        done = fetch(ledger.store, urls, tmp_path, [(60, 60)], QUICK)
    assert (done.missing, requested) == ([(60, 60)], 1)


def test_a_node_that_is_down_is_left_out_and_named_and_nothing_is_fetched_where_all_are(
    ledger: Ledger, node: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(socket()) as deaf:
        deaf.bind(("127.0.0.1", 0))
        down = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        done = fetch(ledger.store, [down, node], tmp_path, [(1, 2)], QUICK)
        assert (done.count, done.missing, done.faults.total()) == (2, [], 0)
        assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
            f"{down} is not used: {BROKEN}: {down}/api/v1/info: connecting failed: Connection refused"
        ]
        with pytest.raises(Fault, match="connecting failed: Connection refused"):
            fetch(ledger.store, [down], tmp_path, [(3, 4)], QUICK)


def test_a_signal_ends_the_wait_for_another_try(ledger: Ledger, node: str, tmp_path: Path) -> None:
    (line,) = ledger.lines(3, 4)
    chosen = line[ledger.entries][0]["id"]

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if chosen not in path:
            return status, body
        os.kill(os.getpid(), signal.SIGTERM)
        return 503, b"busy"

    with proxied(node, edit=edit) as proxy:
        done = fetch(ledger.store, [proxy.url], tmp_path, [(3, 3)], FetchSettings(backoff_s=1.0, tries=3))
    assert (done.count, done.missing, done.left, dict(done.faults)) == (0, [(3, 3)], 0, {BAD_STATUS: 1})


async def test_what_fails_beside_a_write_that_fails_is_not_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a request does when its connection breaks while it is cancelled."""
    reported: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["message"]))

    async def fetch_one(index: int) -> bytes:
        if index > 1:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise Fault(BROKEN, "") from None
        await asyncio.sleep(0)
        return b"no line\n"

    def is_full(*_: object) -> None:
        raise OSError(ENOSPC, "")

    monkeypatch.setattr(ArchiveWriter, "append", is_full)
    with archive_writer(tmp_path) as writer, pytest.raises(OSError, match=str(ENOSPC)):
        await fill(writer, [(1, 4)], fetch_one, 4, asyncio.Event(), Fetched(), quiet)
    await asyncio.sleep(0)
    gc.collect()
    assert reported == []


def test_one_unavailable_milestone_costs_no_other(ledger: Ledger, node: str, tmp_path: Path) -> None:
    (line,) = ledger.lines(3, 4)
    chosen = line[ledger.entries][0]["id"]
    impatient = FetchSettings(backoff_s=0.01, tries=3)
    with proxied(node, spoil=lambda path, nth: "503" if chosen in path else None) as proxy:
        done = fetch(ledger.store, [proxy.url], tmp_path, [(1, 5)], impatient)
    assert (done.count, done.missing, done.files) == (4, [(3, 3)], ["1to3.log", "4to6.log"])
    assert max(proxy.requested.values()) <= 3 + 1
    # The next run requests only that milestone, and nothing that the folder contains.
    with proxied(node) as proxy:
        again = fetch(ledger.store, [proxy.url], tmp_path, [(1, 5)], impatient)
    assert (again.count, again.held, again.files) == (1, 4, ["3to4.log"])
    requested = {
        int(found[1]) for path in proxy.requested if (found := re.search(r"/milestones/(?:by-index/)?(\d+)$", path))
    }
    assert 3 in requested
    assert not requested & {4, 5}


def test_what_is_held_is_never_requested(ledger: Ledger, node: str, tmp_path: Path) -> None:
    fetch(ledger.store, [node], tmp_path, [(1, 3)], QUICK)
    before = contents(tmp_path)
    with proxied(node) as proxy:
        done = fetch(ledger.store, [proxy.url], tmp_path, [(1, 3)], QUICK)
    assert (done.count, done.held) == (0, 3)
    assert all(path.endswith("/info") for path in proxy.requested)
    assert contents(tmp_path) == before


def test_a_node_of_another_network_and_no_node_are_rejected(ledger: Ledger, node: str, tmp_path: Path) -> None:
    other = StoreSettings("", "elsewhere-1", protocol_parameters=ledger.store.protocol_parameters)
    with pytest.raises(ValueError, match=f"expected a node of network elsewhere-1, found {ledger.network}"):
        fetch(other, [node], tmp_path, [(1, 2)], QUICK)
    with pytest.raises(ValueError, match="invalid URL"):
        fetch(ledger.store, ["nonsense"], tmp_path, [(1, 2)], QUICK)
    assert not list(tmp_path.iterdir())


def test_a_permanode_with_another_network_at_that_path_is_named_with_the_right_one(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        is_root = path in ("/api/v1/info", "/api/core/v2/info")
        return status, body.replace(ledger.network.encode(), b"elsewhere-1") if is_root else body

    with proxied(node, edit=edit) as proxy:
        with pytest.raises(ValueError, match="found elsewhere-1; use ") as caught:
            fetch(ledger.store, [proxy.url], tmp_path, [(1, 2)], QUICK)
        *_, url = str(caught.value).split()
        assert url == f"{proxy.url}/api/{ledger.network}"
        with pytest.raises(ValueError, match=f"not the REST API of a node: found neither .*; use {url}$"):
            fetch(ledger.store, [f"{proxy.url}/api/elsewhere-2"], tmp_path, [(1, 2)], QUICK)
        assert fetch(ledger.store, [url], tmp_path, [(1, 2)], QUICK).count == 2


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_does_not_exist_is_reported_without_a_second_try(
    ledger: Ledger, tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("etl.fetch.fill.asyncio.sleep", sleep)
    with closing(socket()) as deaf:
        deaf.bind(("127.0.0.1", 0))
        down = f"{scheme}://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(Fault) as caught:
            fetch(ledger.store, [down], tmp_path, [(3, 4)], FetchSettings(tries=6))
    assert str(caught.value).startswith(f"{down}/api/v1/info: ")
    assert waits == []


def test_a_fetch_that_is_killed_writes_the_same_bytes(ledger: Ledger, node: str, tmp_path: Path) -> None:
    fetch(ledger.store, [node], tmp_path / "whole", [(1, 12)], FetchSettings(max_bytes=200_000))
    variables = os.environ | environment(ledger) | {"PYTHONPATH": str(ROOT)}
    is_killed = threading.Event()

    def spoil(path: str, nth: int) -> str | None:
        """Holds up the fetch until it is killed."""
        return "timeout" if path.endswith("/10") and not is_killed.is_set() else None

    with proxied(node, spoil=spoil) as proxy:
        command = [sys.executable, "-c", "from cli.main import main; main()", "--debug", "fetch"]
        command += ["--node", proxy.url, "--range", "1:13"]
        command += ["--max-size", "200000", "--into", str(tmp_path / "killed")]
        process = subprocess.Popen(command, env=variables, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        for printed in process.stderr:
            if json.loads(printed)["done"] >= 4:
                break
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        process.stderr.close()
        is_killed.set()
        assert list((tmp_path / "killed").glob("*.part")), "killed too late"
        done = subprocess.run(command, env=variables, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (held,) = re.findall(r"(\d+) already there", done.stdout)
    assert int(held) >= 4
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_the_command_ends_with_3_and_names_what_was_not_available(
    ledger: Ledger, node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(ledger).items():
        monkeypatch.setenv(name, value)
    command = ["fetch", "--node", node, "--into", str(tmp_path)]
    done = CliRunner().invoke(cli.app, [*command, "--range", "49:53"])
    assert done.exit_code == 3
    assert "missing: 51:53" in done.output
    assert CliRunner().invoke(cli.app, [*command, "--range", "40:51", "--missing"]).exit_code == 0
    assert len(lines_of(tmp_path)) == 2
    for wrong in (["--range", "5:"], ["--follow", "--range", "1:5"], ["--load", "--range", "1:5"]):
        assert CliRunner().invoke(cli.app, [*command, *wrong]).exit_code == 2


@on_both
def test_following_hands_on_a_minute_of_milestones_and_what_is_pending(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    """The node's newest milestone rises by three with every request; milestones are ten seconds apart."""
    pending = [entry["id"] for entry in ledger.pending]
    runs: list[Run] = []
    newest, away = 0, 2

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        nonlocal newest
        if path.endswith("/tips"):
            return 200, tips_of(ledger)
        if path.endswith("/info") and status == 200:
            return status, rewritten(path, json.loads(body))
        return status, body

    def rewritten(path: str, body: Any) -> bytes:
        nonlocal newest
        newest += 3
        if "/v2/" in path:
            body["status"]["confirmedMilestone"]["index"] = min(newest, 30)
        else:
            body["data"]["confirmedMilestoneIndex"] = min(newest, 30)
        return json.dumps(body).encode()

    def spoil(path: str, nth: int) -> str | None:
        return "503" if path.endswith("/info") and 4 <= nth < 4 + away else None

    async def hand_on(run: Run) -> None:
        runs.append(run)
        assert all(path.exists() for path in run.files)
        if len(runs) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    with proxied(node, edit=edit, spoil=spoil) as proxy:
        done = following.follow(
            ledger.store, [proxy.url], tmp_path, hand_on, first=1, settings=QUICK, pace=Pace(poll_s=0.01)
        )
    spans = [[line["milestone"] for line in lines_in(run.files)] for run in runs]
    assert all(span[-1]["timestamp"] - span[0]["timestamp"] >= 60 for span in spans)
    assert [each["index"] for span in spans for each in span] == list(range(1, done.count + 1))
    assert lines_of(tmp_path) == ledger.lines(1, done.count + 1)
    assert done.faults[BAD_STATUS] == away
    reported = [json.loads(line) for line in (tmp_path / "pending.jsonl").read_bytes().splitlines()]
    content = "message" if ledger.codec is CHRYSALIS else "block"
    expected = [{"id": entry["id"], content: entry[content], "metadata": {}} for entry in ledger.pending]
    assert reported == sorted(expected, key=lambda entry: entry["id"])
    assert [run.pending for run in runs] == [len(pending)] * 2


def tips_of(ledger: Ledger) -> bytes:
    """A node's response that lists all pending messages."""
    pending = [entry["id"] for entry in ledger.pending]
    return json.dumps({"data": {"tipMessageIds": pending}} if ledger.codec is CHRYSALIS else {"tips": pending}).encode()


def test_a_signal_ends_the_look_at_what_is_pending(
    ledger: Ledger, node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "PENDING_AT_ONCE", 1)
    pending = [entry["id"] for entry in ledger.pending]
    runs: list[Run] = []

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if path.endswith("/tips"):
            return 200, tips_of(ledger)
        if pending[0] in path and path.endswith("/metadata"):
            os.kill(os.getpid(), signal.SIGTERM)
        return status, body

    async def hand_on(run: Run) -> None:
        runs.append(run)

    with proxied(node, edit=edit) as proxy:
        following.follow(ledger.store, [proxy.url], tmp_path, hand_on, first=35, settings=QUICK, pace=Pace(poll_s=0.01))
    assert not any(each in path for path in proxy.requested for each in pending[1:])
    reported = [json.loads(line)["id"] for line in (tmp_path / "pending.jsonl").read_bytes().splitlines()]
    assert reported == pending[:1]
    assert [run.pending for run in runs] == [1]


def lines_in(files: tuple[Path, ...]) -> list[Json]:
    return [json.loads(line) for path in files for line in path.read_bytes().splitlines()]


def test_a_signal_lets_what_is_under_way_be_written_and_the_next_run_takes_the_rest(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    def notify(step: Progress) -> None:
        if step.done == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    done = fetch(ledger.store, [node], tmp_path, [(1, 20)], QUICK, notify)
    assert 2 <= done.count < 20
    assert (done.left, done.missing, done.files) == (20 - done.count, [], [f"1to{done.count + 1}.log"])
    assert lines_of(tmp_path) == ledger.lines(1, done.count + 1)


class Loads:
    """Loads that end as given: with a report, or with an error. Collects the names of the files of each load."""

    def __init__(self, *ends: Report | Exception, due_s: float = math.inf) -> None:
        self._ends = iter(ends)
        self._due_s = due_s
        self.names: list[list[str]] = []

    def load(self, files: list[Path], newest: int, newest_at: float, eta_s: float | None) -> Report:
        self.names.append([path.name for path in files])
        end = next(self._ends)
        if isinstance(end, Exception):
            raise end
        return end

    def days_due_s(self) -> float:
        return self._due_s


LOADED = Report("a run", milestones=1)


@pytest.fixture
def thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    monkeypatch.setattr(loading, "PAUSE_S", 0.0)
    with ThreadPoolExecutor(1) as pool:
        yield pool


async def test_files_and_pending_messages_of_a_failed_load_are_in_the_next(tmp_path: Path, thread: Executor) -> None:
    names = ("0to1.log", "1to8.log", "8to16.log", "16to24.log")
    killed, first, second, third = (tmp_path / name for name in names)
    for name in (*names, "pending.jsonl"):
        (tmp_path / name).touch()
    loads = Loads(RuntimeError("out of memory"), LeaseHeld("another run"), LOADED, replace(LOADED, rejects=1), LOADED)
    load_run = loading.loader(loads, thread, tmp_path, [killed])
    assert await load_run(Run(Fetched(), (first,), 3)) == loading.FAILED_S
    assert await load_run(Run(Fetched(), (second,), 0)) == loading.BUSY_S
    assert await load_run(Run(Fetched(), (), 0)) is None
    assert await load_run(Run(Fetched(), (), 0)) is None
    assert await load_run(Run(Fetched(), (), 5)) is None
    assert await load_run(Run(Fetched(), (third,), 0)) is None
    assert loads.names == [
        ["0to1.log", "1to8.log", "pending.jsonl"],
        ["0to1.log", "1to8.log", "8to16.log", "pending.jsonl"],
        ["0to1.log", "1to8.log", "8to16.log", "pending.jsonl"],
        ["pending.jsonl"],
        ["16to24.log"],
    ]


async def test_days_that_are_due_are_loaded_without_files(tmp_path: Path, thread: Executor) -> None:
    waits, due = Loads(due_s=20.0), Loads(LOADED, due_s=0.0)
    assert await loading.loader(waits, thread, tmp_path, [])(Run(Fetched(), (), 0)) == 20.0
    assert await loading.loader(due, thread, tmp_path, [])(Run(Fetched(), (), 0)) == 0.0
    assert (waits.names, due.names) == ([], [[]])


async def test_more_files_than_one_load_takes_are_loaded_as_their_folder(
    tmp_path: Path, thread: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a load has read them; files that arrive in the meantime are in the folder, too."""
    monkeypatch.setattr(loading, "FILES_MOST", 3)
    first, second, third, fourth, last = paths = [tmp_path / f"{index}to{index + 1}.log" for index in range(5)]
    for each in paths:
        each.touch()
    failed = RuntimeError("disk full")
    loads = Loads(failed, failed, LOADED, LOADED)
    load_run = loading.loader(loads, thread, tmp_path, [first, second])
    for files in ((third,), (fourth,), (), (last,)):
        await load_run(Run(Fetched(), files, 0))
    assert loads.names == [["0to1.log", "1to2.log", "2to3.log"], [tmp_path.name], [tmp_path.name], ["4to5.log"]]


def test_files_of_a_killed_run_that_the_store_has_not_noted_are_loaded_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also below the store's newest milestone, and if only the note that they are archived is missing."""
    held = Held(complete=[(1, 20), (31, 39), (90, 99)], incomplete=[], logged=[(1, 20), (90, 99)], messages=0)

    async def find_held(*_: object) -> Held:
        return held

    monkeypatch.setattr("db.connect.open_store", lambda _: io.StringIO())
    monkeypatch.setattr("db.sync.held", find_held)
    store, folder = StoreSettings("sqlite:///x", "permatest-1"), tmp_path / "archive"
    assert loading.not_loaded(store, folder) == []
    folder.mkdir()
    for name in ("1to9.log", "9to21.log", "21to30.log", "100to130.log", "31to40.log", "90to100.log"):
        (folder / name).touch()
        (folder / f"{name}.b2sum").touch()
    (folder / "130to140.log").touch()
    assert [path.name for path in loading.not_loaded(store, folder)] == ["21to30.log", "31to40.log", "100to130.log"]
    held = Held([], [], [], 0)
    assert len(loading.not_loaded(store, folder)) == 6


def test_what_a_killed_run_left_open_is_handed_on_by_the_next(ledger: Ledger, node: str, tmp_path: Path) -> None:
    (tmp_path / "1.part").write_text("".join(f"{json.dumps(line)}\n" for line in ledger.lines(1, 4)))
    runs: list[Run] = []

    async def hand_on(run: Run) -> None:
        runs.append(run)
        os.kill(os.getpid(), signal.SIGTERM)

    pace = Pace(run_most=5, poll_s=0.01)
    done = following.follow(ledger.store, [node], tmp_path, hand_on, settings=QUICK, pace=pace)
    assert [path.name for path in runs[0].files] == ["1to4.log", "4to9.log"]
    assert lines_of(tmp_path) == ledger.lines(1, 4 + done.count)


def test_while_it_follows_its_files_may_be_taken_away_and_nobody_else_writes_there(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    spans: list[list[int]] = []

    async def hand_on(run: Run) -> None:
        spans.append([line["milestone"]["index"] for line in lines_in(run.files)])
        for path in run.files:
            path.unlink()
        with pytest.raises(FolderInUse), archive_writer(tmp_path):
            pass
        if len(spans) == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    pace = Pace(run_most=3, poll_s=0.01)
    done = following.follow(ledger.store, [node], tmp_path, hand_on, first=1, settings=QUICK, pace=pace)
    assert (done.missing, done.faults.total()) == ([], 0)
    assert spans[:3] == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def named_newest(milestone_index: int, path: str, status: int, body: bytes) -> tuple[int, bytes]:
    """A node's response that reports this milestone as its newest."""
    if not path.endswith("/info") or status != 200:
        return status, body
    reported = json.loads(body)
    if "/v2/" in path:
        reported["status"]["confirmedMilestone"]["index"] = milestone_index
    else:
        reported["data"]["confirmedMilestoneIndex"] = milestone_index
    return status, json.dumps(reported).encode()


@on_both
def test_where_the_first_milestone_is_missing_on_the_node_the_others_are_not_waited_for(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    """The folder ends before the node's first milestone, by less than the maximum of one run."""
    runs: list[Run] = []
    requested = 0

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        nonlocal requested
        if path.endswith(("/milestones/1", "/by-index/1")):
            requested += 1
            if requested > 20:
                os.kill(os.getpid(), signal.SIGTERM)
            return 404, b"{}"
        return named_newest(4, path, status, body)

    async def hand_on(run: Run) -> None:
        runs.append(run)
        os.kill(os.getpid(), signal.SIGTERM)

    with proxied(node, edit=edit) as proxy:
        done = following.follow(
            ledger.store, [proxy.url], tmp_path, hand_on, first=1, settings=QUICK, pace=Pace(poll_s=0.01)
        )
    assert [path.name for run in runs for path in run.files] == ["2to5.log"]
    assert done.missing == [(1, 1)]
    assert lines_of(tmp_path) == ledger.lines(2, 5)


@pytest.mark.parametrize("first", [48, None])
def test_a_newest_milestone_that_the_node_cannot_show_is_not_run_towards(
    ledger: Ledger, node: str, tmp_path: Path, first: int | None
) -> None:
    """One of two nodes keeps reporting a newest milestone of a million; a signal ends the wait for it."""
    spans: list[list[int]] = []

    async def hand_on(run: Run) -> None:
        spans.append([line["milestone"]["index"] for line in lines_in(run.files)])
        os.kill(os.getpid(), signal.SIGTERM)

    def spoil(path: str, nth: int) -> str | None:
        if path.endswith("/info") and nth == 20:
            os.kill(os.getpid(), signal.SIGTERM)
        return None

    newest = ledger.milestones[-1]["milestone"]["index"]
    pace = Pace(run_s=0, run_most=5, poll_s=0.01)
    with proxied(node, edit=partial(named_newest, 1_000_000)) as lying, proxied(node, spoil=spoil) as honest:
        urls = [lying.url, honest.url]
        done = following.follow(ledger.store, urls, tmp_path, hand_on, first=first, settings=QUICK, pace=pace)
    assert (done.missing, dict(done.faults)) == ([], {NOT_THERE: 1})
    assert spans == [list(range(newest if first is None else first, newest + 1))]


def test_what_was_missing_before_a_signal_and_was_not_requested_again_is_still_missing(
    ledger: Ledger, node: str, tmp_path: Path
) -> None:
    """The node does not have milestones 1 to 6; the second run began with the first of them."""
    requested = 0

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        nonlocal requested
        found = re.search(r"/milestones/(?:by-index/)?([1-6])$", path)
        if found is None:
            return status, body
        requested += found[1] == "1"
        if requested == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return 404, b"{}"

    async def hand_on(_: Run) -> None:
        return None

    one_by_one = replace(QUICK, milestones=1)
    with proxied(node, edit=edit) as proxy:
        done = following.follow(
            ledger.store, [proxy.url], tmp_path, hand_on, first=1, settings=one_by_one, pace=Pace(run_most=8)
        )
    assert (done.count, done.missing) == (2, [(1, 6)])
    assert lines_of(tmp_path) == ledger.lines(7, 9)


def test_tries_without_number_wait_longest() -> None:
    assert wait_s(FetchSettings(), 5_000, Fault(TIMEOUT, "")) == BACKOFF_MOST_S


Chunks: TypeAlias = Callable[[], AsyncIterator[bytes]]


async def endless() -> AsyncIterator[bytes]:
    for _ in range(0, MAX_BODY_BYTES + 2, 2**20):
        yield bytes(2**20)


async def dripping() -> AsyncIterator[bytes]:
    for _ in range(40):
        yield b" "
        await asyncio.sleep(0.05)


async def bomb() -> AsyncIterator[bytes]:
    yield gzip.compress(bytes(2**20))


async def slow() -> AsyncIterator[bytes]:
    for _ in range(15):
        yield bytes(2**20)
        await asyncio.sleep(0.01)


async def requested(monkeypatch: pytest.MonkeyPatch, chunks: Chunks, timeout_s: float, **headers: str) -> bytes:
    """The body received from a node that answers with those chunks and headers."""
    answers = httpx.MockTransport(lambda request: httpx.Response(200, headers=headers, content=chunks()))
    monkeypatch.setattr(httpx, "AsyncClient", partial(httpx.AsyncClient, transport=answers))
    async with Http("https://node", at_once=1, timeout_s=timeout_s) as node:
        return await node.get("https://node/info", "application/json")


@pytest.mark.parametrize(
    ("chunks", "headers", "kind", "reason"),
    [
        (endless, {}, UNREADABLE, f"more than {MAX_BODY_BYTES} bytes"),
        (bomb, {"content-encoding": "gzip"}, UNREADABLE, "unexpected content encoding 'gzip'"),
        (dripping, {}, TIMEOUT, r"no complete response within 0\.2 s"),
    ],
)
async def test_a_body_has_an_end_in_bytes_and_in_time(
    monkeypatch: pytest.MonkeyPatch, chunks: Chunks, headers: dict[str, str], kind: str, reason: str
) -> None:
    with pytest.raises(Fault, match=reason) as reported:
        await requested(monkeypatch, chunks, 0.2 if chunks is dripping else 30.0, **headers)
    assert reported.value.kind == kind


async def test_a_large_answer_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(await requested(monkeypatch, slow, 30.0)) == 15 * 2**20


@pytest.mark.parametrize("option", ["--node", "--guardian"])
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:999999", "http://127.0.0.1:0", "http://h:port", "http://[::1", "http://:80", "ftp://h"]
)
def test_an_invalid_url_is_rejected_by_name(tmp_path: Path, option: str, url: str) -> None:
    emitter = ["--emitter", "2/ab"] if option == "--guardian" else []
    done = CliRunner().invoke(cli.app, ["fetch", option, url, *emitter, "--range", "1:2", "--into", str(tmp_path)])
    assert done.exit_code == 2
    printed = "".join(done.output.replace("│", "").split())
    assert f"{option}:invalidURL'{url}';expectede.g.http://HOST:14265" in printed


def test_each_try_waits_twice_as_long_or_as_the_node_requires() -> None:
    settings = FetchSettings(backoff_s=0.5)
    waited = [wait_s(settings, tries, Fault(BAD_STATUS, "")) for tries in range(8)]
    assert waited == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert [wait_s(settings, tries, Fault(BAD_STATUS, "", wait_s=5.0)) for tries in (0, 3, 4)] == [5.0, 5.0, 8.0]


@pytest.mark.parametrize(
    ("requested", "waits"),
    [("7", 7.0), ("0", 0.0), ("86400", 60.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0), (None, 0.0)],
)
async def test_a_node_that_is_busy_says_how_long(requested: str | None, waits: float) -> None:
    headers = {} if requested is None else {"retry-after": requested}
    answers = httpx.MockTransport(lambda request: httpx.Response(429, headers=headers))
    async with Http("https://node", at_once=1, timeout_s=30.0) as node:
        node._client = httpx.AsyncClient(transport=answers)
        with pytest.raises(Fault, match="429") as reported:
            await node.get("https://node/health", "application/json")
    assert (reported.value.kind, reported.value.wait_s) == (BAD_STATUS, waits)
