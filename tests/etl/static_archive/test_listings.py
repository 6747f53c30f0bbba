"""Listings of an archive, written from the trees of a ledger with hot keys: both clients make the documents of whole
trees in memory.
"""

import json
import random
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from db import schema
from etl.completeness.rows import ROWS as LISTED
from etl.static_archive.listings import pages as directory
from etl.static_archive.listings import sorting
from etl.static_archive.listings.check import fault_of_file, fault_of_listings
from etl.static_archive.listings.history import ArchivedListings
from etl.static_archive.listings.interval_file import find_root, write_interval
from etl.static_archive.listings.pages import DirectoryBuilder, separator
from etl.static_archive.listings.sorting import sorted_rows
from etl.static_archive.names import new_file
from etl.static_client import FORMAT, ArchiveError, open_archive
from ledger.completeness.check import check_document
from ledger.completeness.families import BY_NAME, milestone_of
from ledger.completeness.intervals import Interval, cover
from ledger.completeness.trees import place_of
from ledger.transparency.checkpoint import Checkpoint
from tests.conftest import ROOT
from tests.db.stored_listings import END, FIRST, FRONTIER, MISSING, ROWS, TAGS, shown, tile_rows
from tests.etl.static_archive.file_host import FileHost
from tests.etl.static_archive.proved_pages import ProvedPage, in_javascript, in_python
from tests.ledger.completeness.ledgers import Archive

PAGES = ((0, 100), (0, 1), (15, 2), (16, 16), (99, 100), (250, 100), (700, 30), (1_400, 1_000))

PLACES = [*list(ROWS)[:7], *list(ROWS)[7::60], *MISSING]


@pytest.fixture(scope="module")
def archive() -> Archive:
    found = Archive(ROWS, FIRST, FRONTIER)
    # Makes the path of the cover's record.
    found.document(place_of(TAGS, b"hot"), END)
    return found


def rows_inside(interval: Interval) -> Iterator[pa.Table]:
    pairs = [
        (place, row)
        for place, rows in ROWS.items()
        for row in rows
        if interval.start <= milestone_of(row) <= interval.end
    ]
    random.Random(1).shuffle(pairs)
    for start in range(0, len(pairs), 100):
        part = pairs[start : start + 100]
        yield pa.table([pa.array([pair[at] for pair in part], pa.binary()) for at in (0, 1)], schema=LISTED)


def tiles_of(archive: Archive, interval: Interval) -> Iterator[Mapping[str, Any]]:
    for row in tile_rows(archive, interval):
        yield dict(zip(schema.listing_tiles.names, row, strict=True))


def write(archive: Archive, folder: Path) -> Path:
    """Writes an archive that has only listings."""
    files = []
    for interval in cover(FIRST, END):
        with new_file(folder, "listings", interval.start, interval.end, "listings") as file:
            keys = write_interval(file, tiles_of(archive, interval), sorted_rows(rows_inside(interval), folder))
        record = archive.record(interval)
        assert keys == record.key_count
        position = find_root(folder / file.stored.name)
        files.append(asdict(file.stored) | {"keys": keys, "root": record.root.hex(), "directory": position})
    path = b64encode(b"".join(archive.log_paths[END])).decode()
    manifest = {
        "format": FORMAT,
        "network": archive.network,
        "first": FIRST,
        "last": FRONTIER,
        "messages": [],
        "indexes": [],
        "tables": {},
        "genesis": None,
        "listings": {"first": FIRST, "end": END, "log_path": path, "files": files},
        "log": {"checkpoint": archive.checkpoint, "verifier": ""},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


@pytest.fixture(scope="module", params=["wide", "deep"])
def folder(
    archive: Archive, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """An archive with directories of one page, and one with directories of several levels."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "deep":
            patch.setattr(directory, "FANOUT", 3)
            patch.setattr(sorting, "ROWS_AT_ONCE", 400)
            patch.setattr(sorting, "BATCH", 50)
        yield write(archive, tmp_path_factory.mktemp(request.param))


def pages() -> list[ProvedPage]:
    return [
        ProvedPage(place, index, count)
        for place in PLACES
        for index, count in PAGES
        if index == 0 or index < len(shown(place))
    ]


def documents(archive: Archive, wanted: list[ProvedPage]) -> list[str]:
    return [archive.document(place, END, index, count).decode() for place, index, count in wanted]


@pytest.mark.thorough
def test_python_makes_the_documents_of_whole_trees(archive: Archive, folder: Path) -> None:
    wanted = pages()
    assert len(wanted) > 50
    assert in_python(str(folder), wanted) == documents(archive, wanted)


@pytest.mark.thorough
def test_javascript_makes_the_documents_of_whole_trees(archive: Archive, folder: Path, tmp_path: Path) -> None:
    wanted = pages()
    assert in_javascript(folder.as_uri(), wanted, tmp_path) == documents(archive, wanted)


@pytest.mark.thorough
def test_both_clients_read_the_same_few_bytes_over_http(archive: Archive, folder: Path, tmp_path: Path) -> None:
    depth = 1 if "wide" in folder.name else 5
    intervals = len(cover(FIRST, END))
    with FileHost(folder) as host:
        for each in [place for place in PLACES if len(shown(place)) <= 100][::8]:
            wanted = [ProvedPage(each, 0, 100)]
            host.counted()
            assert in_python(host.url, wanted) == documents(archive, wanted)
            requests, size = host.counted()
            assert requests <= 1 + (depth + 3) * intervals
            assert size <= (folder / "manifest.json").stat().st_size + 20_000 * intervals
            assert in_javascript(host.url, wanted, tmp_path) == documents(archive, wanted)
            assert host.counted() == (requests, size)


def test_files_of_an_archive_have_no_faults(archive: Archive, folder: Path) -> None:
    listings = json.loads((folder / "manifest.json").read_text())["listings"]
    head = Checkpoint("", archive.head.size, archive.head.root)
    assert fault_of_listings(listings, head) == ""
    assert [fault_of_file(folder / each["name"], each) for each in listings["files"]] == [""] * len(listings["files"])


@pytest.mark.thorough
def test_a_changed_byte_is_a_fault_and_never_changes_what_is_proved(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write(archive, tmp_path)
    listings = json.loads((whole / "manifest.json").read_text())["listings"]
    numbers, wanted = random.Random(28), [ProvedPage(place, 0, 100) for place in PLACES[:6]]
    expected = documents(archive, wanted)
    rejected = 0
    for _ in range(60):
        file = numbers.choice(listings["files"])
        path = whole / file["name"]
        data = path.read_bytes()
        changed = bytearray(data)
        changed[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        path.write_bytes(changed)
        assert fault_of_file(path, file)
        for page, document in zip(wanted, expected, strict=True):
            try:
                (found,) = in_python(str(whole), [page])
            except ArchiveError:
                rejected += 1
                continue
            is_valid = check_document(found.encode(), archive.network, archive.head).is_valid
            assert found == document or not is_valid
        path.write_bytes(data)
    assert rejected


@pytest.mark.thorough
def test_javascript_rejects_a_changed_byte_like_python(archive: Archive, tmp_path: Path) -> None:
    whole = write(archive, tmp_path)
    listings = json.loads((whole / "manifest.json").read_text())["listings"]
    numbers, page = random.Random(4), ProvedPage(PLACES[1], 0, 100)
    (expected,) = documents(archive, [page])
    differ = 0
    for _ in range(12):
        file = numbers.choice(listings["files"])
        path = whole / file["name"]
        data = path.read_bytes()
        changed = bytearray(data)
        changed[numbers.randrange(min(len(data), 4_000))] ^= 1 << numbers.randrange(8)
        path.write_bytes(changed)
        try:
            found = in_python(str(whole), [page])
        except ArchiveError:
            found = [""]
        assert in_javascript(whole.as_uri(), [page], tmp_path) == found
        differ += found != [expected]
        path.write_bytes(data)
    assert differ


def test_other_trees_than_those_of_the_log_are_a_fault(archive: Archive, folder: Path) -> None:
    listings = json.loads((folder / "manifest.json").read_text())["listings"]
    head = Checkpoint("", archive.head.size, archive.head.root)
    listings["files"][1]["keys"] += 1
    assert fault_of_listings(listings, head) == f"the log has other trees of listings up to milestone {END}"
    del listings["files"][1]
    assert fault_of_listings(listings, head) == f"files of all milestones from {FIRST} to {END} expected"


@pytest.mark.parametrize("change", ["a missing row", "a further row", "a missing key", "a further key"])
def test_rows_that_differ_from_the_trees_end_the_run(archive: Archive, tmp_path: Path, change: str) -> None:
    interval = cover(FIRST, END)[-1]
    rows = pa.concat_tables(rows_inside(interval)).sort_by(sorting.ORDER)
    changed = {
        "a missing row": rows.slice(1),
        "a further row": pa.concat_tables([rows.slice(0, 1), rows]),
        "a missing key": rows.slice(0, rows.num_rows - 1),
        "a further key": pa.concat_tables([rows, pa.table([[b"\xf0"], [b"row"]], schema=LISTED)]),
    }[change]
    with (
        pytest.raises(ValueError, match=r"rows of [0-9a-f]* expected in the lake|the tree has no key"),
        new_file(tmp_path, "listings", 0, 99, "listings") as file,
    ):
        write_interval(file, tiles_of(archive, interval), [changed])


def test_an_archive_without_listings_says_so(tmp_path: Path) -> None:
    empty = {"format": FORMAT, "messages": [], "indexes": [], "listings": None, "log": None}
    (tmp_path / "manifest.json").write_text(json.dumps(empty))
    with pytest.raises(LookupError, match="an archive with listings expected"):
        ArchivedListings(open_archive(str(tmp_path)))


def test_separators_are_between_the_first_two_places() -> None:
    numbers = random.Random(5)
    for _ in range(2_000):
        first, second = sorted({bytes(numbers.choices((0, 1, 254, 255), k=numbers.randint(1, 6))) for _ in range(9)})[
            :2
        ]
        found = separator(first, second)
        assert first <= found < second
        assert len(found) <= len(first)
    assert separator(b"\x02\xff", None) == b"\x02\xff"


def test_sorted_rows_are_those_of_one_sort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "ROWS_AT_ONCE", 97)
    monkeypatch.setattr(sorting, "BATCH", 10)
    numbers = random.Random(3)
    rows = [(numbers.randbytes(1), numbers.randbytes(2)) for _ in range(3_000)]
    tables = [
        pa.table([pa.array([row[at] for row in rows[start : start + 40]], pa.binary()) for at in (0, 1)], schema=LISTED)
        for start in range(0, len(rows), 40)
    ]
    found = pa.concat_tables(sorted_rows(tables, tmp_path))
    assert list(zip(found["place"].to_pylist(), found["row"].to_pylist(), strict=True)) == sorted(rows)
    assert [*tmp_path.iterdir()] == []


def test_a_directory_leads_each_place_to_its_tile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "FANOUT", 4)
    numbers = random.Random(9)
    places = sorted({numbers.randbytes(3) for _ in range(1_000)})
    builder = DirectoryBuilder()
    with new_file(tmp_path, "listings", 0, 99, "listings") as file:
        starts = [*range(0, len(places), 5)]
        for start in starts:
            builder.add(places[start], places[start + 1] if start + 1 < len(places) else None, file.size)
            file.write(bytes(100))
        root, end = builder.write(file), file.size
    data = (tmp_path / file.stored.name).read_bytes()
    for at, place in enumerate(places):
        page = directory.decode_page(data[root:end])
        while True:
            begin, stop = page.child(place)
            if page.depth == 0:
                break
            page = directory.decode_page(data[begin:stop])
        # The first place of a tile may lead to the tile before it, whose reader looks into the next one.
        assert begin // 100 in {at // 5, at // 5 - (at % 5 == 0)}
        assert stop == begin + 100


def test_the_script_has_the_families_and_hashes_of_the_checker() -> None:
    static = ROOT / "api/web/static"
    client, checker = ((static / name).read_text("utf-8") for name in ("static_archive.js", "listing_proof.js"))
    checker = checker.replace("export const sha256", "const sha256")
    for begin, end in (("// Number, name, least", "class Failure"), ("const firstBits", "// Bytes. Integers")):
        part = checker[checker.index(begin) : checker.index(end)].strip()
        assert len(part) > 1_000
        assert part in client
    assert BY_NAME.keys() == {name for name in BY_NAME if f'"{name}"' in client}
