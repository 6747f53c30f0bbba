"""What a merge or an export writes of milestones that were checked, and what not.

Rules of this file: a milestone is written as it was proved, or left out and named.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from db.intervals import Intervals, add
from etl.archive.lines import milestone_line
from etl.archive.validate import Fault, fault_of
from etl.archive.writer import ArchiveWriter
from etl.lake.checked import Checked

REPORTED_EVERY = 100


@dataclass(slots=True)
class Written:
    """`held`: milestones that the folder had already; `lacking`: those that were asked for and not to be had whole.
    Faults of milestones that were written are what a copy said against what is proved.
    """

    milestones: int = 0
    held: int = 0
    lacking: Intervals = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def write(
        self, writer: ArchiveWriter, milestone_index: int, checked: Checked, report: Callable[[int], None]
    ) -> None:
        """Writes that milestone, if it is whole; `report` is told now and then how many were written."""
        self.faults += map(fault_of, checked.rejects)
        if checked.verified is None:
            self.lacking = add(self.lacking, [(milestone_index, milestone_index)])
            return
        writer.append(milestone_index, milestone_line(checked))
        self.milestones += 1
        if self.milestones % REPORTED_EVERY == 0:
            report(self.milestones)
