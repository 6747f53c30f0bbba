"""Changes of the ledger that follow from decoded messages: the outputs that they create and spend."""

from collections.abc import Iterator, Mapping

import numpy as np

from etl.expectations.message_batch import NOTHING, Derived, Messages, Numbers
from etl.expectations.words import Words


def created_changes(of: Messages, messages: Numbers, own: Mapping[str, Words]) -> Iterator[Derived]:
    """Created outputs, from words of output_id, idx, transaction_id and amount.

    Outputs of transactions count twice in the sum of amounts, because a transaction spends as much as it creates.
    """
    amount = np.where(own["amount"] == NOTHING, np.uint64(0), own["amount"])
    counted = np.where(of.is_transaction[messages], 2 * amount, amount)
    yield from _changes(of, messages, {**own, "amount": counted, "message_id": of.carrier[messages]}, is_spent=False)


def spent_changes(of: Messages, messages: Numbers, own: Mapping[str, Words]) -> Iterator[Derived]:
    """Spent outputs, from words of output_id, idx and transaction_id. Their amounts are unknown here and count as 0."""
    known = {"amount": np.zeros(len(messages), np.uint64), "message_id": of.common["message_id"][messages]}
    yield from _changes(of, messages, {**own, **known}, is_spent=True)


def _changes(of: Messages, messages: Numbers, own: Mapping[str, Words], *, is_spent: bool) -> Iterator[Derived]:
    rows: dict[str, Words | np.uint64] = {**own, "is_spent": np.uint64(is_spent)}
    yield of.rows("ledger_updates_by_milestone", messages, rows)
    yield of.rows("ledger_updates_by_address", messages, rows)
    yield of.rows("unspent_outputs (spent)" if is_spent else "unspent_outputs", messages, rows)
