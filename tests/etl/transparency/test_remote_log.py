"""A log behind a file host that grows while it is read."""

import asyncio
import tracemalloc
from pathlib import Path

import pytest

from etl.fetch.http import BAD_STATUS, Fault
from etl.transparency.audit import audit_logs
from etl.transparency.remote_log import RemoteLog
from ledger.transparency.errors import LogError
from ledger.transparency.tiles import Place
from tests.etl.static_archive.file_host import FileHost
from tests.etl.transparency.logs import NETWORK, append, files_of, made_store


def test_a_reader_of_an_older_checkpoint_takes_the_beginning_of_full_tiles(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    folder = lake / "log" / NETWORK
    append(settings, lake, 200)
    older = files_of(lake)
    append(settings, lake, 400)
    assert "tile/0/000.p/204" in older
    assert not (folder / "tile/0/000.p/204").exists()
    (folder / "checkpoint").write_bytes(older["checkpoint"])
    with FileHost(folder) as host:
        (found,) = audit_logs([host.url], whole=True).operators
        assert (found.fault, found.last) == ("", 200)
        (folder / "tile/0/000").unlink()
        (found,) = audit_logs([host.url]).operators
        assert "is missing" in found.fault


class ClaimedLog(RemoteLog):
    """A log that claims 4.4 billion records. Each request fails but the first ones, which wait."""

    size = 4_400_000_000

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.started, self.cancelled = list[Place](), 0

    async def _read_one(self, place: Place) -> bytes:
        self.started.append(place)
        if len(self.started) == 16:
            raise Fault(BAD_STATUS, "the last request", status=500)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return b""


def test_a_claimed_size_costs_no_memory_and_a_fault_ends_the_other_requests() -> None:
    log = ClaimedLog()
    with log:
        tracemalloc.start()
        try:
            with pytest.raises(Fault, match="the last request"):
                log.check_all(lambda _: None)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()
        assert (len(log.started), log.cancelled) == (16, 15)


@pytest.mark.thorough
def test_all_tiles_of_a_log_are_compared(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    folder = lake / "log" / NETWORK
    append(settings, lake, 1_000)
    with FileHost(folder) as host, RemoteLog(host.url) as log:
        log.open([])
        counts = list[int]()
        log.check_all(counts.append)
        assert counts == [*range(256, log.size, 256), log.size]
        for path in ("tile/0/002", f"tile/1/000.p/{log.size // 256}"):
            data = (folder / path).read_bytes()
            (folder / path).write_bytes(bytes(32) + data[32:])
            with pytest.raises(LogError, match=f"{path} differs from what it is computed from"):
                log.check_all(lambda _: None)
            (folder / path).write_bytes(data)
