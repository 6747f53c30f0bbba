"""Logs that grow in any steps, and their proofs, compared with trees over whole lists."""

from collections.abc import Iterator
from hashlib import sha256

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ledger.crypto.log_tree import (
    EMPTY,
    is_consistent,
    leaf_hash,
    prove_consistency,
    prove_range,
    root_of_audit_path,
    tree_root,
)
from ledger.transparency.errors import LogError
from ledger.transparency.growth import LogBuilder
from ledger.transparency.tiled_tree import TiledTree, first_difference
from ledger.transparency.tiles import Place, parse_place, split_bundle, split_tile
from tests.ledger.transparency.logs import StoredLog, records_of, stored_log

SIZES = (1, 2, 3, 255, 256, 257, 511, 512, 700, 65_535, 65_536, 65_537, 66_000)
"""Around the sizes at which a level becomes full."""


def root_of(size: int) -> bytes:
    return tree_root([leaf_hash(record) for record in records_of(size)])


@pytest.mark.thorough
@pytest.mark.parametrize("size", SIZES)
def test_the_root_is_that_of_the_tree_over_all_records(size: int) -> None:
    log = stored_log(size)
    assert log.builder.root() == root_of(size)
    assert TiledTree(size, log.tile).root() == root_of(size)


def test_an_empty_log_has_the_empty_root_and_no_tiles() -> None:
    assert LogBuilder().root() == EMPTY == TiledTree(0, StoredLog().tile).root()
    assert stored_log(0).files == {}


@settings(max_examples=40)
@given(st.lists(st.integers(0, 600), max_size=6))
@example([256, 256, 1])
@example([255, 1, 0, 257])
def test_steps_of_growth_do_not_change_the_tiles(steps: list[int]) -> None:
    log = StoredLog()
    records = records_of(sum(steps))
    for step in steps:
        log.append(records[log.builder.size : log.builder.size + step])
    whole = stored_log(len(records))
    assert log.builder.root() == whole.builder.root()
    assert {path: log.files[path] for path in whole.files} == whole.files


@pytest.mark.parametrize("size", [1, 256, 700, 66_000])
def test_tiles_and_bundles_are_those_of_the_definition(size: int) -> None:
    records = records_of(size)
    hashes = [leaf_hash(record) for record in records]
    seen = 0
    for path, data in stored_log(size).files.items():
        place = parse_place(path)
        start = place.number * 256
        if place.level is None:
            assert split_bundle(data, place.width) == records[start : start + place.width]
            seen += place.width
        else:
            span = 256**place.level
            roots = [
                tree_root(hashes[number * span : (number + 1) * span]) for number in range(start, start + place.width)
            ]
            assert split_tile(data, place.width) == roots
    assert seen == size


@st.composite
def indexes(draw: st.DrawFn) -> tuple[int, int]:
    size = draw(st.sampled_from(SIZES[:9]) | st.integers(1, 700))
    return size, draw(st.integers(0, size - 1))


@given(indexes())
@example((66_000, 65_999))
@example((66_000, 255))
@example((65_536, 65_535))
def test_audit_paths_lead_to_the_root_and_have_the_hashes_of_the_proof_over_the_list(case: tuple[int, int]) -> None:
    size, index = case
    tree = TiledTree(size, stored_log(size).tile)
    hashes = [leaf_hash(record) for record in records_of(size)]
    path = tree.audit_path(index)
    assert tree.leaf_hash(index) == hashes[index]
    assert sorted(path) == sorted(prove_range(hashes, index, index + 1))
    assert root_of_audit_path(size, index, hashes[index], path) == tree_root(hashes)


@pytest.mark.thorough
@given(indexes())
@example((66_000, 65_536))
@example((66_000, 65_535))
@example((66_000, 1))
def test_consistency_proofs_are_those_over_the_list(case: tuple[int, int]) -> None:
    size, before = case
    older = before + 1
    proof = TiledTree(size, stored_log(size).tile).consistency(older)
    assert proof == prove_consistency([leaf_hash(record) for record in records_of(size)], older)
    assert is_consistent(older, size, root_of(older), root_of(size), proof)


class CountedTiles:
    """Reads tiles of a log of which only the width matters, and counts them."""

    def __init__(self) -> None:
        self.read: list[Place] = []

    def tile(self, level: int, number: int, width: int) -> bytes:
        self.read.append(Place(level, number, width))
        return bytes(32 * width)


@pytest.mark.parametrize("index", [0, 1, 2**39, 2**40 - 1, 0x12_3456_789A])
def test_an_audit_path_in_2_40_records_reads_5_tiles(index: int) -> None:
    tiles = CountedTiles()
    assert len(TiledTree(2**40, tiles.tile).audit_path(index)) == 40
    assert len(tiles.read) == len(set(tiles.read)) == 5


@given(st.integers(1, 2**40), st.data())
def test_an_audit_path_reads_at_most_5_tiles_and_4_more_of_the_right_edge(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    tiles = CountedTiles()
    TiledTree(size, tiles.tile).audit_path(index)
    own = [place for place in tiles.read if place.number == index >> 8 * ((place.level or 0) + 1)]
    assert len(own) <= 5
    edge = [place for place in tiles.read if place not in own]
    assert len(edge) <= 4
    assert all(place.number == (size >> 8 * (place.level or 0)) // 256 for place in edge)


def test_the_builder_keeps_only_the_right_edge() -> None:
    def endless() -> Iterator[bytes]:
        for number in range(200_000):
            yield number.to_bytes(4, "big")

    builder = LogBuilder()
    for place, _ in builder.extend(endless()):
        if place.level is not None:
            kept = sum(map(len, builder._levels)) + len(builder._entries)
            assert kept <= 4 * 256
    assert builder.size == 200_000


def test_a_log_resumes_only_from_the_tiles_of_its_root() -> None:
    log = stored_log(700)
    assert LogBuilder.resume(700, log.builder.root(), log.read).root() == log.builder.root()
    with pytest.raises(LogError, match="do not lead to its root"):
        LogBuilder.resume(700, root_of(699), log.read)
    for broken in ("tile/0/002.p/188", "tile/1/000.p/2", "tile/entries/002.p/188"):
        for place in (0, 40, len(log.files[broken]) - 1):
            data = bytearray(log.files[broken])
            data[place] ^= 1
            files = log.files | {broken: bytes(data)}
            with pytest.raises(LogError):
                LogBuilder.resume(700, log.builder.root(), lambda at, files=files: files[at.path])  # type: ignore[misc]
        cut = log.files | {broken: log.files[broken][:-32]}
        with pytest.raises(LogError):
            LogBuilder.resume(700, log.builder.root(), lambda at, files=cut: files[at.path])  # type: ignore[misc]


@pytest.mark.parametrize("size", [1, 256, 700, 66_000])
def test_two_logs_differ_first_where_a_record_was_changed(size: int) -> None:
    records = records_of(size)
    for index in {0, size // 3, size // 2, size - 1}:
        forked = StoredLog()
        forked.append([*records[:index], b"another", *records[index + 1 :]])
        reads = CountedTiles()

        def counted(level: int, number: int, width: int, log: StoredLog = forked, reads: CountedTiles = reads) -> bytes:
            reads.tile(level, number, width)
            return log.tile(level, number, width)

        assert first_difference(size, stored_log(size).tile, counted) == index
        assert len(reads.read) <= 3
    assert first_difference(size, stored_log(size).tile, stored_log(size).tile) is None


def test_two_logs_whose_rest_was_changed_differ_first_at_its_beginning() -> None:
    records = records_of(66_000)
    forked = StoredLog()
    forked.append([*records[:65_600], *records[65_601:], b"one more"])
    assert first_difference(66_000, stored_log(66_000).tile, forked.tile) == 65_600


def test_tiles_that_contradict_the_level_above_are_reported() -> None:
    log = stored_log(700)
    tile = log.files["tile/1/000.p/2"]
    files = log.files | {"tile/1/000.p/2": tile[:32] + sha256().digest()}
    with pytest.raises(LogError, match="tile 1 of level 0 is equal"):
        first_difference(700, log.tile, lambda *place: files[Place(*place).path])


def test_a_fork_has_no_consistency_proof() -> None:
    records = records_of(700)
    older = root_of(300)
    forked = StoredLog()
    forked.append([*records[:299], b"another", *records[300:]])
    proof = TiledTree(700, forked.tile).consistency(300)
    assert is_consistent(300, 700, older, root_of(700), TiledTree(700, stored_log(700).tile).consistency(300))
    assert not is_consistent(300, 700, older, forked.builder.root(), proof)
    assert not is_consistent(300, 700, older, root_of(700), proof)


def test_there_are_no_proofs_of_what_is_not_in_the_log() -> None:
    tree = TiledTree(3, stored_log(3).tile)
    for index in (-1, 3):
        with pytest.raises(ValueError, match="expected a record of 3"):
            tree.audit_path(index)
    for older in (0, 4):
        with pytest.raises(ValueError, match="from 1 to 3"):
            tree.consistency(older)
