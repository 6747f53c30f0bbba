"""Paths and contents of tiles: examples of tlog-tiles, and all widths at the right edge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.transparency.errors import LogError
from ledger.transparency.tiles import (
    Place,
    encode_bundle,
    parse_place,
    places_in_post_order,
    places_of,
    right_edge,
    split_bundle,
    split_tile,
    width_at,
)

PATHS = {
    Place(0, 1234067): "tile/0/x001/x234/067",
    Place(0, 0): "tile/0/000",
    Place(63, 999, 255): "tile/63/999.p/255",
    Place(1, 1000, 1): "tile/1/x001/000.p/1",
    Place(None, 273, 112): "tile/entries/273.p/112",
}


@pytest.mark.parametrize("place", PATHS, ids=str)
def test_places_have_the_paths_of_the_specification(place: Place) -> None:
    assert place.path == PATHS[place]
    assert parse_place(PATHS[place]) == place


@given(st.none() | st.integers(0, 63), st.integers(0, 2**55), st.integers(1, 256))
def test_each_place_has_one_path(level: int | None, number: int, width: int) -> None:
    assert parse_place(Place(level, number, width).path) == Place(level, number, width)


@pytest.mark.parametrize(
    "path",
    [
        "tile/64/000", "tile/00/000", "tile/01/000", "tile/-1/000", "tile/0/0", "tile/0/0000", "tile/0/x000/001",
        "tile/0/001/000", "tile/0/x001/x000", "tile/0/000.p/0", "tile/0/000.p/256", "tile/0/000.p/01", "tile/0/000.p/",
        "tile/0/000.p", "tile/entries", "tile/data/000", "/tile/0/000", "tile/0/000/", "tile/0/000\n", "tile/0/٠٠٠", "",
        "tile/8/0/x001/067", "tile/0/" + "x001/" * 30 + "000",
    ],
)  # fmt: skip
def test_other_paths_are_rejected(path: str) -> None:
    with pytest.raises(LogError, match="path of a tile"):
        parse_place(path)


def test_the_right_edge_is_that_of_the_specification() -> None:
    assert list(right_edge(70_000)) == [Place(0, 273, 112), Place(1, 1, 17), Place(2, 0, 1)]
    assert list(right_edge(256)) == [Place(1, 0, 1)]
    assert list(right_edge(0)) == []


def test_the_width_of_a_tile_follows_from_the_size_of_the_log() -> None:
    assert [width_at(70_000, 0, number) for number in (0, 272, 273, 274)] == [256, 256, 112, 0]
    assert [width_at(70_000, level, 0) for level in (1, 2, 3)] == [256, 1, 0]


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_a_bundle_has_the_records_and_nothing_else(entries: list[bytes]) -> None:
    data = encode_bundle(entries)
    assert split_bundle(data, len(entries)) == entries
    for other in (data + b"\0", data + b"\0\0", data[:-1]):
        if other != data:
            with pytest.raises(LogError, match="bundle of"):
                split_bundle(other, len(entries))


def test_a_bundle_is_the_length_as_u16_and_the_record() -> None:
    assert encode_bundle([b"ab", b"", b"c" * 258]) == b"\0\2ab\0\0\1\2" + b"c" * 258
    with pytest.raises(ValueError, match="65535"):
        encode_bundle([bytes(65_536)])


def test_a_tile_has_exactly_its_width() -> None:
    assert split_tile(b"a" * 32 + b"b" * 32, 2) == [b"a" * 32, b"b" * 32]
    for data, width in ((bytes(64), 1), (bytes(63), 2), (bytes(32), 2)):
        with pytest.raises(LogError, match="tile of"):
            split_tile(data, width)


@pytest.mark.parametrize(
    "size", [0, 1, 255, 256, 257, 65_279, 65_280, 65_281, 65_535, 65_536, 65_537, 131_072, 131_329, 2**24 + 70_000]
)
def test_places_in_post_order_are_all_places_and_follow_those_below_them(size: int) -> None:
    found = [*places_in_post_order(size)]
    assert len(found) == len(set(found))
    assert {*found} == {*places_of(size)}
    below: dict[int, list[int]] = {}
    for place in found:
        level = -1 if place.level is None else place.level
        if level > 0:
            start = place.number * 256
            assert below.pop(level - 1) == [*range(start, start + place.width)]
        if level >= 0 and place.width == 256:
            below.setdefault(level, []).append(place.number)
