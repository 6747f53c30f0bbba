"""Archives that claim sizes which no legitimate archive has: the clients reject them before they allocate memory."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zstandard

from etl.static_archive.blocks import BlockWriter
from etl.static_archive.listings import history
from etl.static_archive.listings.history import ArchivedListings
from etl.static_archive.listings.pages import PAGE_MOST, Page
from etl.static_client import (
    CHRYSALIS_MESSAGE,
    FORMAT,
    FRAME_HEAD,
    MOST_UNPACKED,
    SKIPPABLE,
    Archive,
    ArchiveError,
    FolderReader,
    HttpReader,
    Index,
    Record,
    records_of,
    unpack_block,
)
from ledger.completeness.families import BY_NAME
from ledger.completeness.intervals import Interval

INDEX = {
    "name": "index/1",
    "size": 70,
    "slots": 10,
    "reach": 3,
    "offset_bits": 20,
    "coefficients": [f"{each:016x}" for each in range(16)],
}


def block(frame: bytes) -> bytes:
    return FRAME_HEAD.pack(SKIPPABLE, FRAME_HEAD.size - 8, len(frame), 1) + frame


def compressed(data: bytes, *, states_size: bool = True, **parameters: int) -> bytes:
    """A frame, with a size of its content in its header or without one."""
    chosen = zstandard.ZstdCompressionParameters(write_content_size=states_size, **parameters)
    return zstandard.ZstdCompressor(compression_params=chosen).compress(data)


@contextmanager
def endless_server(answers: list[bytes | None], whole: bytes = b"") -> Iterator[tuple[str, threading.Event]]:
    """Yields a URL, and what is set when the client closes a connection before its answer ends. Answers to requests in
    turn: a status, then bytes without end; None: `whole`.
    """
    ended = threading.Event()

    def serve(listener: socket.socket) -> None:
        for each in answers:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4_096)
                if each is None:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + whole)
                    continue
                try:
                    connection.sendall(b"HTTP/1.1 " + each + b"\r\n\r\n")
                    while True:
                        connection.sendall(bytes(1 << 16))
                except OSError:
                    ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", ended
        thread.join(10)


@pytest.mark.parametrize("states_size", [True, False])
def test_a_block_with_more_bytes_than_any_may_have_is_rejected(states_size: bool) -> None:
    frame = compressed(bytes(MOST_UNPACKED), states_size=states_size)
    assert unpack_block(block(frame), "file") == bytes(MOST_UNPACKED)
    frame = compressed(bytes(MOST_UNPACKED + 1), states_size=states_size)
    with pytest.raises(ArchiveError, match="file: a "):
        unpack_block(block(frame), "file")


def test_a_frame_that_states_32_terabytes_is_rejected() -> None:
    # The magic of zstd, a head with a size of 8 bytes, a window of 1 kB, the size, an empty last block.
    frame = b"\x28\xb5\x2f\xfd\xc0\0" + (1 << 45).to_bytes(8, "little") + b"\x01\0\0"
    assert zstandard.frame_content_size(frame) == 1 << 45
    with pytest.raises(ArchiveError, match=f"file: a block of at most {MOST_UNPACKED} bytes expected"):
        unpack_block(block(frame), "file")
    with pytest.raises(ArchiveError, match="a readable block expected"):
        unpack_block(block(b"no frame"), "file")


def test_a_window_that_no_block_needs_is_rejected() -> None:
    compressor = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=24))
    stream = compressor.compressobj()
    frame = stream.compress(b"few bytes") + stream.flush()
    with pytest.raises(ArchiveError, match="a readable block expected"):
        unpack_block(block(frame), "file")


def test_the_largest_message_fits_into_a_block() -> None:
    record = Record(CHRYSALIS_MESSAGE, 1, 0, None, None, bytes(range(256)) * 128)
    (found,) = BlockWriter().milestone([record])
    assert [*records_of(unpack_block(found, "file"))] == [record]


@pytest.mark.parametrize(
    "change",
    [
        {"reach": 1 << 40}, {"reach": 1_025}, {"reach": -2}, {"reach": 3.0}, {"reach": "3"}, {"reach": True},
        {"offset_bits": 0}, {"offset_bits": 52}, {"slots": 0}, {"slots": 11}, {"slots": -1}, {"size": None},
        {"size": 70.0}, {"coefficients": []},
    ],
    ids=str,
)  # fmt: skip
def test_an_index_with_impossible_numbers_is_rejected(change: dict[str, Any]) -> None:
    Index.of(INDEX)
    Index.of(INDEX | {"reach": 1_024, "offset_bits": 51})
    with pytest.raises(ArchiveError, match="of an index expected"):
        Index.of(INDEX | change)


@pytest.mark.parametrize(("start", "size"), [(0, -2), (0, -1), (0, 0), (-1, 5)])
def test_a_part_without_a_positive_size_is_never_read(tmp_path: Path, start: int, size: int) -> None:
    (tmp_path / "file").write_bytes(bytes(100))
    for reader in (FolderReader(tmp_path), HttpReader("http://127.0.0.1:1")):
        with pytest.raises(ArchiveError, match="a part of the file expected"):
            reader.part("file", start, size)


def test_a_server_that_sends_more_than_the_range_is_not_read_to_its_end() -> None:
    with endless_server([b"206 Partial Content"]) as (url, ended):
        with pytest.raises(ArchiveError, match="10 bytes expected, found more"):
            HttpReader(url).part("file", 0, 10)
        assert ended.wait(10)


def test_a_third_index_is_rejected() -> None:
    Archive(ZeroReader(), {"format": FORMAT, "indexes": [INDEX] * 2})
    with pytest.raises(ArchiveError, match="at most 2 indexes expected"):
        Archive(ZeroReader(), {"format": FORMAT, "indexes": [INDEX] * 3})


class ZeroReader:
    """Returns zero bytes of a file of 1,000 bytes, and records the sizes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def whole(self, name: str, most: int) -> bytes:
        raise NotImplementedError

    def part(self, name: str, start: int, size: int) -> bytes:
        assert size > 0
        self.sizes.append(size)
        return bytes(max(0, min(size, 1_000 - start)))


INTERVAL = Interval(0, 0)


def with_listings(**file: Any) -> dict[str, Any]:
    """The manifest of an archive with one file of listings, with these values."""
    value = {
        "name": "listings/1",
        "first": 0,
        "last": 99,
        "size": 1_000,
        "keys": 5,
        "directory": 900,
        "root": "00" * 32,
    }
    return {
        "format": FORMAT,
        "network": "permatest-1",
        "indexes": [],
        "listings": {"first": 1, "end": 99, "log_path": "", "files": [value | file]},
        "log": {"checkpoint": ""},
    }


def listings(**file: Any) -> tuple[ArchivedListings, ZeroReader]:
    """The listings of an archive with one file."""
    reader = ZeroReader()
    return ArchivedListings(Archive(reader, with_listings(**file))), reader


@pytest.mark.parametrize("file", [{"size": 1 << 48}, {"size": "9"}, {"directory": -1}, {"keys": 1e9}], ids=str)
def test_listings_with_impossible_numbers_are_rejected(file: dict[str, Any]) -> None:
    with pytest.raises(ArchiveError, match="the listings of a manifest expected"):
        listings(**file)


def test_a_root_page_that_is_too_large_is_not_read() -> None:
    found, reader = listings(size=900 + PAGE_MOST + 7)
    with pytest.raises(ArchiveError, match=f"a page of at most {PAGE_MOST} bytes expected"):
        found._root(INTERVAL)
    assert reader.sizes == []


@pytest.mark.parametrize("end", [899, 900 + PAGE_MOST + 1])
def test_a_page_of_an_impossible_size_is_not_read(end: int) -> None:
    found, reader = listings()
    with pytest.raises(ArchiveError, match="a page of at most"):
        found._page(INTERVAL, 900, end)
    assert reader.sizes == []


def test_pages_that_lead_to_each_other_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = listings()
    monkeypatch.setattr(history, "decode_page", lambda _: Page(2, [b""], [800, 850]))
    with pytest.raises(ArchiveError, match="a page of the directory below depth 2 expected"):
        found.locate(BY_NAME["ledger_updates_by_address"], bytes(33))


def test_rows_are_read_in_parts_up_to_the_end_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PART_BYTES", 100)
    found, reader = listings(size=1 << 40)
    assert found._rows(INTERVAL, 300, 250) == bytes(250)
    assert reader.sizes == [100, 100, 50]
    reader.sizes.clear()
    with pytest.raises(ArchiveError, match="322122547200 bytes of rows expected at byte 850"):
        found._rows(INTERVAL, 850, 300 << 30)
    assert reader.sizes == [100, 100]
    found, reader = listings()
    with pytest.raises(ArchiveError, match="101 bytes of rows expected at byte 900"):
        found._rows(INTERVAL, 900, 101)
    assert reader.sizes == []
