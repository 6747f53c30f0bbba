"""Writes checked milestones for a merge or an export, and collects what was written and what was not.

A complete milestone is written with its verified values. An incomplete one is omitted and listed.
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
    """Result of a merge or an export. `held`: milestones that the folder already contained. `missing`: requested
    milestones without a complete copy. `faults` also contains refuted claims of copies whose milestones were written.
    """

    milestones: int = 0
    held: int = 0
    missing: Intervals = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def write(
        self, writer: ArchiveWriter, milestone_index: int, checked: Checked, report: Callable[[int], None]
    ) -> None:
        """Writes a milestone if it is complete. Calls `report` now and then with the number of written milestones."""
        self.faults += map(fault_of, checked.rejects)
        if checked.verified is None:
            self.missing = add(self.missing, [(milestone_index, milestone_index)])
            return
        writer.append(milestone_index, milestone_line(checked))
        self.milestones += 1
        if self.milestones % REPORTED_EVERY == 0:
            report(self.milestones)
