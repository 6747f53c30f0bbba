"""Lines of an oracle ledger → the rows of every table, the same for both eras.

The caller passes the functions that read a line. Nothing of ledger/ or etl/ is used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference_analytics import analytics_rows
from tests.reference_facts import Genesis, Message, Milestone
from tests.reference_ledger import ledger_rows
from tests.reference_rows import Rows, table_rows


@dataclass(frozen=True)
class Reading:
    """The functions that return an era's facts: of a line's milestone, of a pending message, and of genesis."""

    milestone: Callable[[Any], Milestone]
    message: Callable[[Any], Message]
    genesis: Callable[[], Genesis]

    def rows(
        self, milestones: Sequence[Any], pending: Sequence[Any], chunk_size: int, partition_size: int, network: str
    ) -> Rows:
        """Table → rows of one ascending load of those lines, in the form of table_rows()."""
        facts = [self.milestone(line) for line in milestones]
        return table_rows(facts, [self.message(each) for each in pending], chunk_size, partition_size, network)

    def whole_rows(
        self, milestones: Sequence[Any], pending: Sequence[Any], chunk_size: int, partition_size: int, network: str
    ) -> Rows:
        """rows(), with the ledger state from genesis on, and analytics."""
        rows = self.rows(milestones, pending, chunk_size, partition_size, network)
        facts = [self.milestone(line) for line in milestones]
        genesis = self.genesis()
        ledger_rows(rows, facts, genesis, network, chunk_size, partition_size)
        return rows | analytics_rows(facts, genesis, network, chunk_size)
