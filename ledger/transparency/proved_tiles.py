"""Tiles and bundles of a log, each proved by the tiles above it, which lead to the root of a checkpoint."""

from collections.abc import Callable, Iterator

from ledger.crypto.log_tree import leaf_hash, tree_root
from ledger.transparency.checkpoint import Checkpoint
from ledger.transparency.errors import LogError
from ledger.transparency.tiled_tree import TiledTree
from ledger.transparency.tiles import TILE_WIDTH, Place, places_of, right_edge, split_bundle, split_tile


class DamagedPlace(LogError):
    """A place of a log differs from what the root of the log proves.

    Attributes:
        path: of the place.
        cause: what is wrong.
    """

    def __init__(self, path: str, cause: str) -> None:
        super().__init__(f"{path}: {cause}")
        self.path, self.cause = path, cause


class ProvedTiles:
    """The places of a log. It keeps the right edge and one more tile of each level.

    Args:
        head: size and root.
        read: returns the content of a place of the log of this size. Its LogError becomes a DamagedPlace.

    Raises:
        LogError: the tiles of the right edge do not lead to the root.
        DamagedPlace: one of them cannot be read.
    """

    def __init__(self, head: Checkpoint, read: Callable[[Place], bytes]) -> None:
        self._size = size = head.size
        self._read = read
        self._edge = {(each.level or 0, each.number): self._hashes_of(each) for each in right_edge(size)}
        self._newest: dict[int, tuple[int, list[bytes]]] = {}
        if TiledTree(size, lambda level, number, _: b"".join(self._edge[level, number])).root() != head.root:
            raise LogError(f"the tiles of size {size} do not lead to the root {head.root.hex()}")

    def bundle(self, place: Place) -> bytes:
        """The content of a bundle. Raises DamagedPlace, also for a tile above it."""
        try:
            data = self._read(place)
            hashes = [leaf_hash(each) for each in split_bundle(data, place.width)]
        except LogError as error:
            raise DamagedPlace(place.path, str(error)) from error
        if place.width < TILE_WIDTH:
            is_right = hashes == self._edge[0, place.number]
        else:
            is_right = tree_root(hashes) == self._hash_above(0, place.number)
        if not is_right:
            raise DamagedPlace(place.path, "other records than the root proves")
        return data

    def faults(self) -> Iterator[DamagedPlace]:
        """Reads every place and yields each damaged one once. What is below a damaged tile is not proved."""
        known = set[str]()
        for place in places_of(self._size):
            try:
                if place.level is None:
                    self.bundle(place)
                else:
                    self._hashes(place.level, place.number)
            except DamagedPlace as fault:
                if fault.path not in known:
                    known.add(fault.path)
                    yield fault

    def _hash_above(self, level: int, number: int) -> bytes:
        """The hash of a full tile in the tile above it."""
        return self._hashes(level + 1, number // TILE_WIDTH)[number % TILE_WIDTH]

    def _hashes(self, level: int, number: int) -> list[bytes]:
        """The hashes of a tile: at the right edge those that lead to the root, others proved by the tile above."""
        if (level, number) in self._edge:
            return self._edge[level, number]
        held = self._newest.get(level)
        if held is not None and held[0] == number:
            return held[1]
        place = Place(level, number)
        hashes = self._hashes_of(place)
        if tree_root(hashes) != self._hash_above(level, number):
            raise DamagedPlace(place.path, "other hashes than the root proves")
        self._newest[level] = number, hashes
        return hashes

    def _hashes_of(self, place: Place) -> list[bytes]:
        try:
            return split_tile(self._read(place), place.width)
        except LogError as error:
            raise DamagedPlace(place.path, str(error)) from error
