"""Which milestones the closed archive files of a folder or of a load contain.

A file counts if the archive writer closed it and its bytes match the checksum beside it. The writer creates that
checksum once the bytes are durable, and only for milestones that were verified as a whole (etl/archive/writer.py).
"""

from pathlib import Path

from db.intervals import Intervals, intersect, intervals
from etl.archive.validate import Fault, checksum_fault
from etl.archive.writer import sealed_span
from etl.sources.checksum_files import checksum_beside
from etl.sources.plan import Plan


def sealed_in(folder: Path, wanted: Intervals) -> tuple[Intervals, list[Fault]]:
    """Returns the milestones of a folder's closed files, and the files whose bytes do not match their checksum.

    Reads only files that contain any of `wanted`.
    """
    sealed, faults = list[tuple[int, int]](), list[Fault]()
    for path in sorted(folder.iterdir()):
        span = sealed_span(path)
        if span is not None and intersect(wanted, [span]):
            wrong = checksum_fault(path)
            if wrong is None:
                sealed.append(span)
            else:
                faults.append(wrong)
    return intervals(sealed), faults


def sealed_by(plan: Plan) -> Intervals:
    """Returns the milestones of a load's closed files whose bytes match their checksum."""
    found: list[tuple[int, int]] = []
    for source in plan.files:
        path = Path(source.file)
        span = sealed_span(path)
        if span is not None and checksum_beside(path) == source.checksum.hex():
            found.append(span)
    return intersect(intervals(found), plan.milestones())
