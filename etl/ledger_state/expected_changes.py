"""What the changes of the ledger must lead to, computed by this process."""

from etl.expectations import fingerprints
from etl.expectations.balances import expected_balances
from etl.expectations.comparison import LedgerComparison
from etl.expectations.movements import expected_movements
from etl.expectations.native_tokens import expected_native_tokens
from etl.ledger_state.changes import Found


def expect_changes(compared: LedgerComparison, found: Found, frontier: int, to: int) -> None:
    """Adds what the changes of (frontier, to] must lead to, if this process reads them."""
    changes, before = (found.files, ()) if found.near is None else (found.near.changes, found.near.before)
    if changes is not None:
        compared.expect(fingerprints.BALANCES, expected_balances(changes, before, frontier, to))
        compared.expect(fingerprints.NATIVE_TOKENS, expected_native_tokens(changes, frontier, to))
        compared.expect(fingerprints.MOVEMENTS, expected_movements(changes, frontier, to))
