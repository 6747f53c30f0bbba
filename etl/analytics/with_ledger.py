"""Analytics that are written in the same transaction as the ledger state that they follow from."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from etl.analytics.catch_up import begun_at, ledger_makers
from etl.analytics.milestones import Begun
from etl.ledger_state.balances import balances
from etl.ledger_state.state_step import StateStep
from etl.tables.frames import FrameMaker
from etl.writers.publish import Publication


@dataclass(frozen=True)
class LedgerAnalytics:
    """The etl.ledger_state.state_frames.StateMeasures of a store with analytics."""

    publication: Publication

    def at_genesis(self, changes: DataFrame, genesis: int) -> list[FrameMaker]:
        """Returns the frames of the state that genesis begins with."""
        whole = balances(changes, None, genesis - 1)
        return ledger_makers(self.publication, changes, whole, Begun(genesis, genesis), genesis)

    def after(self, step: StateStep, balances_after: DataFrame) -> list[FrameMaker] | None:
        """Returns the frames of a step. None if the store has no analytics up to the frontier."""
        begun = begun_at(self.publication, step)
        return None if begun is None else ledger_makers(self.publication, step.news, balances_after, begun, step.to)
