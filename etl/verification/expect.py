"""What a run must write: from the decoded messages, compared with the lake before its milestones are committed.

A lake in local directories is read without the engine. Elsewhere, and on a cluster of executors, whose rows must not
pass through one process, only decoded milestones are known.
"""

from dataclasses import replace
from functools import partial

from db.intervals import Intervals, add, intersect, subtract
from etl.expectations.comparison import Expectation, LedgerComparison, compare_lake, compare_messages
from etl.expectations.conservation import surplus
from etl.expectations.expected import Expected
from etl.expectations.lake import expected_of_lake, unread_milestones
from etl.verification.ingest import Ingested
from etl.writers.publish import Publication


def expect(publication: Publication, found: Ingested) -> Expectation:
    """Returns what the run must write. Raises WrongRows if the lake's messages are not the decoded ones."""
    if not publication.lake.is_local:
        return Expectation(found.expected, [*subtract(found.run, found.decoded), *found.changed])
    read = add(unread_milestones(publication.lake, found.parts, found.run), found.changed)
    held = expected_of_lake(publication.lake, read, publication.selection)
    unchanged = subtract(found.decoded, found.changed)
    compare_lake(found.expected, held, intersect(unchanged, read))
    # Later steps have changed states and positions of these, but no message.
    compare_messages(found.expected, held, intersect(found.changed, found.decoded))
    return Expectation(held.replaced_by(found.expected.of(unchanged)))


def expect_lake(publication: Publication, milestones: Intervals) -> Expectation:
    """Returns what a rebuild of these milestones must write."""
    if not publication.lake.is_local:
        return Expectation(Expected(), milestones)
    return Expectation(expected_of_lake(publication.lake, milestones, publication.selection).with_empty(milestones))


def expect_ledger(publication: Publication, written: Expectation, milestones: Intervals) -> LedgerComparison | None:
    """Returns the comparison of the ledger state after these milestones. Those that the run did not write are read from
    the lake. None: this process does not read it.
    """
    if not publication.lake.is_local:
        return None
    missing = subtract(milestones, written.known)
    earlier = expected_of_lake(publication.lake, missing, publication.selection) if missing else Expected()
    compared = replace(written, expected=written.expected.replaced_by(earlier)).ledger(milestones)
    if compared is not None:
        compared.surplus = partial(surplus, publication.lake, milestones)
    return compared
