"""A step of the ledger state: milestones that are applied in one transaction, and the changes that they make."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from db.intervals import Intervals
from etl.lake.summary import Totals
from etl.ledger_state.changes import Found


@dataclass(frozen=True)
class StateStep:
    """The milestones above `frontier`, up to and including `to`.

    Attributes:
        found: the changes of the ledger: since genesis, or above the frontier.
        totals: of at least these milestones.
        genesis: the milestone of the genesis.
        frontier: the last milestone that the state of the store contains.
        to: the last milestone of the step.
    """

    found: Found
    totals: Totals
    genesis: int
    frontier: int
    to: int

    @property
    def run(self) -> Intervals:
        """The milestones of the step."""
        return [(self.frontier + 1, self.to)]

    @property
    def is_near(self) -> bool:
        """Whether the changes come from the store, and this process holds them."""
        return self.found.near is not None

    @property
    def applied(self) -> DataFrame:
        """The changes (etl.ledger_state.changes.CHANGES) up to the end of the step."""
        return self.found.changes.where(F.col("milestone_index") <= self.to)

    @property
    def news(self) -> DataFrame:
        """The changes of the step's own milestones."""
        return self.applied.where(F.col("milestone_index") > self.frontier)

    @property
    def news_of_outputs(self) -> list[DataFrame]:
        """The changes of the step's own milestones, in shares: all of some outputs."""
        own = F.col("milestone_index").between(self.frontier + 1, self.to)
        return [changes.where(own) for changes in self.found.of_outputs]

    def dead_to(self, margin: int) -> int:
        """The milestone up to which spent outputs of the step are dead, `margin` milestones behind its end. Near the
        frontier none are: the frontier.
        """
        return self.frontier if self.is_near else self.to - margin
