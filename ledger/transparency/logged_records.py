"""Records of milestones by index, from the bundles of a log."""

from collections.abc import Callable

from ledger.transparency.checkpoint import Checkpoint, parse_origin
from ledger.transparency.errors import LogError
from ledger.transparency.positions import index_of_milestone, last_milestone
from ledger.transparency.records import MilestoneRecord, parse_record
from ledger.transparency.tiles import TILE_WIDTH, Place, split_bundle, width_at


class LoggedRecords:
    """The records of milestones in a log. It keeps the bundle that it read last.

    Args:
        head: its size and origin.
        read: returns a bundle of the log of this size.

    Attributes:
        network: of the log.
        first: its first milestone.
        last: its last milestone.
    """

    def __init__(self, head: Checkpoint, read: Callable[[Place], bytes]) -> None:
        self.network, self.first = parse_origin(head.origin)
        self.last = last_milestone(self.first, head.size)
        self._size = head.size
        self._read = read
        self._bundle: tuple[int, list[bytes]] = (-1, [])

    def record(self, milestone: int) -> MilestoneRecord:
        """The record of a milestone. Raises LogError if another record is at its place."""
        number, within = divmod(index_of_milestone(self.first, milestone), TILE_WIDTH)
        if self._bundle[0] != number:
            width = width_at(self._size, 0, number)
            self._bundle = number, split_bundle(self._read(Place(None, number, width)), width)
        found = parse_record(self._bundle[1][within])
        if not isinstance(found, MilestoneRecord) or found.index != milestone:
            raise LogError(f"expected the record of milestone {milestone} in the log")
        return found
