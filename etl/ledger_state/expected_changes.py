"""What the changes of the ledger must lead to, computed by this process."""

from etl.expectations import fingerprints
from etl.expectations.balances import expected_balances
from etl.expectations.comparison import LedgerComparison
from etl.expectations.movements import expected_movements
from etl.expectations.native_tokens import expected_native_tokens
from etl.ledger_state.state_step import StateStep


def expect_changes(compared: LedgerComparison, step: StateStep, shares: int) -> None:
    """Adds what the changes of a step must lead to. `shares`: how many are in memory one after the other, if the
    changes are in files.
    """
    found, run = step.found, (step.frontier, step.to)
    changes, before = (found.of_files(), ()) if found.near is None else (found.near.changes, found.near.before)
    shares = shares if found.near is None else 1
    compared.expect(fingerprints.BALANCES, expected_balances(changes, before, *run, shares))
    compared.expect(fingerprints.NATIVE_TOKENS, expected_native_tokens(changes, *run))
    compared.expect(fingerprints.MOVEMENTS, expected_movements(changes, *run, shares))
