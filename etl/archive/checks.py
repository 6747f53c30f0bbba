"""The verification of loads, for archive files without a load.

Rules of this file: what a load would refuse is refused here, in its words (etl/verification/cone_verification.py).
"""

from dataclasses import dataclass

from db.connect import StoreSettings
from etl.lake.checked import Checked
from etl.sources.cone import Cone
from etl.sources.rejects import Reject
from etl.verification.cone_verification import Copy, check_copy, check_milestone, check_pending
from ledger.eras import CHRYSALIS, Codec, Coordinator, Eras


@dataclass(frozen=True, slots=True)
class Checks:
    """A network as verification knows it; `coordinator` None: nobody says who signs its milestones."""

    eras: Eras
    coordinator: Coordinator | None

    @classmethod
    def of(cls, settings: StoreSettings, codec: Codec | None) -> "Checks":
        """Of a network's settings; `codec` is of what is read, where they do not say where Stardust begins."""
        return cls(settings.eras(codec or CHRYSALIS), settings.coordinator())

    def refused(self, index: int | None, copy: Copy) -> list[Reject]:
        """What is refused of one copy of a milestone; of pending messages where the index is None."""
        return self.pending(copy).rejects if index is None else self.copy(index, copy).rejects

    def copy(self, index: int, copy: Copy) -> Checked:
        """One copy of a milestone."""
        return check_copy(index, copy, self.eras, self.coordinator)

    def cone(self, index: int, cone: Cone, file: str) -> Checked:
        """A milestone that was put together elsewhere than in a file."""
        return self.copy(index, Copy(file, 0, lambda: cone))

    def best(self, index: int, copies: list[Copy]) -> Checked:
        """The best that several copies of a milestone give."""
        return check_milestone(index, copies, self.eras, self.coordinator)

    def pending(self, copy: Copy) -> Checked:
        """A line of messages that no milestone references."""
        return check_pending(copy, self.eras)
