"""Each damaged tile and bundle of a log is named, and no other one."""

import pytest

from ledger.transparency.checkpoint import Checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.proved_tiles import DamagedPlace, ProvedTiles
from ledger.transparency.tiles import Place, places_of, right_edge
from tests.ledger.transparency.logs import ORIGIN, stored_log

SIZES = [0, 1, 255, 256, 257, 1_329, 65_536 + 700]


def head_of(size: int) -> Checkpoint:
    return Checkpoint(ORIGIN, size, stored_log(size).builder.root())


class Reader:
    """A log with one damaged place, which counts what is read."""

    def __init__(self, size: int, damaged: Place | None = None, data: bytes | None = None) -> None:
        self._log, self._damaged, self._data = stored_log(size), damaged, data
        self.paths: list[str] = []

    def __call__(self, place: Place) -> bytes:
        self.paths.append(place.path)
        if place != self._damaged:
            return self._log.read(place)
        if self._data is None:
            raise LogError("missing")
        return self._data


@pytest.mark.parametrize("size", SIZES)
def test_a_whole_log_has_no_faults_and_every_place_is_read_about_once(size: int) -> None:
    reader = Reader(size)
    tiles = ProvedTiles(head_of(size), reader)
    assert list(tiles.faults()) == []
    places = [each.path for each in places_of(size)]
    assert set(reader.paths) == set(places)
    assert len(reader.paths) <= 2 * len(places)
    for place in places_of(size):
        if place.level is None:
            assert tiles.bundle(place) == stored_log(size).read(place)


@pytest.mark.thorough
@pytest.mark.parametrize("size", SIZES)
def test_the_damaged_place_is_named(size: int) -> None:
    edge = set(right_edge(size))
    places = [*places_of(size)]
    is_large = size > 65_536
    for place in {places[0], places[len(places) // 3], *places[-6:]} if is_large else places:
        data = stored_log(size).read(place)
        changes = (data[:-1] + bytes([data[-1] ^ 1]), None, data[:-1], data + bytes(32), b"")
        for wrong in changes[:1] if is_large else changes:
            reader = Reader(size, place, wrong)
            if place in edge:
                with pytest.raises(LogError) as error:
                    ProvedTiles(head_of(size), reader)
                is_same_length = wrong is not None and len(wrong) == len(data)
                assert is_same_length or place.path in str(error.value)
                continue
            (fault,) = ProvedTiles(head_of(size), reader).faults()
            assert (fault.path, bool(fault.cause)) == (place.path, True)


def test_what_is_below_a_damaged_tile_is_not_proved() -> None:
    size = 65_536 + 700
    above = Place(1, 0)
    tiles = ProvedTiles(head_of(size), Reader(size, above, bytes(8_192)))
    with pytest.raises(DamagedPlace, match="tile/1/000: other hashes than the root proves"):
        tiles.bundle(Place(None, 3))
    assert tiles.bundle(Place(None, 256)) == stored_log(size).read(Place(None, 256))


def test_a_root_of_another_log_is_an_error() -> None:
    with pytest.raises(LogError, match="do not lead to the root"):
        ProvedTiles(Checkpoint(ORIGIN, 257, bytes(32)), Reader(257))
