"""What the changes of the ledger must lead to, computed by this process."""

from etl.expectations import fingerprints
from etl.expectations.balances import expected_balances
from etl.expectations.brief_outputs import brief_outputs
from etl.expectations.comparison import LedgerComparison
from etl.expectations.movements import expected_movements
from etl.expectations.native_tokens import expected_native_tokens
from etl.ledger_state.changes import Found


def expect_changes(
    compared: LedgerComparison, found: Found, frontier: int, to: int, *, dead_to: int, in_process: bool
) -> None:
    """Adds what the changes of (frontier, to] must lead to, if this process reads them. Outputs that were spent by
    `dead_to` are not written. `in_process`: this process writes each change of an unspent output in a row of its own.
    """
    changes, before = (found.files, ()) if found.near is None else (found.near.changes, found.near.before)
    if changes is not None:
        compared.expect(fingerprints.BALANCES, expected_balances(changes, before, frontier, to))
        compared.expect(fingerprints.NATIVE_TOKENS, expected_native_tokens(changes, frontier, to))
        if not in_process:
            for frame, difference in zip(
                (fingerprints.UNSPENT, fingerprints.UNSPENT_SPENT),
                brief_outputs(changes, frontier, to, dead_to),
                strict=True,
            ):
                compared.adjust(frame, difference)
        compared.expect(fingerprints.MOVEMENTS, expected_movements(changes, frontier, to))
