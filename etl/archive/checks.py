"""Verifies archive files without a load, with the checks and reasons of a load
(etl/verification/cone_verification.py).
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
    """The eras and the coordinator with which milestones are verified. `coordinator` is None if it is unknown."""

    eras: Eras
    coordinator: Coordinator | None

    @classmethod
    def of(cls, settings: StoreSettings, codec: Codec | None) -> "Checks":
        """The checks for a network's settings. `codec` is the era of the files, used if the first Stardust milestone is
        unknown.
        """
        return cls(settings.eras(codec or CHRYSALIS), settings.coordinator())

    def rejects_of(self, index: int | None, copy: Copy) -> list[Reject]:
        """The rejects of one copy of a milestone, or of pending messages if `index` is None."""
        return self.pending(copy).rejects if index is None else self.copy(index, copy).rejects

    def copy(self, index: int, copy: Copy) -> Checked:
        """Verifies one copy of a milestone."""
        return check_copy(index, copy, self.eras, self.coordinator)

    def cone(self, index: int, cone: Cone, file: str) -> Checked:
        """Verifies a milestone that does not come from a file."""
        return self.copy(index, Copy(file, 0, lambda: cone))

    def best(self, index: int, copies: list[Copy]) -> Checked:
        """Verifies several copies of a milestone and returns the best result."""
        return check_milestone(index, copies, self.eras, self.coordinator)

    def pending(self, copy: Copy) -> Checked:
        """Verifies a line of messages that no milestone references."""
        return check_pending(copy, self.eras)
