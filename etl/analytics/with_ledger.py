"""Analytics that are written in the same transaction as the ledger state that they follow from."""

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import DataFrame

from etl.analytics.catch_up import begun_at, ledger_makers
from etl.analytics.milestones import Begun
from etl.ledger_state.balances import balances
from etl.ledger_state.changes import Found
from etl.tables.frames import FrameMaker
from etl.writers.publish import Publication


@dataclass(frozen=True)
class LedgerAnalytics:
    """The etl.ledger_state.advance.StateMeasures of a store with analytics."""

    publication: Publication

    def at_genesis(self, changes: DataFrame, genesis: int) -> list[FrameMaker]:
        """Returns the frames of the state that genesis begins with."""
        whole = balances(changes, None, genesis - 1)
        return ledger_makers(self.publication, changes, whole, Begun(genesis, genesis), genesis)

    def after(
        self,
        found: Found,
        news: DataFrame,
        balances_after: DataFrame,
        genesis: int,
        frontier: int,
        to: int,
        days: Collection[int],
    ) -> list[FrameMaker] | None:
        """Returns the frames of (frontier, to]. None if the store has no analytics up to the frontier."""
        begun = begun_at(self.publication, found, genesis, frontier, days)
        return None if begun is None else ledger_makers(self.publication, news, balances_after, begun, to)
